"""Several classes beside other libraries: digits, iris and wine, in the same folds.

``--mnist`` fits 9000 of the 10 000 test images of MNIST instead, and tests on the rest.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_machine, limited_threads
from markdown import count, figures, table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from relvec import RVC, Mrvm1

try:
    import fastrvm
except ImportError:
    fastrvm = None

RELVEC = {
    "RVC, mrvm1": {"multi_class": "mrvm1"},
    "RVC, mrvm1, moments": {"multi_class": Mrvm1(posterior="moments")},
    "RVC, mrvm1, tol=0.5": {"multi_class": "mrvm1", "tol": 0.5},
    "RVC, mrvm2": {"multi_class": "mrvm2"},
    "RVC, softmax": {"multi_class": "softmax"},
    "RVC, ovr": {"multi_class": "ovr"},
    "RVC, ovo": {"multi_class": "ovo"},
}
CALIBRATED = "SVC + sigmoid"
PROCESS = "Gaussian process, one against rest"
N_TEST = 1000  # images of MNIST


@dataclass(frozen=True)
class Problem:
    """Rows and classes, and in how many folds; standardised unless they are pixels."""

    name: str
    load: Callable[[], Any]
    folds: int
    standardised: bool = True
    left_out: tuple[str, ...] = ()  # unless asked for by name


PROBLEMS = (
    Problem(
        "digits",
        lambda: pixels(*load_digits(return_X_y=True)),
        folds=5,
        standardised=False,
        left_out=("RVC, mrvm2",),  # a minute and more for each fold
    ),
    Problem("iris", lambda: load_iris(return_X_y=True), 10),
    Problem("wine", lambda: load_wine(return_X_y=True), 10),
)


def pixels(X, y):
    return X / X.max(), y


def scale(X):
    """What ``gamma="scale"`` is."""
    return 1 / (X.shape[1] * X.var())


def same_width(gamma):
    return RBF(1 / np.sqrt(2 * gamma), "fixed")


def contenders(problem, names):
    """How to make a model for some rows, by name."""
    field = {
        name: lambda _, settings=settings: RVC(**settings)
        for name, settings in RELVEC.items()
    }
    field[CALIBRATED] = lambda _: CalibratedClassifierCV(SVC(), method="sigmoid")
    field[PROCESS] = lambda X: GaussianProcessClassifier(
        same_width(scale(X)), optimizer=None
    )
    if fastrvm is not None:
        field["fastrvm"] = lambda _: fastrvm.RVC(fit_intercept=True)
    chosen = names or [name for name in field if name not in problem.left_out]
    return {name: make for name, make in field.items() if name in chosen}


def number_of_vectors(model):
    """Training rows kept; by all binary models together where there are several."""
    kept = getattr(model, "relevance_", None)
    return np.nan if kept is None else len(np.unique(kept))


def folds(problem, y, repeats):
    """Rows to fit and to test on, of all folds of the first drawing, and so on."""
    for seed in range(repeats):
        splitter = StratifiedKFold(problem.folds, shuffle=True, random_state=seed)
        yield from splitter.split(np.empty((len(y), 0)), y)


def race(problem, names, repeats):
    """Accuracy, log loss, vectors and seconds of each contender, fold by fold."""
    X, y = problem.load()
    field = contenders(problem, names)
    found = {name: [] for name in field}
    for fold, (train, test) in enumerate(folds(problem, y, repeats)):
        scaler = StandardScaler(
            with_mean=problem.standardised, with_std=problem.standardised
        )
        rows = scaler.fit_transform(X[train])
        others = scaler.transform(X[test])
        for name, make in field.items():
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make(rows).fit(rows, y[train])
            seconds = time.perf_counter() - started
            p = model.predict_proba(others)
            right = 100 * np.mean(model.classes_[p.argmax(axis=1)] == y[test])
            loss = log_loss(y[test], p)
            found[name].append((right, loss, number_of_vectors(model), seconds))
            line = f"{problem.name} {fold} {name}: {right:.2f} {loss:.3f} {seconds:.3f}"
            print(line, file=sys.stderr, flush=True)
    return {
        name: np.reshape(outcomes, (repeats, problem.folds, -1))
        for name, outcomes in found.items()
    }


def show(problem, found, repeats):
    """Means of all folds; of several drawings, also how accuracy spreads over them."""
    times = f"{repeats} × " if repeats > 1 else ""
    print(f"### {problem.name}, {times}{problem.folds} folds\n")
    rows = []
    for name, outcomes in found.items():
        right, loss, vectors, seconds = outcomes.mean(axis=(0, 1))
        spread = np.std(outcomes.mean(axis=1)[:, 0], ddof=1) if repeats > 1 else None
        accuracy = f"{right:.2f}" + ("" if spread is None else f" ± {spread:.2f}")
        rows.append([name, accuracy, f"{loss:.4f}", figures(vectors), figures(seconds)])
    header = ["model", "accuracy in per cent", "log loss", "vectors"]
    print(table([*header, "seconds to fit"], rows), "\n")


def show_mnist(names):
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RELVEC_DATA", beside))
    path = folder / "mnist_test10k.csv.gz"
    values = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
    values = values[np.random.default_rng(0).permutation(len(values))]
    X, y = values[:, :-1].astype(float) / 255, values[:, -1].astype(int)
    rows = []
    for name, settings in RELVEC.items():
        if name not in (names or ["RVC, mrvm1"]):
            continue
        started = time.perf_counter()
        model = RVC(**settings).fit(X[N_TEST:], y[N_TEST:])
        seconds = time.perf_counter() - started
        p = model.predict_proba(X[:N_TEST])
        right = 100 * np.mean(model.classes_[p.argmax(axis=1)] == y[:N_TEST])
        loss = log_loss(y[:N_TEST], p)
        vectors = number_of_vectors(model)
        outcome = f"{right:.1f}", f"{loss:.3f}", count(vectors), figures(seconds)
        rows.append([name, *outcome, model.status_.name])
        print(rows[-1], file=sys.stderr, flush=True)
    print(f"### MNIST, {count(len(X) - N_TEST)} of the 10 000 test images\n")
    header = ["model", "accuracy in per cent", "log loss", "vectors", "seconds to fit"]
    print(table([*header, "status"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    chosen = [problem.name for problem in PROBLEMS]
    parser.add_argument("--sets", nargs="+", choices=chosen, default=chosen)
    parser.add_argument("--models", nargs="+", help="by name; all if none is given")
    text = "in the place of 5 for digits and 10 for the others"
    parser.add_argument("--folds", type=int, help=text)
    parser.add_argument("--repeats", type=int, default=1, help="drawings of the folds")
    parser.add_argument("--mnist", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    with limited_threads(options.threads):
        if options.mnist:
            show_mnist(options.models)
            return
        for each in PROBLEMS:
            if each.name in options.sets:
                problem = replace(each, folds=options.folds or each.folds)
                found = race(problem, options.models, options.repeats)
                show(problem, found, options.repeats)
        print(describe_machine())


if __name__ == "__main__":
    main()

"""Tables I-VI of Psorakis, Damoulas and Girolami (2010), beside what relvec measures.

Fourteen sets of two to eight classes, stratified 10-fold cross-validation, features
standardised within each fold, no constant. ``--repeats 10`` is what the paper has; one
is for every day.
"""

import argparse
import json
import os
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from expectation import ExpectationMaximisation
from machine import limited_threads
from markdown import figures, table
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from relvec import RVC, Mrvm1

N_FOLDS = 10


@dataclass(frozen=True)
class Paper:
    """What is printed of a set: its kernel, and accuracy and vectors of each model."""

    file: str
    kernel: str
    mrvm1: tuple[float, int]  # conv2, tables II and III
    mrvm2: tuple[float, int]  # convN, tables IV and V
    em: float  # table VI


SETS = {
    "breast": Paper("wdbc", "gaussian", (97.29, 5), (97.14, 8), 96.96),
    "ecoli": Paper("ecoli", "gaussian", (83.76, 9), (84.85, 11), 85.76),
    "glass": Paper("glass", "polynomial", (64.10, 9), (67.37, 11), 70.00),
    "haberman": Paper("haberman", "gaussian", (75.23, 5), (74.87, 5), 73.33),
    "ionosphere": Paper("ionosphere", "polynomial", (90.17, 10), (90.54, 13), 93.14),
    "iris": Paper("iris", "gaussian", (93.80, 5), (93.87, 6), 93.33),
    "liver": Paper("liver", "polynomial", (58.82, 2), (68.74, 5), 68.53),
    "parkinsons": Paper("parkinsons", "polynomial", (84.58, 7), (84.00, 9), 89.47),
    "pima": Paper("pima", "gaussian", (77.14, 8), (77.18, 12), 75.79),
    "wine": Paper("wine", "linear", (95.94, 3), (96.24, 5), 95.88),
    "soybean": Paper("soybean_small", "linear", (91.75, 4), (97.00, 6), 97.50),
    "vehicle": Paper("vehicle", "polynomial", (73.77, 15), (76.30, 38), 75.95),
    "balance": Paper("balance", "polynomial", (95.03, 8), (92.63, 14), 95.00),
    "crabs": Paper("crabs", "linear", (94.80, 4), (93.85, 9), 86.50),
}
KERNELS = {
    "gaussian": {"kernel": "rbf", "gamma": "auto"},
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0},
}
# Each model with its variants: what they are called, and their settings.
MODELS = {
    "mrvm1": {"mRVM1": {}, "mRVM1, tol=0.5": {"tol": 0.5}},
    "moments": {"mRVM1, moments": {"multi_class": Mrvm1(posterior="moments")}},
    "mrvm2": {"mRVM2": {}},
    "softmax": {"softmax": {}},
    "em": {"EM": {}},
    "auto": {"auto": {}},
}
DEFAULT = ("mrvm1", "mrvm2", "softmax", "em")
IN_PAPER = ("mrvm1", "mrvm2", "em")


@dataclass(frozen=True)
class Outcome:
    """Means over all folds of one variant on one set."""

    name: str
    variant: str
    repeats: int
    accuracy: float
    vectors: float
    log_loss: float
    seconds: float
    warned: int


def load(name):
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RELVEC_DATA", beside))
    path = folder / f"{SETS[name].file}.csv"
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    return values[:, :-1], values[:, -1].astype(int)


def folds(y, repeats):
    for seed in range(repeats):
        splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ecoli has classes of two rows
            yield from list(splitter.split(np.empty((len(y), 0)), y))


def make(model, kernel, settings):
    settings = {**KERNELS[kernel], **settings}
    if model == "em":
        return ExpectationMaximisation(**settings)
    return RVC(**{"multi_class": model, "fit_intercept": False, **settings})


def judged(model, X, y, train, test):
    """Accuracy, vectors, log loss, seconds of a fold, and whether the fit warned."""
    scaler = StandardScaler().fit(X[train])
    rows, others = scaler.transform(X[train]), scaler.transform(X[test])
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, y[train])
    seconds = time.perf_counter() - started
    p = model.predict_proba(others)
    accuracy = 100 * np.mean(model.classes_[p.argmax(axis=1)] == y[test])
    loss = log_loss(y[test], p, labels=model.classes_)
    vectors = len(getattr(model, "relevance_", rows))  # a model that is not sparse
    return accuracy, vectors, loss, seconds, bool(caught)


def measured(name, model, variant, repeats):
    X, y = load(name)
    settings = MODELS[model][variant]
    found = [
        judged(make(model, SETS[name].kernel, settings), X, y, *fold)
        for fold in folds(y, repeats)
    ]
    *means, _ = np.mean(found, axis=0)
    warned = sum(one[-1] for one in found)
    return Outcome(name, variant, repeats, *map(float, means), warned)


def variants(models):
    return [(model, variant) for model in models for variant in MODELS[model]]


def measure(options, known):
    """Outcomes by set and variant; those of as many repeats are not run again."""
    for name in options.sets:
        for model, variant in variants(options.models):
            before = known.get((name, variant))
            if before is None or before.repeats != options.repeats:
                known[name, variant] = measured(name, model, variant, options.repeats)
                print(known[name, variant], file=sys.stderr, flush=True)
            store(options.json, known)
    return known


def stored(path):
    if path is None or not path.exists():
        return {}
    outcomes = [Outcome(**record) for record in json.loads(path.read_text())]
    return {(one.name, one.variant): one for one in outcomes}


def store(path, outcomes):
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(one) for one in outcomes.values()]))


def printed(name, model):
    """What the paper has for a model, as a cell."""
    paper = SETS[name]
    if model == "em":
        return f"{paper.em:.1f}"
    accuracy, vectors = getattr(paper, model)
    return f"{accuracy:.1f} / {vectors}"


def show_accuracy(options, found):
    """Accuracy in per cent and vectors, the paper's first."""
    header, rows = ["set", "kernel"], [[n, SETS[n].kernel] for n in options.sets]
    for model in options.models:
        if model in IN_PAPER:
            header.append(f"paper: {next(iter(MODELS[model]))}")
            for row in rows:
                row.append(printed(row[0], model))
        for variant in MODELS[model]:
            header.append(variant)
            for row in rows:
                one = found[row[0], variant]
                vectors = "" if model == "em" else f" / {one.vectors:.1f}"
                row.append(f"{one.accuracy:.1f}{vectors}")
    print("### Accuracy in per cent / relevance vectors\n")
    print(table(header, rows))


def show_losses(options, found):
    names = [variant for _, variant in variants(options.models)]
    rows = []
    for name in options.sets:
        outcomes = [found[name, variant] for variant in names]
        cells = [f"{one.log_loss:.3f} / {figures(one.seconds)}" for one in outcomes]
        rows.append([name, *cells])
    print("\n### Log loss / seconds to fit\n")
    print(table(["set", *names], rows))


def show_bars(options, found):
    """At most one point below the paper, at most one and a half times its vectors."""
    rows = []
    for model, variant in variants(options.models):
        if model not in ("mrvm1", "mrvm2"):
            continue
        inaccurate, many = [], []
        for name in options.sets:
            accuracy, vectors = getattr(SETS[name], model)
            one = found[name, variant]
            if one.accuracy < accuracy - 1:
                inaccurate.append(name)
            if one.vectors > 1.5 * vectors:
                many.append(name)
        for what, missed in (("accuracy", inaccurate), ("vectors", many)):
            within = len(options.sets) - len(missed)
            share = f"{within} of {len(options.sets)}"
            rows.append([f"{variant}: {what}", share, ", ".join(missed) or "none"])
    if rows:
        print("\n### Sets within the bars\n")
        print(table(["bar", "within", "not within"], rows))
    warned = {key: one.warned for key, one in found.items() if one.warned}
    for (name, variant), fits in warned.items():
        print(f"\n{variant} warned in {fits} fits of {name}.")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="of the 10 folds")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=DEFAULT)
    parser.add_argument("--threads", type=int, default=1)
    text = "keeps outcomes, and takes those that are there"
    parser.add_argument("--json", type=Path, help=text)
    return parser.parse_args()


def main():
    options = arguments()
    with limited_threads(options.threads):
        found = measure(options, stored(options.json))
    show_accuracy(options, found)
    show_losses(options, found)
    show_bars(options, found)


if __name__ == "__main__":
    main()

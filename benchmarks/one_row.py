"""One row at a time: what predictions take beside scikit-learn's validation of X.

And what they take by ONNX in single precision, and how large its files are.
"""

import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from benchmarks.harness import Benchmark, say
from benchmarks.reports import figures, show_table
from relvec import LSSVC, LSSVR, RVC, RVR
from relvec.export import to_onnx

ROWS, VECTORS, FEATURES = 400, 75, 5
ROW_BAR = 100.0  # µs beside validation, of predict without anything asked for besides
ROUNDS = 20  # in which all take turns, so that a busy machine disturbs them alike


def draw_rows(n_classes, seed=0):
    """Rows and targets, or classes, that are rough enough to ask for many vectors."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (ROWS, FEATURES))
    f = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]) + np.sin(3 * X[:, 2]) * X[:, 3]
    if n_classes == 0:
        return X, f + 1e-3 * rng.standard_normal(ROWS)
    return X, np.searchsorted(np.quantile(f, np.arange(1, n_classes) / n_classes), f)


def row_models():
    """Fitted ones by name, and what is asked of them."""
    rvm = {"gamma": 1.0, "candidates": VECTORS}
    lssvm = {"method": "nystrom", "rank": VECTORS, "C": 100.0}
    # All functions stay where a search from the top down ends before it has begun.
    kept = {"solver": "mackay", "max_iter": 1}
    numbers, two, three = draw_rows(0), draw_rows(2), draw_rows(3)
    plain, bars = ("predict", {}), ("predict", {"return_std": True})
    odds = ("predict_proba", {})
    sparse = {
        "RVR": (RVR(noise_variance=1e-6, **rvm), numbers, (plain, bars)),
        "RVC, two classes": (RVC(**rvm, **kept), two, (plain, odds)),
        "RVC, three classes": (RVC(**rvm, **kept), three, (plain, odds)),
        "RVC, three, ovr": (
            RVC(multi_class="ovr", **rvm, **kept),
            three,
            (plain, odds),
        ),
        "RVC, three, ovo": (
            RVC(multi_class="ovo", **rvm, **kept),
            three,
            (plain, odds),
        ),
    }
    both = {
        f"{name}, {bars}": (clone(model).set_params(uncertainty=bars), *others)
        for name, (model, *others) in sparse.items()
        for bars in ("plain", "augmented")
    }
    return {
        **both,
        "LSSVR": (LSSVR(**lssvm), numbers, (plain, bars)),
        "LSSVC, two classes": (LSSVC(**lssvm), two, (plain, odds)),
        "LSSVC, three classes": (LSSVC(**lssvm), three, (plain, odds)),
    }


def validation(model, X):
    """What every estimator of scikit-learn does before it predicts."""
    check_is_fitted(model)
    return validate_data(model, X, reset=False, dtype=(np.float64, np.float32))


def lap(calls, task):
    """µs of each call."""
    times = np.empty(calls)
    for number in range(calls):
        started = time.perf_counter_ns()
        task()
        times[number] = time.perf_counter_ns() - started
    return times / 1e3


def in_turns(tasks, calls):
    """µs of all calls of every task, the tasks in alternation."""
    times = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, task in tasks.items():
            times[name].append(lap(max(1, calls // ROUNDS), task))
    return {name: np.concatenate(laps) for name, laps in times.items()}


def tasks_of(model, asked, row):
    """Validation alone, and each method, by name."""
    tasks = {"validation": partial(validation, model, row)}
    for method, settings in asked:
        words = ", ".join(f"{name}={value}" for name, value in settings.items())
        tasks[f"{method}({words})"] = partial(getattr(model, method), row, **settings)
    return tasks


def row_outcomes(calls):
    """A row of the table for each model and method."""
    for name, (model, (X, y), asked) in row_models().items():
        model.fit(X, y)
        vectors = len(getattr(model, "relevance_", getattr(model, "support_", ())))
        say(f"{name}: {vectors} vectors")
        tasks = tasks_of(model, asked, X[:1])
        for task in tasks.values():
            task()  # what is computed but once
        times = in_turns(tasks, calls)
        alone = times.pop("validation")
        for method, laps in times.items():
            cells = [
                figures(value)
                for of in (np.median, np.min)
                for value in (of(alone), of(laps), of(laps) - of(alone))
            ]
            bar = ""
            if method == "predict()":
                bar = "yes" if np.min(laps) - np.min(alone) <= ROW_BAR else "no"
            yield [name, method, vectors, *cells, bar]


def by_onnx(calls):
    """Bytes of a file, µs of a row, and how many times as fast as ``predict`` it is."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    for name, (model, (X, y), _) in row_models().items():
        model.fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            to_onnx(model, path)
            size = path.stat().st_size
            session = onnxruntime.InferenceSession(path, settings)
        row = {"X": X[:1].astype(np.float32)}
        tasks = {
            "onnx": partial(session.run, None, row),
            "predict": partial(model.predict, X[:1]),
        }
        if hasattr(model, "predict_proba"):
            tasks["predict_proba"] = partial(model.predict_proba, X[:1])
        times = in_turns(tasks, calls)
        run, *each = (float(np.median(laps)) for laps in times.values())
        ratios = [figures(call / run) for call in each]
        yield [name, f"{size:,}", figures(run), figures(each[0]), *ratios, ""][:6]


def run(options):
    warnings.simplefilter("ignore")
    header = ["model", "method", "vectors", "validation", "call", "beside it"]
    least = ["validation, least", "call, least", "beside it, least"]
    print(f"Microseconds for one row of {FEATURES} features, medians and the least.\n")
    header = [*header, *least, f"≤ {ROW_BAR:.0f}"]
    show_table("One row, and what is shipped", header, row_outcomes(options.calls))
    header = ["model", "bytes", "ONNX", "predict", "times as fast", "predict_proba"]
    show_table("One row by ONNX, medians", header, by_onnx(options.calls))


def add_options(parser):
    parser.add_argument("--calls", type=int, default=4000, help="of every method")


BENCHMARKS = {
    "one_row": Benchmark(
        "microseconds of predicting one row, beside validation and by ONNX",
        run,
        add_options,
    )
}

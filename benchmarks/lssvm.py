"""LS-SVMs: tuning beside a grid search, low rank beside exact, and other packages."""

import time
import warnings
from functools import partial
from importlib import import_module

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from benchmarks.harness import Benchmark, in_own_process, memory_in_use, rmse, say
from benchmarks.problems import cut, friedman_split
from benchmarks.reports import figures, show_table
from relvec import LSSVC, LSSVR, Tuning

TABLES = ("abalone", "ccpp", "kin8nm")
C = np.logspace(-2, 5, 20)
WIDTHS = np.array([0.3, 0.65, 1.4, 3.2, 7.0])  # times that of gamma="scale"
ROWS, LAPS = 2000, 5
LANDMARKS, MANY = 500, 500_000


def seconds(fit, laps=LAPS):
    """Median of some, and what was fitted last."""
    times = []
    for _ in range(laps):
        started = time.perf_counter()
        model = fit()
        times.append(time.perf_counter() - started)
    return float(np.median(times)), model


def tuning(seeds):
    """One exact fit, ``tune="loo"`` over a grid, and the same grid by folds."""
    for name in TABLES:
        for seed in range(seeds):
            split = cut(name, seed, ROWS, target=True)
            gamma = 1 / (split.X.shape[1] * split.X.var())
            settings = Tuning("loo", C=C, widths=WIDTHS)
            fits = [LSSVR(method="exact"), LSSVR(tune=settings)]
            once, tuned = (seconds(partial(one.fit, split.X, split.y)) for one in fits)
            grid = {"alpha": 1 / C, "gamma": gamma / WIDTHS**2}
            folds = GridSearchCV(
                KernelRidge(kernel="rbf"), grid, scoring="neg_mean_squared_error"
            )
            searched = seconds(partial(folds.fit, split.X, split.y), laps=1)
            errors = [split.rmse(model) for _, model in (tuned, searched)]
            times = once[0], tuned[0], searched[0]
            ratios = tuned[0] / once[0], searched[0] / tuned[0]
            yield name, str(seed), *times, *ratios, *errors, errors[0] / errors[1]


def low_rank(rows):
    """California housing: distance from the exact fit, and share of its time."""
    split = cut("california_housing", 0, rows, n_test=640, target=True)
    for weight in (1.0, 100.0):
        settings = {"C": weight, "memory_budget": "8GB"}
        full = LSSVR(method="exact", **settings)
        took, exact = seconds(partial(full.fit, split.X, split.y), laps=1)
        expected = exact.predict(split.X_test)
        yield figures(weight), "exact", took, 1.0, 0.0, split.rmse(exact)
        del exact
        for name, others in {
            "cholesky, 1000": {"method": "cholesky", "rank": 1000},
            "cholesky, 1500": {"method": "cholesky", "rank": 1500},
            "nystrom, uniform, 1500": {"method": "nystrom", "rank": 1500},
            "nystrom, pivoted, 1500": {
                "method": "nystrom",
                "rank": 1500,
                "landmarks": "pivoted",
            },
            "nystrom, kmeans, 1500": {
                "method": "nystrom",
                "rank": 1500,
                "landmarks": "kmeans",
            },
            "cg": {"method": "cg"},
        }.items():
            model = LSSVR(**settings, **others)
            own, model = seconds(partial(model.fit, split.X, split.y), laps=1)
            apart = rmse(model.predict(split.X_test), expected)
            yield figures(weight), name, own, own / took, apart, split.rmse(model)


def many_rows():
    """Half a million rows and 500 landmarks, each in a process of its own."""
    for name in CONTENDERS:
        found = in_own_process(alone, name)
        yield name, found["seconds"], found["peak"] / 1e9, found["rmse"]


CONTENDERS = {
    "Nystroem + Ridge": lambda: make_pipeline(
        Nystroem(gamma=0.125, n_components=LANDMARKS, random_state=0), Ridge(1.0)
    ),
    "LSSVR": lambda: LSSVR(gamma=0.125, method="nystrom", rank=LANDMARKS),
    'LSSVR(tune="loo")': lambda: LSSVR(
        gamma=0.125, method="nystrom", rank=LANDMARKS, tune="loo"
    ),
}


def alone(name):
    """Seconds, bytes beyond the rows, and error of one contender."""
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(MANY, 8)), rng.normal(size=(5000, 8))

    def surface(X):
        return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]

    y = surface(X) + 0.1 * rng.normal(size=MANY)
    before, _ = memory_in_use()
    took, model = seconds(partial(CONTENDERS[name]().fit, X, y), laps=1)
    _, peak = memory_in_use()
    error = rmse(model.predict(X_test), surface(X_test))
    return {"seconds": took, "peak": peak - before, "rmse": error}


def packages():
    """Friedman's function, 2000 rows, of those that are installed."""
    split = friedman_split(0, ROWS).standardised(target=True)
    found = {
        "relvec LSSVR": lambda: LSSVR(C=10.0),
        'relvec LSSVR(tune="loo")': lambda: LSSVR(tune="loo"),
    }
    others = {
        "lssvr": ("lssvr", "LSSVR", {"C": 10.0, "kernel": "rbf", "gamma": 0.1}),
        "neo-ls-svm": ("neo_ls_svm", "NeoLSSVM", {}),
    }
    for name, (module, make, settings) in others.items():
        try:
            found[name] = partial(getattr(import_module(module), make), **settings)
        except ImportError:
            say(f"{name} is not installed")
    for make in found.values():
        make().fit(split.X[:200], split.y[:200])  # what compiles does so now
    for name, make in found.items():
        took, model = seconds(lambda make=make: make().fit(split.X, split.y), laps=3)
        yield name, took, split.rmse(model)


def classes():
    """Two classes and ten of the same rows."""
    X, y = load_digits(return_X_y=True)
    for name, labels in {"two": y < 5, "ten": y}.items():
        took, _ = seconds(partial(LSSVC(C=10.0).fit, X, labels))
        yield name, took


def run(options):
    times = ["exact s", "loo s", "grid s", "loo / exact", "grid / loo"]
    errors = ["RMSE loo", "RMSE grid", "loo / grid"]
    tuning_header = ["table", "seed", *times, *errors]
    rank_header = ["C", "method", "s", "of exact", "RMS from exact", "RMSE"]
    sections = {
        "classes": ("Classes, 1797 rows", ["classes", "s"], classes),
        "packages": ("Other packages", ["package", "s", "RMSE"], packages),
        "tuning": (
            "Tuning C and the width",
            tuning_header,
            partial(tuning, options.seeds),
        ),
        "rows": (
            "Half a million rows, 500 landmarks",
            ["model", "s", "GB", "RMSE"],
            many_rows,
        ),
        "rank": ("Low rank beside exact", rank_header, partial(low_rank, options.rows)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only or sections:
            title, header, measured = sections[name]
            rows = [
                [each if isinstance(each, str) else figures(each) for each in row]
                for row in measured()
            ]
            show_table(title, header, rows)


def add_options(parser):
    add = parser.add_argument
    add("--seeds", type=int, default=3, help="draws of each table")
    add("--rows", type=int, default=20_000, help="of low rank")
    text = "classes, packages, tuning, rows or rank; all if not given"
    add("--only", nargs="*", metavar="SECTION", help=text)


BENCHMARKS = {
    "lssvm": Benchmark(
        "LSSVR and LSSVC: tuning, low rank, many rows, other packages",
        run,
        add_options,
    )
}

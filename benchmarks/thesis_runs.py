"""Fits of the thesis' experiments: problems, models, and what becomes of them."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from judges import by_search
from learning_problems import Split, cut, data_folder, friedman
from learning_runs import Run, fits
from problems import TEST_SEED
from sklearn.model_selection import GridSearchCV
from tables_runs import section
from thesis_figures import BASIC, INCREMENTAL, SPLIT, WORKING

from relvec import RVC, RVR, Incremental, SplitMerge, TopDown, WorkingSet
from relvec.data import mixtures_and_copies, noisy_sinc, two_mixtures

# Rows to fit and to test on.
CUTS = {
    "boston": (481, 25),
    "abalone": (3341, 836),
    "pumadyn_8fh": (6144, 2048),
    "pumadyn_8fm": (6144, 2048),
    "pumadyn_8nh": (6144, 2048),
    "pumadyn_8nm": (6144, 2048),
    "pumadyn_32nh": (6144, 2048),
    "pumadyn_32nm": (6144, 2048),
}
CLASS_CUTS = {
    "breast_cancer_ljubljana": (250, 27),
    "pima": (692, 76),
    "german20": (900, 100),
    "titanic": (1981, 220),
    "banana": (3500, 1800),
}
FRIEDMAN_ROWS = 2400
SINC_TEST_ROWS, MIXTURES_TEST_ROWS = 1000, 500
SINC_WIDTH, MIXTURES_WIDTH = 3, 0.5  # r of exp(-d²/r²)
# Of the two classes, each with two components, as relvec.data.two_mixtures has them.
MIXTURES_CENTRES = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
MIXTURES_VARIANCE = 0.03
# Where the thesis' width cannot be taken over, as its features are scaled otherwise:
# in units of the typical distance between two standardised rows, √(2d).
WIDTHS = (0.35, 0.55, 0.9, 1.4, 2.2, 3.5, 5.6, 9.0)
WIDTH_ROWS, FOLDS, FOLD_SECONDS = 1000, 5, 20

SOLVERS = {
    "sequential": "sequential",
    "mackay": TopDown("mackay", polish=False),
}
PARTITIONS = {
    SPLIT: SplitMerge,
    INCREMENTAL: Incremental,
    WORKING: WorkingSet,
}
# As the thesis has it, its functions fitted to all rows; and as relvec does by default.
AS_THESIS, DEFAULT = VARIANTS = ("all rows", "default")


@dataclass(frozen=True)
class Problem:
    """Rows from a seed, and a kernel's width if it need not be searched for."""

    name: str
    draw: Callable[[int], Split]
    gamma: float | None = None
    classes: bool = False

    @property
    def estimator(self):
        return RVC if self.classes else RVR


def sinc_rows(seed, rows):
    """Noisy rows at equally spaced points; others without noise to test on."""
    X, y = noisy_sinc(rows, seed=seed)
    rng = np.random.default_rng(TEST_SEED + seed)
    X_test = rng.uniform(-10, 10, (SINC_TEST_ROWS, 1))
    return Split(X, y, X_test, np.sinc(X_test[:, 0] / np.pi))


def mixtures_rows(seed, rows):
    """Of 2500 rows the first to fit and the last to test on."""
    X, y = mixtures_and_copies(seed=seed)
    test = slice(-MIXTURES_TEST_ROWS, None)
    return Split(X[:rows], y[:rows], X[test], y[test])


def least_error(seed):
    """Per cent of the mixtures' rows to test that the densities themselves get wrong.

    Of 500 rows it is 9 ± 1.3, so that a few draws say little without it.
    """
    split = mixtures_rows(seed, 1)
    ways = split.X_test[:, None, None] - MIXTURES_CENTRES
    density = np.exp(-(ways**2).sum(axis=3) / (2 * MIXTURES_VARIANCE)).sum(axis=2)
    return 100 * float(np.mean(density.argmax(axis=1) != split.y_test))


def problem_of(name):
    """By the name of a cell: a kind and perhaps a number of rows."""
    kind, _, rows = name.partition(" ")
    if kind == "sinc":
        draw = partial(sinc_rows, rows=int(rows))
        return Problem(name, draw, gamma=1 / SINC_WIDTH**2)
    if kind == "mixtures":
        draw = partial(mixtures_rows, rows=int(rows))
        return Problem(name, draw, gamma=1 / MIXTURES_WIDTH**2, classes=True)
    if kind == "friedman":
        return Problem(name, lambda seed: friedman(seed, FRIEDMAN_ROWS).standardised())
    classes = kind in CLASS_CUTS
    rows, n_test = (CLASS_CUTS if classes else CUTS)[kind]
    draw = partial(cut, kind, rows=rows, n_test=n_test)
    return Problem(name, draw, classes=classes)


def is_here(name):
    """Whether rows can be drawn: of a table only if there is its file."""
    read = name in CUTS or name in CLASS_CUTS
    return not read or any(data_folder().glob(f"{name}.csv*"))


def best_gamma(problem):
    """By cross-validation on some rows of the first draw, with the default engine."""
    split = problem.draw(0).first(WIDTH_ROWS)
    typical = np.sqrt(2 * split.X.shape[1])
    search = GridSearchCV(
        problem.estimator(max_seconds=FOLD_SECONDS),
        {"gamma": [float(1 / (share * typical) ** 2) for share in WIDTHS]},
        # Errors of classes are counts, too coarse to choose by.
        scoring="neg_log_loss" if problem.classes else "neg_mean_squared_error",
        cv=FOLDS,
        refit=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that do not suit end in warnings
        search.fit(split.X, split.y)
    return search.best_params_["gamma"]


def searched(key, problem):
    """A run that is nothing but the search for a width."""
    started = time.perf_counter()
    gamma = best_gamma(problem)
    return Run(*key, gamma=gamma, seconds=time.perf_counter() - started)


def gamma_of(ledger, problem, options):
    """As the thesis has it, or searched for once."""
    if problem.gamma is not None:
        return problem.gamma
    key = section("thesis", options), problem.name, "width", 0
    ledger.keep(key, partial(searched, key, problem))
    return ledger.runs[key].gamma


def model_name(cell, variant, options):
    """What a run is known by; the default engine is the sequential one."""
    solver = options.solver if variant == AS_THESIS else "sequential"
    if cell.algorithm == BASIC:
        return f"{BASIC}, {solver}"
    return f"{cell.algorithm}, P = {cell.size}, {variant}, {solver}"


def settings_of(cell, variant, options) -> dict[str, Any]:
    """Those of an estimator for a cell, but the width."""
    settings = {"max_seconds": options.limit_seconds}
    if variant == AS_THESIS:
        settings["solver"] = SOLVERS[options.solver]
    if cell.algorithm != BASIC:
        own = {"rows": "all", "polish": False} if variant == AS_THESIS else {}
        settings["partition"] = PARTITIONS[cell.algorithm](**own)
        settings["partition_size"] = cell.size
    return settings


def judged(model, split):
    """RMSE or per cent of errors, how the search ended, and rows of a partition."""
    if isinstance(model, RVC):
        error = 100 * float(np.mean(model.predict(split.X_test) != split.y_test))
    else:
        error = split.rmse(model)
    size = getattr(model, "partition_size_", np.nan)
    return {"error": error, **by_search(model), "partition": float(size)}


def key_of(cell, variant, seed, options):
    name = model_name(cell, variant, options)
    return section("thesis", options), cell.problem, name, seed


def warm_up():
    """Whatever is loaded or compiled by a first fit is so now."""
    for estimator, rows in ((RVR, noisy_sinc(100)), (RVC, two_mixtures(100))):
        for partition in (None, "split-merge", "working-set"):
            estimator(gamma=1.0, partition=partition).fit(*rows)


def measure(ledger, cells, options):
    """All cells of a problem one after the other on each of its draws."""
    for name in dict.fromkeys(cell.problem for cell in cells):
        problem = problem_of(name)
        mine = [cell for cell in cells if cell.problem == name]
        gamma = gamma_of(ledger, problem, options)
        for seed in range(options.repeats):
            split = problem.draw(seed)
            for cell in mine:
                # Beginning with all functions on 6144 rows would take hours.
                for variant in VARIANTS if cell.is_printed else (DEFAULT,):
                    settings = settings_of(cell, variant, options)
                    make = partial(problem.estimator, gamma=gamma, **settings)
                    key = key_of(cell, variant, seed, options)
                    ledger.measure(key, fits(make), split, judged)

"""Smooth functions of one, two and four variables with less and less noise."""

import math
from itertools import product

import numpy as np
from judges import by_search
from learning_problems import Split
from markdown import ABSENT, count, figures
from peak import warm_up
from problems import TEST_SEED
from report import show_table
from tables_runs import RELVEC, ending, fit_of, for_numbers, section
from timing import WARM_UP_ROWS

SIZES = (1500, 3000, 20_000)
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of noise, by the function's deviation
TEST_ROWS = 2000
FUNCTIONS = {
    1: lambda X: np.sin(5 * X[:, 0]),
    2: lambda X: np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]),
    4: lambda X: FUNCTIONS[2](X) + np.sin(3 * X[:, 2]) * np.cos(2 * X[:, 3]),
}


def draw(dimension, rows, level):
    """Rows on [-1, 1]ᵈ, others without noise to test on, and the noise's deviation."""
    truth = FUNCTIONS[dimension]
    rng, test = np.random.default_rng(0), np.random.default_rng(TEST_SEED)
    X = rng.uniform(-1, 1, (rows, dimension))
    noise = level * truth(X).std()
    y = truth(X) + noise * rng.standard_normal(rows)
    X_test = test.uniform(-1, 1, (TEST_ROWS, dimension))
    return Split(X, y, X_test, truth(X_test)), float(noise)


def cases(options):
    """Dimensions, rows and levels of noise with the key of their run."""
    where = section("low noise", options)
    for dimension, rows, level in product(FUNCTIONS, options.sizes, LEVELS):
        text = f"{dimension} variables, {rows} rows, noise {level:g}"
        yield (dimension, rows, level), (where, text, RELVEC, 0)


def measure(ledger, options):
    """Runs of each function, size and level of noise."""
    relvec = for_numbers(options.limit_seconds)[0]
    for case, key in cases(options):
        if key in ledger.runs:
            continue
        split, noise = draw(*case)
        warm_up(relvec.make(WARM_UP_ROWS), split)
        ledger.measure(key, fit_of(relvec), split, judge_of(noise))


def judge_of(noise):
    """A judge that knows the noise."""

    def by_truth(model, split):
        estimate = math.sqrt(model.noise_variance_)
        found = {"error": split.rmse(model), "noise": estimate / noise}
        return {**found, **by_search(model)}

    return by_truth


def show(ledger, options):
    rows = []
    for (dimension, size, level), key in cases(options):
        run = ledger.runs[key]
        error = ABSENT if math.isnan(run.error) else f"{run.error:.1e}"
        cells = figures(run.seconds), count(run.vectors), error, figures(run.noise)
        rows.append([dimension, count(size), f"{level:.0e}", *cells, ending(run)])
    header = ["variables", "rows", "noise", "seconds", "vectors"]
    names = "RMSE to the function", "noise, estimated / true", "status"
    show_table("Less and less noise", [*header, *names], rows)

"""How many targets lie within intervals: the model's own, and those of rows left out.

Every table is split by chance, three quarters to fit. Intervals are those of
``predict_interval`` with and without ``calibration="loo"``, their widths medians in
deviations of the targets.
"""

import argparse
import sys
import warnings

import numpy as np
from learning_problems import load
from markdown import table
from tables_data import standardised

from relvec import LSSVR, RVR

SHARE = 0.75  # of the rows, that is fitted
TABLES = ("boston", "abalone", "ccpp", "kin8nm")
MODELS = {
    "RVR, plain": RVR(uncertainty="plain"),
    "RVR, augmented": RVR(uncertainty="augmented"),
    "LSSVR": LSSVR(method="cholesky", rank=500, tune="loo"),
}
HEADER = ["rows", "model", "splits", "own", "width", "loo", "width"]


def split_of(name, seed):
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))
    cut = int(SHARE * len(X))
    return standardised(X, y, order[:cut], order[cut:])


def judged(model, split, coverage):
    """Share of the targets within, and median width, of both kinds of intervals."""
    for calibration in (None, "loo"):
        lower, upper = model.predict_interval(split.X_test, coverage, calibration)
        inside = (lower <= split.y_test) & (split.y_test <= upper)
        yield np.mean(inside), np.median(upper - lower) / split.y_test.std()


def outcomes(options):
    """A row of the table for each data set and model."""
    for name in options.only:
        for title in options.models:
            found = []
            for seed in range(options.first, options.first + options.splits):
                split = split_of(name, seed)
                model = MODELS[title].fit(split.X, split.y)
                found.append(list(judged(model, split, options.coverage)))
                print(name, title, seed, found[-1], file=sys.stderr)
            (own, wide), (loo, wide_loo) = np.mean(found, axis=0)
            spread = np.std(found, axis=0)[:, 0]
            cells = f"{own:.1%} ± {spread[0]:.1%}", f"{loo:.1%} ± {spread[1]:.1%}"
            widths = f"{wide:.2f}", f"{wide_loo:.2f}"
            yield [name, title, len(found), cells[0], widths[0], cells[1], widths[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=TABLES)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=200, help="seed of the first")
    parser.add_argument("--coverage", type=float, default=0.9)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("Means over splits, ± a standard deviation of one.\n")
    print(table(HEADER, outcomes(options)))


if __name__ == "__main__":
    main()

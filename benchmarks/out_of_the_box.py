"""Plausible problems of many shapes: relvec beside rivals, all at their defaults.

Features and targets are standardised by the rows to fit, and nothing else is done.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from learning_runs import Ledger
from machine import describe_machine, limited_threads
from out_of_the_box_report import show
from plausible import Nothing, judged, plausible_problems
from report import show_machine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR

from relvec import RVC, RVR

SECTION = "out of the box"
MOST_ROWS_OF_PROCESS = 2000
# By name: for numbers and for classes.
CONTENDERS = {
    "relvec": (RVR, RVC),
    "nothing": (Nothing, Nothing),
    "svm": (SVR, SVC),
    "linear": (Ridge, partial(LogisticRegression, max_iter=1000)),
    "boosting": (
        partial(HistGradientBoostingRegressor, random_state=0),
        partial(HistGradientBoostingClassifier, random_state=0),
    ),
}


def gaussian_process():
    """One length scale, the amplitude and the noise learned."""
    kernel = ConstantKernel(1.0) * RBF(3.0) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True)


def contenders_for(problem, rows, without):
    """What makes each contender of a problem."""
    found = {name: pair[problem.classes] for name, pair in CONTENDERS.items()}
    if not problem.classes and rows <= MOST_ROWS_OF_PROCESS:
        found["process"] = gaussian_process
    return {name: make for name, make in found.items() if name not in without}


def measure(ledger, problems, options):
    """Fit and judge what is not yet known."""
    for problem in problems:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            split = problem.cut(seed)
            field = contenders_for(problem, len(split.y), options.without)
            for name, make in field.items():
                ledger.measure(
                    (SECTION, problem.key, name, seed),
                    lambda split, make=make: make().fit(split.X, split.y),
                    split,
                    partial(judged, classes=problem.classes),
                )


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--only", nargs="+", metavar="TEXT", help="problems with one of these in them")
    add("--seeds", type=int, default=5, help="draws of each problem")
    add("--first-seed", type=int, default=0, help="of these draws")
    names = [*CONTENDERS, "process"]
    add("--without", nargs="+", choices=names, default=[], help="rivals to leave out")
    add("--threads", type=int, default=1, help="of BLAS and OpenMP")
    text = "keeps outcomes, and takes those that are there"
    add("--json", type=Path, help=text)
    return parser.parse_args()


def main():
    options = arguments()
    problems = plausible_problems()
    if options.only:
        wanted = [one for one in problems if any(t in one.key for t in options.only)]
        problems = wanted or sys.exit("No problem has such a name.")
    ledger = Ledger(options.json)
    with limited_threads(options.threads):
        show_machine(describe_machine())
        measure(ledger, problems, options)
    show(ledger, SECTION, problems)


if __name__ == "__main__":
    main()

"""Plausible problems of many shapes: relvec beside rivals, all at their defaults.

Features and targets are standardised by the rows to fit, and nothing else is done.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.svm import SVC, SVR

from benchmarks.contenders import Nothing, process_of_one_scale
from benchmarks.harness import Benchmark, Ledger, by_predictions, fits
from benchmarks.problems import plausible_problems
from benchmarks.reports import count, figures, show_table
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


def contenders_for(problem, rows, without):
    """What makes each contender of a problem."""
    found = {name: pair[problem.classes] for name, pair in CONTENDERS.items()}
    if not problem.classes and rows <= MOST_ROWS_OF_PROCESS:
        found["process"] = process_of_one_scale
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
                    fits(make),
                    split,
                    by_classes_met if problem.classes else by_shares,
                )


def by_shares(model, split):
    """By predictions, the error in deviations of the targets to test."""
    found = by_predictions(model, split)
    return {**found, "error": found["error"] / split.y_test.std()}


def by_classes_met(model, split):
    """Error, and the log loss of rows whose classes were among those to fit."""
    found = {"error": float(np.mean(model.predict(split.X_test) != split.y_test))}
    if hasattr(model, "predict_proba"):
        p = np.clip(model.predict_proba(split.X_test), 1e-15, 1)
        known = np.isin(split.y_test, model.classes_)
        labels = model.classes_
        loss = log_loss(split.y_test[known], p[known], labels=labels)
        found["log_loss"] = float(loss)
    return found


RIVALS = ("svm", "linear", "process", "boosting")
# The bars: of the better of two rivals, of a Gaussian process, of nothing at all.
BETTER, PROCESS, NATS, NATS_OF_CLASSES = 1.05, 1.10, 0.05, 0.02
COVERED_SHARES, ROWS_COVERED = (0.80, 0.97), 50
SECONDS = ((5000, 20.0), (20_000, 60.0))


@dataclass(frozen=True)
class Outcome:
    """Means over the draws of a problem."""

    ledger: Any
    problem: Any

    def mean(self, model, value="error"):
        return self.ledger.mean(SECTION, self.problem.key, model, value)

    def largest(self, value):
        values = self.ledger.values(SECTION, self.problem.key, "relvec", value)
        return float(np.max(values, initial=0.0))

    @property
    def beside_rivals(self):
        """Error over that of the better of the two."""
        best = np.nanmin([self.mean("svm"), self.mean("linear")])
        return self.mean("relvec") / best

    @property
    def beside_process(self):
        return self.mean("relvec") / self.mean("process")

    @property
    def beside_nothing(self):
        """Nats more than the target's mean and deviation, or the frequencies, have."""
        loss = "log_loss"
        return self.mean("relvec", loss) - self.mean("nothing", loss)

    @property
    def coverage(self):
        return self.mean("relvec", "coverage")


def show_all(ledger, problems):
    found = [Outcome(ledger, problem) for problem in problems]
    for classes, title in ((False, "regression"), (True, "classes")):
        kind = [one for one in found if one.problem.classes == classes]
        show_outcomes(title, kind, classes)
    show_bars(found)


def show_outcomes(title, found, classes):
    """A row for each problem: means over its draws, the longest time."""
    error = "error" if classes else "RMSE"
    rivals = [name for name in RIVALS if not (classes and name == "process")]
    loss = ["log loss", "of nothing"] if classes else ["NLPD", "of nothing", "covered"]
    header = ["problem", "rows", error, *rivals, *loss, "vectors", "seconds"]
    rows = []
    for one in found:
        cells = [one.problem.name, count(one.problem.rows)]
        cells += [figures(one.mean(name)) for name in ("relvec", *rivals)]
        cells += [figures(one.mean(name, "log_loss")) for name in ("relvec", "nothing")]
        cells += [] if classes else [figures(one.coverage)]
        cells += [count(one.mean("relvec", "vectors")), figures(one.largest("seconds"))]
        rows.append(cells)
    show_table(f"Out of the box: {title}", header, rows)


def show_bars(found):
    """What was set, what it has come to, and where it is missed."""
    numbers = [one for one in found if not one.problem.classes]
    known = [one for one in numbers if one.problem.rows >= ROWS_COVERED]
    low, high = COVERED_SHARES
    processes = [one for one in found if np.isfinite(one.beside_process)]
    better = f"error at most {BETTER} of the better of svm and linear"
    process = f"error at most {PROCESS:.2f} of a Gaussian process"
    covered = f"90 % intervals cover {low:.0%} to {high:.0%}"
    rows = [
        bar_cells(better, "90 %", found, lambda one: one.beside_rivals <= BETTER),
        bar_cells(
            process, "80 %", processes, lambda one: one.beside_process <= PROCESS
        ),
        bar_cells("log loss no worse than that of nothing", "100 %", found, no_worse),
        bar_cells(covered, "100 %", known, lambda one: low <= one.coverage <= high),
        bar_cells("in time", "100 %", found, in_time),
    ]
    average = np.mean([one.coverage for one in numbers]) if numbers else np.nan
    rows.append(("covered on average", f"{average:.1%}", "87 to 93 %", ""))
    show_table("Out of the box: bars", ["bar", "reached", "must be", "missed by"], rows)


def no_worse(one):
    most = NATS_OF_CLASSES if one.problem.classes else NATS
    return one.beside_nothing <= most


def in_time(one):
    """Within the seconds that so many rows may take, if any are set."""
    limits = [seconds for rows, seconds in SECONDS if one.problem.rows <= rows]
    return not limits or one.largest("seconds") <= min(limits)


def bar_cells(text, must, of, holds):
    """Cells of a row: how many problems reach a bar, and which do not."""
    number = sum(map(holds, of))
    reached = f"{number} of {len(of)}" + (f" ({number / len(of):.0%})" if of else "")
    missed = ", ".join(one.problem.key for one in of if not holds(one))
    return text, reached, must, missed


def run(options):
    problems = plausible_problems()
    if options.only:
        wanted = [one for one in problems if any(t in one.key for t in options.only)]
        if not wanted:
            raise SystemExit("No problem has such a name.")
        problems = wanted
    ledger = Ledger(options.json)
    measure(ledger, problems, options)
    show_all(ledger, problems)


def add_options(parser):
    add = parser.add_argument
    add("--only", nargs="+", metavar="TEXT", help="problems with one of these in them")
    add("--seeds", type=int, default=5, help="draws of each problem")
    add("--first-seed", type=int, default=0, help="of these draws")
    names = [*CONTENDERS, "process"]
    add("--without", nargs="+", choices=names, default=[], help="rivals to leave out")


BENCHMARKS = {
    "out_of_the_box": Benchmark(
        "68 plausible problems of 5 to 20 000 rows, everybody at their defaults",
        run,
        add_options,
        threads=1,
        keeps_fits=True,
    )
}

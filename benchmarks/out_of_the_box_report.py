"""What became of plausible problems, as tables and as bars."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from markdown import count, figures
from report import show_table

RIVALS = ("svm", "linear", "process", "boosting")
# The bars: of the better of two rivals, of a Gaussian process, of nothing at all.
BETTER, PROCESS, NATS, NATS_OF_CLASSES = 1.05, 1.10, 0.05, 0.02
COVERED, ROWS_COVERED = (0.80, 0.97), 50
SECONDS = ((5000, 20.0), (20_000, 60.0))


@dataclass(frozen=True)
class Outcome:
    """Means over the draws of a problem."""

    ledger: Any
    section: str
    problem: Any

    def mean(self, model, value="error"):
        return self.ledger.mean(self.section, self.problem.key, model, value)

    def largest(self, value):
        values = self.ledger.values(self.section, self.problem.key, "relvec", value)
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


def show(ledger, section, problems):
    found = [Outcome(ledger, section, problem) for problem in problems]
    for classes, title in ((False, "Regression"), (True, "Classes")):
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
    show_table(title, header, rows)


def show_bars(found):
    """What was set, what it has come to, and where it is missed."""
    numbers = [one for one in found if not one.problem.classes]
    known = [one for one in numbers if one.problem.rows >= ROWS_COVERED]
    low, high = COVERED
    processes = [one for one in found if np.isfinite(one.beside_process)]
    better = f"error at most {BETTER} of the better of svm and linear"
    process = f"error at most {PROCESS:.2f} of a Gaussian process"
    covered = f"90 % intervals cover {low:.0%} to {high:.0%}"
    rows = [
        bar(better, "90 %", found, lambda one: one.beside_rivals <= BETTER),
        bar(process, "80 %", processes, lambda one: one.beside_process <= PROCESS),
        bar("log loss no worse than that of nothing", "100 %", found, no_worse),
        bar(covered, "100 %", known, lambda one: low <= one.coverage <= high),
        bar("in time", "100 %", found, in_time),
    ]
    average = np.mean([one.coverage for one in numbers]) if numbers else np.nan
    rows.append(("covered on average", f"{average:.1%}", "87 to 93 %", ""))
    show_table("Bars", ["bar", "reached", "must be", "missed by"], rows)


def no_worse(one):
    most = NATS_OF_CLASSES if one.problem.classes else NATS
    return one.beside_nothing <= most


def in_time(one):
    """Within the seconds that so many rows may take, if any are set."""
    limits = [seconds for rows, seconds in SECONDS if one.problem.rows <= rows]
    return not limits or one.largest("seconds") <= min(limits)


def bar(text, must, of, holds):
    """Cells of a row: how many problems reach a bar, and which do not."""
    number = sum(map(holds, of))
    reached = f"{number} of {len(of)}" + (f" ({number / len(of):.0%})" if of else "")
    missed = ", ".join(one.problem.key for one in of if not holds(one))
    return text, reached, must, missed

"""What was measured of the large data sets, as tables."""

from dataclasses import dataclass

import numpy as np
from judges import COVERED
from markdown import ABSENT, count, decimals, figures
from report import show_table
from tables_runs import (
    ALONE,
    BOOSTING,
    MACHINE,
    NYSTROEM,
    RELVEC,
    RIVALS,
    cut_short,
    ending,
    learned_name,
    median,
    section,
)

# Seconds of SVR or SVC over those of relvec: what must be, and what is aimed at.
BARS = {
    "abalone": (1, 3),
    "ccpp": (1, 3),
    "kin8nm": (0.33, 1),
    "pumadyn_8nm": (0.33, 1),
    "pumadyn_8fm": (0.33, 1),
    "pumadyn_8nh": (0.33, 1),
    "california_housing": (1, 3),
    "protein": (3, 10),
    "kin40k": (3, 10),
    "a9a": (1, 3),
    "digits": (1, 3),
    "mnist_test10k": (1, 3),
}


@dataclass(frozen=True)
class Outcomes:
    """Runs of one data set, as many as there are splits."""

    ledger: object
    section: str
    table: object
    splits: int

    def runs(self, model):
        """One of each split, None where there is none."""
        return [
            self.ledger.runs.get((self.section, self.table.name, model, seed))
            for seed in self.table.seeds(self.splits)
        ]

    def values(self, model, value="seconds"):
        """One of each split, nan where there is none."""
        runs = self.runs(model)
        return np.array([getattr(run, value, np.nan) for run in runs])

    def median(self, model, value="seconds"):
        return median(self.values(model, value))

    def ratio(self, rival, model=RELVEC):
        """Of seconds, the rival's to the model's: the median of those of each split."""
        return median(self.values(rival) / self.values(model))


def outcomes_of(ledger, tables, options):
    where = section("tables", options)
    return [Outcomes(ledger, where, table, options.splits) for table in tables]


def titles(machine):
    return {MACHINE: machine, NYSTROEM: "Nystroem", BOOSTING: "boosting"}


def first_cells(one, model):
    """Cells that rows of both kinds begin with: size, seconds, and rivals' ratios."""
    name = one.table.name + model.removeprefix(RELVEC)
    size = f"{count(one.table.rows)} × {one.table.features}"
    ratios = [figures(one.ratio(rival, model)) for rival in RIVALS]
    return [name, size, figures(one.median(model)), *ratios]


def last_cells(one, model):
    """Cells that they end with: vectors, rounds, and the peak of memory."""
    peak = one.median(ALONE, "peak") if model == RELVEC else np.nan
    vectors, rounds = (one.median(model, value) for value in ("vectors", "rounds"))
    return [count(vectors), count(rounds), count(peak / 1e6)]


def heading(machine, *between):
    ratios = [f"{name} / relvec" for name in titles(machine).values()]
    first = ["data", "rows × features", "seconds", *ratios]
    return [*first, *between, "vectors", "rounds", "peak MB"]


def per_cent(share):
    return ABSENT if np.isnan(share) else f"{100 * share:.1f}"


def show_numbers(outcomes, options):
    """Regression: RMSE of all; density and coverage of relvec."""
    models = [RELVEC]
    models += [] if options.learning is None else [learned_name(options.learning)]
    rows = []
    for one in outcomes:
        for model in models:
            errors = [one.median(name, "error") for name in (model, *RIVALS)]
            density = decimals(one.median(model, "log_loss"))
            covered = per_cent(one.median(model, "coverage"))
            between = [*map(decimals, errors), density, covered]
            rows.append([*first_cells(one, model), *between, *last_cells(one, model)])
    names = [RELVEC, *titles("SVR").values()]
    errors = [f"RMSE {name}" for name in names]
    covered = f"{100 * COVERED:.0f} % intervals cover (%)"
    header = heading("SVR", *errors, "NLPD", covered)
    show_trimmed("Regression", header, rows)


def show_classes(outcomes):
    """Classification: error of all, and log loss of those that have one."""
    rows = []
    for one in outcomes:
        errors = [one.median(name, "error") for name in (RELVEC, *RIVALS)]
        losses = [one.median(name, "log_loss") for name in (RELVEC, *RIVALS)]
        between = [*map(per_cent, errors), *map(decimals, losses)]
        rows.append([*first_cells(one, RELVEC), *between, *last_cells(one, RELVEC)])
    names = [RELVEC, *titles("SVC").values()]
    errors, losses = ([f"{t} {n}" for n in names] for t in ("error (%)", "log loss"))
    show_trimmed("Classes", heading("SVC", *errors, *losses), rows)


def show_trimmed(title, header, rows):
    """A table without the columns in which nothing was measured."""
    columns = zip(header, *rows, strict=True)
    kept = [column for column in columns if set(column[1:]) != {ABSENT}]
    header, *rows = zip(*kept, strict=True)
    show_table(title, header, rows)


def verdict(one, ratio):
    """Whether a ratio of seconds is as high as it must be, and as it is aimed at."""
    both = [*one.runs(RELVEC), *one.runs(MACHINE)]
    if any(run is None or run.failure is not None for run in both):
        return "incomplete"
    if any(cut_short(run) for run in both):
        return "cut short"  # the time of a whole fit is not known
    must, aim = BARS[one.table.name]
    if ratio < must:
        return "missed"
    return "aim reached" if ratio >= aim else "reached"


def show_bars(outcomes):
    """Whether relvec is as fast beside SVR and SVC as it has set itself to be."""
    rows = []
    for one in outcomes:
        ratio = one.ratio(MACHINE)
        if one.table.name not in BARS or np.isnan(ratio):
            continue
        must, aim = BARS[one.table.name]
        shown = map(figures, (ratio, must, aim))
        rows.append([one.table.name, *shown, verdict(one, ratio)])
    header = ["data", "SVR or SVC / relvec", "at least", "aim", "verdict"]
    show_table("Bars", header, rows)


def show_complaints(outcomes):
    """Fits that failed or did not converge."""
    for one in outcomes:
        for key, run in one.ledger.runs.items():
            mine = key[:2] == (one.section, one.table.name)
            if mine and ending(run) not in ("", "converged"):
                print(f"\n{run.problem}, {run.model}, split {run.seed}: {ending(run)}")


def show(ledger, tables, options):
    """Print all tables."""
    outcomes = outcomes_of(ledger, tables, options)
    show_numbers([one for one in outcomes if not one.table.classes], options)
    show_classes([one for one in outcomes if one.table.classes])
    show_bars(outcomes)
    show_complaints(outcomes)

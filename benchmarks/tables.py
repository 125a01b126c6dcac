"""All data sets of 1000 rows and more: time, error and probabilities beside rivals.

Every contender has its default settings, relvec the width of ``gamma="scale"``. They
run on the same rows, one after the other on each split.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contenders import (
    ALONE,
    BOOSTING,
    MACHINE,
    NYSTROEM,
    RELVEC,
    RIVALS,
    for_classes,
    for_numbers,
    learned_name,
)
from benchmarks.harness import (
    COVERAGE,
    WARM_UP_ROWS,
    Benchmark,
    Ledger,
    by_classes,
    by_intervals,
    fit_of,
    measure_alone,
    median,
    section,
    warm_up,
)
from benchmarks.problems import large_tables
from benchmarks.reports import (
    count,
    decimals,
    figures,
    per_cent,
    show_table,
    show_trimmed,
)


def contenders_of(table, options):
    """Contenders of a data set that are to take part."""
    if table.classes:
        field = for_classes(options.limit_seconds)
    else:
        field = for_numbers(options.limit_seconds, options.learning)
    return [one for one in field if one.name not in options.without]


def measure_tables(ledger, tables, options):
    """Runs of all contenders, one after the other on each split, if not yet known."""
    where = section("tables", options)
    for table in tables:
        field = contenders_of(table, options)
        for seed in table.seeds(options.splits):
            names = [one.name for one in field]
            names += [ALONE] if options.memory and seed == 0 else []
            keys = {name: (where, table.name, name, seed) for name in names}
            if set(keys.values()) <= ledger.runs.keys():
                continue
            split = table.cut(seed)
            judge = by_classes if table.classes else by_intervals
            race(ledger, keys, field, split, judge)
            if ALONE in keys:
                arguments = keys[ALONE], field[0], split, judge
                measure_alone(ledger, *arguments, threads=options.threads)


def race(ledger, keys, field, split, judge):
    """Measure each contender on a split, after a fit of a few rows to warm up."""
    for one in field:
        key = keys[one.name]
        if key not in ledger.runs:
            warm_up(one.make(WARM_UP_ROWS), split)
        ledger.measure(key, fit_of(one), split, judge)


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

    ledger: Ledger
    section: str
    table: Any
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
        """The rival's seconds over the model's: median of the ratios of each split."""
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
    covered = f"{100 * COVERAGE:.0f} % intervals cover (%)"
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


def verdict(one, ratio):
    """Whether a ratio of seconds is as high as it must be, and as it is aimed at."""
    both = [*one.runs(RELVEC), *one.runs(MACHINE)]
    if any(run is None or run.failure is not None for run in both):
        return "incomplete"
    if any(run.was_cut_short for run in both):
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
            if mine and run.ending not in ("", "converged"):
                print(f"{run.problem}, {run.model}, split {run.seed}: {run.ending}")


def show_all(ledger, tables, options):
    """Print all tables."""
    outcomes = outcomes_of(ledger, tables, options)
    show_numbers([one for one in outcomes if not one.table.classes], options)
    show_classes([one for one in outcomes if one.table.classes])
    show_bars(outcomes)
    show_complaints(outcomes)


def chosen_tables(names):
    """The data sets of these names, or all."""
    tables = large_tables()
    unknown = set(names or []) - tables.keys()
    if unknown:
        text = f"{', '.join(sorted(unknown))}: not among {', '.join(tables)}."
        raise SystemExit(text)
    return [tables[name] for name in names or tables]


def run(options):
    tables = chosen_tables(options.only)
    ledger = Ledger(options.json)
    measure_tables(ledger, tables, options)
    show_all(ledger, tables, options)


def add_options(parser):
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", help="data sets; all if not given")
    text = "random splits; there is one where the data have their own"
    add("--splits", type=int, default=3, help=text)
    text = "rivals to leave out; svr is SVC, too"
    add("--without", nargs="+", choices=RIVALS, default=[], help=text)
    text = "fit RVR with learned kernels, too"
    add("--learning", choices=("width", "ard", "auto"), help=text)
    add("--limit-seconds", type=float, help="for each fit of relvec")
    text = "measure the peak of memory of relvec's fit, in a process of its own"
    add("--memory", action="store_true", help=text)


BENCHMARKS = {
    "tables": Benchmark(
        "data sets of 1000 rows and more, beside SVR or SVC, Nystroem and boosting",
        run,
        add_options,
        threads=1,
        keeps_fits=True,
    )
}

"""The nine regression tables on which papers on uncertainty compare, all at defaults.

The splits are those of Hernández-Lobato and Adams (2015). Features and targets are
standardised by the rows to fit; errors and likelihoods are in the units of the targets,
as papers print them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.svm import SVR

from benchmarks.contenders import RELVEC, process_by_evidence
from benchmarks.harness import COVERAGE, Benchmark, Ledger, by_predictions, fits
from benchmarks.printed import UCI_METHODS, UCI_PRINTED
from benchmarks.problems import UCI_TABLES, load, uci_table
from benchmarks.reports import (
    ABSENT,
    count,
    figures,
    per_cent,
    show_table,
    show_trimmed,
)
from relvec import RVR

PROCESS_ROWS = 1500  # of which an exact process is fitted in minutes
PROCESS, MACHINE, BOOSTING = RIVALS = ("process", "SVR(C=10)", "boosting")
FITS = {
    RELVEC: fits(RVR),
    PROCESS: lambda split: process_by_evidence(split.first(PROCESS_ROWS)),
    MACHINE: fits(lambda: SVR(C=10)),
    BOOSTING: fits(lambda: HistGradientBoostingRegressor(random_state=0)),
}
# What relvec has set itself to reach: tables, and by how much it may be behind.
RMSE_BARS = ((1.05, 6), (1.12, 9))  # of the better of the process and SVR
NLL_BARS = ((0.02, 5), (0.1, 7))  # nats beyond the best of the published
COVERAGE_BAR = (0.86, 0.95)


def shuffled(split, seed):
    """The rows to fit in an order by chance, as the process takes the first."""
    order = np.random.default_rng(seed).permutation(len(split.y))
    return type(split)(split.X[order], split.y[order], split.X_test, split.y_test)


def in_target_units(scale):
    """A judge of standardised predictions, whose figures are those of the targets."""

    def judge(model, split):
        found = by_predictions(model, split)
        found["error"] *= scale
        if "log_loss" in found:
            found["log_loss"] += float(np.log(scale))
        return found

    return judge


def splits_of(table, options):
    """Numbers of the splits asked for that a table has."""
    last = min(options.first + options.splits, len(table.tests))
    return range(options.first, last)


def measure(ledger, tables, options):
    """All contenders in turn on each split."""
    for table in tables:
        for number in splits_of(table, options):
            split, scale = table.cut(number)
            split = shuffled(split, number)
            for name in contenders(options):
                key = "uci", table.name, name, number
                ledger.measure(key, FITS[name], split, in_target_units(scale))


def contenders(options):
    return [name for name in FITS if name not in options.without]


@dataclass(frozen=True)
class Outcomes:
    """What was measured on the splits that were asked for."""

    ledger: Ledger
    options: Any

    def values(self, table, model, value="error"):
        splits = splits_of(table, self.options)
        return self.ledger.values("uci", table.name, model, value, splits)

    def mean(self, table, model, value="error"):
        splits = splits_of(table, self.options)
        return self.ledger.mean("uci", table.name, model, value, splits)

    def shown(self, table, model, value):
        """Mean ± its standard error; a dash for what was not measured."""
        values = self.values(table, model, value)
        if not len(values) or np.isnan(values).any():
            return ABSENT
        mean = significant(np.mean(values))
        if len(values) == 1:
            return mean
        spread = np.std(values, ddof=1) / np.sqrt(len(values))
        return f"{mean} ± {significant(spread, 2)}"


def significant(number, digits=3):
    """So many digits, whatever the size of the number."""
    return f"{number:#.{digits}g}".rstrip(".")


def show_beside_papers(outcomes, tables, value, title):
    """What was measured, then what papers print."""
    column = {"error": 0, "log_loss": 1}[value]
    rows = [
        [
            table.title,
            *(outcomes.shown(table, name, value) for name in FITS),
            *(f"{pair[column]:.2f}" for pair in UCI_PRINTED[table.name]),
        ]
        for table in tables
    ]
    header = ["table", *FITS, *(f"{name}, printed" for name in UCI_METHODS)]
    show_trimmed(f"UCI tables: {title}", header, rows)


def show_rest(outcomes, tables):
    """Sizes, vectors, coverage and seconds."""
    rows = []
    for table in tables:
        features = load(f"uci/{table.name}")[0].shape
        size = f"{count(features[0] - len(table.tests[0]))} × {features[1]}"
        number = len(outcomes.values(table, RELVEC))
        vectors = figures(outcomes.mean(table, RELVEC, "vectors"))
        covered = [
            per_cent(outcomes.mean(table, name, "coverage"))
            for name in (RELVEC, PROCESS)
        ]
        seconds = [figures(outcomes.mean(table, name, "seconds")) for name in FITS]
        rows.append([table.title, size, number, vectors, *covered, *seconds])
    share = f"{100 * COVERAGE:.0f} % intervals cover (%)"
    covered = [f"{share}, {name}" for name in (RELVEC, PROCESS)]
    seconds = [f"seconds, {name}" for name in FITS]
    header = ["table", "rows × features", "splits", "vectors", *covered, *seconds]
    show_trimmed("UCI tables: coverage, vectors and seconds", header, rows)


def show_bars(outcomes, tables):
    """On how many tables relvec is as good as it has set itself to be."""
    rivals = {
        table.title: outcomes.mean(table, RELVEC)
        / np.nanmin([outcomes.mean(table, PROCESS), outcomes.mean(table, MACHINE)])
        for table in tables
        if len(outcomes.values(table, PROCESS)) + len(outcomes.values(table, MACHINE))
    }
    losses = {
        table.title: outcomes.mean(table, RELVEC, "log_loss")
        - min(loss for _, loss in UCI_PRINTED[table.name])
        for table in tables
    }
    covered = {
        table.title: outcomes.mean(table, RELVEC, "coverage") for table in tables
    }
    low, high = COVERAGE_BAR
    rows = [
        bar_row(
            f"RMSE at most {most} of the better of process and SVR", rivals, most, n
        )
        for most, n in RMSE_BARS
    ]
    rows += [
        bar_row(f"NLL at most {most} beyond the best printed", losses, most, n)
        for most, n in NLL_BARS
    ]
    missed = [name for name, share in covered.items() if not low <= share <= high]
    text = f"90 % intervals cover {low:.0%} to {high:.0%}"
    reached = f"{len(covered) - len(missed)} of {len(covered)}"
    rows.append([text, reached, len(UCI_TABLES), ", ".join(missed)])
    show_table("UCI tables: bars", ["bar", "reached", "must be", "missed by"], rows)


def bar_row(text, values, most, must):
    missed = [name for name, value in values.items() if not value <= most]
    reached = f"{len(values) - len(missed)} of {len(values)}"
    return [text, reached, must, ", ".join(missed)]


def show_failures(ledger, tables):
    """Fits that failed, and those of relvec that did not converge."""
    names = {table.name for table in tables}
    for run in ledger.runs.values():
        if run.problem in names and run.ending not in ("", "converged"):
            print(f"{run.problem}, {run.model}, split {run.seed}: {run.ending}\n")


def run(options):
    tables = [uci_table(name) for name in options.only]
    ledger = Ledger(options.json)
    measure(ledger, tables, options)
    outcomes = Outcomes(ledger, options)
    show_beside_papers(outcomes, tables, "error", "RMSE")
    title = "negative log likelihood of a row"
    show_beside_papers(outcomes, tables, "log_loss", title)
    show_rest(outcomes, tables)
    show_bars(outcomes, tables)
    show_failures(ledger, tables)
    sources = (f"{name}: {source}" for name, source in UCI_METHODS.items())
    print(f"Printed figures: {'; '.join(sources)}.")


def add_options(parser):
    add = parser.add_argument
    names = list(UCI_TABLES)
    add("--only", nargs="+", choices=names, default=names, help="tables")
    text = "of the published splits, 20 or, of protein, 5"
    add("--splits", type=int, default=5, help=text)
    add("--first", type=int, default=0, help="number of the first split")
    text = "rivals to leave out; the process takes minutes for a split"
    add("--without", nargs="+", choices=RIVALS, default=[], help=text)


BENCHMARKS = {
    "uci": Benchmark(
        "nine tables on their published splits, everybody at their defaults",
        run,
        add_options,
        threads=1,
        keeps_fits=True,
    )
}

"""What was measured of the thesis' experiments, as tables beside its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from growth import exponent
from learning_runs import Ledger
from markdown import ABSENT, figures
from report import show_table
from tables_runs import cut_short, ending, section
from thesis_figures import AUTO, BASIC, HEURISTIC
from thesis_runs import VARIANTS, key_of, least_error

JUDGED = ("error", "vectors")


@dataclass(frozen=True)
class Outcomes:
    """Runs of the cells, as many as there are draws."""

    ledger: Ledger
    options: Any

    def runs(self, cell, variant):
        """Of those draws that were run and did not fail."""
        found = [
            self.ledger.runs.get(key_of(cell, variant, seed, self.options))
            for seed in range(self.options.repeats)
        ]
        return [run for run in found if run is not None and run.failure is None]

    def values(self, cell, variant, value):
        return np.array([getattr(run, value) for run in self.runs(cell, variant)])

    def mean(self, cell, variant, value):
        values = self.values(cell, variant, value)
        return float(np.mean(values)) if len(values) else np.nan


def with_deviation(mean, deviation):
    return ABSENT if np.isnan(mean) else f"{mean:g} ± {deviation:g}"


def shown(values):
    """Mean ± standard deviation; a dash for what was not measured."""
    if not len(values) or np.isnan(values).all():
        return ABSENT
    mean = figures(float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {figures(float(np.std(values)))}"


def show_values(table, cells, outcomes):
    """One table for errors, one for vectors, one for seconds."""
    titles = {"error": table.measure, "vectors": "vectors", "seconds": "seconds"}
    for value, title in titles.items():
        rows = [
            [cell.label, with_deviation(*cell.printed.of(value))]
            + [shown(outcomes.values(cell, variant, value)) for variant in VARIANTS]
            for cell in cells
        ]
        show_table(f"{table.title}: {title}", ["", "thesis", *VARIANTS], rows)


def show_least(cells, repeats):
    """What no model could do better, of the problem whose densities are known."""
    if any(cell.problem.startswith("mixtures") for cell in cells):
        errors = np.array([least_error(seed) for seed in range(repeats)])
        print(
            f"\nOn the same test rows the densities themselves err: {shown(errors)} %."
        )


def show_sizes(table, cells, outcomes):
    """Rows of a partition that the heuristics have found."""
    rows = [
        [cell.label, str(HEURISTIC.get(cell.problem, ABSENT))]
        + [shown(outcomes.values(cell, variant, "partition")) for variant in VARIANTS]
        for cell in cells
        if cell.size == AUTO and cell.algorithm != BASIC
    ]
    header = ["", "thesis", *VARIANTS]
    show_table(f"{table.title}: rows of a partition", header, rows)


def show_exponents(table, cells, outcomes):
    """Of seconds against rows, by least squares on the logarithms."""
    rows = []
    for algorithm, printed in table.exponents:
        mine = [cell for cell in cells if cell.algorithm == algorithm]
        known = [(rows_of(cell), cell.printed.seconds) for cell in mine]
        ours = [
            figures(exponent(timed(mine, variant, outcomes))) for variant in VARIANTS
        ]
        rows.append([algorithm, f"{printed:g}", figures(exponent(known)), *ours])
    header = ["algorithm", "thesis", "from its seconds", *VARIANTS]
    show_table(f"{table.title}: seconds ∝ rows^exponent", header, rows)


def rows_of(cell):
    return int(cell.problem.split()[-1])


def timed(cells, variant, outcomes):
    """Rows and mean seconds of fits that no limit has ended."""
    return [
        (rows_of(cell), outcomes.mean(cell, variant, "seconds"))
        for cell in cells
        if (runs := outcomes.runs(cell, variant)) and not any(map(cut_short, runs))
    ]


def bars_of(cells, outcomes, variant):
    """Cell, what is judged, measured, at most; of all that was run and is printed."""
    for cell in filter(lambda cell: cell.is_printed, cells):
        limits = {"error": cell.error_bar, "vectors": cell.vectors_bar}
        for value, limit in limits.items():
            measured = outcomes.mean(cell, variant, value)
            if not np.isnan(measured):
                yield cell, value, measured, limit


def show_bars(chosen, outcomes):
    """How many are reached, and those that are missed."""
    counts, missed = [], []
    for table, cells in chosen:
        row = [table.number]
        for variant in VARIANTS:
            bars = list(bars_of(cells, outcomes, variant))
            for kind in JUDGED:
                mine = [bar for bar in bars if bar[1] == kind]
                reached = sum(measured <= limit for *_, measured, limit in mine)
                row.append(f"{reached} of {len(mine)}" if mine else ABSENT)
            missed += [
                [f"{table.number}: {cell.label}", variant, value, *map(figures, ends)]
                for cell, value, *ends in bars
                if ends[0] > ends[1]
            ]
        counts.append(row)
    columns = [f"{variant}, {value}" for variant in VARIANTS for value in JUDGED]
    show_table("Bars that are reached", ["table", *columns], counts)
    header = ["bar", "variant", "of", "measured", "at most"]
    show_table("Bars that are missed", header, missed)


def show_complaints(ledger, problems, options):
    """Fits that failed or did not converge, and the widths that were found."""
    where = section("thesis", options)
    mine = [r for r in ledger.runs.values() if r.section == where]
    mine = [run for run in mine if run.problem in problems]
    widths = [run for run in mine if not np.isnan(run.gamma)]
    rows = [[r.problem, figures(r.gamma), figures(r.gamma**-0.5)] for r in widths]
    show_table("Widths of exp(−γd²) = exp(−d²/r²)", ["set", "γ", "r"], rows)
    for run in mine:
        if run.seed < options.repeats and ending(run) not in ("", "converged"):
            print(f"\n{run.problem}, {run.model}, draw {run.seed}: {ending(run)}")


def show(ledger, chosen, options):
    """Print all tables."""
    outcomes = Outcomes(ledger, options)
    for table, cells in chosen:
        show_values(table, cells, outcomes)
        show_least(cells, options.repeats)
        show_sizes(table, cells, outcomes)
        show_exponents(table, cells, outcomes)
    show_bars(chosen, outcomes)
    problems = {cell.problem for _, cells in chosen for cell in cells}
    show_complaints(ledger, problems, options)

"""Fitting by partitions as in Ben-Shimon's thesis (2006), chapters 4 and 5.

Every figure stands beside that of the thesis. "all rows" fits the functions of a set to
all rows and ends with the last set, as the figures of the thesis imply; its basic model
is that of ``--solver``. "default" has relvec's settings; its basic model is RVR or RVC
as they are.
"""

import argparse
from pathlib import Path

from learning_runs import Ledger
from machine import describe_machine, limited_threads
from report import show_machine
from thesis_report import show
from thesis_runs import SOLVERS, is_here, measure, warm_up
from thesis_tables import TABLES


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    text = f"numbers or their beginnings; all of {', '.join(TABLES)} if not given"
    add("--tables", nargs="+", default=[], metavar="NUMBER", help=text)
    add("--sets", nargs="+", default=[], help="problems; all if not given")
    add("--repeats", type=int, default=5, help="draws of each problem")
    text = 'of "all rows"; "mackay" begins with all functions, as the thesis does'
    add("--solver", choices=SOLVERS, default="sequential", help=text)
    add("--limit-seconds", type=float, help="for a fit at most")
    add("--threads", type=int, default=1, help="of BLAS and OpenMP")
    text = "keeps outcomes, and takes those that are there"
    add("--json", type=Path, help=text)
    return parser.parse_args()


def chosen_tables(numbers):
    """Those that are named or begin so, and those of which one part is named."""
    if not numbers:
        return list(TABLES.values())
    found = {
        one: [
            number
            for number in TABLES
            if f"{number}.".startswith(f"{one}.") or f"{one}.".startswith(f"{number}.")
        ]
        for one in numbers
    }
    unknown = [one for one, known in found.items() if not known]
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: not among {', '.join(TABLES)}.")
    asked = {number for known in found.values() for number in known}
    return [table for number, table in TABLES.items() if number in asked]


def chosen_cells(table, names):
    """Those that are asked for and whose data are here; says what is not."""
    cells = [
        cell
        for cell in table.cells
        if not names or {cell.problem, cell.problem.split()[0]} & set(names)
    ]
    absent = sorted({cell.problem for cell in cells if not is_here(cell.problem)})
    if absent:
        text = f"{', '.join(absent)} left out, as RELVEC_DATA does not have it."
        print(f"\n{table.title}: {text}", flush=True)
    return [cell for cell in cells if cell.problem not in absent]


def main():
    options = arguments()
    ledger = Ledger(options.json)
    with limited_threads(options.threads):
        show_machine(describe_machine())
        every = [
            (table, chosen_cells(table, options.sets))
            for table in chosen_tables(options.tables)
        ]
        chosen = [(table, cells) for table, cells in every if cells]
        warm_up()
        for _, cells in chosen:
            measure(ledger, cells, options)
        show(ledger, chosen, options)


if __name__ == "__main__":
    main()

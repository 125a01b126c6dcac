"""All data sets of 1000 rows and more: time, error and probabilities beside rivals.

Every contender has its default settings. They run on the same rows, one after the
other on each split. ``--scaling``, ``--low-noise`` and ``--friedman`` are sections of
their own, which run instead.
"""

import argparse
from functools import partial
from pathlib import Path

import friedman
import growth
import low_noise
from learning_runs import Ledger
from machine import describe_machine, limited_threads
from report import show_machine
from tables_data import large_tables
from tables_report import show
from tables_runs import RIVALS, measure_tables


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
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
    add("--threads", type=int, default=1, help="of BLAS and OpenMP")
    text = "keeps outcomes, and takes those that are there"
    add("--json", type=Path, help=text)
    add("--scaling", action="store_true", help="time against rows of kin40k")
    text = "numbers of rows for --scaling"
    add("--rows", nargs="+", type=int, default=growth.ROWS, help=text)
    add("--low-noise", action="store_true", help="functions with little noise")
    text = "numbers of rows for --low-noise"
    add("--sizes", nargs="+", type=int, default=low_noise.SIZES, help=text)
    text = "Friedman's function with so many rows"
    add("--friedman", type=int, metavar="ROWS", help=text)
    return parser.parse_args()


def chosen_tables(names):
    """The data sets of these names, or all."""
    tables = large_tables()
    unknown = set(names or []) - tables.keys()
    if unknown:
        text = f"{', '.join(sorted(unknown))}: not among {', '.join(tables)}."
        raise SystemExit(text)
    return [tables[name] for name in names or tables]


def sections(options):
    """What measures and what shows each section that was asked for."""
    asked = {
        growth: options.scaling,
        low_noise: options.low_noise,
        friedman: options.friedman is not None,
    }
    modules = [module for module, wanted in asked.items() if wanted]
    if modules:
        return [(module.measure, module.show) for module in modules]
    tables = chosen_tables(options.only)
    return [(partial(measure_tables, tables=tables), partial(show, tables=tables))]


def main():
    options = arguments()
    ledger = Ledger(options.json)
    with limited_threads(options.threads):
        show_machine(describe_machine())
        for measure, report in sections(options):
            measure(ledger, options=options)
            report(ledger, options=options)
            print(flush=True)


if __name__ == "__main__":
    main()

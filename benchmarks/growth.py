"""Seconds of relvec against the number of rows, on the table kin40k."""

import numpy as np
from judges import by_search
from learning_problems import load
from markdown import ABSENT, count, figures
from peak import warm_up
from report import show_table
from tables_data import standardised
from tables_runs import RELVEC, cut_short, ending, fit_of, for_numbers, median, section
from timing import WARM_UP_ROWS

NAME = "kin40k"
ROWS = (2000, 5000, 10_000, 20_000, 40_000)


def problem(rows):
    return f"{rows} rows"


def measure(ledger, options):
    """Runs of so many rows, drawn by chance."""
    X, y = load(NAME)
    relvec = for_numbers(options.limit_seconds)[0]
    for rows in options.rows:
        for seed in range(options.splits):
            key = section("scaling", options), problem(rows), RELVEC, seed
            if key in ledger.runs or rows > len(y):
                continue
            chosen = np.random.default_rng(seed).permutation(len(y))[:rows]
            # Of 40 000 rows none is left to test on, so no error is asked for.
            split = standardised(X, y, chosen, chosen)
            warm_up(relvec.make(WARM_UP_ROWS), split)
            ledger.measure(key, fit_of(relvec), split, by_search)


def exponent(measured):
    """Slope of log seconds on log rows by least squares, nan of fewer than two."""
    if len(measured) < 2:
        return np.nan
    rows, seconds = np.log(measured).T
    return float(np.polyfit(rows, seconds, 1)[0])


def show(ledger, options):
    """Medians over the draws, and how seconds grow."""
    cells, measured = [], []
    for rows in sorted(set(options.rows)):
        where = section("scaling", options), problem(rows), RELVEC
        known = [ledger.runs.get((*where, seed)) for seed in range(options.splits)]
        runs = [run for run in known if run is not None]
        seconds, vectors, rounds = (
            median(np.array([getattr(run, value) for run in runs]))
            for value in ("seconds", "vectors", "rounds")
        )
        # How long a fit would have taken without its limit is not known.
        if not np.isnan(seconds) and not any(map(cut_short, runs)):
            measured.append((rows, seconds))
        shown = figures(seconds), count(vectors), count(rounds)
        endings = ", ".join(sorted({ending(run) for run in runs}))
        cells.append([count(rows), *shown, endings or ABSENT])
    header = ["rows", "seconds", "vectors", "rounds", "status"]
    show_table(f"Time against rows of {NAME}", header, cells)
    print(f"\nSeconds ∝ rows^{figures(exponent(measured))}.")

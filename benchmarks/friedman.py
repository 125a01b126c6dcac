"""Friedman's first function on very many rows, relvec beside Nystroem + Ridge."""

from judges import by_intervals
from learning_problems import Split
from markdown import ABSENT, count, decimals, figures
from problems import TEST_SEED
from report import show_table
from sklearn.datasets import make_friedman1
from tables_runs import NYSTROEM, RELVEC, ending, for_numbers, measure_alone, section

FEATURES = 20  # of which five matter
TEST_ROWS = 10_000
TITLES = {RELVEC: "relvec", NYSTROEM: "Nystroem + Ridge"}


def draw(rows):
    """Rows with noise 1 to fit, others without to test on."""
    X, y = make_friedman1(rows, FEATURES, noise=1.0, random_state=0)
    test = make_friedman1(TEST_ROWS, FEATURES, noise=0.0, random_state=TEST_SEED)
    return Split(X, y, *test)


def key_of(name, options):
    return section("friedman", options), f"{options.friedman} rows", name, 0


def measure(ledger, options):
    """A run of each in a process of its own."""
    field = [one for one in for_numbers(options.limit_seconds) if one.name in TITLES]
    keys = {one.name: key_of(one.name, options) for one in field}
    if set(keys.values()) <= ledger.runs.keys():
        return
    split = draw(options.friedman)
    for one in field:
        arguments = keys[one.name], one, split, by_intervals
        measure_alone(ledger, *arguments, threads=options.threads)


def show(ledger, options):
    rows = []
    for name, title in TITLES.items():
        run = ledger.runs[key_of(name, options)]
        cells = figures(run.seconds), decimals(run.error), count(run.vectors)
        rounds, peak = count(run.rounds), count(run.peak / 1e6)
        rows.append([title, *cells, rounds, peak, ending(run) or ABSENT])
    title = f"Friedman's function, {count(options.friedman)} rows, noise 1"
    header = ["model", "seconds", "RMSE to the function", "vectors", "rounds"]
    show_table(title, [*header, "peak MB", "status"], rows)

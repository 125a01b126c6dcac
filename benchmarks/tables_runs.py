"""Who is fitted to the large data sets, and what becomes of it."""

import numpy as np
from contenders import Contender
from judges import by_classes, by_intervals
from peak import measured_alone, warm_up
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR
from timing import WARM_UP_ROWS

from relvec import RVC, RVR, Status

RELVEC = "relvec"
ALONE = "relvec, alone"
MACHINE, NYSTROEM, BOOSTING = RIVALS = ("svr", "nystroem", "boosting")
N_COMPONENTS = 1000


def median(values):
    """Of all that were measured, or nan."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else np.nan


def ending(run):
    """How a run ended, in words; nothing if that is not known."""
    return run.failure or (run.status or "").lower().replace("_", " ")


def cut_short(run):
    """Whether the limit of seconds ended a run."""
    return run.status == Status.MAX_SECONDS.name


def learned_name(learning):
    return f"{RELVEC}, {learning}"


def nystroem(rows, model):
    """A pipeline of as many components as there are rows, within reason."""
    components = min(N_COMPONENTS, rows)
    return make_pipeline(Nystroem(n_components=components, random_state=0), model)


def for_numbers(seconds, learning=None):
    """All contenders of regression, relvec first; learned kernels if asked for."""
    field = [
        Contender(
            RELVEC, lambda _: RVR(gamma="scale", max_seconds=seconds), rival=False
        ),
        Contender(MACHINE, lambda _: SVR()),
        Contender(NYSTROEM, lambda rows: nystroem(rows, Ridge())),
        Contender(BOOSTING, lambda _: HistGradientBoostingRegressor(random_state=0)),
    ]
    if learning is not None:
        field.append(
            Contender(
                learned_name(learning),
                lambda _: RVR(kernel_learning=learning, max_seconds=seconds),
                rival=False,
            )
        )
    return field


def for_classes(seconds):
    """All contenders of classification, relvec first."""
    return [
        Contender(
            RELVEC, lambda _: RVC(gamma="scale", max_seconds=seconds), rival=False
        ),
        Contender(MACHINE, lambda _: SVC()),
        Contender(
            NYSTROEM, lambda rows: nystroem(rows, LogisticRegression(max_iter=1000))
        ),
        Contender(BOOSTING, lambda _: HistGradientBoostingClassifier(random_state=0)),
    ]


def contenders_of(table, options):
    """Contenders of a data set that are to take part."""
    if table.classes:
        field = for_classes(options.limit_seconds)
    else:
        field = for_numbers(options.limit_seconds, options.learning)
    return [one for one in field if one.name not in options.without]


def section(name, options):
    """Of the ledger: what was measured with other threads or limits is something else.

    Rivals have no limit, but their times are wanted from the same session.
    """
    limit = options.limit_seconds
    text = "" if limit is None else f", {limit:g} s"
    return f"{name}, threads {options.threads}{text}"


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


def fit_of(contender):
    """A fit of what the contender makes for as many rows."""
    return lambda split: contender.make(len(split.y)).fit(split.X, split.y)


def measure_alone(ledger, key, contender, split, judge, *, threads):
    """Measure a contender in a process of its own, with its peak of memory."""
    model = contender.make(len(split.y))
    ledger.keep(key, lambda: measured_alone(key, model, split, judge, threads))

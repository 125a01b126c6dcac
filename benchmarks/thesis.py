"""Ben-Shimon's thesis (2006): partitions of chapters 4 and 5, kernels of chapter 6.

Every figure stands beside that of the thesis. "all rows" fits the functions of a set to
all rows and ends with the last set, as the figures of the thesis imply; its basic model
is that of ``--solver``. "default" has relvec's settings; its basic model is RVR or RVC
as they are.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.harness import (
    Benchmark,
    Ledger,
    Run,
    by_search,
    exponent,
    fits,
    rmse,
    say,
    section,
)
from benchmarks.printed import (
    AUTO,
    BASIC,
    HEURISTIC,
    INCREMENTAL,
    PUMADYN_KERNELS,
    SPLIT,
    THESIS_TABLES,
    WORKING,
)
from benchmarks.problems import TEST_SEED, Split, cut, data_folder, friedman_split, load
from benchmarks.reports import ABSENT, figures, show_table
from relvec import RVC, RVR, Incremental, SplitMerge, TopDown, WorkingSet
from relvec.data import mixtures_and_copies, noisy_sinc, two_mixtures
from relvec.kernels import Gaussian, Matern

# Chapters 4 and 5: problems and models

# Rows to fit and to test on.
CUTS = {
    "boston": (481, 25),
    "abalone": (3341, 836),
    "pumadyn_8fh": (6144, 2048),
    "pumadyn_8fm": (6144, 2048),
    "pumadyn_8nh": (6144, 2048),
    "pumadyn_8nm": (6144, 2048),
    "pumadyn_32nh": (6144, 2048),
    "pumadyn_32nm": (6144, 2048),
}
CLASS_CUTS = {
    "breast_cancer_ljubljana": (250, 27),
    "pima": (692, 76),
    "german20": (900, 100),
    "titanic": (1981, 220),
    "banana": (3500, 1800),
}
FRIEDMAN_ROWS = 2400
SINC_TEST_ROWS, MIXTURES_TEST_ROWS = 1000, 500
SINC_WIDTH, MIXTURES_WIDTH = 3, 0.5  # r of exp(-d²/r²)
# Centres of two components for each of two classes, as in relvec.data.two_mixtures.
MIXTURES_CENTRES = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
MIXTURES_VARIANCE = 0.03
# Where the thesis' width cannot be taken over, as its features are scaled otherwise:
# in units of the typical distance between two standardised rows, √(2d).
PARTITION_WIDTHS = (0.35, 0.55, 0.9, 1.4, 2.2, 3.5, 5.6, 9.0)
WIDTH_ROWS, FOLDS, FOLD_SECONDS = 1000, 5, 20

SOLVERS = {
    "sequential": "sequential",
    "mackay": TopDown("mackay", polish=False),
}
PARTITIONS = {
    SPLIT: SplitMerge,
    INCREMENTAL: Incremental,
    WORKING: WorkingSet,
}
# As the thesis has it, its functions fitted to all rows; and as relvec does by default.
AS_THESIS, DEFAULT = VARIANTS = ("all rows", "default")


@dataclass(frozen=True)
class ThesisProblem:
    """Rows from a seed, and a kernel's width if it need not be searched for."""

    name: str
    draw: Callable[[int], Split]
    gamma: float | None = None
    classes: bool = False

    @property
    def estimator(self):
        return RVC if self.classes else RVR


def sinc_rows(seed, rows):
    """Noisy rows at equally spaced points; others without noise to test on."""
    X, y = noisy_sinc(rows, seed=seed)
    rng = np.random.default_rng(TEST_SEED + seed)
    X_test = rng.uniform(-10, 10, (SINC_TEST_ROWS, 1))
    return Split(X, y, X_test, np.sinc(X_test[:, 0] / np.pi))


def mixtures_rows(seed, rows):
    """2500 rows: the first are fitted, the last tested on."""
    X, y = mixtures_and_copies(seed=seed)
    test = slice(-MIXTURES_TEST_ROWS, None)
    return Split(X[:rows], y[:rows], X[test], y[test])


def least_error(seed):
    """Per cent of the mixtures' rows to test that the densities themselves get wrong.

    Of 500 rows it is 9 ± 1.3, so that a few draws say little without it.
    """
    split = mixtures_rows(seed, 1)
    ways = split.X_test[:, None, None] - MIXTURES_CENTRES
    density = np.exp(-(ways**2).sum(axis=3) / (2 * MIXTURES_VARIANCE)).sum(axis=2)
    return 100 * float(np.mean(density.argmax(axis=1) != split.y_test))


def problem_of(name):
    """By the name of a cell: a kind and perhaps a number of rows."""
    kind, _, rows = name.partition(" ")
    if kind == "sinc":
        draw = partial(sinc_rows, rows=int(rows))
        return ThesisProblem(name, draw, gamma=1 / SINC_WIDTH**2)
    if kind == "mixtures":
        draw = partial(mixtures_rows, rows=int(rows))
        return ThesisProblem(name, draw, gamma=1 / MIXTURES_WIDTH**2, classes=True)
    if kind == "friedman":
        return ThesisProblem(
            name, lambda seed: friedman_split(seed, FRIEDMAN_ROWS).standardised()
        )
    classes = kind in CLASS_CUTS
    rows, n_test = (CLASS_CUTS if classes else CUTS)[kind]
    draw = partial(cut, kind, rows=rows, n_test=n_test)
    return ThesisProblem(name, draw, classes=classes)


def is_here(name):
    """Whether rows can be drawn: of a table only if there is its file."""
    read = name in CUTS or name in CLASS_CUTS
    return not read or any(data_folder().glob(f"{name}.csv*"))


def best_gamma(problem):
    """By cross-validation on some rows of the first draw, with the default engine."""
    split = problem.draw(0).first(WIDTH_ROWS)
    typical = np.sqrt(2 * split.X.shape[1])
    search = GridSearchCV(
        problem.estimator(max_seconds=FOLD_SECONDS),
        {"gamma": [float(1 / (share * typical) ** 2) for share in PARTITION_WIDTHS]},
        # Errors of classes are counts, too coarse to choose by.
        scoring="neg_log_loss" if problem.classes else "neg_mean_squared_error",
        cv=FOLDS,
        refit=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that do not suit end in warnings
        search.fit(split.X, split.y)
    return search.best_params_["gamma"]


def searched(key, problem):
    """A run that is nothing but the search for a width."""
    started = time.perf_counter()
    gamma = best_gamma(problem)
    return Run(*key, gamma=gamma, seconds=time.perf_counter() - started)


def gamma_of(ledger, problem, options):
    """As the thesis has it, or searched for once."""
    if problem.gamma is not None:
        return problem.gamma
    key = section("thesis", options), problem.name, "width", 0
    ledger.keep(key, partial(searched, key, problem))
    return ledger.runs[key].gamma


def model_name(cell, variant, options):
    """What a run is known by; the default engine is the sequential one."""
    solver = options.solver if variant == AS_THESIS else "sequential"
    if cell.algorithm == BASIC:
        return f"{BASIC}, {solver}"
    return f"{cell.algorithm}, P = {cell.size}, {variant}, {solver}"


def settings_of(cell, variant, options) -> dict[str, Any]:
    """Those of an estimator for a cell, but the width."""
    settings = {"max_seconds": options.limit_seconds}
    if variant == AS_THESIS:
        settings["solver"] = SOLVERS[options.solver]
    if cell.algorithm != BASIC:
        own = {"rows": "all", "polish": False} if variant == AS_THESIS else {}
        settings["partition"] = PARTITIONS[cell.algorithm](**own)
        settings["partition_size"] = cell.size
    return settings


def by_partition(model, split):
    """RMSE or per cent of errors, how the search ended, and rows of a partition."""
    if isinstance(model, RVC):
        error = 100 * float(np.mean(model.predict(split.X_test) != split.y_test))
    else:
        error = split.rmse(model)
    size = getattr(model, "partition_size_", np.nan)
    return {"error": error, **by_search(model), "partition": float(size)}


def key_of(cell, variant, seed, options):
    name = model_name(cell, variant, options)
    return section("thesis", options), cell.problem, name, seed


def warm_up_partitions():
    """Whatever is loaded or compiled by a first fit is so now."""
    for estimator, rows in ((RVR, noisy_sinc(100)), (RVC, two_mixtures(100))):
        for partition in (None, "split-merge", "working-set"):
            estimator(gamma=1.0, partition=partition).fit(*rows)


def measure_cells(ledger, cells, options):
    """All cells of a problem one after the other on each of its draws."""
    for name in dict.fromkeys(cell.problem for cell in cells):
        problem = problem_of(name)
        mine = [cell for cell in cells if cell.problem == name]
        gamma = gamma_of(ledger, problem, options)
        for seed in range(options.repeats):
            split = problem.draw(seed)
            for cell in mine:
                # Beginning with all functions on 6144 rows would take hours.
                for variant in VARIANTS if cell.is_printed else (DEFAULT,):
                    settings = settings_of(cell, variant, options)
                    make = partial(problem.estimator, gamma=gamma, **settings)
                    key = key_of(cell, variant, seed, options)
                    ledger.measure(key, fits(make), split, by_partition)


# Tables beside those of the thesis

JUDGED = ("error", "vectors")


@dataclass(frozen=True)
class Outcomes:
    """Runs of the cells, as many as there are draws."""

    ledger: Ledger
    options: Any

    def runs(self, cell, variant):
        """Runs of all draws that did not fail."""
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


def mean_and_deviation(values):
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
            + [
                mean_and_deviation(outcomes.values(cell, variant, value))
                for variant in VARIANTS
            ]
            for cell in cells
        ]
        show_table(f"{table.title}: {title}", ["", "thesis", *VARIANTS], rows)


def show_least(cells, repeats):
    """What no model could do better, of the problem whose densities are known."""
    if any(cell.problem.startswith("mixtures") for cell in cells):
        errors = np.array([least_error(seed) for seed in range(repeats)])
        least = mean_and_deviation(errors)
        print(f"On the same test rows the densities themselves err: {least} %.\n")


def show_sizes(table, cells, outcomes):
    """Rows of a partition that the heuristics have found."""
    rows = [
        [cell.label, str(HEURISTIC.get(cell.problem, ABSENT))]
        + [
            mean_and_deviation(outcomes.values(cell, variant, "partition"))
            for variant in VARIANTS
        ]
        for cell in cells
        if cell.size == AUTO and cell.algorithm != BASIC
    ]
    header = ["", "thesis", *VARIANTS]
    show_table(f"{table.title}: rows of a partition", header, rows)


def show_exponents(table, cells, outcomes):
    """Exponents of seconds in rows, by least squares on the logarithms."""
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
        if (runs := outcomes.runs(cell, variant))
        and not any(run.was_cut_short for run in runs)
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
        if run.seed < options.repeats and run.ending not in ("", "converged"):
            print(f"{run.problem}, {run.model}, draw {run.seed}: {run.ending}")


def show_all(ledger, chosen, options):
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


def run_partitions(options):
    ledger = Ledger(options.json)
    every = [
        (table, chosen_cells(table, options.sets))
        for table in chosen_tables(options.tables)
    ]
    chosen = [(table, cells) for table, cells in every if cells]
    warm_up_partitions()
    for _, cells in chosen:
        measure_cells(ledger, cells, options)
    show_all(ledger, chosen, options)


def chosen_tables(numbers):
    """Those that are named or begin so, and those of which one part is named."""
    if not numbers:
        return list(THESIS_TABLES.values())
    found = {
        one: [
            number
            for number in THESIS_TABLES
            if f"{number}.".startswith(f"{one}.") or f"{one}.".startswith(f"{number}.")
        ]
        for one in numbers
    }
    unknown = [one for one, known in found.items() if not known]
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: not among {', '.join(THESIS_TABLES)}.")
    asked = {number for known in found.values() for number in known}
    return [table for number, table in THESIS_TABLES.items() if number in asked]


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
        print(f"{table.title}: {text}\n", flush=True)
    return [cell for cell in cells if cell.problem not in absent]


# Chapter 6: Matérn kernels beside the Gaussian, tables 6.3.3.1 and 2

ORDERS = (1, 2, 3, 4)
PUMADYN_FAMILIES = {
    "Gaussian": Gaussian,
    **{f"Matérn {order}": partial(Matern, nu=order) for order in ORDERS},
}
N_TRAIN = 6144
# In units of the median distance between two standardised rows, about √(2d).
PUMADYN_WIDTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)


def pumadyn_rows(name, seed):
    """Features standardised by the rows to fit, targets as they are."""
    X, y = load(f"pumadyn_{name}")
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    return Split(X[train], y[train], X[test], y[test]).standardised()


def error_of(kernel, train, test, seconds=None):
    """Root mean squared error on test rows, and the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that do not suit end in warnings
        model = RVR(kernel, max_seconds=seconds).fit(*train)
    return rmse(model.predict(test[0]), test[1]), model


def chosen_width(make, X, y, seconds):
    """By 5-fold cross-validation over widths relative to distances."""
    folds = list(KFold(5).split(X))
    typical = np.sqrt(2 * X.shape[1])
    errors = {}
    for share in PUMADYN_WIDTHS:
        kernel = make(share * typical)
        squares = [
            error_of(kernel, (X[fit], y[fit]), (X[rest], y[rest]), seconds)[0] ** 2
            for fit, rest in folds
        ]
        errors[share * typical] = np.mean(squares)
    return min(errors, key=errors.get)


def pumadyn_cells(name, labels, options):
    """Rows of the table, one per kernel."""
    split = pumadyn_rows(name, options.seed)
    X, y = split.X[: options.train], split.y[: options.train]
    printed = dict(
        zip(PUMADYN_FAMILIES, zip(*PUMADYN_KERNELS[name], strict=True), strict=True)
    )
    for label in labels:
        make, some = PUMADYN_FAMILIES[label], slice(options.rows)
        width = chosen_width(make, X[some], y[some], options.seconds)
        started = time.perf_counter()
        error, model = error_of(make(width), (X, y), (split.X_test, split.y_test))
        elapsed = time.perf_counter() - started
        printed_error, printed_vectors = printed[label]
        yield (
            name,
            label,
            f"{width:.2f}",
            f"{error:.4g}",
            f"{printed_error:.3g}",
            str(len(model.relevance_)),
            f"{printed_vectors:.3g}",
            f"{elapsed:.0f}",
        )


def run_pumadyn(options):
    header = ["set", "kernel", "length scale", "RMSE", "thesis", "vectors", "thesis"]
    rows = []
    for name in options.names or PUMADYN_KERNELS:
        for row in pumadyn_cells(name, options.kernels, options):
            say(" ".join(row))
            rows.append(row)
    show_table("Matérn kernels beside the Gaussian", [*header, "seconds"], rows)


def partition_options(parser):
    add = parser.add_argument
    text = f"numbers or their beginnings; all of {', '.join(THESIS_TABLES)} if none"
    add("--tables", nargs="+", default=[], metavar="NUMBER", help=text)
    add("--sets", nargs="+", default=[], help="problems; all if not given")
    add("--repeats", type=int, default=5, help="draws of each problem")
    text = 'of "all rows"; "mackay" begins with all functions, as the thesis does'
    add("--solver", choices=SOLVERS, default="sequential", help=text)
    add("--limit-seconds", type=float, help="for a fit at most")


def pumadyn_options(parser):
    add = parser.add_argument
    add("names", nargs="*", default=list(PUMADYN_KERNELS), help="sets of the family")
    add("--kernels", nargs="*", default=list(PUMADYN_FAMILIES), help="by name")
    add("--seed", type=int, default=0, help="of the draw")
    add("--train", type=int, default=N_TRAIN, help="rows to fit")
    add("--rows", type=int, default=1500, help="to choose widths on")
    add("--seconds", type=float, default=20, help="for a fold at most")


BENCHMARKS = {
    "thesis": Benchmark(
        "partitions, beside the tables of Ben-Shimon's chapters 4 and 5",
        run_partitions,
        partition_options,
        threads=1,
        keeps_fits=True,
    ),
    "pumadyn": Benchmark(
        "Matérn kernels beside the Gaussian, tables of Ben-Shimon's chapter 6",
        run_pumadyn,
        pumadyn_options,
    ),
}

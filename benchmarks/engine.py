"""Parts of the engine: evidence by search and solver, kernel matrices, memory.

Evidence and error are those of the regression problem of ``scale``, and of the
problems on which the result of SparseBayes 2.00 is known.
"""

import json
import time
import warnings
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from benchmarks.harness import Benchmark, say, timed
from benchmarks.problems import REGRESSION, data_folder
from benchmarks.reports import count, decimals, figures, show_table
from relvec import RVC, RVR, BottomUp, TopDown, sparse_bayes
from relvec.basis import Basis
from relvec.design.held import sparse_functions
from relvec.kernels import (
    CompactMatern,
    Gaussian,
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
)

# Evidence and error


SCHEDULES = ("batch", "greedy")


@dataclass(frozen=True)
class Outcome:
    """One fit: evidence, vectors, error on test rows, seconds."""

    log_evidence: float
    vectors: float
    error: float
    seconds: float


def reference_folder():
    """The folder ``reference`` beside RELVEC_DATA, or beside the checkout."""
    return data_folder().parent / "reference"


def outcome_of(schedule, size, seed):
    X, y = REGRESSION.draw(size, seed)
    model = RVR(gamma=REGRESSION.gamma, solver=BottomUp(schedule))
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    error = REGRESSION.error(model)
    return Outcome(model.log_evidence_, len(model.relevance_), error, seconds)


def compare_schedules(size, seeds):
    """Outcomes of each schedule, one after the other on each draw."""
    for schedule in SCHEDULES:
        outcome_of(schedule, 100, 0)
    found = {schedule: [] for schedule in SCHEDULES}
    for seed in range(seeds):
        for schedule in SCHEDULES:
            found[schedule].append(outcome_of(schedule, size, seed))
    return found


def show_schedules(found, size):
    """A row for each draw, their mean, and the worst difference of the evidence."""
    columns = ("log evidence", "vectors", "RMSE", "seconds")
    header = [f"{column}, {name}" for column in columns for name in found]
    values = np.array(
        [[astuple(one) for one in outcomes] for outcomes in found.values()]
    )
    lines = [(str(seed), draw) for seed, draw in enumerate(values.transpose(1, 2, 0))]
    lines.append(("mean", values.mean(axis=1).T))
    title = f"Schedules on {count(size)} rows of the regression problem"
    rows = [[label, *cells(draw)] for label, draw in lines]
    show_table(title, ["seed", *header], rows)
    first, second = found
    difference = values[0, :, 0] - values[1, :, 0]
    print(
        f"Evidence, {first} − {second}: mean {difference.mean():+.2f}, "
        f"worst {difference.min():+.2f}, best {difference.max():+.2f}, "
        f"lower on {(difference < 0).sum()} of {len(difference)} draws."
    )
    ratios = values[0, :, 2] / values[1, :, 2]
    mean, worst = ratios.mean(), ratios.max()
    print(f"RMSE, {first} / {second}: mean {mean:.3f}, worst {worst:.3f}.\n")


def cells(draw):
    """Cells of a row, from (quantity, schedule)."""
    evidence, vectors, error, seconds = draw
    return [
        *(f"{value:.2f}" for value in evidence),
        *(f"{value:.4g}" for value in vectors),
        *map(decimals, error),
        *map(figures, seconds),
    ]


def load_reference(path):
    """A reference problem: what is known of it, its rows and its targets."""
    case = json.loads(path.read_text())
    y = np.array(case["y"], dtype=float)
    return case, np.array(case["X"]).reshape(len(y), -1), y


def compare_reference(path):
    """Evidence of SparseBayes, of the estimator and of the same dictionary."""
    case, X, y = load_reference(path)
    gamma = 1 / case["width"] ** 2
    estimator = RVR if case["likelihood"] == "gaussian" else RVC
    model = estimator(gamma=gamma).fit(X, y)
    functions = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    Phi = np.hstack([np.ones((len(y), 1)), functions])
    found = sparse_bayes(Phi, y, case["likelihood"])
    evidence = case["log_evidence"], model.log_evidence_, found.log_evidence
    return case, evidence, (len(model.relevance_), len(found.relevant))


def show_reference(folder):
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not paths:
        print("The reference results are not here: set RELVEC_DATA.")
        return
    rows, differences = [], []
    for path in paths:
        case, (reference, *evidence), vectors = compare_reference(path)
        difference = np.array(evidence) - reference
        differences.append(difference)
        signed = [f"{number:+.3f}" for number in difference]
        sizes = [case["n_vectors"], *vectors]
        rows.append([case["case"], f"{reference:.3f}", *signed, *sizes])
    means = [f"{number:+.3f}" for number in np.mean(differences, axis=0)]
    rows.append(["mean", "", *means, "", "", ""])
    header = ["problem", "SparseBayes", "RVR or RVC", "sparse_bayes"]
    sizes = ["vectors", "RVR or RVC", "sparse_bayes"]
    show_table("Log evidence, less that of SparseBayes 2.00", [*header, *sizes], rows)
    print(
        "sparse_bayes has the dictionary of SparseBayes. RVR centres the targets "
        "first, which is another model: its evidence tells less. Vectors of RVR and "
        "RVC do not count the constant; the others do."
    )


# Solvers: MacKay's iteration and EM begin with all functions

SOLVERS = {
    "sequential": {},
    "MacKay": {"solver": TopDown("mackay", polish=False)},
    "MacKay, polished": {"solver": "mackay"},
    "EM": {"solver": TopDown("em", polish=False)},
    "EM, polished": {"solver": "em"},
    "variational": {"solver": "variational"},
}


def solved(settings, size, seed, repeat, seconds):
    """Median seconds of some fits, and the last of them."""
    X, y = REGRESSION.draw(size, seed)
    times = []
    for _ in range(repeat):
        model = RVR(gamma=REGRESSION.gamma, max_seconds=seconds, **settings)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where time was up, the status says so
            model.fit(X, y)
        times.append(time.perf_counter() - started)
    return np.median(times), model


def solver_row(name, seconds, models, first):
    """Means over draws, and the least and the most times of the first solver."""
    ratios = seconds / first
    return (
        name,
        figures(np.mean(seconds)),
        figures(np.mean(ratios)),
        f"{figures(np.min(ratios))} to {figures(np.max(ratios))}",
        decimals(np.mean([model.log_evidence_ for model in models])),
        figures(np.mean([len(model.relevance_) for model in models])),
        count(round(np.mean([model.n_iter_ for model in models]))),
        ", ".join(sorted({model.status_.name for model in models})),
    )


def run_solvers(options):
    rows, first = [], None
    for name, settings in SOLVERS.items():
        repeat = 1 if settings else 5
        runs = [
            solved(settings, options.size, seed, repeat, options.seconds)
            for seed in range(options.seeds)
        ]
        times, models = zip(*runs, strict=True)
        seconds = np.array(times)
        first = seconds if first is None else first
        rows.append(solver_row(name, seconds, models, first))
    header = ["solver", "seconds", "times the first", "from draw to draw"]
    more = ["log evidence", "vectors", "steps", "status"]
    show_table("Solvers", [*header, *more], rows)


# Kernel matrices: blocks as the search asks for them, then sparse ones

N_CENTRES = 500
KERNEL_FEATURES = (2, 8, 32)
DENSITY = 0.01

PAIRS = {
    "Gaussian": (Gaussian(), lambda X, Z: rbf_kernel(X, Z, gamma=0.5)),
    "Matérn, ν = 1/2": (Matern(nu=0.5), processes.Matern(nu=0.5)),
    "Matérn, ν = 3/2": (Matern(nu=1.5), processes.Matern(nu=1.5)),
    "Matérn, ν = 5/2": (Matern(nu=2.5), processes.Matern(nu=2.5)),
    "Matérn, ν = 3": (Matern(nu=3), processes.Matern(nu=3)),
    "Matérn, ν = 2.2": (Matern(nu=2.2), processes.Matern(nu=2.2)),
    "RationalQuadratic": (RationalQuadratic(), processes.RationalQuadratic()),
    "Laplacian": (Laplacian(), lambda X, Z: laplacian_kernel(X, Z, gamma=1.0)),
    "Periodic": (Periodic(), processes.ExpSineSquared()),
}


def lap_medians(actions, repeat):
    """Seconds of each action, in alternation, after one round to warm up."""
    laps = np.array([[timed(act) for act in actions] for _ in range(repeat + 1)])
    return np.median(laps[1:], axis=0)


def measure_blocks(n_rows, repeat):
    """One line per kernel and number of features."""
    for name, (ours, theirs) in PAIRS.items():
        for n_features in KERNEL_FEATURES:
            X = np.random.default_rng(0).standard_normal((n_rows, n_features))
            Z = X[:N_CENTRES].copy()
            say(f"{name}, {n_features} features")
            actions = [partial(ours, X, Z), partial(theirs, X, Z)]
            mine, other = 1e3 * lap_medians(actions, repeat)
            yield name, n_features, figures(mine), figures(other), figures(mine / other)


def support_of(X):
    """The distance below which one pair in a hundred is."""
    some = X[:1000]
    return float(np.quantile(cdist(some, some), DENSITY))


def measure_sparse(n_rows, repeat):
    """One line per number of features."""
    for n_features in (1, 2, 4, 8):
        X = np.random.default_rng(0).uniform(size=(n_rows, n_features))
        kernel = CompactMatern(0.1, support=support_of(X))
        say(f"sparse, {n_features} features")
        actions = [partial(kernel, X), partial(kernel.count, X)]
        seconds, counting = lap_medians(actions, repeat)
        yield n_features, count(kernel.count(X)), figures(seconds), figures(counting)


def run_kernels(options):
    title = f"{count(options.rows)} rows × {N_CENTRES} centres, milliseconds"
    header = ("kernel", "features", "relvec", "scikit-learn", "ratio")
    show_table(title, header, measure_blocks(options.rows, options.repeat))
    title = f"CompactMatern, {count(options.sparse_rows)} rows, seconds"
    header = ("features", "entries", "matrix", "count")
    repeat = min(3, options.repeat)
    show_table(title, header, measure_sparse(options.sparse_rows, repeat))


# The same fit from sparse and from dense memory: a hundredth of Φ is not zero

COMPACT_LENGTH = 200.0
COMPACT_KERNEL = CompactMatern(1.0, support=1.2)


def two_waves(n_rows, seed):
    """Two waves in noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, COMPACT_LENGTH, (n_rows, 1))
    signal = np.sin(X[:, 0]) + 0.3 * np.sin(7 * X[:, 0] / 3)
    return X, signal + 0.2 * rng.standard_normal(n_rows)


def sparse_bytes(X):
    """Bytes of Φ in compressed columns."""
    basis = Basis.of(COMPACT_KERNEL, X, bias=True)
    matrix = sparse_functions(basis, X, most_bytes=np.inf, most_density=1.0)
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def run_compact(options):
    X, y = two_waves(options.rows, options.seed)
    sizes = {"sparse": sparse_bytes(X), "dense": 8 * len(X) * (len(X) + 1)}
    rows, predictions = [], []
    for design, size in sizes.items():
        settings = {"candidates": "all", "design": design, "memory_budget": "10GB"}
        model = RVR(COMPACT_KERNEL, **settings)
        started = time.perf_counter()
        model.fit(X, y)
        elapsed = time.perf_counter() - started
        predictions.append(model.predict(X, return_std=True))
        vectors = len(model.relevance_)
        rows.append((design, f"{size / 1e6:.1f}", vectors, f"{elapsed:.1f}"))
    header = ["design", "MB of Φ", "vectors", "seconds"]
    show_table("Finite support", header, rows)
    share = sizes["sparse"] / sizes["dense"]
    apart = [np.max(np.abs(a - b)) for a, b in zip(*predictions, strict=True)]
    print(f"Φ takes {share:.2%} of the dense memory.")
    print(f"Means are at most {apart[0]:.1e} apart, error bars {apart[1]:.1e}.")


def run_quality(options):
    show_schedules(compare_schedules(options.size, options.seeds), options.size)
    show_reference(options.reference)


def quality_options(parser):
    add = parser.add_argument
    add("--size", type=int, default=1000, help="rows of a draw")
    add("--seeds", type=int, default=20, help="number of draws")
    text = "where the reference results are; beside RELVEC_DATA if that is set"
    add("--reference", type=Path, default=reference_folder(), help=text)


def solver_options(parser):
    add = parser.add_argument
    add("--size", type=int, default=1000, help="rows of a draw")
    add("--seeds", type=int, default=5, help="draws of the problem")
    add("--seconds", type=float, default=120, help="for a fit at most")


def kernel_options(parser):
    add = parser.add_argument
    add("--rows", type=int, default=10_000, help="of blocks")
    add("--sparse-rows", type=int, default=20_000, help="of sparse matrices")
    add("--repeat", type=int, default=9, help="calls of each")


def compact_options(parser):
    add = parser.add_argument
    add("--rows", type=int, default=20_000, help="to fit")
    add("--seed", type=int, default=0, help="of their draw")


BENCHMARKS = {
    "quality": Benchmark(
        "evidence of the search, beside one action at a time and SparseBayes",
        run_quality,
        quality_options,
    ),
    "solvers": Benchmark(
        "the search beside MacKay's iteration, EM and the variational fixed point",
        run_solvers,
        solver_options,
    ),
    "kernels": Benchmark(
        "time of kernel matrices, beside scikit-learn",
        run_kernels,
        kernel_options,
        threads=1,
    ),
    "compact": Benchmark(
        "a kernel of compact support: sparse and dense memory",
        run_compact,
        compact_options,
    ),
}

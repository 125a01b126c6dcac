"""More rows and less noise: how time grows, and whether noise is found.

Seconds against rows of one table, smooth functions with less and less noise, very many
rows in one process, and millions of them on a Dask cluster of this machine.
"""

import math
import resource
import time
from itertools import product

import numpy as np
from sklearn.datasets import make_friedman1

import relvec
from benchmarks.contenders import NYSTROEM, RELVEC, for_numbers
from benchmarks.harness import (
    WARM_UP_ROWS,
    Benchmark,
    Ledger,
    by_intervals,
    by_search,
    exponent,
    fit_of,
    measure_alone,
    median,
    rmse,
    say,
    section,
    warm_up,
)
from benchmarks.problems import TEST_SEED, Split, load, standardised
from benchmarks.reports import ABSENT, count, decimals, figures, show_table
from relvec import RVR, SplitMerge

# Time against rows of a table


GROWTH_TABLE = "kin40k"
GROWTH_ROWS = (2000, 5000, 10_000, 20_000, 40_000)


def growth_problem(rows):
    return f"{rows} rows"


def measure_growth(ledger, options):
    """Fits of each number of rows, drawn by chance."""
    X, y = load(GROWTH_TABLE)
    ours = for_numbers(options.limit_seconds)[0]
    for rows in options.rows:
        for seed in range(options.splits):
            key = section("growth", options), growth_problem(rows), RELVEC, seed
            if key in ledger.runs or rows > len(y):
                continue
            chosen = np.random.default_rng(seed).permutation(len(y))[:rows]
            # All 40 000 rows may be fitted, so that no error is asked for.
            split = standardised(X, y, chosen, chosen)
            warm_up(ours.make(WARM_UP_ROWS), split)
            ledger.measure(key, fit_of(ours), split, by_search)


def show_growth(ledger, options):
    """Medians over the draws, and how seconds grow."""
    cells, measured = [], []
    for rows in sorted(set(options.rows)):
        where = section("growth", options), growth_problem(rows), RELVEC
        known = [ledger.runs.get((*where, seed)) for seed in range(options.splits)]
        runs = [run for run in known if run is not None]
        seconds, vectors, rounds = (
            median(np.array([getattr(run, value) for run in runs]))
            for value in ("seconds", "vectors", "rounds")
        )
        # How long a fit would have taken without its limit is not known.
        if not np.isnan(seconds) and not any(run.was_cut_short for run in runs):
            measured.append((rows, seconds))
        shown = figures(seconds), count(vectors), count(rounds)
        endings = ", ".join(sorted({run.ending for run in runs}))
        cells.append([count(rows), *shown, endings or ABSENT])
    header = ["rows", "seconds", "vectors", "rounds", "status"]
    show_table(f"Time against rows of {GROWTH_TABLE}", header, cells)
    print(f"Seconds ∝ rows^{figures(exponent(measured))}.")


# Less and less noise


NOISE_SIZES = (1500, 3000, 20_000)
NOISE_LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of noise, by the function's deviation
NOISE_TEST_ROWS = 2000
FUNCTIONS = {
    1: lambda X: np.sin(5 * X[:, 0]),
    2: lambda X: np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]),
    4: lambda X: FUNCTIONS[2](X) + np.sin(3 * X[:, 2]) * np.cos(2 * X[:, 3]),
}


def draw_smooth(dimension, rows, level):
    """Rows on [-1, 1]ᵈ, others without noise to test on, and the noise's deviation."""
    truth = FUNCTIONS[dimension]
    rng, test = np.random.default_rng(0), np.random.default_rng(TEST_SEED)
    X = rng.uniform(-1, 1, (rows, dimension))
    noise = level * truth(X).std()
    y = truth(X) + noise * rng.standard_normal(rows)
    X_test = test.uniform(-1, 1, (NOISE_TEST_ROWS, dimension))
    return Split(X, y, X_test, truth(X_test)), float(noise)


def cases(options):
    """Dimensions, rows and levels of noise with the key of their run."""
    where = section("low noise", options)
    for dimension, rows, level in product(FUNCTIONS, options.sizes, NOISE_LEVELS):
        text = f"{dimension} variables, {rows} rows, noise {level:g}"
        yield (dimension, rows, level), (where, text, RELVEC, 0)


def measure_noise(ledger, options):
    """Runs of each function, size and level of noise."""
    ours = for_numbers(options.limit_seconds)[0]
    for case, key in cases(options):
        if key in ledger.runs:
            continue
        split, noise = draw_smooth(*case)
        warm_up(ours.make(WARM_UP_ROWS), split)
        ledger.measure(key, fit_of(ours), split, judge_of(noise))


def judge_of(noise):
    """A judge that knows the noise."""

    def by_truth(model, split):
        estimate = math.sqrt(model.noise_variance_)
        found = {"error": split.rmse(model), "noise": estimate / noise}
        return {**found, **by_search(model)}

    return by_truth


def show_noise(ledger, options):
    rows = []
    for (dimension, size, level), key in cases(options):
        run = ledger.runs[key]
        error = ABSENT if math.isnan(run.error) else f"{run.error:.1e}"
        cells = figures(run.seconds), count(run.vectors), error, figures(run.noise)
        rows.append([dimension, count(size), f"{level:.0e}", *cells, run.ending])
    header = ["variables", "rows", "noise", "seconds", "vectors"]
    names = "RMSE to the function", "noise, estimated / true", "status"
    show_table("Less and less noise", [*header, *names], rows)


# Very many rows


FRIEDMAN_FEATURES = 20  # of which five matter
FRIEDMAN_TEST_ROWS = 10_000
FRIEDMAN_TITLES = {RELVEC: "relvec", NYSTROEM: "Nystroem + Ridge"}


def draw_friedman(rows):
    """Rows with noise 1 to fit, others without to test on."""
    X, y = make_friedman1(rows, FRIEDMAN_FEATURES, noise=1.0, random_state=0)
    test = make_friedman1(
        FRIEDMAN_TEST_ROWS, FRIEDMAN_FEATURES, noise=0.0, random_state=TEST_SEED
    )
    return Split(X, y, *test)


def friedman_key(name, options):
    return section("friedman", options), f"{options.rows} rows", name, 0


def measure_friedman(ledger, options):
    """A run of each in a process of its own."""
    field = [
        one for one in for_numbers(options.limit_seconds) if one.name in FRIEDMAN_TITLES
    ]
    keys = {one.name: friedman_key(one.name, options) for one in field}
    if set(keys.values()) <= ledger.runs.keys():
        return
    split = draw_friedman(options.rows)
    for one in field:
        arguments = keys[one.name], one, split, by_intervals
        measure_alone(ledger, *arguments, threads=options.threads)


def show_friedman(ledger, options):
    rows = []
    for name, title in FRIEDMAN_TITLES.items():
        run = ledger.runs[friedman_key(name, options)]
        cells = figures(run.seconds), decimals(run.error), count(run.vectors)
        rounds, peak = count(run.rounds), count(run.peak / 1e6)
        rows.append([title, *cells, rounds, peak, run.ending or ABSENT])
    title = f"Friedman's function, {count(options.rows)} rows, noise 1"
    header = ["model", "seconds", "RMSE to the function", "vectors", "rounds"]
    show_table(title, [*header, "peak MB", "status"], rows)


# A cluster


CLUSTER_FEATURES = 10
CHUNK_ROWS = 100_000
CLUSTER_NOISE = 0.3
CLUSTER_TEST_ROWS = 5000


def rows_of_chunk(number, n_rows, n_features=CLUSTER_FEATURES):
    """Inputs and targets, the same whenever and wherever they are made."""
    rng = np.random.default_rng([7, number])
    X = rng.uniform(-1, 1, (n_rows, n_features))
    y = scaled_friedman(X) + CLUSTER_NOISE * rng.standard_normal(n_rows)
    return X, y


def scaled_friedman(X):
    """Friedman's first function on [-1, 1], of deviation one."""
    u = (X + 1) / 2
    value = 10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2
    return (value + 10 * u[:, 3] + 5 * u[:, 4]) / 4.9


def collection(n_rows):
    """A Dask array of rows and one of targets, chunk by chunk."""
    import dask
    import dask.array as da

    sizes = [CHUNK_ROWS] * (n_rows // CHUNK_ROWS)
    chunks = [
        dask.delayed(rows_of_chunk, nout=2)(k, size) for k, size in enumerate(sizes)
    ]
    X = [
        da.from_delayed(one[0], (size, CLUSTER_FEATURES), float)
        for one, size in zip(chunks, sizes, strict=True)
    ]
    y = [
        da.from_delayed(one[1], (size,), float)
        for one, size in zip(chunks, sizes, strict=True)
    ]
    return da.concatenate(X), da.concatenate(y)


def peak_bytes():
    """The largest resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def on_cluster(sizes, n_workers, model):
    """A row of the table for each size, every one on a fresh cluster."""
    from dask.distributed import Client, LocalCluster

    X_test, _ = rows_of_chunk(10**6, CLUSTER_TEST_ROWS)
    for n_rows in sizes:
        options = {"n_workers": n_workers, "threads_per_worker": 1}
        with (
            LocalCluster(**options, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            X, y = collection(n_rows)
            start = time.perf_counter()
            fitted = model.fit(X, y)
            seconds = time.perf_counter() - start
            peaks = client.run(peak_bytes).values()
            error = rmse(fitted.predict(X_test), scaled_friedman(X_test))
            yield {
                "rows": n_rows,
                "seconds": seconds,
                "worker_bytes": max(peaks),
                "driver_bytes": peak_bytes(),
                "error": error,
                "vectors": len(fitted.relevance_),
                "noise": float(np.sqrt(fitted.noise_variance_)),
            }


def split_and_merge(n_rows, workers, polish, repeats):
    """Seconds with one process and with several."""
    X, y = rows_of_chunk(0, n_rows, 8)
    model = RVR(gamma=0.1, partition=SplitMerge(polish=polish), partition_size=200)
    laps = {1: [], workers: []}
    predictions = {}
    for _ in range(repeats):
        for number, own in laps.items():
            with relvec.parallel(number):
                RVR(gamma=0.1, partition="split-merge", partition_size=20).fit(
                    X[:2000], y[:2000]
                )
                start = time.perf_counter()
                model.fit(X, y)
                own.append(time.perf_counter() - start)
            predictions[number] = model.predict(X[:1000])
    same = np.array_equal(predictions[1], predictions[workers])
    return {number: float(np.median(each)) for number, each in laps.items()}, same


def show_cluster(found):
    header = ["rows", "seconds", "µs a row", "worker, GB", "driver, GB"]
    header += ["error", "vectors", "noise"]
    rows = [
        [
            count(run["rows"]),
            figures(run["seconds"]),
            figures(1e6 * run["seconds"] / run["rows"]),
            figures(run["worker_bytes"] / 1e9),
            figures(run["driver_bytes"] / 1e9),
            figures(run["error"]),
            run["vectors"],
            figures(run["noise"]),
        ]
        for run in found
    ]
    show_table("A cluster", header, rows)


def run_cluster(given):
    sizes = [int(size) for size in given.rows.split(",") if size]
    if sizes:
        found = []
        for run in on_cluster(sizes, given.workers, RVR()):
            say(run)
            found.append(run)
        print(f"`RVR()` on {given.workers} Dask workers of one thread:\n")
        show_cluster(found)
    if given.merge_rows:
        print(f"Split & merge, {count(given.merge_rows)} rows:\n")
        for polish in (False, True)[: 1 + given.polish]:
            laps, same = split_and_merge(
                given.merge_rows, given.workers, polish, given.repeats
            )
            ratio = laps[1] / laps[given.workers]
            words = ", ".join(f"{n} processes {figures(s)} s" for n, s in laps.items())
            print(f"- polish={polish}: {words}, ratio {figures(ratio)}, same {same}")


def run_with(measure, show):
    """A benchmark that measures into a ledger and shows it."""

    def run(options):
        ledger = Ledger(options.json)
        measure(ledger, options)
        show(ledger, options)

    return run


def limited(parser):
    text = "for each fit of relvec"
    parser.add_argument("--limit-seconds", type=float, help=text)


def growth_options(parser):
    limited(parser)
    add = parser.add_argument
    add("--rows", nargs="+", type=int, default=GROWTH_ROWS, help="numbers of rows")
    add("--splits", type=int, default=3, help="draws of each number")


def noise_options(parser):
    limited(parser)
    add = parser.add_argument
    add("--sizes", nargs="+", type=int, default=NOISE_SIZES, help="numbers of rows")


def friedman_options(parser):
    limited(parser)
    parser.add_argument("--rows", type=int, default=100_000, help="rows to fit")


def cluster_options(parser):
    add = parser.add_argument
    add("--rows", default="1000000,3000000,10000000", help="with commas, or none")
    add("--workers", type=int, default=2, help="processes of the cluster")
    text = "rows of split & merge, or 0"
    add("--merge-rows", type=int, default=200_000, help=text)
    add("--repeats", type=int, default=1, help="fits of split & merge")
    add("--polish", action="store_true", help="split & merge with a polish, too")


BENCHMARKS = {
    "growth": Benchmark(
        "time against 2000 to 40 000 rows of kin40k",
        run_with(measure_growth, show_growth),
        growth_options,
        threads=1,
        keeps_fits=True,
    ),
    "low_noise": Benchmark(
        "smooth functions of 1, 2 and 4 variables with less and less noise",
        run_with(measure_noise, show_noise),
        noise_options,
        threads=1,
        keeps_fits=True,
    ),
    "friedman": Benchmark(
        "very many rows of 20 features, beside Nystroem and Ridge",
        run_with(measure_friedman, show_friedman),
        friedman_options,
        threads=1,
        keeps_fits=True,
    ),
    "cluster": Benchmark(
        "1 to 10 million rows on a Dask cluster of this machine",
        run_cluster,
        cluster_options,
    ),
}

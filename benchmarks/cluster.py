"""Rows on a Dask cluster of this machine, and split & merge in several processes."""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from markdown import count, figures, table

import relvec
from relvec import RVR, SplitMerge

N_FEATURES = 10
CHUNK_ROWS = 100_000
NOISE = 0.3
TEST_ROWS = 5000


def rows_of_chunk(number, n_rows, n_features=N_FEATURES):
    """Inputs and targets, the same whenever and wherever they are made."""
    rng = np.random.default_rng([7, number])
    X = rng.uniform(-1, 1, (n_rows, n_features))
    y = function(X) + NOISE * rng.standard_normal(n_rows)
    return X, y


def function(X):
    """Friedman's first function on [-1, 1], of deviation one."""
    u = (X + 1) / 2
    value = 10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2
    return (value + 10 * u[:, 3] + 5 * u[:, 4]) / 4.9


def collection(n_rows):
    """A Dask array of rows and one of targets, chunk by chunk."""
    sizes = [CHUNK_ROWS] * (n_rows // CHUNK_ROWS)
    chunks = [
        dask.delayed(rows_of_chunk, nout=2)(k, size) for k, size in enumerate(sizes)
    ]
    X = [
        da.from_delayed(one[0], (size, N_FEATURES), float)
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
    X_test, _ = rows_of_chunk(10**6, TEST_ROWS)
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
            error = np.sqrt(np.mean((fitted.predict(X_test) - function(X_test)) ** 2))
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


def printed(runs):
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
        for run in runs
    ]
    return table(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000,3000000,10000000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--merge-rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--polish", action="store_true", help="with a polish, too")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = {}
    sizes = [int(size) for size in given.rows.split(",") if size]
    if sizes:
        found["cluster"] = []
        for run in on_cluster(sizes, given.workers, RVR()):
            print(run, file=sys.stderr)
            found["cluster"].append(run)
        print(f"## `RVR()` on {given.workers} Dask workers of one thread\n")
        print(printed(found["cluster"]))
    if given.merge_rows:
        print(f"\n## Split & merge, {count(given.merge_rows)} rows\n")
        for polish in (False, True)[: 1 + given.polish]:
            laps, same = split_and_merge(
                given.merge_rows, given.workers, polish, given.repeats
            )
            found[f"polish={polish}"] = laps
            ratio = laps[1] / laps[given.workers]
            words = ", ".join(f"{n} processes {figures(s)} s" for n, s in laps.items())
            print(f"- polish={polish}: {words}, ratio {figures(ratio)}, same {same}")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

"""Peak memory of a fit of relvec, in a process of its own."""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from contenders import relvec_model
from machine import limited_threads
from problems import PROBLEMS
from timing import WARM_UP_ROWS, described

import relvec.data

WAYS = ("in memory", "streamed")


@dataclass(frozen=True)
class Footprint:
    """What a fit added to the memory of its process, at the most, in bytes."""

    problem: str
    way: str
    size: int
    fit: int | None = None
    process: int | None = None
    seconds: float | None = None
    error: float | None = None
    vectors: int | None = None
    failure: str | None = None


def measure_memory(problem, size, way, threads=None):
    """The footprint of a fit in a fresh process, which reads the rows from files."""
    X, y = problem.draw(size, 0)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        np.save(Path(folder, "rows.npy"), np.column_stack([X, y]))
        command = [sys.executable, __file__, problem.name, way, folder]
        found = outcome_of(command, threads)
    return Footprint(problem.name, way, size, **found)


def outcome_of(command, threads=None):
    """What a child process prints, a dictionary; or why it ended without."""
    limit = [] if threads is None else ["--threads", str(threads)]
    child = subprocess.run(
        [*command, *limit], capture_output=True, text=True, check=False
    )
    if child.returncode:
        reason = child.stderr.strip().splitlines()[-1:] or ["killed"]
        return {"failure": f"{reason[0]} (exit {child.returncode})"}
    return json.loads(child.stdout.splitlines()[-1])


def memory_in_use():
    """Bytes in use now, and at the most so far.

    On Linux ``ru_maxrss`` of a child begins with the peak of its parent, so the
    process's own figures are read where they exist.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return tuple(1024 * int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak, peak


def rows_for(way, folder):
    """What to give to ``fit``, and the settings that go with it."""
    if way == "in memory":
        return (np.load(folder / "X.npy"), np.load(folder / "y.npy")), {}
    blocks = relvec.data.scan(str(folder / "rows.npy"), target=-1)
    return (blocks,), {"design": "streamed"}


def fit_alone(problem, way, folder):
    """What this process needed for one fit."""
    relvec_model(problem).fit(*problem.draw(WARM_UP_ROWS, 0))
    rows, settings = rows_for(way, folder)
    model = relvec_model(problem, **settings)
    before, _ = memory_in_use()
    started = time.perf_counter()
    model.fit(*rows)
    seconds = time.perf_counter() - started
    _, peak = memory_in_use()
    return {
        "fit": peak - before,
        "process": peak,
        "seconds": seconds,
        "error": problem.error(model),
        "vectors": len(model.relevance_),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=PROBLEMS)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("folder", type=Path, help="where the rows are")
    parser.add_argument("--threads", type=int, help="threads of BLAS and OpenMP")
    options = parser.parse_args()
    if options.way == "streamed" and not hasattr(relvec.data, "scan"):
        print(json.dumps({"failure": "not available"}))
        return
    problem = PROBLEMS[options.problem]
    with limited_threads(options.threads):
        try:
            found = fit_alone(problem, options.way, options.folder)
        except Exception as failure:
            found = {"failure": described(failure)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

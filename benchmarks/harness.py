"""How benchmarks are run: options, threads, outcomes in a ledger, time and memory."""

import json
import os
import pickle
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_info, threadpool_limits

import relvec
from relvec import Status

ROOT = Path(__file__).parents[1]
PACKAGES = ("numpy", "scipy", "scikit-learn", "fastrvm")
WARM_UP_ROWS = 100
COVERAGE = 0.9  # of intervals


@dataclass(frozen=True)
class Benchmark:
    """What a benchmark measures in a line, its options, and what runs it."""

    summary: str
    run: Callable[[Any], None]
    add_options: Callable[[Any], None] = lambda parser: None
    threads: int | None = None  # unless --threads is given
    keeps_fits: bool = False  # one by one, in a ledger


# Threads and the machine


@contextmanager
def limited_threads(threads):
    """At most so many threads in BLAS and OpenMP, on as many cores; None is no limit.

    The cores bind those threads too that a library starts by itself.
    """
    if threads is None:
        yield
        return
    pinned = hasattr(os, "sched_setaffinity")
    cores = os.sched_getaffinity(0) if pinned else set()
    with threadpool_limits(threads):
        try:
            if pinned:
                os.sched_setaffinity(0, sorted(cores)[:threads])
            yield
        finally:
            if pinned:
                os.sched_setaffinity(0, cores)


def cores_in_use():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def processor():
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def versions():
    found = {"Python": platform.python_version(), "relvec": relvec.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def describe_machine():
    """Processor, cores, threads of each library, and versions."""
    libraries = {
        (library["internal_api"], library["num_threads"])
        for library in threadpool_info()
    }
    return {
        "processor": processor(),
        "system": platform.system(),
        "cores": cores_in_use(),
        "threads": [f"{name} {threads}" for name, threads in sorted(libraries)],
        "versions": versions(),
    }


# Outcomes


@dataclass(frozen=True)
class Run:
    """One model on one draw of a problem."""

    section: str
    problem: str
    model: str
    seed: int
    error: float = np.nan
    vectors: float = np.nan
    seconds: float = np.nan
    log_loss: float = np.nan
    warned: int = 0
    failure: str | None = None
    rounds: float = np.nan
    coverage: float = np.nan
    noise: float = np.nan  # estimated over true
    peak: float = np.nan  # of memory, in bytes beyond those before the fit
    process: float = np.nan  # the same with those before the fit
    status: str | None = None
    gamma: float = np.nan  # of a Gaussian kernel, where it was searched for
    partition: float = np.nan  # rows of one

    @property
    def key(self):
        return self.section, self.problem, self.model, self.seed

    @property
    def was_cut_short(self):
        """Whether the limit of seconds ended the fit."""
        return self.status == Status.MAX_SECONDS.name

    @property
    def ending(self):
        """How the fit ended, in words; nothing if that is not known."""
        return self.failure or (self.status or "").lower().replace("_", " ")


@dataclass
class Ledger:
    """All runs by section, problem, model and seed; kept in a file if one is given."""

    path: Path | None = None
    runs: dict[tuple[Any, ...], Run] = field(default_factory=dict)

    def __post_init__(self):
        if self.path is not None and self.path.exists():
            known = [Run(**record) for record in json.loads(self.path.read_text())]
            self.runs = {run.key: run for run in known}

    def measure(self, key, fit, split, judge):
        """Fit and judge, unless that is known."""
        self.keep(key, lambda: measured(key, fit, split, judge))

    def keep(self, key, run):
        """What ``run`` returns, unless a run of this key is known."""
        if key not in self.runs:
            self.runs[key] = run()
            say(described_run(self.runs[key]))
            self._store()

    def _store(self):
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            records = [asdict(run) for run in self.runs.values()]
            self.path.write_text(json.dumps(records))

    def of(self, section, problem, model, seeds=None):
        """The runs of a model on a problem by their seeds; all, or those given."""
        where = section, problem, model
        found = [
            run
            for key, run in self.runs.items()
            if key[:3] == where and (seeds is None or key[3] in seeds)
        ]
        return sorted(found, key=lambda run: run.seed)

    def values(self, section, problem, model, value="error", seeds=None):
        """One value of each of these runs."""
        runs = self.of(section, problem, model, seeds)
        return np.array([getattr(run, value) for run in runs])

    def mean(self, section, problem, model, value="error", seeds=None):
        """The mean of these values, nan of none."""
        values = self.values(section, problem, model, value, seeds)
        return float(np.mean(values)) if len(values) else np.nan


def section(name, options):
    """Section of the ledger: other threads or limits are other outcomes.

    Rivals have no limit, but their times are wanted from the same session.
    """
    limit = options.limit_seconds
    text = "" if limit is None else f", {limit:g} s"
    return f"{name}, threads {options.threads}{text}"


def say(text):
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def described_run(run):
    failure = f" {run.failure}" if run.failure else ""
    where = f"{run.section} {run.problem} {run.model} {run.seed}:"
    figures = f"{run.error:.4g} / {run.vectors:g}, {run.seconds:.2f} s"
    return f"{where} {figures}, {run.warned} warnings{failure}"


def described_failure(failure):
    return f"{type(failure).__name__}: {failure}"


def median(values):
    """Median of those that were measured, or nan."""
    values = np.asarray(values, dtype=float)
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else np.nan


def exponent(measured):
    """Slope of log seconds on log rows by least squares, nan of fewer than two."""
    if len(measured) < 2:
        return np.nan
    rows, seconds = np.log(measured).T
    return float(np.polyfit(rows, seconds, 1)[0])


# Fits


def timed(action, *arguments):
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def fits(make):
    """A fit of what ``make`` makes."""
    return lambda split: make().fit(split.X, split.y)


def fit_of(contender):
    """A fit of what the contender makes for as many rows."""
    return lambda split: contender.make(len(split.y)).fit(split.X, split.y)


def warm_up(model, split):
    """The model itself, fitted to a few rows; they are from all places of the split."""
    few = slice(None, None, max(1, len(split.y) // WARM_UP_ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(split.X[few], split.y[few])


def measured(key, fit, split, judge):
    """What became of a fit; one that fails must not end an hour of others."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fit(split)
        except Exception as failure:
            return Run(*key, failure=described_failure(failure))
        seconds = time.perf_counter() - started
    found = {"vectors": number_of_vectors(model), "seconds": seconds}
    return Run(*key, warned=len(caught), **{**found, **judge(model, split)})


def number_of_vectors(model):
    """Training rows that a model keeps, nan if it keeps none."""
    kept = getattr(model, "relevance_", getattr(model, "support_", None))
    return np.nan if kept is None else len(kept)


# Judges: what is asked of a fitted model, on the rows to test of a split


def negative_log_density(y, mean, std):
    """Nats of each row below a Gaussian with the predicted moments."""
    return 0.5 * np.log(2 * np.pi * std**2) + 0.5 * ((y - mean) / std) ** 2


def rmse(predicted, truth):
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def by_rmse(model, split):
    return {"error": split.rmse(model)}


def by_search(model, _split=None):
    """Rounds and status of a fit of relvec; other models have none."""
    if not hasattr(model, "status_"):
        return {}
    return {"rounds": int(model.n_iter_), "status": model.status_.name}


def by_intervals(model, split):
    """RMSE; for relvec also the negative log density and what intervals cover."""
    if not hasattr(model, "status_"):
        return {"error": split.rmse(model)}
    y = split.y_test
    mean, std = model.predict(split.X_test, return_std=True)
    within = np.abs(y - mean) <= ndtri(0.5 + COVERAGE / 2) * std
    return {
        "error": rmse(mean, y),
        "log_loss": float(np.mean(negative_log_density(y, mean, std))),
        "coverage": float(np.mean(within)),
        **by_search(model),
    }


def by_predictions(model, split):
    """RMSE; for models with deviations also log density and what intervals cover."""
    y = split.y_test
    try:
        mean, std = model.predict(split.X_test, return_std=True)
    except TypeError:
        return {"error": split.rmse(model)}
    if hasattr(model, "predict_interval"):
        lower, upper = model.predict_interval(split.X_test, COVERAGE)
    else:
        half = ndtri(0.5 + COVERAGE / 2) * std
        lower, upper = mean - half, mean + half
    return {
        "error": rmse(mean, y),
        "log_loss": float(np.mean(negative_log_density(y, mean, std))),
        "coverage": float(np.mean((lower <= y) & (y <= upper))),
        **by_search(model),
    }


def by_classes(model, split):
    """Error rate, and the log loss if the model has probabilities."""
    if not hasattr(model, "predict_proba"):
        wrong = model.predict(split.X_test) != split.y_test
        return {"error": float(np.mean(wrong)), **by_search(model)}
    p = model.predict_proba(split.X_test)
    wrong = model.classes_[p.argmax(axis=1)] != split.y_test
    loss = log_loss(split.y_test, p, labels=model.classes_)
    return {
        "error": float(np.mean(wrong)),
        "log_loss": float(loss),
        **by_search(model),
    }


# Memory, in processes of their own


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


def in_own_process(work, *arguments, threads=None):
    """The dictionary that ``work(*arguments)`` returns, or why it ended without."""
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder, "task.pickle")
        task.write_bytes(pickle.dumps((work, arguments, threads)))
        command = [sys.executable, "-m", "benchmarks.harness", str(task)]
        child = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=ROOT
        )
    if child.returncode:
        reason = child.stderr.strip().splitlines()[-1:] or ["killed"]
        return {"failure": f"{reason[0]} (exit {child.returncode})"}
    return json.loads(child.stdout.splitlines()[-1])


def measure_alone(ledger, key, contender, split, judge, *, threads):
    """Measure a contender in a process of its own, with its peak of memory."""
    model = contender.make(len(split.y))
    ledger.keep(key, lambda: measured_alone(key, model, split, judge, threads))


def measured_alone(key, model, split, judge, threads=None):
    """A run in a fresh process, which reads the rows to fit from files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A pickle of these would be in memory twice while it is read.
        np.save(folder / "X.npy", split.X)
        np.save(folder / "y.npy", split.y)
        rest = folder, key, model, judge, type(split), split.X_test, split.y_test
        found = in_own_process(fit_in_folder, *rest, threads=threads)
    names = "section", "problem", "model", "seed"
    return Run(**{**dict(zip(names, key, strict=True)), **found})


def fit_in_folder(folder, key, model, judge, make_split, *test):
    """The run on the rows of a folder, with its peak of memory."""
    split = make_split(np.load(folder / "X.npy"), np.load(folder / "y.npy"), *test)
    warm_up(clone(model), split)
    before, _ = memory_in_use()

    def judged(fitted, rows):
        _, peak = memory_in_use()
        return {**judge(fitted, rows), "peak": peak - before}

    return asdict(measured(key, lambda rows: model.fit(rows.X, rows.y), split, judged))


def work_alone(task):
    """Print what a task returns, in the process that was started for it."""
    work, arguments, threads = pickle.loads(Path(task).read_bytes())
    with limited_threads(threads):
        print(json.dumps(work(*arguments)))


if __name__ == "__main__":
    from benchmarks.harness import work_alone as start

    start(sys.argv[1])

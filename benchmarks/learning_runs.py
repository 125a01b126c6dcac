"""Fits of learned kernels and of their rivals, each a line of a ledger."""

import json
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR
from timing import described

from relvec import RVR
from relvec.kernels import Gaussian


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
    peak: float = np.nan  # of memory, in bytes
    status: str | None = None
    gamma: float = np.nan  # of a Gaussian kernel, where it was searched for
    partition: float = np.nan  # rows of one

    @property
    def key(self):
        return self.section, self.problem, self.model, self.seed


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
            print(shown(self.runs[key]), file=sys.stderr, flush=True)
            self._store()

    def _store(self):
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            records = [asdict(run) for run in self.runs.values()]
            self.path.write_text(json.dumps(records))

    def values(self, section, problem, model, value="error"):
        """One of each seed that was run, in their order."""
        found = [r for k, r in self.runs.items() if k[:3] == (section, problem, model)]
        found.sort(key=lambda run: run.seed)
        return np.array([getattr(run, value) for run in found])

    def mean(self, section, problem, model, value="error"):
        values = self.values(section, problem, model, value)
        return float(np.mean(values)) if len(values) else np.nan


def shown(run):
    failure = f" {run.failure}" if run.failure else ""
    where = f"{run.section} {run.problem} {run.model} {run.seed}:"
    figures = f"{run.error:.4g} / {run.vectors:g}, {run.seconds:.2f} s"
    return f"{where} {figures}, {run.warned} warnings{failure}"


def measured(key, fit, split, judge):
    """What became of a fit; one that fails must not end an hour of others."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fit(split)
        except Exception as failure:
            return Run(*key, failure=described(failure))
        seconds = time.perf_counter() - started
    kept = getattr(model, "relevance_", getattr(model, "support_", None))
    vectors = np.nan if kept is None else len(kept)
    judged = judge(model, split)
    return Run(*key, vectors=vectors, seconds=seconds, warned=len(caught), **judged)


def by_rmse(model, split):
    return {"error": split.rmse(model)}


def fits(make):
    """A fit of what ``make`` makes."""
    return lambda split: make().fit(split.X, split.y)


def learned(learning, kernel="rbf", **settings):
    """A fit of RVR that learns its kernel."""
    return fits(lambda: RVR(kernel, kernel_learning=learning, **settings))


def best_width(widths):
    """The fit of least error on the test rows: what no honest choice can beat."""

    def fit(split):
        models = [RVR(Gaussian(width)).fit(split.X, split.y) for width in widths(split)]
        return min(models, key=split.rmse)

    return fit


def relative_widths(split, number=14):
    """From narrow to wide, by the median distance between rows."""
    return np.median(pdist(split.X[:500])) * np.geomspace(0.05, 5, number)


def gaussian_process(split):
    """One length scale for each feature and the noise, learned from one start."""
    scales = np.ones(split.X.shape[1])
    kernel = ConstantKernel(1.0) * RBF(scales) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True).fit(split.X, split.y)


def support_vectors(split):
    """The best of 30 by 3-fold cross-validation, one after the other."""
    scale = 1 / (split.X.shape[1] * split.X.var())
    grid = {
        "C": [1, 10, 100],
        "epsilon": list(np.array([0.01, 0.1]) * split.y.std()),
        "gamma": list(scale * np.geomspace(0.1, 10, 5)),
    }
    search = GridSearchCV(SVR(), grid, scoring="neg_mean_squared_error", cv=3)
    return search.fit(split.X, split.y).best_estimator_

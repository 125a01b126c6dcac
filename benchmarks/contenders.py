"""Who takes part: relvec, its rivals, and the least work any of them could do."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from relvec import RVC, RVR

try:
    import fastrvm
except ImportError:
    fastrvm = None

N_COLUMNS = 330


@dataclass(frozen=True)
class Contender:
    """A name and how to make an unfitted model for a number of rows."""

    name: str
    make: Callable[[int], Any]
    largest: float = np.inf
    rival: bool = True


class Floor:
    """One pass over K(X, some rows), with KᵀK and Kᵀy: no fit can do with less."""

    def __init__(self, gamma, n_columns=N_COLUMNS, block=4096):
        self.gamma = gamma
        self.n_columns = n_columns
        self.block = block

    def fit(self, X, y):
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(X), min(self.n_columns, len(X)), replace=False)
        centres = X[chosen]
        self.gram_ = np.zeros((len(centres), len(centres)))
        self.projection_ = np.zeros(len(centres))
        for start in range(0, len(X), self.block):
            rows = slice(start, start + self.block)
            values = cdist(X[rows], centres, "sqeuclidean")
            values *= -self.gamma
            np.exp(values, out=values)
            self.gram_ += values.T @ values
            self.projection_ += values.T @ y[rows]
        return self


def relvec_model(problem, **settings):
    estimator = RVR if problem.name == "regression" else RVC
    return estimator(gamma=problem.gamma, **settings)


def nystroem_ridge(gamma, n_samples):
    n_components = min(N_COLUMNS, n_samples)
    features = Nystroem(gamma=gamma, n_components=n_components, random_state=0)
    return make_pipeline(features, Ridge())


def fastrvm_model(problem):
    estimator = fastrvm.RVR if problem.name == "regression" else fastrvm.RVC
    return estimator(kernel="rbf", gamma=problem.gamma, fit_intercept=True)


def support_vector_machine(problem):
    if problem.name == "regression":
        return SVR(C=1, epsilon=0.1, gamma=problem.gamma)
    return SVC(C=1, gamma=problem.gamma)


def contenders(problem):
    """All contenders for a problem, relvec first."""
    machine = "SVR" if problem.name == "regression" else "SVC"
    field = [
        Contender("relvec", lambda _: relvec_model(problem), rival=False),
        Contender(machine, lambda _: support_vector_machine(problem)),
    ]
    if fastrvm is not None:
        # It holds several matrices of rows × rows.
        field.append(Contender("fastrvm", lambda _: fastrvm_model(problem), 8_000))
    if problem.name == "regression":
        make = partial(nystroem_ridge, problem.gamma)
        field.append(Contender("Nystroem + Ridge", make))
        field.append(Contender("floor", lambda _: Floor(problem.gamma), rival=False))
    return field

"""Sixty drawn problems, on which 90 % intervals should cover about 90 % of new rows.

Ten problems of each kind of dictionary. The number of rows, features and columns, the
size of the noise and its kind are drawn; no setting of relvec was chosen on these.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

KINDS = ("default", "linear", "poly", "None", "dictionary", "list of kernels")
NUMBERS = range(10)
NOISES = ("gaussian", "gaussian", "student-t", "heteroscedastic", "poisson", "y_std")
N_TEST = 1000


@dataclass(frozen=True, eq=False)
class CoverageProblem:
    """Rows to fit, rows to predict, and how."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    settings: dict[str, Any]
    noise: str
    given: dict[str, Any] = field(default_factory=dict)  # beside X and y


def draw(kind: str, number: int) -> CoverageProblem:
    """The problem of this number of a kind."""
    rng = np.random.default_rng([38, KINDS.index(kind), number])
    most = 500 if kind == "list of kernels" else 2000
    n = int(np.exp(rng.uniform(np.log(20), np.log(most))))
    p = int(np.exp(rng.uniform(0, np.log(min(10 * n, 150_000 // n + 5)))))
    X = rng.standard_normal((n + N_TEST, p))
    if rng.random() < 0.3:
        X = X @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)) / np.sqrt(p))
    X, f, settings = _MADE[kind](rng, X, n)
    f = (f - f[:n].mean()) / (f[:n].std() or 1.0)
    return _noisy(rng, X, f, n, settings)


def _noisy(rng, X, f, n, settings):
    """With noise of a kind and size that are drawn."""
    size, kind = float(np.exp(rng.uniform(np.log(0.01), 0))), str(rng.choice(NOISES))
    count, given = len(f), {}
    if kind == "poisson":
        y = rng.poisson(np.exp(np.clip(rng.uniform(-0.5, 3) + 0.7 * f, -10, 6)))
    elif kind == "student-t":
        y = f + size * rng.standard_t(3, count) / np.sqrt(3)
    elif kind == "heteroscedastic":
        spread = np.exp(0.7 * np.tanh(X[:, 0]))
        y = f + size * spread * rng.standard_normal(count)
    elif kind == "y_std":
        # New rows are taken to have the mean square of the deviations that are given.
        std = size * np.exp(rng.uniform(-1, 1, count))
        std[n:] = np.sqrt(np.mean(std[:n] ** 2))
        y, given = f + std * rng.standard_normal(count), {"y_std": std[:n]}
    else:
        y = f + size * rng.standard_normal(count)
    named = {} if kind in {"gaussian", "y_std"} else {"noise": kind}
    y = y.astype(np.float64)
    return CoverageProblem(
        X[:n], y[:n], X[n:], y[n:], {**settings, **named}, kind, given
    )


def _smooth(rng, X, count):
    """A smooth function of some features."""
    columns = rng.choice(X.shape[1], min(count, X.shape[1]), replace=False)
    f = np.zeros(len(X))
    for column in columns:
        height, frequency, phase = rng.uniform([0.5, 0.5, 0], [1.5, 1.5, 6.3])
        f += height * np.sin(frequency * X[:, column] + phase)
    return f + 0.3 * X[:, columns[0]] * X[:, columns[-1]]


def _line(rng, X):
    """A linear function of at most ten features."""
    p = X.shape[1]
    count = int(rng.integers(1, min(p, 10) + 1))
    return X[:, rng.choice(p, count, replace=False)] @ rng.standard_normal(count)


def _by_default(rng, X, n):
    return X, _smooth(rng, X, int(rng.integers(1, 6))), {}


def _linear(rng, X, n):
    return X, _line(rng, X), {"kernel": "linear"}


def _polynomial(rng, X, n):
    columns = rng.choice(X.shape[1], min(3, X.shape[1]), replace=False)
    Z, degree = X[:, columns], int(rng.integers(2, 4))
    f = Z.sum(axis=1) + 0.5 * (Z**2).sum(axis=1) + 0.3 * Z[:, 0] * Z[:, -1]
    settings = {"kernel": "poly", "degree": degree, "coef0": 1.0, "gamma": "scale"}
    return X, f, settings


def _columns(rng, X, n):
    return X, _line(rng, X), {"kernel": None}


def _own_dictionary(rng, X, n):
    """Random waves as columns, or Gaussian functions at points that are no rows."""
    Z = X[:, : min(X.shape[1], 5)]
    q, size = Z.shape[1], int(rng.integers(5, min(4 * n, 1000) + 6))
    f = _smooth(rng, Z, 3)
    if rng.random() < 0.5:
        waves = Z @ rng.standard_normal((q, size)) + rng.uniform(0, 6.3, size)
        return np.cos(waves), f, {"kernel": None}
    centres = 1.5 * rng.standard_normal((size, q))
    return Z, f, {"gamma": 1 / q, "candidates": centres}


def _several_kernels(rng, X, n):
    second = str(rng.choice(["linear", "poly", "laplacian"]))
    f = _smooth(rng, X, int(rng.integers(1, 4)))
    return X, f, {"kernel": ["rbf", second], "gamma": "scale"}


_MADE = {
    "default": _by_default,
    "linear": _linear,
    "poly": _polynomial,
    "None": _columns,
    "dictionary": _own_dictionary,
    "list of kernels": _several_kernels,
}

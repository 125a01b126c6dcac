"""Averages over Gaussian latent values, by points that fill their space evenly."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from relvec.likelihoods.covariances import lower_root
from relvec.typing import Array

# Points of a unit normal (draws, outputs), and weights that add up to one.
Rule: TypeAlias = tuple[Array, Array]
N_DRAWS = 1024  # for probabilities to 2e-4 on average, and 1e-3
# Of a rule along one direction, for 2e-6 up to a standard deviation of ten times that
# of the noise; as many of Gauss and Hermite would have 1e-2 there.
_N_NODES, _FURTHEST = 64, 4.5
_ENTRIES = 100_000  # rows × outputs × draws at a time: a few such arrays, in cache


def averaged(
    probabilities: Callable[[Array, slice], Array],
    mean: Array,
    root: Array,
    rule: Rule,
) -> Array:
    """E[p(η)] (N, K) for η ~ N(mean, RRᵀ).

    R is (N, outputs, outputs), or its diagonal if that is all. The points are the same
    for every row; ``probabilities`` are those of values (rows, draws, outputs) of a
    slice of the rows.
    """
    n_rows, n_outputs = mean.shape
    normal, weights = rule
    step = max(1, _ENTRIES // (n_outputs * len(normal)))
    parts = []
    for start in range(0, max(1, n_rows), step):
        rows = slice(start, start + step)
        across = root.ndim == 3
        own = root[rows] @ normal.T if across else root[rows, :, None] * normal.T
        deviation = np.swapaxes(own, 1, 2)
        p = probabilities(mean[rows, None] + deviation, rows)
        parts.append(np.einsum("d,ndk->nk", weights, p))
    result = np.concatenate(parts)
    return result / result.sum(axis=1, keepdims=True)


@cache
def along_first(n_outputs: int) -> Rule:
    """A trapezium rule, for a root of which all is in the first column."""
    points = np.zeros((_N_NODES, n_outputs))
    points[:, 0] = np.linspace(-_FURTHEST, _FURTHEST, _N_NODES)
    weights = np.exp(-0.5 * points[:, 0] ** 2)
    return points, weights / weights.sum()


def root_of(spread: Array) -> Array:
    """Of variances (N, K) or covariances (N, K, K)."""
    if spread.ndim == 2:
        return np.sqrt(spread)
    return lower_root(spread)


@cache
def scattered(n_outputs: int, n_draws: int = N_DRAWS) -> Rule:
    """A Sobol sequence turned normal, and its mirror image."""
    points = qmc.Sobol(n_outputs, scramble=True, seed=0).random(n_draws // 2)
    normal = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    return np.concatenate([normal, -normal]), np.full(n_draws, 1 / n_draws)

"""Averages over Gaussian latent values, by points that fill their space evenly."""

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from relvec.typing import Array

_N_DRAWS = 1024  # for probabilities to 2e-4 on average, and 1e-3
_ENTRIES = 4_000_000  # rows × outputs × draws at a time


def averaged(
    probabilities: Callable[[Array, slice], Array],
    mean: Array,
    root: Array,
    n_draws: int = _N_DRAWS,
) -> Array:
    """E[p(η)] (N, K) for η ~ N(mean, RRᵀ).

    R is (N, outputs, outputs), or its diagonal if that is all. The points are the same
    for every row, each with its mirror image; ``probabilities`` are those of values
    (rows, draws, outputs) of a slice of the rows.
    """
    n_rows, n_outputs = mean.shape
    normal = _normal_points(n_outputs, n_draws)
    step = max(1, _ENTRIES // (n_outputs * len(normal)))
    parts = []
    for start in range(0, max(1, n_rows), step):
        rows = slice(start, start + step)
        across = root.ndim == 3
        own = root[rows] @ normal.T if across else root[rows, :, None] * normal.T
        deviation = np.swapaxes(own, 1, 2)
        parts.append(probabilities(mean[rows, None] + deviation, rows).mean(axis=1))
    result = np.concatenate(parts)
    return result / result.sum(axis=1, keepdims=True)


def root_of(spread: Array) -> Array:
    """Of variances (N, K) or covariances (N, K, K)."""
    if spread.ndim == 2:
        return np.sqrt(spread)
    values, vectors = np.linalg.eigh(spread)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None]


@cache
def _normal_points(n_outputs: int, n_draws: int) -> Array:
    """(draws, outputs) a Sobol sequence turned normal, and its mirror image."""
    points = qmc.Sobol(n_outputs, scramble=True, seed=0).random(n_draws // 2)
    normal = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    return np.concatenate([normal, -normal])

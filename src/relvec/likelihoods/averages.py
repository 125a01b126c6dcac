"""Averages over correlated Gaussian latent values, by points that fill space evenly.

Averages are taken at fixed points, so their error depends on which root of a covariance
multiplies the points. The root here is a formula in the entries of the covariance:
another implementation of the same model gets the same numbers. Eigenvectors, whose
signs are arbitrary, would not give them.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from relvec.precision import TINY
from relvec.typing import Array

# A smaller pivot, relative to the standard deviation, is rounding: its square is 1e-16.
LEAST_PIVOT = 1e-8
# Share of the bound that is removed: the rest of the covariance stays positive
# definite, and little of it is averaged over points unnecessarily.
COMMON_SHARE = 1 - 1e-5


def lower_root(covariance: Array) -> Array:
    """Lower triangular L (N, K, K) with LLᵀ = covariance, which may be semi-definite.

    Directions without variance have columns of zeros, or nearly so.
    """
    n_outputs = covariance.shape[1]
    L = np.zeros_like(covariance)
    for j in range(n_outputs):
        known = np.einsum("nik,nk->ni", L[:, j:, :j], L[:, j, :j])
        left = covariance[:, j:, j] - known
        pivot = np.sqrt(np.maximum(left[:, 0], 0.0))
        least = LEAST_PIVOT * np.sqrt(np.maximum(covariance[:, j, j], 0.0)) + TINY
        L[:, j, j] = pivot
        L[:, j + 1 :, j] = left[:, 1:] / np.maximum(pivot, least)[:, None]
    return L


def line_root(covariance: Array) -> Array:
    """A root for two outputs whose covariance has rank one, or nearly so.

    Only its first column is not zero. It points along the output with more variance.
    """
    rows, largest = (
        np.arange(len(covariance)),
        np.argmax(np.diagonal(covariance, axis1=1, axis2=2), axis=1),
    )
    column = covariance[rows, :, largest]
    L = np.zeros_like(covariance)
    variance = np.maximum(column[rows, largest], TINY)
    L[:, :, 0] = column / np.sqrt(variance)[:, None]
    return L


def common_variance(covariance: Array) -> Array:
    """(N,) a little less than the smallest eigenvalue.

    It is Laguerre's step from zero for the characteristic polynomial, a lower bound
    that is exact if all eigenvalues, or all but one, are equal.
    """
    n_outputs = covariance.shape[1]
    L = lower_root(covariance)
    inverse = np.zeros_like(L)
    for i in range(n_outputs):
        least = LEAST_PIVOT * np.sqrt(np.maximum(covariance[:, i, i], 0.0)) + TINY
        row = -np.einsum("nj,njk->nk", L[:, i, :i], inverse[:, :i])
        row[:, i] += 1.0
        inverse[:, i] = row / np.maximum(L[:, i, i], least)[:, None]
    # In units of the largest entry, whose squares stay in range.
    unit = np.max(np.abs(inverse), axis=(1, 2))
    inverse /= unit[:, None, None]
    precision = np.swapaxes(inverse, 1, 2) @ inverse
    first = np.trace(precision, axis1=1, axis2=2)
    second = np.einsum("nij,nij->n", precision, precision)
    spread = np.maximum(n_outputs * second - first**2, 0.0)
    bound = n_outputs / (first + np.sqrt((n_outputs - 1) * spread))
    return np.asarray(COMMON_SHARE * bound / unit / unit)


# Points of a unit normal (draws, outputs), and weights that add up to one.
Rule: TypeAlias = tuple[Array, Array]
N_DRAWS = 1024  # for probabilities to 2e-4 on average, and 1e-3
# Nodes along one direction: errors of 2e-6 up to ten times the noise's standard
# deviation, where as many nodes of Gauss and Hermite have 1e-2.
_N_NODES, _FURTHEST = 64, 4.5
_ENTRIES = 100_000  # rows × outputs × draws at a time: a few such arrays, in cache


def averaged(
    probabilities: Callable[[Array, slice], Array],
    mean: Array,
    root: Array,
    rule: Rule,
) -> Array:
    """E[p(η)] (N, K) for η ~ N(mean, RRᵀ).

    R is (N, outputs, outputs), or only its diagonal. The points are the same for every
    row; ``probabilities`` maps values (rows, draws, outputs) of a slice of rows to
    probabilities.
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
    """A trapezium rule along the first column of a root."""
    points = np.zeros((_N_NODES, n_outputs))
    points[:, 0] = np.linspace(-_FURTHEST, _FURTHEST, _N_NODES)
    weights = np.exp(-0.5 * points[:, 0] ** 2)
    return points, weights / weights.sum()


def root_of(spread: Array) -> Array:
    """A root of variances (N, K) or covariances (N, K, K)."""
    if spread.ndim == 2:
        return np.sqrt(spread)
    return lower_root(spread)


@cache
def scattered(n_outputs: int, n_draws: int = N_DRAWS) -> Rule:
    """Normal points from a Sobol sequence, and their mirror images."""
    points = qmc.Sobol(n_outputs, scramble=True, seed=0).random(n_draws // 2)
    normal = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    return np.concatenate([normal, -normal]), np.full(n_draws, 1 / n_draws)

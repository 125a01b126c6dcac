"""Covariances of a few outputs, of many rows at once.

Averages over correlated outputs are taken at fixed points, so they depend, by as much
as such an average errs, on which root of a covariance these are multiplied by. The one
here is a formula in its entries: whoever computes the same model elsewhere gets the
same numbers, which eigenvectors, whose signs are anybody's guess, would not give.
"""

import numpy as np

from relvec.precision import TINY
from relvec.typing import Array

# A pivot below this share of a standard deviation is rounding: its square is 1e-16.
LEAST_PIVOT = 1e-8
# Of the bound: so what is left of a covariance is still positive definite, with digits
# to spare, and hardly any of it is averaged over points that need not be.
COMMON_SHARE = 1 - 1e-5


def lower_root(covariance: Array) -> Array:
    """L (N, K, K), lower triangular, with LLᵀ = covariance; of a semi-definite one too.

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
    """The same of two outputs whose covariance has rank one, or nearly so.

    All of it is in the first column, along that of the output with more variance.
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
    """(N,) that all directions have: a little less than the least eigenvalue.

    By Laguerre's step from zero for the characteristic polynomial, which is a bound
    from below, and exact where all eigenvalues, or all but one, are the same.
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

"""Newton's step for likelihoods whose outputs depend on each other.

Solves   (A + ΦᵀHΦ)x = g  for the weights of all outputs at once
Given    products with H and, as a preconditioner, the posterior of the
         pseudo-observations, which leaves out what couples the outputs
By       Cholesky's factor where there are few weights; elsewhere by conjugate
         gradients, only as accurately as the distance to the mode deserves
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from relvec.evidence.base import Problem
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

_FEW_WEIGHTS = 64  # so many are solved for at once
_MOST_STEPS = 200
_ROUGHEST = 1e-2  # share of the squared residual that is left at most


def coupled_step(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
) -> Array:
    """x (K, n); ``posterior`` is that of pseudo-observations at the same weights."""
    at = posterior.active, posterior.prior_precision
    solution = step_at_once(problem, *at, curvature, gradient)
    if solution is None:
        return _in_steps(problem, posterior, curvature, gradient)
    return solution


def step_at_once(
    problem: Problem,
    active: Indices,
    prior_precision: Array,
    curvature: Callable[[Array], Array],
    gradient: Array,
) -> Array | None:
    """x (K, n) by I + A^(-1/2)ΦᵀHΦA^(-1/2) of all weights.

    None if they are many or none, or if rounding has spoilt the matrix.
    """
    if not 0 < gradient.size <= _FEW_WEIGHTS:
        return None
    n_outputs, n_active = gradient.shape
    root = np.broadcast_to(1 / np.sqrt(prior_precision), gradient.shape)
    columns = problem.design.matvec(np.eye(n_active), active)
    units = np.broadcast_to(
        np.eye(n_outputs)[:, None, :], (n_outputs, len(columns), n_outputs)
    )
    H = np.stack([curvature(unit) for unit in units], axis=2)  # (N, K, K)
    weighted = H[:, :, :, None] * columns[:, None, None, :]
    blocks = columns.T @ weighted.reshape(len(columns), -1)
    blocks = blocks.reshape(n_active, n_outputs, n_outputs, n_active)
    inner = blocks.transpose(1, 0, 2, 3) * root[:, :, None, None] * root
    inner = inner.reshape(gradient.size, gradient.size)
    inner.ravel()[:: gradient.size + 1] += 1
    _, solution, failed = lapack.dposv(inner, (root * gradient).ravel(), lower=1)
    return None if failed else root * solution.reshape(gradient.shape)


def _in_steps(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
) -> Array:
    active, alpha = posterior.active, posterior.prior_precision

    def product(weights: Array) -> Array:
        rows = curvature(problem.design.matvec(weights, active))
        return alpha * weights + problem.design.rmatvec(rows, active)

    Sigma = posterior.covariance
    solution = np.zeros_like(gradient)
    residual, direction = gradient.copy(), _times(Sigma, gradient)
    size = first = float(np.sum(gradient * direction))
    goal = first * min(_ROUGHEST, first)
    for _ in range(_MOST_STEPS):
        image = product(direction)
        length = size / float(np.sum(direction * image))
        solution += length * direction
        residual -= length * image
        whitened = _times(Sigma, residual)
        last, size = size, float(np.sum(residual * whitened))
        if size <= goal:
            break
        direction = whitened + (size / last) * direction
    return solution


def _times(matrices: Array, vectors: Array) -> Array:
    """Of every output (K, n), for symmetric matrices (K or 1, n, n)."""
    if len(matrices) == 1:
        return vectors @ matrices[0]
    return (matrices @ vectors[:, :, None])[:, :, 0]

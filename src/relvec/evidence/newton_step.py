"""Newton's step for likelihoods whose outputs depend on each other.

Solves   (A + ΦᵀHΦ)x = g  for the weights of all outputs at once
Given    products with H and, as a preconditioner, the posterior of the
         pseudo-observations, which leaves out what couples the outputs
By       conjugate gradients, only as accurately as the distance to the mode deserves
"""

from collections.abc import Callable

import numpy as np

from relvec.evidence.base import Problem
from relvec.posterior import Posterior
from relvec.typing import Array

_MOST_STEPS = 200
_ROUGHEST = 1e-2  # share of the squared residual that is left at most


def coupled_step(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
) -> Array:
    """x (K, n); ``posterior`` is that of pseudo-observations at the same weights."""
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

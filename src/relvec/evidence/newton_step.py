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
from scipy.sparse.linalg import LinearOperator, cg

from relvec.basis import blocks
from relvec.blockwise import check_time
from relvec.evidence.base import Problem
from relvec.posterior import Posterior
from relvec.precision import TINY
from relvec.typing import Array, Indices

_FEW_WEIGHTS = 64  # so many are solved for at once: one pass over rows, not many
_MOST_STEPS = 200  # of conjugate gradients, which take five
# Of the squared residual left, at most; near the mode the decrement, for quadratic
# convergence. On 7500 digits 0.02 takes a fifth more products, 0.2 as many more steps.
_ROUGHEST = 5e-2
# Of the decrement that is enough, what a step may leave: the rest is for what Newton's
# method leaves by itself.
_SHARE = 0.25


def coupled_step(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
    enough: float = 0.0,
) -> Array:
    """x (K, n); ``posterior`` is that of pseudo-observations at the same weights.

    No more accurately than it takes to leave a decrement that is ``enough``.
    """
    at = posterior.active, posterior.prior_precision
    solution = step_at_once(problem, *at, curvature, gradient)
    if solution is None:
        return _in_steps(problem, posterior, curvature, gradient, enough)
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
    root = np.broadcast_to(1 / np.sqrt(prior_precision), gradient.shape)
    inner = coupled_inner(problem, active, root, curvature)
    _, solution, failed = lapack.dposv(inner, (root * gradient).ravel(), lower=1)
    return None if failed else root * solution.reshape(gradient.shape)


def coupled_inner(
    problem: Problem,
    active: Indices,
    root: Array,
    curvature: Callable[[Array], Array],
) -> Array:
    """I + A^(-1/2)ΦᵀHΦA^(-1/2) (Kn, Kn) of all weights, for A^(-1/2) (K, n)."""
    n_outputs, n_active = root.shape
    columns = problem.design.matvec(np.eye(n_active), active)
    units = np.broadcast_to(
        np.eye(n_outputs)[:, None, :], (n_outputs, len(columns), n_outputs)
    )
    H = np.stack([curvature(unit) for unit in units], axis=2)  # (N, K, K)
    total = np.zeros((n_active, n_outputs * n_outputs * n_active))
    for rows in blocks(len(columns), n_outputs * n_outputs * n_active):
        part = columns[rows]
        weighted = H[rows][:, :, :, None] * part[:, None, None, :]
        total += part.T @ weighted.reshape(len(part), -1)
    products = total.reshape(n_active, n_outputs, n_outputs, n_active)
    inner = products.transpose(1, 0, 2, 3) * root[:, :, None, None] * root
    inner = inner.reshape(root.size, root.size)
    inner.ravel()[:: root.size + 1] += 1
    return inner


def _in_steps(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
    enough: float = 0.0,
) -> Array:
    """By conjugate gradients in standard deviations: Σ = WᵀW is the preconditioner."""
    active, alpha, W = posterior.active, posterior.prior_precision, posterior.whitener
    back = np.swapaxes(W, 1, 2)

    def product(whitened: Array) -> Array:
        check_time()
        weights = _times(back, whitened.reshape(gradient.shape))
        rows = curvature(problem.design.matvec(weights, active))
        image = alpha * weights + problem.design.rmatvec(rows, active)
        return _times(W, image).ravel()

    right = _times(W, gradient).ravel()
    size = float(right @ right)
    roughest = np.sqrt(min(_ROUGHEST, max(size, _SHARE * enough / max(size, TINY))))
    operator = LinearOperator((right.size, right.size), matvec=product)
    solution, _ = cg(operator, right, rtol=roughest, maxiter=_MOST_STEPS)
    return _times(back, solution.reshape(gradient.shape))


def _times(matrices: Array, vectors: Array) -> Array:
    """Of every output (K, n), for matrices (K or 1, n, n)."""
    return (matrices @ vectors[:, :, None])[:, :, 0]

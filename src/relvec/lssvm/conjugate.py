"""(7) by conjugate gradients: exact, with products of the kernel matrix alone.

Solves   DX = V^½[1 y] with D = tV^½KV^½ + uI, for all right sides at once
Given    products of K, which is held if it fits and evaluated in blocks if not
By       scipy's conjugate gradients, preconditioned by FFᵀ for K: with features F of
         low rank, (tV^½FFᵀV^½ + uI)⁻¹ is a factor of r × r
Until    residuals are ``tol`` of the right sides

All right sides are one vector to the method: a step is one product of matrices.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from relvec.basis import Basis
from relvec.design import Budget, DesignMatrix, Dictionary, choose_design
from relvec.kernels import Kernel
from relvec.linalg import threads_for
from relvec.lssvm.ridge import Ridge
from relvec.modelling import TrainingRows
from relvec.typing import Array


@dataclass(frozen=True, eq=False)
class Conjugate:
    """What the method came to."""

    coefficients: Array  # α (N, K)
    bias: Array  # (K,)
    residual: Array  # y − f (N, K)
    n_iter: int
    converged: bool


def held_kernel(kernel: Kernel, rows: TrainingRows, budget: Budget) -> DesignMatrix:
    """K between all rows, as an array if the budget holds it."""
    X = rows.rows.whole()
    dictionary = Dictionary(
        basis=Basis.of(kernel, X, bias=False),
        rows=rows.rows,
        sample_weight=rows.weight,
        budget=budget,
        seed=rows.seed,
        in_memory=True,
        at_once=True,
    )
    choice = choose_design("auto", dictionary)
    if choice is None:
        choice = choose_design("auto", replace(dictionary, at_once=False))
    assert choice is not None
    return choice.design


def solved_by_products(
    design: DesignMatrix, ridge: Ridge, C: float, *, tol: float, max_iter: int
) -> Conjugate:
    """α and b; ``ridge`` has the targets, and the features of the preconditioner."""
    t = min(C, 1.0)
    u = t / C
    root = np.sqrt(ridge.weight)[:, None]
    centre, targets = ridge.target_mean, ridge.targets
    right = root * (targets - centre)
    if ridge.intercept:
        right = np.hstack([root, right])
    norms = np.linalg.norm(right, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    shape, steps = right.shape, 0

    def product(x: Array) -> Array:
        columns = x.reshape(shape)
        # K is symmetric: products with its transpose need no copy of its columns.
        with threads_for(float(len(columns)) ** 2 * shape[1] * 20):
            values = design.rmatvec(root * columns).T * design.column_norms[:, None]
        return np.ravel(t * root * values + u * columns)

    def count(_: Array) -> None:
        nonlocal steps
        steps += 1

    size = right.size
    found, failed = cg(
        LinearOperator((size, size), product),
        np.ravel(right / norms),
        rtol=tol,
        maxiter=max_iter,
        M=_preconditioner(ridge, t, u, shape),
        callback=count,
    )
    solution = found.reshape(shape) * norms
    if ridge.intercept:
        g, rest = solution[:, :1], solution[:, 1:]
        b = (root[:, 0] @ rest) / float(root[:, 0] @ g[:, 0])
        rest = rest - g * b
    else:
        rest, b = solution, np.zeros(targets.shape[1])
    return Conjugate(t * root * rest, centre + b, u * rest / root, steps, not failed)


def _preconditioner(
    ridge: Ridge, t: float, u: float, shape: tuple[int, ...]
) -> LinearOperator:
    """(GGᵀ + uI)⁻¹ = [I − G(uI + GᵀG)⁻¹Gᵀ]/u with G = √t V^½F."""
    G = ridge.features.whole() * np.sqrt(t * ridge.weight)[:, None]
    with threads_for(float(G.size) * G.shape[1]):
        inner = G.T @ G
    inner[np.diag_indices(len(inner))] += u
    factor = cho_factor(inner, lower=True, check_finite=False)

    def solve(x: Array) -> Array:
        columns = x.reshape(shape)
        with threads_for(float(G.size) * shape[1] * 20):
            return np.ravel((columns - G @ cho_solve(factor, G.T @ columns)) / u)

    size = shape[0] * shape[1]
    return LinearOperator((size, size), solve)

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

# 1/C beside the largest column of K: less has no digits beside a preconditioner.
_LEAST_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class Conjugate:
    """What the method came to."""

    coefficients: Array  # α (N, K)
    bias: Array  # (K,)
    energy: Array  # (y − b)ᵀα (K,)
    n_iter: int
    converged: bool
    remarks: tuple[str, ...] = ()


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
    if choice is None:
        raise ValueError(
            f"products of {dictionary.words} do not fit into a memory_budget of "
            f"{budget.words}: raise it"
        )
    return choice.design


def solved_by_products(
    design: DesignMatrix, ridge: Ridge, C: float, *, tol: float, max_iter: int
) -> Conjugate:
    """α and b; ``ridge`` has the targets, and the features of the preconditioner."""
    largest = float(np.max(design.column_norms, initial=1.0))
    limited = min(C, 1 / (_LEAST_SHARE * largest))
    t = min(limited, 1.0)
    root = np.sqrt(ridge.weight)[:, None]
    # Targets near zero first, as in an exact solution.
    right = np.hstack([root, root * (ridge.targets - ridge.target_mean)])
    norms = np.linalg.norm(right, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    system = _System(design, root, t, t / limited)
    found, steps, failed = system.solved(
        right / norms,
        _preconditioner(ridge, t, t / limited, right.shape),
        tol,
        max_iter,
    )
    g, rest = found[:, 0] * norms[0], found[:, 1:] * norms[1:]
    b = np.zeros(rest.shape[1])
    if ridge.intercept:
        b = (root[:, 0] @ rest) / float(root[:, 0] @ g)
    rest = rest - np.outer(g, b)
    return Conjugate(
        coefficients=t * root * rest,
        bias=ridge.target_mean + b,
        energy=t * np.sum(right[:, 1:] * rest, axis=0),
        n_iter=steps,
        converged=not failed,
        remarks=() if limited == C else (_limited(C, limited),),
    )


def _limited(C: float, limited: float) -> str:
    return (
        f"C={C:.3g} is more than conjugate gradients have digits for, and the system "
        f"was solved as with C={limited:.3g}: lower C, or use method='exact'"
    )


@dataclass(frozen=True, eq=False)
class _System:
    """D = tV^½KV^½ + uI by its products."""

    design: DesignMatrix  # K
    root: Array  # V^½ (N, 1)
    t: float
    u: float

    def solved(
        self, right: Array, preconditioner: LinearOperator, tol: float, max_iter: int
    ) -> tuple[Array, int, bool]:
        """D⁻¹ right, steps, and whether these were not enough."""
        shape, size, steps = right.shape, right.size, 0

        def product(x: Array) -> Array:
            return np.ravel(self.product(x.reshape(shape)))

        def count(_: Array) -> None:
            nonlocal steps
            steps += 1

        found, failed = cg(
            LinearOperator((size, size), product),
            np.ravel(right),
            rtol=tol,
            maxiter=max_iter,
            M=preconditioner,
            callback=count,
        )
        return found.reshape(shape), steps, bool(failed)

    def product(self, columns: Array) -> Array:
        """D columns; K is symmetric, and its transpose needs no copy of columns."""
        norms = self.design.column_norms[:, None]
        with threads_for(float(len(columns)) * columns.size * 20):
            values = self.design.rmatvec(self.root * columns).T * norms
        return self.t * self.root * values + self.u * columns


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

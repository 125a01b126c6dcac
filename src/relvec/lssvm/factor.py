"""Factors of symmetric matrices: Cholesky's, and LDLᵀ where there is none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import blas, lapack

from relvec.basis import blocks
from relvec.linalg import threads_for
from relvec.typing import Array, Indices

# Rows factored by one call of LAPACK: with more, OpenBLAS 0.3.30 and 0.3.31 end the
# process when they have several threads (20 000 rows do; 15 000 do not).
_MOST_ROWS = 8192
# Of the largest diagonal element, added where there is no factor: a solution of a
# singular system is off by the shift, and by ε over the shift; √ε is the best of both.
_SHIFT = float(np.sqrt(np.finfo(float).eps))
# Columns of an inverse at a time: that of more rows would double what a factor takes.
_INVERTED = 2048
_TRIES = 12  # of a shift ten times as large: beyond, no number is right


class Factor(Protocol):
    """What can be asked of a symmetric matrix that was factored."""

    @property
    def shift(self) -> float:
        """What was added to its diagonal to make it one that can be solved."""

    @property
    def log_determinant(self) -> float:
        """nan where the matrix is not positive definite."""

    def solve(self, right: Array) -> Array:
        """matrix⁻¹ right, for right sides (n, m)."""

    def inverse_diagonal(self) -> Array:
        """diag(matrix⁻¹)."""


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """LLᵀ."""

    lower: Array  # (n, n), column-major
    shift: float = 0.0

    @property
    def log_determinant(self) -> float:
        return 2 * float(np.sum(np.log(np.diagonal(self.lower))))

    def solve(self, right: Array) -> Array:
        return lapack.dpotrs(self.lower, right, lower=1)[0]

    def half_solved(self, right: Array) -> Array:
        """L⁻¹ right."""
        return lapack.dtrtrs(self.lower, right, lower=1)[0]

    def inverse_diagonal(self) -> Array:
        """‖L⁻¹eᵢ‖²; columns of L⁻¹ are zero above the diagonal."""
        size = len(self.lower)
        if size <= _INVERTED:
            inverse = lapack.dtrtri(self.lower, lower=1)[0]
            return np.einsum("ij,ij->j", inverse, inverse)
        found = np.empty(size)
        for part in blocks(size, 1, _INVERTED):
            found[part] = self._inverse_squares(part)
        return found

    def _inverse_squares(self, columns: slice) -> Array:
        """Of some columns of L⁻¹, block by block from the diagonal on."""
        start, size = columns.start, len(self.lower)
        inverse = np.zeros((size - start, columns.stop - start), order="F")
        for top in range(start, size, _INVERTED):
            rows = slice(top, min(top + _INVERTED, size))
            right = np.eye(rows.stop - top, inverse.shape[1], order="F")
            if top > start:
                right = -self.lower[rows, start:top] @ inverse[: top - start]
            corner = self.lower[rows, rows]
            solved = blas.dtrsm(1.0, corner, right, lower=1)
            inverse[top - start : rows.stop - start] = solved
        return np.einsum("ij,ij->j", inverse, inverse)


@dataclass(frozen=True, eq=False)
class IndefiniteFactor:
    """LDLᵀ by Bunch and Kaufman's pivots."""

    factor: Array
    pivots: Indices
    shift: float = 0.0
    log_determinant: float = np.nan

    def solve(self, right: Array) -> Array:
        return lapack.dsytrs(self.factor, self.pivots, right, lower=1)[0]

    def inverse_diagonal(self) -> Array:
        return np.diagonal(lapack.dsytri(self.factor, self.pivots, lower=1)[0]).copy()


def factored(matrix: Callable[[], Array], *, definite: bool) -> Factor:
    """A factor of the matrix that is made, its lower triangle, column-major.

    Without one, which only rounding takes from a matrix known to be positive definite,
    as little is added to its diagonal as makes one; of another it is LDLᵀ.
    """
    shift = 0.0
    for _ in range(_TRIES):
        made = matrix()
        made[np.diag_indices(len(made))] += shift
        with threads_for(len(made) ** 3 / 3):
            found: Factor | None = cholesky_factor(made, shift)
        if found is None and not definite:
            made = matrix()
            made[np.diag_indices(len(made))] += shift
            found = _indefinite(made, shift)
        if found is not None:
            return found
        del made
        shift = max(10 * shift, _SHIFT * (_largest(matrix()) or 1.0))
    raise ValueError(
        "K + I/C is singular, whatever is added to its diagonal: look at the kernel's "
        "values, or change C"
    )


def _largest(lower: Array) -> float:
    """Absolute value, by columns."""
    return max(float(np.max(np.abs(column))) for column in lower.T)


def cholesky_factor(matrix: Array, shift: float = 0.0) -> CholeskyFactor | None:
    """In the place of a lower triangle; None if the matrix is not positive definite."""
    size = len(matrix)
    for part in blocks(size, 1, _MOST_ROWS):
        start, stop = part.start, part.stop
        if start:
            matrix[start:, part] -= matrix[start:, :start] @ matrix[part, :start].T
        whole = stop - start == size
        corner = matrix if whole else matrix[part, part]
        corner, failed = lapack.dpotrf(corner, lower=1, clean=not whole, overwrite_a=1)
        if failed:
            return None
        if not whole:
            matrix[part, part] = corner
            matrix[stop:, part] = blas.dtrsm(
                1.0, corner, matrix[stop:, part], side=1, lower=1, trans_a=1
            )
    finite = bool(np.isfinite(np.diagonal(matrix)).all())
    return CholeskyFactor(matrix, shift) if finite else None


def _indefinite(matrix: Array, shift: float) -> IndefiniteFactor | None:
    """None if the matrix is singular to working precision."""
    norm = max(float(np.abs(column).sum()) for column in matrix.T)
    work = int(lapack.dsytrf_lwork(len(matrix), lower=1)[0])
    factor, pivots, failed = lapack.dsytrf(matrix, lower=1, lwork=work, overwrite_a=1)
    if failed:
        return None
    reciprocal = lapack.dsycon(factor, pivots, norm, lower=1)[0]
    return IndefiniteFactor(factor, pivots, shift) if reciprocal > 1e-16 else None

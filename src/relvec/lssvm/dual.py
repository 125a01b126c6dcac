"""The optimality system of an LS-SVM, solved by one factor of K + I/C.

Solves   [0 1ᵀ; 1 K + V⁻¹/C][b; α] = [0; y], (7) of the note with I/γ for its I/y and
         the border of regression; targets ±1 make a classifier of it
Given    K between all rows, their weights V (repetitions), the weight C of errors
By       eliminating b: with D = tV^½KV^½ + uI, u = t/C and g = D⁻¹V^½1,
         b = gᵀV^½y/gᵀV^½1 and α = tV^½D⁻¹V^½(y − b)

t = min(C, 1) keeps D in range, however small or large C is. The bordered matrix is
indefinite and never formed. D is factored by Cholesky's method, or as LDLᵀ if it is not
positive definite.

Pruning removes the functions of least |α|, a twentieth at a time, since the remaining
weights change; weights are fitted to all rows,

    min ½αᵀK_SSα + ½C Σᵢ vᵢ(yᵢ − k_S(xᵢ)ᵀα − b)²  over the remaining functions S.

Suykens' pruning also removes the rows from the data. Since α = CVe, the rows that stay
have the largest errors: with 50 of 250 rows of Ripley's mixtures such a model had an
error of 52 %, and this one 8 %.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import blas, cho_solve, lapack

from relvec.basis import BLOCK_ENTRIES, Basis, Functions, as_rows, blocks, evaluated
from relvec.blockwise import in_order
from relvec.linalg import available_threads, single_threaded, threads_for, upper_factor
from relvec.lssvm.model import Evidence, LeaveOneOut
from relvec.modelling import TrainingSet
from relvec.typing import AnyArray, Array, Indices

# Rows factored by one call of LAPACK: with more, OpenBLAS 0.3.30 and 0.3.31 end the
# process when they have several threads (20 000 rows do; 15 000 do not).
_MOST_ROWS = 8192
# Shift of the diagonal, relative to its largest element, if there is no factor: a
# solution is off by the shift and by ε over the shift, so √ε is best.
_SHIFT = float(np.sqrt(np.finfo(float).eps))
# Columns of an inverse at a time; a whole inverse would double the memory of a factor.
_INVERTED = 2048
_TRIES = 12  # attempts, each with a shift ten times as large


class Factor(Protocol):
    """A factored symmetric matrix."""

    @property
    def shift(self) -> float:
        """What was added to the diagonal to make the matrix regular."""

    @property
    def log_determinant(self) -> float:
        """NaN if the matrix is not positive definite."""

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
        """Column norms of a part of L⁻¹, block by block from the diagonal."""
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
    """LDLᵀ with the pivots of Bunch and Kaufman."""

    factor: Array
    pivots: Indices
    shift: float = 0.0
    log_determinant: float = np.nan

    def solve(self, right: Array) -> Array:
        return lapack.dsytrs(self.factor, self.pivots, right, lower=1)[0]

    def inverse_diagonal(self) -> Array:
        return np.diagonal(lapack.dsytri(self.factor, self.pivots, lower=1)[0]).copy()


def factored(matrix: Callable[[], Array], *, definite: bool) -> Factor:
    """Factor the lower triangle, column-major, that ``matrix`` returns.

    If a matrix known to be positive definite has no Cholesky factor, because of
    rounding, the smallest sufficient shift is added to its diagonal. Other matrices are
    factored as LDLᵀ.
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
        largest = max(float(np.max(np.abs(column))) for column in matrix().T)
        shift = max(10 * shift, _SHIFT * (largest or 1.0))
    raise ValueError(
        "K + I/C is singular, whatever is added to its diagonal: look at the kernel's "
        "values, or change C"
    )


def cholesky_factor(matrix: Array, shift: float = 0.0) -> CholeskyFactor | None:
    """Factor a lower triangle in place; None if it is not positive definite."""
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
    """Factor as LDLᵀ; None if the matrix is singular to working precision."""
    norm = max(float(np.abs(column).sum()) for column in matrix.T)
    work = int(lapack.dsytrf_lwork(len(matrix), lower=1)[0])
    factor, pivots, failed = lapack.dsytrf(matrix, lower=1, lwork=work, overwrite_a=1)
    if failed:
        return None
    reciprocal = lapack.dsycon(factor, pivots, norm, lower=1)[0]
    return IndefiniteFactor(factor, pivots, shift) if reciprocal > 1e-16 else None


# Columns evaluated at a time: their rows stay in the processor's cache meanwhile.
_COLUMNS = 128
# Rows on which symmetry is checked, and the tolerance for rounding.
_TRIED, _SYMMETRIC = 200, 1e-8
_KEPT = 2048  # rows up to which a factor is kept for error bars, 34 MB


@dataclass(frozen=True, eq=False)
class DualSystem:
    """The system (7) without C and the targets."""

    functions: Functions  # centred on the rows, or their columns of a kernel matrix
    rows: AnyArray
    weight: Array  # (N,)
    intercept: bool

    def __len__(self) -> int:
        return len(self.weight)

    @cached_property
    def root(self) -> Array:
        """V^½ (N,)."""
        return np.sqrt(self.weight)

    def check_symmetry(self) -> None:
        """Refuse a kernel that is not symmetric on some rows."""
        some = np.linspace(0, len(self) - 1, min(len(self), _TRIED)).astype(np.intp)
        K = _values(self.functions.subset(some), as_rows(self.rows[some]))
        if np.max(np.abs(K - K.T)) > _SYMMETRIC * np.max(np.abs(K), initial=0.0):
            raise ValueError(
                "the kernel is not symmetric, k(x, z) ≠ k(z, x), which an LS-SVM needs "
                "it to be: give (K + K.T) / 2, or use RVR or RVC, which take any kernel"
            )

    def kernel_matrix(self) -> Array:
        """Lower triangle of V^½KV^½, column-major."""
        size, root = len(self), self.root
        matrix = np.zeros((size, size), order="F")
        rows, weighted = as_rows(self.rows), bool(np.any(root != 1))

        def fill(part: slice) -> None:
            own = self.functions.subset(np.arange(part.start, part.stop))
            values = _values(own, rows[part.start :])
            if weighted:
                values = values * root[part.start :, None] * root[part]
            matrix[part.start :, part] = values
            corner = matrix[part, part]
            corner[np.triu_indices(len(corner), 1)] = 0.0

        width = max(BLOCK_ENTRIES // max(size, 1), 1)
        parts = blocks(size, 1, min(_COLUMNS, width))
        for _ in in_order(fill, parts, available_threads()):
            pass
        return matrix

    def solved(self, targets: Array, C: float) -> "DualSolution":
        """Solve for b and α with targets (N, K)."""
        t = min(C, 1.0)
        factor = self.factored(t, t / C)
        with threads_for(len(self) ** 3 / 3):
            return _eliminated(self, factor, targets, t, t / C + factor.shift)

    def factored(self, t: float, u: float) -> Factor:
        """Factor D, or a slightly larger matrix."""

        def matrix() -> Array:
            made = self.kernel_matrix()
            if t != 1:
                made *= t
            made[np.diag_indices(len(made))] += u
            return made

        return factored(matrix, definite=self.functions.positive_definite)


def _values(functions: Functions, rows: AnyArray) -> Array:
    """Kernel values (rows, functions), by columns if the kernel is symmetric."""
    if functions.positive_definite:
        return evaluated(functions.kernel, functions.centres, rows).T
    return evaluated(functions.kernel, rows, functions.centres)


def _eliminated(
    system: DualSystem, factor: Factor, targets: Array, t: float, u: float
) -> "DualSolution":
    root, centre = system.root, np.zeros(targets.shape[1])
    if system.intercept:
        # Centre the targets first, so that α keeps its digits whatever the mean is.
        centre = np.average(targets, axis=0, weights=system.weight)
    right = np.column_stack([root, root[:, None] * (targets - centre)])
    solved = factor.solve(np.asfortranarray(right))
    g, rest = solved[:, 0], solved[:, 1:]
    q = float(root @ g)
    b = (root @ rest) / q if system.intercept else np.zeros_like(centre)
    reduced = rest - np.outer(g, b)
    return DualSolution(system, factor, targets, t, u, reduced, centre + b, g, q)


@dataclass(frozen=True, eq=False)
class DualSolution:
    """α and b, with the factor that they were computed by."""

    system: DualSystem
    factor: Factor
    targets: Array  # (N, K)
    t: float
    u: float  # t/C, and what the factor needed besides
    reduced: Array  # (N, K) D⁻¹V^½(y − b)
    bias: Array  # (K,)
    g: Array  # (N,) D⁻¹V^½1
    q: float  # 1ᵀV^½g

    @property
    def error_weight(self) -> float:
        """The C of the solved system, lower than requested if K is singular."""
        return self.t / self.u

    @property
    def coefficients(self) -> Array:
        """α (N, K)."""
        return np.asarray(self.t * self.system.root[:, None] * self.reduced)

    @property
    def residual(self) -> Array:
        """y − f (N, K), which equals α/(CV)."""
        return np.asarray(self.u * self.reduced / self.system.root[:, None])

    def leave_last_out(self, count: int) -> LeaveOneOut:
        """Leave-one-out errors of the last rows, from a corner of L.

        The last corner of (LLᵀ)⁻¹ is (L_mmL_mmᵀ)⁻¹.
        """
        if count >= len(self.system) or not isinstance(self.factor, CholeskyFactor):
            return self.left_out
        last = slice(-count, None)
        corner = CholeskyFactor(np.asfortranarray(self.factor.lower[last, last]))
        return self._remaining(corner.inverse_diagonal(), last)

    @cached_property
    def left_out(self) -> LeaveOneOut:
        """Leave-one-out errors of all rows."""
        with threads_for(len(self.system) ** 3 / 3):
            return self._remaining(self.factor.inverse_diagonal(), slice(None))

    def _remaining(self, diagonal: Array, rows: slice) -> LeaveOneOut:
        """Leave-one-out errors from the diagonal of D⁻¹."""
        if self.system.intercept:
            diagonal = diagonal - self.g[rows] ** 2 / self.q
        weight = self.system.weight[rows]
        return LeaveOneOut(self.residual[rows], self.u * diagonal, weight)

    def evidence(self) -> Evidence:
        """Evidence of the targets."""
        volume = self.factor.log_determinant - len(self.system) * np.log(self.u)
        if self.system.intercept:
            volume += np.log(self.u * self.q) if self.q > 0 else np.nan
        weight, centred = self.system.weight, self.targets - self.bias
        products = self.system.root[:, None] * centred * self.reduced
        return Evidence(
            freedom=float(weight.sum()) - self.system.intercept,
            C=self.error_weight,
            volume=float(volume),
            energy=self.t * np.sum(products, axis=0),
            squares=np.average(centred**2, axis=0, weights=weight),
        )

    @property
    def spread(self) -> "DualVariance | None":
        """The variance of values; None if the matrix is not positive definite."""
        if not isinstance(self.factor, CholeskyFactor):
            return None
        return DualVariance(self.system, (self.t, self.u), self.g, self.q, self.factor)


class DualVariance:
    """Variances of an LS-SVM's values, in units of 1/μ.

    The factor is as large as the kernel matrix. It is not pickled, nor kept if there
    are many rows, but computed again when it is needed.
    """

    def __init__(
        self,
        system: DualSystem,
        scales: tuple[float, float],  # t, u
        g: Array,
        q: float,
        factor: CholeskyFactor,
    ) -> None:
        self.system, self.scales, self.g, self.q = system, scales, g, q
        self._factor = factor if len(system) <= _KEPT else None

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_factor": None}

    @property
    def factor(self) -> CholeskyFactor:
        """The factor of D."""
        if self._factor is None:
            with single_threaded():
                found = self.system.factored(*self.scales)
            assert isinstance(found, CholeskyFactor)
            self._factor = found
        return self._factor

    def variance(self, rows: AnyArray) -> Array:
        """k(x, x) − kᵀA⁻¹k + (1 − 1ᵀA⁻¹k)²/1ᵀA⁻¹1, with A = K + V⁻¹/C."""
        t, functions = self.scales[0], self.system.functions
        diagonal = functions.kernel.diagonal(rows)
        weighted = Basis((functions,), bias=False)(rows).T * self.system.root[:, None]
        half = self.factor.half_solved(np.asfortranarray(weighted))
        found = diagonal - t * np.einsum("ij,ij->j", half, half)
        if self.system.intercept:
            found = found + (1 - t * (self.g @ weighted)) ** 2 / (t * self.q)
        return np.maximum(found, 0.0)


_AT_A_TIME = 0.05
# Regularisation relative to a function's mean square, without which nearly equal
# functions have weights of any size. The best of 1e-12 to 1e-4 on seven problems.
_RIDGE = 1e-6


def support_rows(
    solution: DualSolution, C: float, candidates: Indices, count: int
) -> tuple[Indices, int]:
    """Choose the rows that keep their functions; also count the solved systems."""
    system, alpha = solution.system, solution.coefficients
    K = Basis((system.functions,), bias=False)(as_rows(system.rows))
    share = system.weight / system.weight.sum() * system.intercept
    rows = (K - share @ K) * system.root[:, None]
    targets = (solution.targets - share @ solution.targets) * system.root[:, None]
    with threads_for(float(len(K)) ** 3):
        inner, right = rows.T @ rows, rows.T @ targets
        inner[np.diag_indices(len(inner))] += _RIDGE * np.diagonal(inner).mean()
        kept, solved, alpha = candidates, 0, alpha[candidates]
        while len(kept) > count:
            leaving = min(max(int(_AT_A_TIME * len(kept)), 1), len(kept) - count)
            order = np.argsort(-np.abs(alpha).sum(axis=1), kind="stable")
            kept = kept[np.sort(order[: len(kept) - leaving])]
            own = np.ix_(kept, kept)
            upper = upper_factor(inner[own] + K[own] / C)
            alpha, solved = cho_solve((upper, False), right[kept]), solved + 1
    return kept, solved


def merged(data: TrainingSet) -> TrainingSet:
    """Merge duplicate rows and add their weights, so that none is pruned separately."""
    table = data.table
    if table.dtype == object:
        return data
    both = np.hstack([table, data.targets])
    _, first, place = np.unique(both, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(both):
        return data
    weight = np.asarray(np.bincount(place.ravel(), data.weight), dtype=np.float64)
    order = np.argsort(first)
    fewer = data.subset(first[order])
    return replace(fewer, rows=replace(fewer.rows, weight=weight[order]))

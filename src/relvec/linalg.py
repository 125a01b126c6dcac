"""Small linear algebra: stacks of Cholesky factors, safe norms, BLAS threads."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from threading import Lock, local
from typing import Any

import numpy as np
from scipy.linalg import lapack, qr
from threadpoolctl import ThreadpoolController

from relvec.precision import LOST_TO_ROUNDING
from relvec.typing import AnyArray, Array
from relvec.work import count_factorisation

# Numbers within these bounds have sums of squares within the range of float64.
SQUARABLE = (1e-140, 1e140)
_LEAST_NORM = np.finfo(float).tiny  # has a finite reciprocal
# Entries of a temporary that fits into the processor's cache.
_CACHED_ENTRIES = 32_768
# Multiplications from which a product is worth waking the other threads for.
_LARGE_PRODUCT = 1e9
_WIDE_PRODUCT = 3e6
# Rows for each column from which on a triangle in their place is worth its computation.
_WORTH_TURNING = 2
_PANEL = 64  # columns that LAPACK turns at a time, at most
# It is cut into parts of so many columns at least.
_LEAST_COLUMNS, _MOST_PARTS = 480, 8


def cholesky(stack: Array) -> Array:
    """Lower factors L of a stack (K, n, n) of positive definite matrices LLᵀ."""
    count_factorisation()
    return np.asarray(np.linalg.cholesky(stack), dtype=np.float64)


def cholesky_and_inverse(stack: Array) -> tuple[Array, Array]:
    """Lower factors of a stack (K, n, n) of positive definite matrices, and inverses.

    For small matrices in inner loops: LAPACK's two calls and little around them. The
    factors take the place of the matrices.
    """
    count_factorisation()
    inverses = np.empty_like(stack)
    size = stack.shape[1]
    for k, matrix in enumerate(stack if size else ()):
        # LAPACK reads columns: what is upper to it is lower to us.
        upper, failed = lapack.dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
        if failed:
            msg = "the matrix is not positive definite"
            raise np.linalg.LinAlgError(msg)
        half = lapack.dpotri(upper, lower=0)[0]
        inverse = np.add(half, half.T, out=inverses[k])
        inverse.ravel()[:: size + 1] *= 0.5
    return stack, inverses


def rotated(rows: Array, *, overwrite: bool = False) -> Array:
    """Fewer rows with the same inner products of columns, with all their digits.

    R of QR = rows; a few rows more than columns are left as they are. Rows that are
    nobody's may be overwritten, which spares a copy where columns are contiguous.
    """
    if len(rows) <= _WORTH_TURNING * rows.shape[1]:
        return rows
    count_factorisation()
    # scipy's qr would copy all of the rows once more.
    turned = lapack.dgeqrf(rows, lwork=_PANEL * rows.shape[1], overwrite_a=overwrite)[0]
    return np.triu(turned[: rows.shape[1]])


def upper_factor(gram: Array) -> Array:
    """R of RᵀR = gram; of a matrix a little larger where rounding left none."""
    shift = LOST_TO_ROUNDING * len(gram) * gram.diagonal().max(initial=0.0)
    factor, failed = lapack.dpotrf(gram.T, lower=0, clean=1)
    while failed:
        larger = gram.T + shift * np.eye(len(gram))
        factor, failed = lapack.dpotrf(larger, lower=0, clean=1)
        shift *= 10
    return np.asarray(factor)


def triangle_beside_prior(rows: Array) -> Array:
    """The lower L of LLᵀ = I + rowsᵀrows (n, n), with all digits of the rows."""
    return Reflections.of(np.vstack([rows, np.eye(rows.shape[1])])).lower


@dataclass(frozen=True)
class Reflections:
    """Householder's, that turn tall rows (m, n) into a triangle R of QR."""

    vectors: Any  # (m, n) of the reflections below R, as LAPACK has them
    tau: Any  # (n,)

    @classmethod
    def of(cls, rows: Array) -> "Reflections":
        """Of rows that are at least as many as columns."""
        if rows.shape[1] == 0:
            return cls(rows, np.empty(0))
        count_factorisation()
        (vectors, tau), _ = qr(rows, mode="raw", check_finite=False)
        return cls(vectors, tau)

    @property
    def size(self) -> int:
        """Columns."""
        return int(self.vectors.shape[1])

    @property
    def _upper(self) -> Array:
        return np.triu(self.vectors[: self.size])

    @property
    def lower(self) -> Array:
        """Rᵀ, its diagonal positive."""
        upper = self._upper
        return np.where(upper.diagonal() < 0, -upper.T, upper.T)

    @property
    def inverse(self) -> Array:
        """(RᵀR)⁻¹."""
        if self.size == 0:
            return np.empty((0, 0))
        half = lapack.dtrtri(self._upper)[0]
        return np.asarray(half @ half.T)

    def turned(self, columns: Array) -> Array:
        """Qᵀ columns, for the square Q."""
        if self.size == 0:
            return columns
        padded = np.asfortranarray(columns)
        given = "L", "T", self.vectors, self.tau, padded
        work = lapack.dormqr(*given, -1)[1]
        return np.asarray(lapack.dormqr(*given, int(work[0].real))[0])

    def least_squares(self, right: Array) -> Array:
        """argmin |rows x − right| for right sides (m, K): (n, K)."""
        if self.size == 0:
            return right[:0]
        return lapack.dtrtrs(self._upper, self.turned(right)[: self.size])[0]

    def beyond(self, columns: Array) -> Array:
        """What [columns; 0] has beyond the span of the rows, in an orthonormal basis.

        For rows of which the last n stand beside zeros.
        """
        zeros = np.zeros((self.size, columns.shape[1]))
        return self.turned(np.vstack([columns, zeros]))[self.size :]


def solve_lower(factors: Array, right: Array) -> Array:
    """L⁻¹ right for lower factors (K or 1, n, n) and right sides (K or 1, n, m)."""
    return _solve_stack(factors, right, transposed=False)


def solve_upper(factors: Array, right: Array) -> Array:
    """L⁻ᵀ right for lower factors (K or 1, n, n) and right sides (K or 1, n, m)."""
    return _solve_stack(factors, right, transposed=True)


def solve_graded(factors: Array, right: Array) -> Array:
    """QᵀL⁻¹ right for lower factors (K or 1, n, n), with rotations Q.

    By triangles of the same products whose diagonals fall, of whose condition a
    solution has no part.
    """
    sides = np.broadcast_to(right, (max(len(factors), len(right)), *right.shape[1:]))
    lowers = np.broadcast_to(factors, (len(sides), *factors.shape[1:]))
    pairs = zip(lowers, sides, strict=True)
    return np.stack([_solved_graded(lower, side) for lower, side in pairs])


def _solved_graded(lower: Array, right: Array) -> Array:
    upper, order = qr(lower.T, mode="r", pivoting=True)
    return lapack.dtrtrs(upper, right[order], trans=1)[0]


def _solve_stack(factors: Array, right: Array, *, transposed: bool) -> Array:
    n_outputs, n_rows, _ = factors.shape
    if n_rows == 0:
        return np.zeros((max(n_outputs, len(right)), *right.shape[1:]))
    if n_outputs == 1 and len(right) > 1:
        # A factor that outputs share is solved with once, for all of them.
        side_by_side = np.moveaxis(right, 0, 1).reshape(1, n_rows, -1)
        solved = _solve_stack(factors, side_by_side, transposed=transposed)
        return np.moveaxis(solved.reshape(n_rows, len(right), -1), 1, 0)
    sides = right if len(right) == n_outputs else right.repeat(n_outputs, axis=0)
    # LAPACK reads columns: the row-major lower factor is an upper one, transposed.
    pairs = zip(factors, sides, strict=True)
    trans = int(not transposed)
    return np.stack([lapack.dtrtrs(L.T, b, lower=0, trans=trans)[0] for L, b in pairs])


def same(one: AnyArray, two: AnyArray) -> bool:
    """Whether two arrays are equal, without a look where they are one."""
    return one is two or np.array_equal(one, two)


def stacked(matrices: list[Array]) -> Array:
    """All of them in one array; a single one is not copied."""
    return matrices[0][None] if len(matrices) == 1 else np.stack(matrices)


def column_norms(matrix: Array, row_weights: Array) -> Array:
    """√(Σₙ vₙ φₙₘ²) per column, for entries of any magnitude.

    0 where that is below the smallest normal number.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = weighted_squares(matrix, row_weights)
    smallest, largest = SQUARABLE
    if np.all((squares > smallest**2) & (squares < largest**2)):
        return np.sqrt(squares)
    peak = np.maximum(matrix.max(axis=0, initial=0.0), -matrix.min(axis=0, initial=0.0))
    unit = np.where(peak > 0, peak, 1.0)
    norms = peak * np.sqrt(weighted_squares(matrix / unit, row_weights))
    return np.where(norms < _LEAST_NORM, 0.0, norms)


def weighted_squares(matrix: Array, row_weights: Array) -> Array:
    """Σₙ vₙ φₙₘ² per column, in blocks that stay in cache."""
    n_rows, n_columns = matrix.shape
    total = np.zeros(n_columns)
    if matrix.flags.f_contiguous:
        step = max(1, _CACHED_ENTRIES // max(1, n_rows))
        for start in range(0, n_columns, step):
            columns = matrix[:, start : start + step]
            total[start : start + step] = row_weights @ (columns * columns)
        return total
    step = max(1, _CACHED_ENTRIES // max(1, n_columns))
    for start in range(0, n_rows, step):
        rows = matrix[start : start + step]
        total += row_weights[start : start + step] @ (rows * rows)
    return total


@cache
def _blas() -> list[Any]:
    """The libraries whose threads are counted."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Threads:
    """How many fits run at once in this process, and what BLAS had before the first."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.fits = 0
        self.before = 1
        self.each_before: list[int] = []

    @cached_property
    def executor(self) -> ThreadPoolExecutor:
        """Threads beside the one that fits, kept until the last fit ends."""
        return ThreadPoolExecutor(max(1, self.before - 1))

    def enter(self) -> None:
        with self.lock:
            if self.fits == 0:
                self.each_before = [library.num_threads or 1 for library in _blas()]
                self.before = max(self.each_before, default=1)
                self.limit([1] * len(self.each_before))
            self.fits += 1

    def leave(self) -> None:
        with self.lock:
            self.fits -= 1
            if self.fits == 0:
                self.limit(self.each_before)
                if "executor" in vars(self):
                    self.executor.shutdown(wait=False)
                    del self.executor

    @staticmethod
    def limit(numbers: list[int]) -> None:
        """So many threads for each of the libraries."""
        for library, number in zip(_blas(), numbers, strict=True):
            library.set_num_threads(number)


_threads = _Threads()
_within = local()  # how deep this thread is in single_threaded


@contextmanager
def single_threaded() -> Iterator[None]:
    """One BLAS thread: many small products are far slower with more than one.

    The number of threads belongs to the process: the first of several fits at once
    limits it and the last one gives it back. Within a fit it may be asked for again.
    """
    depth = getattr(_within, "depth", 0)
    if depth == 0:
        _threads.enter()
    _within.depth = depth + 1
    try:
        yield
    finally:
        _within.depth = depth
        if depth == 0:
            _threads.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread whether or not other fits are running, so that bits are the same."""
    before, _within.alone = getattr(_within, "alone", False), True
    try:
        with single_threaded():
            yield
    finally:
        _within.alone = before


def _shares_threads() -> bool:
    """Whether this thread may use no other."""
    return _threads.fits != 1 or getattr(_within, "alone", False)


def available_threads() -> int:
    """Threads that work on blocks of rows may use: those BLAS was limited by."""
    return 1 if _shares_threads() else _threads.before


def wide_product(left: Array, right: Array, out: Array | None = None) -> Array:
    """left @ right for a ``right`` (..., r, M) of many columns, shared out to threads.

    By threads of our own, each with single-threaded BLAS: waking those of BLAS costs
    more than it saves here. The parts do not depend on the number of threads, and so
    the result does not either.
    """
    n_columns = right.shape[-1]
    n_parts = min(_MOST_PARTS, n_columns // _LEAST_COLUMNS)
    if n_parts < 2 or left.size * n_columns < _WIDE_PRODUCT:
        return np.matmul(left, right, out=out)
    if out is None:
        shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        out = np.empty((*shape, left.shape[-2], n_columns))

    def multiply(part: tuple[int, int]) -> None:
        columns = slice(*part)
        np.matmul(left, right[..., columns], out=out[..., columns])

    parts = list(pairwise(n_columns * place // n_parts for place in range(n_parts + 1)))
    n_shared = n_parts - n_parts // available_threads()
    waiting = [_threads.executor.submit(multiply, part) for part in parts[:n_shared]]
    for part in parts[n_shared:]:
        multiply(part)
    for future in waiting:
        future.result()
    return out


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """All BLAS threads again for a large product, while only one fit is running."""
    if multiplications < _LARGE_PRODUCT or _shares_threads() or _threads.before == 1:
        yield
        return
    _threads.limit(_threads.each_before)
    try:
        yield
    finally:
        _threads.limit([1] * len(_threads.each_before))

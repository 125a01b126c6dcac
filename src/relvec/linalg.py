"""Small linear algebra: stacks of Cholesky factors, safe norms, BLAS threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from relvec.typing import Array

# Squares of numbers outside this range may leave the range of float64.
_SAFE_SQUARES = (1e-140, 1e140)
# Entries of a temporary that fits into the processor's cache.
_CACHED_ENTRIES = 32_768
# Multiplications from which a product is worth waking the other threads for.
_LARGE_PRODUCT = 3e6


def cholesky(stack: Array) -> Array:
    """Lower factors L of a stack (K, n, n) of positive definite matrices LLᵀ."""
    return np.asarray(np.linalg.cholesky(stack), dtype=np.float64)


def solve_lower(factors: Array, right: Array) -> Array:
    """L⁻¹ right for lower factors (K, n, n) and right sides (K or 1, n, m)."""
    return _solve_stack(factors, right, transposed=False)


def solve_upper(factors: Array, right: Array) -> Array:
    """L⁻ᵀ right for lower factors (K, n, n) and right sides (K or 1, n, m)."""
    return _solve_stack(factors, right, transposed=True)


def _solve_stack(factors: Array, right: Array, *, transposed: bool) -> Array:
    n_outputs, n_rows, _ = factors.shape
    sides = np.broadcast_to(right, (n_outputs, *right.shape[1:]))
    if n_rows == 0:
        return np.zeros(sides.shape)
    # LAPACK reads columns: the row-major lower factor is an upper one, transposed.
    pairs = zip(factors, sides, strict=True)
    trans = int(not transposed)
    return np.stack([lapack.dtrtrs(L.T, b, lower=0, trans=trans)[0] for L, b in pairs])


def column_norms(matrix: Array, row_weights: Array) -> Array:
    """√(Σₙ vₙ φₙₘ²) per column, for entries of any magnitude."""
    peak = np.maximum(matrix.max(axis=0, initial=0.0), -matrix.min(axis=0, initial=0.0))
    used = peak[peak > 0]
    if used.size == 0:
        return np.zeros(matrix.shape[1])
    smallest, largest = _SAFE_SQUARES
    if used.min() > smallest and used.max() < largest:
        return np.sqrt(weighted_squares(matrix, row_weights))
    unit = np.where(peak > 0, peak, 1.0)
    return peak * np.sqrt(weighted_squares(matrix / unit, row_weights))


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
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


# What a surrounding ``single_threaded`` has put aside for large products.
_spare_threads: ContextVar[int] = ContextVar("_spare_threads", default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """One BLAS thread: many small products are far slower with more than one."""
    libraries = _controller().select(user_api="blas").lib_controllers
    threads = max((library.num_threads or 1 for library in libraries), default=1)
    token = _spare_threads.set(threads)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _spare_threads.reset(token)


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """All BLAS threads again, within ``single_threaded``, if the work is large."""
    threads = _spare_threads.get()
    if threads == 1 or multiplications < _LARGE_PRODUCT:
        yield
        return
    with _controller().limit(limits=threads, user_api="blas"):
        yield

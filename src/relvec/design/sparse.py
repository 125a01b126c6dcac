"""A dictionary held as a sparse array: its functions vanish on most rows."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from relvec.basis import BLOCK_ENTRIES, Basis
from relvec.design.held import HeldDesign
from relvec.typing import AnyArray, Array

_ENTRY_BYTES = 12  # a number and its row


class SparseDesign(HeldDesign):
    """Functions of compact support, in memory for the values that are not zero."""

    @classmethod
    def weighted(cls, matrix: Any, sample_weight: Array) -> Self:
        return cls(matrix, np.sqrt(_squares(matrix, sample_weight)), sample_weight)

    def squared_norms(self, row_weights: Array) -> Array:
        squares = [_squares(self.matrix, w) for w in row_weights.T]
        return np.stack(squares) / self._divisors**2

    def _divided(self, columns: Any, divisors: Array) -> Any:
        per_entry = np.repeat(divisors, np.diff(columns.indptr))
        parts = (columns.data / per_entry, columns.indices, columns.indptr)
        return sparse.csc_array(parts, shape=columns.shape)

    def _inner(self, left: Any, row_weights: Array, right: Any) -> Array:
        parts = (left.data * row_weights[left.indices], left.indices, left.indptr)
        weighted = sparse.csc_array(parts, shape=left.shape)
        # In this order the larger factor, transposed, need not change its format.
        return np.asarray((right.T @ weighted).toarray().T)

    def _gram(self, columns: Any, row_weights: Array) -> Array:
        return self._inner(columns, row_weights, columns)

    def _array(self, columns: Any) -> Array:
        return np.asarray(columns.toarray())


def _squares(matrix: Any, row_weights: Array) -> Array:
    """Σₙ vₙ φₙₘ² per column."""
    values = matrix.data**2 * row_weights[matrix.indices]
    columns = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    totals = np.bincount(columns, values, minlength=matrix.shape[1])
    return totals.astype(np.float64, copy=False)


def sparse_functions(
    basis: Basis, X: AnyArray, *, most_bytes: float, most_density: float
) -> Any | None:
    """Φ of a compact basis (csc); None once it takes too much or is not sparse.

    Rows are evaluated in blocks that grow as they turn out to be sparse.
    """
    blocks: list[Any] = []
    done, entries = 0, 0
    step = max(1, BLOCK_ENTRIES // len(basis))
    while done < len(X):
        block = basis.sparse(X[done : done + step])
        blocks.append(block)
        done += block.shape[0]
        entries += block.nnz
        # Two copies while blocks are joined.
        if 2 * _ENTRY_BYTES * entries > most_bytes:
            return None
        if entries > most_density * done * len(basis):
            return None
        step = max(1, int(BLOCK_ENTRIES * done / max(entries, done)))
    return sparse.csc_array(sparse.vstack(blocks))

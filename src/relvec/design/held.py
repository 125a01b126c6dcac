"""A dictionary that is held, as an array or as a sparse one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any, Self

import numpy as np
from scipy import sparse

from relvec.basis import BLOCK_ENTRIES, Basis, blocks
from relvec.blockwise import check_time
from relvec.design.base import each_output, mixed_targets
from relvec.linalg import (
    SQUARABLE,
    cholesky,
    column_norms,
    rotated,
    same,
    threads_for,
    triangle_beside_prior,
    weighted_squares,
    wide_product,
)
from relvec.precision import FACTOR_LIMIT
from relvec.typing import AnyArray, Array, Indices
from relvec.work import count_product

# Entries that are turned at a time, and rows for each column, at least.
_TURNED_ENTRIES, _TURNED_ROWS = 4_000_000, 4


@dataclass(frozen=True)
class HeldDesign(ABC):
    """Products of Φ diag(1/norms), with Φ kept as it came: no scaled copy is made."""

    matrix: Any  # (N, M)
    column_norms: Array  # (M,); a vanishing column has norm 0
    sample_weight: Array | None = None  # under which they were taken; None: ones
    products: Array | None = None  # (M, M) those of all columns under it, if known
    held, most_entries = True, np.inf

    @property
    def most_columns(self) -> int:
        return self.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    @classmethod
    @abstractmethod
    def weighted(cls, matrix: Any, sample_weight: Array) -> Self:
        """Norms taken under the sample weights."""

    def view(
        self, columns: Indices, rows: Indices | None = None, *, lazy: bool = False
    ) -> Self:
        matrix, weight = self._taken(columns), self.sample_weight
        if weight is None:
            weight = np.ones(self.shape[0])
        if rows is not None:
            matrix, weight = matrix[rows], weight[rows]
        return self.weighted(matrix, weight)

    def _taken(self, columns: Indices) -> Any:
        """Some columns as they are."""
        return self.matrix[:, columns]

    @abstractmethod
    def squared_norms(self, row_weights: Array) -> Array:
        """diag(ΦᵀWΦ) of all columns, (K, M)."""

    @abstractmethod
    def _divided(self, columns: Any, divisors: Array) -> Any:
        """Columns divided by a number each, held as they are."""

    @abstractmethod
    def _inner(self, left: Any, row_weights: Array, right: Any) -> Array:
        """leftᵀ diag(row_weights) right as an array."""

    @abstractmethod
    def _gram(self, columns: Any, row_weights: Array) -> Array:
        """columnsᵀ diag(row_weights) columns as an array."""

    @abstractmethod
    def _array(self, columns: Any) -> Array:
        """Columns as an array."""

    @cached_property
    def _divisors(self) -> Array:
        return np.where(self.column_norms > 0, self.column_norms, 1.0)

    @cached_property
    def _last(self) -> dict[str, tuple[Indices, Any]]:
        """The columns asked for last, which are often asked for again."""
        return {}

    def _columns(self, indices: Indices) -> Any:
        known = self._last.get("columns")
        if known is not None and same(known[0], indices):
            return known[1]
        columns = self._divided(self.matrix[:, indices], self._divisors[indices])
        self._last["columns"] = (indices, columns)
        return columns

    def _block(self, rows: slice, indices: Indices) -> Any:
        """Some rows of some columns; without a copy of all rows of them."""
        known = self._last.get("columns")
        everything = rows.stop - rows.start == self.shape[0]
        if everything or (known is not None and same(known[0], indices)):
            return self._columns(indices)[rows]
        return self._divided(self.matrix[rows][:, indices], self._divisors[indices])

    def matvec(self, weights: Array, indices: Indices) -> Array:
        count_product(self.shape[0], weights.size)
        return np.asarray(self._columns(indices) @ weights.T)

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        n_columns = self.shape[1] if indices is None else len(indices)
        count_product(self.shape[0], values.shape[1] * n_columns)
        if indices is not None:
            return np.asarray(values.T @ self._columns(indices))
        return np.asarray(values.T @ self.matrix) / self._divisors

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        known = self._known_products(row_weights)
        if known is not None:
            return known[None, indices]
        check_time()
        n_outputs, n_basis = row_weights.shape[1], self.shape[1]
        count_product(self.shape[0], n_outputs * len(indices) * n_basis)
        columns = self._columns(indices)
        products = [self._inner(columns, w, self.matrix) for w in row_weights.T]
        return np.stack(products) / self._divisors

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        known = self._known_products(row_weights)
        if known is not None:
            return known[None, indices[:, None], indices]
        check_time()
        count_product(self.shape[0], row_weights.shape[1] * len(indices) ** 2)
        columns = self._columns(indices)
        return np.stack([self._gram(columns, w) for w in row_weights.T])

    def _known_products(self, row_weights: Array) -> Array | None:
        own = self.sample_weight
        if own is None or not same(row_weights, own[:, None]):
            return None
        return self.products

    def coordinates(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array]:
        """R of QR, block upon block, as time may run out; most have one block."""
        root, n_columns = np.sqrt(row_weights)[:, None], len(indices)
        width = n_columns + target.shape[1]
        turned = np.empty((0, width))
        count_product(self.shape[0], width**2)
        entries = max(_TURNED_ENTRIES, _TURNED_ROWS * width**2)
        for rows in blocks(len(target), width, entries):
            check_time()
            above, columns = len(turned), self._array(self._block(rows, indices))
            block = np.empty((above + len(columns), width), order="F")
            block[:above] = turned
            np.multiply(columns, root[rows], out=block[above:, :n_columns])
            np.multiply(target[rows], root[rows], out=block[above:, n_columns:])
            turned = rotated(block, overwrite=True)
        return turned[:, :n_columns], turned[:, n_columns:]

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        count_product(self.shape[0], row_weights.shape[1] * self.shape[1])
        return self.squared_norms(row_weights), self.rmatvec(row_weights * target)

    def beside(
        self, indices: Indices, mixing: Array, row_weights: Array, target: Array
    ) -> tuple[Array, Array, Array, Array]:
        squares, products = self.project(row_weights, target)
        columns = self._array(self._columns(indices))
        count_product(self.shape[0], len(mixing) * len(indices) * self.shape[1])
        mixed = [columns @ mix for mix in mixing]
        pairs = zip(mixed, cycle(row_weights.T))
        cross = [self.matrix.T @ (one * w[:, None]) for one, w in pairs]
        half = mixed_targets(mixed, row_weights * target)
        whole = np.stack([one.T for one in cross]) / self._divisors
        return squares, products, whole, half

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        check_time()
        count_product(self.shape[0], precision.shape[1] * len(indices) ** 2)
        columns = self._columns(indices)
        grams = [self._gram(columns, b) for b in precision.T]
        outputs = zip(*each_output(prior_precision, precision), cycle(grams))
        return np.stack([self._factor(columns, *output) for output in outputs])

    def _factor(
        self, columns: Any, prior_precision: Array, precision: Array, gram: Array
    ) -> Array:
        """Cholesky's factor of I + A^(-1/2)ΦᵀBΦA^(-1/2), given ΦᵀBΦ."""
        root = 1 / np.sqrt(prior_precision)
        inner = root[:, None] * gram * root
        if inner.diagonal().max(initial=0.0) < FACTOR_LIMIT:
            return cholesky(inner + np.eye(len(gram)))
        rows = self._array(columns) * root * np.sqrt(precision)[:, None]
        return triangle_beside_prior(rows)


class DenseDesign(HeldDesign):
    """Any dictionary that fits into memory."""

    @classmethod
    def weighted(cls, matrix: Array, sample_weight: Array) -> Self:
        return cls(matrix, column_norms(matrix, sample_weight), sample_weight)

    def _taken(self, columns: Indices) -> Array:
        # Columns stay next to each other, which numpy's own way does not see to.
        return np.take(self.matrix.T, columns, axis=0).T

    def squared_norms(self, row_weights: Array) -> Array:
        own = self.sample_weight
        if own is not None and same(row_weights, own[:, None]):
            return (self.column_norms > 0).astype(np.float64)[None]
        smallest, largest = SQUARABLE
        if np.all((self._divisors > smallest) & (self._divisors < largest)):
            squares = [weighted_squares(self.matrix, w) for w in row_weights.T]
            return np.stack(squares) / self._divisors**2
        scaled = self.matrix / self._divisors
        return np.stack([weighted_squares(scaled, w) for w in row_weights.T])

    def _divided(self, columns: Array, divisors: Array) -> Array:
        return columns * (1 / divisors)  # several times as fast as divisions

    def _inner(self, left: Array, row_weights: Array, right: Array) -> Array:
        return wide_product((left * row_weights[:, None]).T, right)

    def _gram(self, columns: Array, row_weights: Array) -> Array:
        # A matrix by its own transpose is half the work; equal weights need no copy.
        equal = bool(np.all(row_weights == row_weights[:1]))
        rows = columns if equal else columns * np.sqrt(row_weights)[:, None]
        with threads_for(rows.size * rows.shape[1]):
            products = rows.T @ rows
        return row_weights[0] * products if equal else products

    def _array(self, columns: Array) -> Array:
        return columns


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

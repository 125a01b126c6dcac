"""A dictionary that is held, as an array or a sparse one: what both can do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any, Self

import numpy as np

from relvec.basis import blocks
from relvec.blockwise import check_time
from relvec.design.base import each_output, mixed_targets
from relvec.linalg import cholesky, rotated, same, triangle_beside_prior
from relvec.precision import FACTOR_LIMIT
from relvec.typing import Array, Indices
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
        count_product(self.shape[0], mixing[:, :, 0].size * self.shape[1])
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

"""A dictionary that is never held: its columns are evaluated in blocks of rows.

Products of a few columns evaluate those. A search looks at some columns and some rows
at a time, by ``view``; products of the whole dictionary are there for who needs them,
from one pass and a Gram matrix of all columns.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import Basis
from relvec.design.base import DesignMatrix
from relvec.design.dense import DenseDesign
from relvec.design.exact_columns import ExactColumns
from relvec.design.rows import Rows
from relvec.linalg import same, stacked
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class Room:
    """What a design may hold."""

    entries: float  # of a view
    keep: float  # bytes of columns kept for the next pass
    columns: int = 1000  # of a view, with products of all pairs of them


class BlockedDesign:
    """The functions of a basis on rows that come in blocks.

    Columns are divided by ``column_norms``, which are about their norms.
    """

    held = False

    def __init__(
        self,
        rows: Rows,
        basis: Basis,
        column_norms: Array,
        sample_weight: Array,
        room: Room,
    ) -> None:
        self.column_norms = column_norms
        self.sample_weight = sample_weight
        self.room = room
        self._divisors = np.where(column_norms > 0, column_norms, 1.0)
        self._columns = ExactColumns(rows, basis, self._divisors, room.keep)
        self._last: tuple[Array, Array] | None = None  # row weights, ΦᵀWΦ

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.n_rows, len(self.basis)

    @property
    def most_entries(self) -> float:
        return self.room.entries

    @property
    def most_columns(self) -> int:
        return self.room.columns

    @property
    def rows(self) -> Rows:
        """Of X."""
        return self._columns.rows

    @property
    def basis(self) -> Basis:
        """The functions."""
        return self._columns.basis

    def view(self, columns: Indices, rows: Indices | None = None) -> DesignMatrix:
        own, weight = self._some(rows)
        basis = self.basis.subset(columns)
        if own.n_rows * len(columns) <= self.room.entries:
            functions = basis.on_blocks(own.blocks(1), own.n_rows)
            return DenseDesign.weighted(functions, weight)
        norms = self.column_norms[columns]
        return BlockedDesign(own, basis, norms, weight, self.room)

    def _some(self, rows: Indices | None) -> tuple[Rows, Array]:
        """Some rows in memory, or all as they are, and their weights."""
        if rows is None:
            return self.rows, self.sample_weight
        own = replace(Rows.of(self.rows.at(rows)), entries=self.rows.entries)
        return own, self.sample_weight[rows]

    def matvec(self, weights: Array, indices: Indices) -> Array:
        return self._columns.matvec(weights, indices)

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        everything = np.arange(len(self.basis)) if indices is None else indices
        return self._columns.rmatvec(values, everything)

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        squares = np.diagonal(self._inner(row_weights), axis1=1, axis2=2)
        return squares, self.rmatvec(row_weights * target)

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        return self._inner(row_weights)[:, indices]

    def beside(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array, Array]:
        return self._columns.beside(indices, row_weights[:, 0], target)

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        return stacked([self._columns.gram(indices, w) for w in row_weights.T])

    def coordinates(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array]:
        return self._columns.coordinates(indices, row_weights, target)

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        return self._columns.factor(indices, prior_precision, precision)

    def _inner(self, row_weights: Array) -> Array:
        """ΦᵀWΦ of all columns (K, M, M), of which the last is kept."""
        if self._last is None or not same(self._last[0], row_weights):
            self._last = None  # its memory may be needed
            everything = np.arange(len(self.basis))
            self._last = (row_weights, self.gram(everything, row_weights))
        return self._last[1]

"""A dictionary held as one array."""

from typing import Self

import numpy as np

from relvec.design.held import HeldDesign
from relvec.linalg import (
    SQUARABLE,
    column_norms,
    same,
    threads_for,
    weighted_squares,
    wide_product,
)
from relvec.typing import Array, Indices


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

"""A dictionary held as one array."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from relvec.design.base import DEPENDENT, DIFFERENCE_LIMIT, GRAM_LIMIT
from relvec.linalg import (
    SQUARABLE,
    cholesky,
    column_norms,
    solve_lower,
    threads_for,
    weighted_squares,
)
from relvec.typing import Array, Indices

_BLOCK_ENTRIES = 1_000_000


@dataclass(frozen=True)
class DenseDesign:
    """Products of Φ diag(1/norms), with Φ kept as it came: no scaled copy is made."""

    matrix: Array  # (N, M)
    column_norms: Array  # (M,); a vanishing column has norm 0

    @classmethod
    def weighted(cls, matrix: Array, sample_weight: Array) -> "DenseDesign":
        """Norms taken under the sample weights."""
        return cls(matrix, column_norms(matrix, sample_weight))

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def gram_limit(self) -> float:
        return DIFFERENCE_LIMIT

    @cached_property
    def _divisors(self) -> Array:
        return np.where(self.column_norms > 0, self.column_norms, 1.0)

    def _columns(self, indices: Indices) -> Array:
        return self.matrix[:, indices] / self._divisors[indices]

    def matvec(self, weights: Array, indices: Indices) -> Array:
        return self._columns(indices) @ weights.T

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        if indices is not None:
            return values.T @ self._columns(indices)
        return (values.T @ self.matrix) / self._divisors

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        columns = self._columns(indices)
        with threads_for(self.matrix.size * len(indices)):
            products = [(columns * w[:, None]).T @ self.matrix for w in row_weights.T]
        return np.stack(products) / self._divisors

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        columns = self._columns(indices)
        with threads_for(columns.size * len(indices)):
            return np.stack([(columns * w[:, None]).T @ columns for w in row_weights.T])

    def squared_norms(self, row_weights: Array) -> Array:
        smallest, largest = SQUARABLE
        if np.all((self._divisors > smallest) & (self._divisors < largest)):
            squares = [weighted_squares(self.matrix, w) for w in row_weights.T]
            return np.stack(squares) / self._divisors**2
        scaled = self.matrix / self._divisors
        return np.stack([weighted_squares(scaled, w) for w in row_weights.T])

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        return self.squared_norms(row_weights), self.rmatvec(row_weights * target)

    def refined(self) -> None:
        return None

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        columns = self._columns(indices) / np.sqrt(prior_precision)
        return np.stack([_factor(columns, b) for b in precision.T])

    def sparsity(
        self,
        indices: Indices,
        prior_precision: Array,
        precision: Array,
        factor: Array,
    ) -> Array:
        columns = self._columns(indices) / np.sqrt(prior_precision)
        pairs = zip(precision.T, factor, strict=True)
        return np.stack([self._sparsity(columns, b, L) for b, L in pairs])

    def _sparsity(self, columns: Array, precision: Array, factor: Array) -> Array:
        if np.sum(factor**2, axis=-1).max(initial=1.0) >= DIFFERENCE_LIMIT:
            return self._residual_squares(columns, precision)
        with threads_for(self.matrix.size * len(factor)):
            cross = (columns * precision[:, None]).T @ self.matrix / self._divisors
        whitened = solve_lower(factor[None], cross[None])[0]
        norms = self.squared_norms(precision[:, None])[0]
        left = norms - np.sum(whitened**2, axis=0)  # eq. 24
        return np.where(left > DEPENDENT * norms, left, 0.0)

    def _residual_squares(self, columns: Array, precision: Array) -> Array:
        """Squared distance of every √B φ from the span of the stacked columns.

        φᵀC⁻¹φ is the squared norm of what the projection onto [√BΦA^(-1/2); I] leaves
        of [√Bφ; 0]: no difference of large numbers is squared.
        """
        root = np.sqrt(precision)[:, None]
        stacked = np.vstack([columns * root, np.eye(columns.shape[1])])
        orthogonal = qr(stacked, mode="economic", check_finite=False)[0]
        top, bottom = np.split(orthogonal, [len(columns)])
        total = np.empty(self.shape[1])
        step = max(1, _BLOCK_ENTRIES // len(columns))
        for start in range(0, self.shape[1], step):
            chosen = slice(start, start + step)
            functions = self.matrix[:, chosen] / self._divisors[chosen] * root
            shares = top.T @ functions
            functions -= top @ shares
            total[chosen] = np.sum(functions**2, axis=0)
            total[chosen] += np.sum((bottom @ shares) ** 2, axis=0)
        return total


def _factor(columns: Array, precision: Array) -> Array:
    """Cholesky's factor of I + columnsᵀ diag(precision) columns."""
    rows = columns * np.sqrt(precision)[:, None]
    gram = rows.T @ rows
    identity = np.eye(len(gram))
    if gram.diagonal().max(initial=0.0) < GRAM_LIMIT:
        return cholesky(gram + identity)
    (upper,) = qr(np.vstack([rows, identity]), mode="r", check_finite=False)
    upper = upper[: len(gram)]
    return np.asarray((np.sign(upper.diagonal())[:, None] * upper).T, dtype=np.float64)

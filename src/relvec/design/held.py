"""A dictionary that is held, as an array or a sparse one: what both can do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any

import numpy as np
from scipy.linalg import qr

from relvec.design.base import DEPENDENT, DIFFERENCE_LIMIT, GRAM_LIMIT, by_output
from relvec.linalg import cholesky, solve_lower, threads_for
from relvec.typing import Array, Indices

_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class HeldDesign(ABC):
    """Products of Φ diag(1/norms), with Φ kept as it came: no scaled copy is made."""

    matrix: Any  # (N, M)
    column_norms: Array  # (M,); a vanishing column has norm 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def approximate(self) -> bool:
        return False

    @property
    def gram_limit(self) -> float:
        return DIFFERENCE_LIMIT

    def refined(self) -> None:
        return None

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
        if known is not None and np.array_equal(known[0], indices):
            return known[1]
        columns = self._divided(self.matrix[:, indices], self._divisors[indices])
        self._last["columns"] = (indices, columns)
        return columns

    def _scaled_columns(self, indices: Indices, prior_precision: Array) -> Any:
        return self._divided(self._columns(indices), np.sqrt(prior_precision))

    def matvec(self, weights: Array, indices: Indices) -> Array:
        return np.asarray(self._columns(indices) @ weights.T)

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        if indices is not None:
            return np.asarray(values.T @ self._columns(indices))
        return np.asarray(values.T @ self.matrix) / self._divisors

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        columns = self._columns(indices)
        products = [self._inner(columns, w, self.matrix) for w in row_weights.T]
        return np.stack(products) / self._divisors

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        columns = self._columns(indices)
        return np.stack([self._gram(columns, w) for w in row_weights.T])

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        return self.squared_norms(row_weights), self.rmatvec(row_weights * target)

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        columns = self._columns(indices)
        grams = [self._gram(columns, b) for b in precision.T]
        outputs = zip(*by_output(prior_precision, precision), cycle(grams))
        return np.stack([self._factor(columns, *output) for output in outputs])

    def sparsity(
        self,
        indices: Indices,
        prior_precision: Array,
        precision: Array,
        factor: Array,
    ) -> Array:
        columns = self._scaled_columns(indices, prior_precision)
        pairs = zip(precision.T, factor, strict=True)
        return np.stack([self._sparsity(columns, b, L) for b, L in pairs])

    def _factor(
        self, columns: Any, prior_precision: Array, precision: Array, gram: Array
    ) -> Array:
        """Cholesky's factor of I + A^(-1/2)ΦᵀBΦA^(-1/2), given ΦᵀBΦ."""
        root = 1 / np.sqrt(prior_precision)
        identity = np.eye(len(gram))
        inner = root[:, None] * gram * root
        if inner.diagonal().max(initial=0.0) < GRAM_LIMIT:
            return cholesky(inner + identity)
        rows = self._array(columns) * root * np.sqrt(precision)[:, None]
        (upper,) = qr(np.vstack([rows, identity]), mode="r", check_finite=False)
        upper = upper[: len(gram)]
        lower = (np.sign(upper.diagonal())[:, None] * upper).T
        return np.asarray(lower, dtype=np.float64)

    def _sparsity(self, columns: Any, precision: Array, factor: Array) -> Array:
        if np.sum(factor**2, axis=-1).max(initial=1.0) >= DIFFERENCE_LIMIT:
            return self._residual_squares(self._array(columns), precision)
        cross = self._inner(columns, precision, self.matrix) / self._divisors
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
            functions = self._array(self.matrix[:, chosen])
            functions = functions / self._divisors[chosen] * root
            with threads_for(2 * top.size * functions.shape[1]):
                shares = top.T @ functions
                functions -= top @ shares
            total[chosen] = np.sum(functions**2, axis=0)
            total[chosen] += np.sum((bottom @ shares) ** 2, axis=0)
        return total

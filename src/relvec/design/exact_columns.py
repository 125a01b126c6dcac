"""A few columns of Φ, evaluated exactly in blocks of rows."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from relvec.basis import Basis, blocks
from relvec.blockwise import in_order
from relvec.design.base import each_output
from relvec.design.rows import Rows
from relvec.linalg import (
    available_threads,
    cholesky,
    rotated,
    triangle_beside_prior,
    weighted_squares,
)
from relvec.precision import FACTOR_LIMIT
from relvec.typing import Array, Indices

Result = TypeVar("Result")
# Blocks of kept columns are this many times smaller than those to be evaluated, to
# stay in the processor's cache.
_CACHED_WIDTH = 8
_CACHED_ENTRIES = 200_000


class ExactColumns:
    """Products of chosen columns; the last ones are kept if they take few bytes."""

    def __init__(self, rows: Rows, basis: Basis, divisors: Array, keep: float) -> None:
        self.rows = rows
        self.basis = basis
        self.divisors = divisors
        self.keep = keep
        self._kept: tuple[Indices, Array] | None = None

    def forget(self) -> None:
        """Give up the columns kept."""
        self._kept = None

    def matvec(self, weights: Array, indices: Indices) -> Array:
        """Φ[:, indices] weightsᵀ (N, K)."""
        result = np.empty((self.rows.n_rows, len(weights)))

        def product(rows: slice, columns: Array) -> None:
            result[rows] = columns @ weights.T

        for _ in self._over(indices, product):
            pass
        return result

    def rmatvec(self, values: Array, indices: Indices) -> Array:
        """Φ[:, indices]ᵀ values (K, n)."""
        total = np.zeros((values.shape[1], len(indices)))

        def product(rows: slice, columns: Array) -> Array:
            return values[rows].T @ columns

        for part in self._over(indices, product):
            total += part
        return total

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        """Φ[:, indices]ᵀ diag(row_weights) Φ[:, indices] (n, n)."""

        def product(rows: slice, columns: Array) -> Array:
            weighted = columns * np.sqrt(row_weights[rows])[:, None]
            return weighted.T @ weighted

        total = np.zeros((len(indices), len(indices)))
        for part in self._over(indices, product):
            total += part
        return total

    def beside(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array, Array]:
        """Products of some columns with all (1, n, M); squares, targets of all."""

        def product(rows: slice, columns: Array) -> tuple[Array, Array, Array]:
            weights = row_weights[rows, None]
            cross = (columns[:, indices] * weights).T @ columns
            squares = weighted_squares(columns, row_weights[rows])
            return cross, squares, (weights * target[rows]).T @ columns

        n_all = len(self.basis)
        cross = np.zeros((len(indices), n_all))
        squares, targets = np.zeros(n_all), np.zeros((target.shape[1], n_all))
        for part in self._over(np.arange(n_all), product):
            cross += part[0]
            squares += part[1]
            targets += part[2]
        return cross[None], squares[None], targets

    def coordinates(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array]:
        """V (r, n) and z (r, K) with the inner products of W^½[Φ[:, indices] target].

        R of QR, block upon block: triangles of parts of the rows are rows to the next.
        """
        root = np.sqrt(row_weights)[:, None]

        def turn(rows: slice, columns: Array) -> Array:
            return rotated(np.hstack([columns, target[rows]]) * root[rows])

        turned = np.empty((0, len(indices) + target.shape[1]))
        for block in self._over(indices, turn):
            turned = rotated(np.vstack([turned, block]))
        return turned[:, : len(indices)], turned[:, len(indices) :]

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        """Lower Cholesky factors of I + A^(-1/2)ΦᵀBΦA^(-1/2), (K, n, n)."""
        pairs = zip(*each_output(prior_precision, precision), strict=True)
        return np.stack([self._factor(indices, a, b) for a, b in pairs])

    def _factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        root = 1 / np.sqrt(prior_precision)
        gram = root * self.gram(indices, precision) * root[:, None]
        if gram.diagonal().max(initial=0.0) < FACTOR_LIMIT:
            return cholesky(gram + np.eye(len(indices)))
        V, _ = self.coordinates(indices, precision, np.empty((len(precision), 0)))
        return triangle_beside_prior(V * root)

    def _over(
        self, indices: Indices, work: Callable[[slice, Array], Result]
    ) -> Iterator[Result]:
        """What ``work`` makes of every block of the columns."""
        if self._kept is not None and np.array_equal(self._kept[0], indices):
            columns = self._kept[1]

            def again(part: slice) -> Result:
                return work(part, columns[part])

            parts = blocks(len(columns), _CACHED_WIDTH * max(1, len(indices)))
            yield from in_order(again, parts, available_threads())
            return
        self._kept = None  # its memory may be needed
        n_rows = self.rows.n_rows
        keeping = 8.0 * n_rows * len(indices) <= self.keep
        store = np.empty((n_rows, len(indices))) if keeping else None
        order = np.argsort(indices)
        basis, back = self.basis.subset(indices[order]), np.argsort(order)
        scale = 1 / self.divisors[indices]

        def evaluate(item: tuple[slice, Array]) -> Result:
            rows, X = item
            columns = np.empty((len(X), len(indices))) if store is None else store[rows]
            # Columns become rows here, which takes long outside the processor's cache.
            for part in blocks(len(X), max(1, len(indices)), _CACHED_ENTRIES):
                np.multiply(basis(X[part])[:, back], scale, out=columns[part])
            return work(rows, columns)

        passes = self.rows.blocks(max(1, len(indices)))
        yield from in_order(evaluate, passes, available_threads())
        if store is not None:
            self._kept = (indices, store)

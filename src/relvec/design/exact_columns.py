"""A few columns of Φ, evaluated exactly in blocks of rows."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from relvec.basis import Basis, blocks
from relvec.blockwise import in_order
from relvec.design.base import each_output
from relvec.design.rows import Rows
from relvec.linalg import available_threads, cholesky, solve_lower
from relvec.precision import GRAM_LIMIT, LOST_TO_ROUNDING
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
        identity = np.eye(len(indices))
        gram = (
            identity + root * self._gram(indices, precision, identity) * root[:, None]
        )
        largest = gram.diagonal().max(initial=1.0)
        if largest < GRAM_LIMIT:
            return cholesky(gram)
        # The factor has lost digits; whitened by it, the stacked rows [√BΦA^(-1/2); I]
        # are nearly orthogonal, and the factor of what is left of them has not. Where
        # rounding left none, that of a matrix a little larger will do, once more.
        try:
            factor, corrections = cholesky(gram), 1
        except np.linalg.LinAlgError:
            shift = LOST_TO_ROUNDING * len(gram) * largest
            factor, corrections = cholesky(gram + shift * identity), 2
        for _ in range(corrections):
            whitener = solve_lower(factor[None], identity[None])[0]
            left = whitener @ whitener.T
            left += self._gram(indices, precision, (whitener * root).T)
            factor = factor @ cholesky(left)
        return factor

    def _gram(self, indices: Indices, precision: Array, mixing: Array) -> Array:
        """(Φ mixing)ᵀB(Φ mixing)."""
        plain = np.array_equal(mixing, np.eye(len(indices)))

        def product(rows: slice, columns: Array) -> Array:
            mixed = columns if plain else columns @ mixing
            weighted = mixed * np.sqrt(precision[rows])[:, None]
            return weighted.T @ weighted

        total = np.zeros((len(indices), len(indices)))
        for part in self._over(indices, product):
            total += part
        return total

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

"""Inner products of features over all rows, in one pass where one will do."""

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

import numpy as np

from relvec.basis import blocks
from relvec.blockwise import in_order
from relvec.design.expansions import Expansion
from relvec.design.rows import Rows
from relvec.linalg import available_threads, same, stacked, threads_for
from relvec.typing import AnyArray, Array

_MOST_REPAIRS = 20  # a guard: five fits of 3000 to 50 000 rows needed none
_MOST_POOR = 5000  # rows to repair for at once
Result = TypeVar("Result")
_NO_ROWS = np.empty((0, 0))
Features: TypeAlias = tuple[slice, Array]


class FeatureGram:
    """FᵀWF and FᵀWt of an expansion; the last Gram matrix is kept.

    A pass looks at every row: where the expansion falls short of its stated accuracy,
    it is repaired and the pass repeated. Features are kept from the second pass on if
    they take no more than ``keep`` bytes.
    """

    def __init__(self, rows: Rows, expansion: Expansion, keep: float) -> None:
        self.rows = rows
        self.expansion = expansion
        self.keep = keep
        self.passes = 0
        self._last: tuple[Array, Array] | None = None  # row weights, Gram matrices
        self._kept: list[Features] = []
        known = expansion.known(rows)
        if known is not None and self._size() <= keep:
            parts = blocks(len(known), expansion.n_features, rows.entries)
            self._kept = [(part, known[part]) for part in parts]

    def gram(self, row_weights: Array) -> Array:
        """FᵀWF (K, r, r)."""
        if self._last is None or not same(self._last[0], row_weights):
            self.project(row_weights, np.empty((self.rows.n_rows, 0)))
        assert self._last is not None
        return self._last[1]

    def project(self, row_weights: Array, values: Array) -> Array:
        """Fᵀvalues (K, r), and the Gram matrix for these weights is there as well."""
        self._last = None  # its memory may be needed
        for _ in range(_MOST_REPAIRS):
            gram, products, poor = self._pass(row_weights, values)
            if len(poor) == 0:
                break
            repaired = self.expansion.repaired(poor)
            if repaired is self.expansion:
                break
            self.expansion = repaired
            self._kept = []
        self._last = (row_weights, gram)
        return products

    def forget(self) -> None:
        """Give up what can be computed again."""
        self._last, self._kept = None, []

    def transposed(self, values: Array) -> Array:
        """Fᵀvalues (K, r)."""
        total = np.zeros((values.shape[1], self.expansion.n_features))

        def product(rows: slice, features: Array) -> Array:
            return self._product(values[rows], features)

        for part, _ in self._over_features(product):
            total += part
        return total

    def _pass(self, row_weights: Array, values: Array) -> tuple[Array, Array, AnyArray]:
        size = self.expansion.n_features
        gram = np.zeros((row_weights.shape[1], size, size))
        products = np.zeros((values.shape[1], size))
        poor, alone = _NO_ROWS, self._threads() == 1

        def sums(rows: slice, features: Array) -> tuple[Array, Array]:
            weights = row_weights[rows].T
            with threads_for(features.size * size if alone else 0):
                weighted = [self._weighted_gram(features, w) for w in weights]
            return stacked(weighted), self._product(values[rows], features)

        for (part, product), short in self._over_features(sums):
            gram += part
            products += product
            if len(short) and poor.size < self.rows.entries:
                poor = np.concatenate([poor, short]) if len(poor) else short
        # Of many rows a few thousand, spread evenly over all.
        return gram, products, poor[:: max(1, -(-len(poor) // _MOST_POOR))]

    def _over_features(
        self, sums: Callable[[slice, Array], Result]
    ) -> Iterator[tuple[Result, AnyArray]]:
        """What ``sums`` makes of every block, and the rows poorly described in it."""
        expansion, kept = self.expansion, self._kept
        keeping = self.passes > 0 and self._size() <= self.keep

        def fresh(item: tuple[slice, Array]) -> tuple[Result, AnyArray, Features]:
            rows, X = item
            features = expansion.features(X)
            poor = expansion.poor(X, features)
            return sums(rows, features), poor, (rows, features)

        if kept:
            for result in in_order(lambda part: sums(*part), kept, self._threads()):
                yield result, _NO_ROWS
            return
        passing = self.rows.blocks(expansion.n_features)
        collected = []
        for result, poor, part in in_order(fresh, passing, self._threads()):
            if keeping:
                collected.append(part)
            yield result, poor
        self.passes += 1
        self._kept = collected

    def _product(self, values: Array, features: Array) -> Array:
        """Fᵀvalues of a block (K, r)."""
        product = values.T @ features
        if not self.expansion.constant:
            return product
        return np.column_stack([values.sum(axis=0), product])

    def _weighted_gram(self, features: Array, weights: Array) -> Array:
        """FᵀWF of a block (r, r)."""
        if np.all(weights == weights[:1]):
            inner = weights[:1].sum() * (features.T @ features)
        else:
            scaled = features * np.sqrt(weights)[:, None]
            inner = scaled.T @ scaled
        if not self.expansion.constant:
            return inner
        gram = np.empty((len(inner) + 1, len(inner) + 1))
        gram[0, 0] = weights.sum()
        gram[0, 1:] = gram[1:, 0] = weights @ features
        gram[1:, 1:] = inner
        return gram

    def _threads(self) -> int:
        """One where each would hold a Gram matrix larger than a block."""
        large = self.expansion.n_features**2 > self.rows.entries
        return 1 if large else available_threads()

    def _size(self) -> float:
        return 8.0 * self.rows.n_rows * self.expansion.n_features

"""What the process about a model adds to functions that are drawn from it.

At every row as much variance as error bars gain by it. Between rows it is correlated as
what rows have not determined of the process, k(x, z) − kᵀTᵀTk: smoothly, as its kernel
is, by the pivots of an incomplete Cholesky factor; what so many pivots leave of a row,
nothing at all on a line or in a plane, belongs to that row alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from relvec.basis import evaluated
from relvec.kernels import Kernel
from relvec.modelling.surroundings import Surroundings
from relvec.pivots import Pivots
from relvec.typing import AnyArray, Array

_PIVOTS = 500  # at most: of 10000 rows they take two seconds
_LEFT = 1e-8  # of a row's variance, that is too little for another pivot


@dataclass(frozen=True, eq=False)
class Beyond:
    """What error bars of some rows gain."""

    turned: Array  # (N, m) z over the root of k(x, x)
    shift: Array  # (N, K) of the mean
    excess: Array  # (N, K) of the variance

    @classmethod
    def of(
        cls,
        found: Surroundings,
        X: AnyArray,
        functions: AnyArray,
        mean: Array,
        variance: Array,
    ) -> "Beyond":
        """Of rows whose moments, by the model alone, are known."""
        turned, prior = found.turned(X, functions)
        moved, widened = found.moments(turned, prior, mean, variance)
        excess = widened - variance
        if excess.ndim == 3:
            excess = np.einsum("nkk->nk", excess)
        return cls(turned, moved - mean, np.maximum(excess, 0.0))

    @classmethod
    def joined(cls, parts: list["Beyond"]) -> "Beyond":
        """Of all rows."""
        columns = zip(
            *((one.turned, one.shift, one.excess) for one in parts), strict=True
        )
        return cls(*map(np.concatenate, columns))

    def drawn(
        self, kernel: Kernel, X: AnyArray, count: int, chance: np.random.Generator
    ) -> Array:
        """(count, N, K), outputs independent of one another."""
        n_rows, n_outputs = self.excess.shape
        found = np.broadcast_to(self.shift, (count, n_rows, n_outputs)).copy()
        rows = np.flatnonzero(self.excess.any(axis=1))
        if len(rows):
            left = _Correlation(kernel, X[rows], self.turned[rows])
            unit = left.drawn(count * n_outputs, chance)
            unit = np.moveaxis(unit.reshape(len(rows), count, n_outputs), 0, 1)
            found[:, rows] += np.sqrt(self.excess[rows]) * unit
        return found


@dataclass(frozen=True, eq=False)
class _Correlation:
    """Of what is left at some rows: a kernel of their numbers."""

    kernel: Kernel
    X: AnyArray
    turned: Array  # (n, m)
    compact: ClassVar[bool] = False
    positive_definite: ClassVar[bool] = True

    def __call__(self, first: AnyArray, second: AnyArray, /) -> Array:
        i, j = first[:, 0], second[:, 0]
        values = evaluated(self.kernel, self.X[i], self.X[j])
        values = values / self._root(i)[:, None] / self._root(j)
        values -= self.turned[i] @ self.turned[j].T
        return np.asarray(values / np.sqrt(self._left(i)[:, None] * self._left(j)))

    def diagonal(self, rows: AnyArray, /) -> Array:
        return np.ones(len(rows))

    def _root(self, rows: AnyArray) -> Array:
        return np.sqrt(self.kernel.diagonal(self.X[rows]))

    def _left(self, rows: AnyArray) -> Array:
        explained = np.einsum("nm,nm->n", self.turned[rows], self.turned[rows])
        return np.maximum(1 - explained, np.finfo(float).eps)

    def drawn(self, count: int, chance: np.random.Generator) -> Array:
        """Numbers of unit variance (n, count)."""
        rows = np.arange(len(self.X))[:, None]
        pivots = Pivots.none(self, rows).greedy(rows, _PIVOTS, _LEFT)
        features = pivots.features(rows)
        own = np.sqrt(np.maximum(pivots.residual(rows, features), 0.0))
        shared = features @ chance.standard_normal((len(pivots), count))
        return shared + own[:, None] * chance.standard_normal((len(rows), count))

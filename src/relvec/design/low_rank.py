"""Functions as inner products of a few features: Φ = F·C, and never formed.

F holds the features of every row, C their coefficients in every function. A smooth
kernel has few of them, and they say of all functions what the rows say: with QR = W^½F
rows become as few as features, with all digits, and ΦᵀWΦ = (RC)ᵀRC.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import Basis
from relvec.blockwise import in_order
from relvec.design.reduced import Reduced
from relvec.design.rows import Rows
from relvec.linalg import available_threads, rotated, upper_factor
from relvec.typing import AnyArray, Array

_MOST_REPAIRS = 20  # a guard: five fits of 3000 to 50 000 rows needed none
_MOST_POOR = 5000  # rows to repair for at once
# Of an entry: features that are asked for no more have a condition of 1e4, of which
# inner products keep eight digits, in half the time.
_COARSE = 1e-8


@dataclass(frozen=True)
class LowRank:
    """Features of a few pivots per kernel; the constant, if there is one, is another.

    No entry of Φ is off by more than ``tol`` times the largest k(x, x) of its kernel.
    """

    basis: Basis
    parts: tuple[Reduced, ...]  # one per kernel
    tol: float
    most: int  # pivots, of all kernels

    @classmethod
    def of(cls, basis: Basis, *, tol: float, most: int, seed: int) -> "LowRank | None":
        """Pivots among the centres; None if there would have to be too many."""
        basis = replace(
            basis, groups=tuple(group for group in basis.groups if len(group))
        )
        parts: list[Reduced] = []
        for group in basis.groups:
            left = most - sum(part.rank for part in parts)
            part = Reduced.of(group, tol=tol, most=left, seed=seed)
            if part is None:
                return None
            parts.append(part)
        return cls(basis, tuple(parts), tol, most)

    @property
    def n_features(self) -> int:
        """Columns of F."""
        return self.rank + self.basis.bias

    @property
    def rank(self) -> int:
        """Pivots of all kernels."""
        return sum(part.rank for part in self.parts)

    def features(self, X: AnyArray) -> Array:
        """F of some rows, the constant first."""
        ones = [np.ones((len(X), 1))] if self.basis.bias else []
        return np.hstack([*ones, *(part.features(X) for part in self.parts)])

    def combine(self, products: Array) -> Array:
        """``products @ C``: (r, features) -> (r, functions)."""
        combined = np.empty((len(products), len(self.basis)), order="F")
        if self.basis.bias:
            combined[:, 0] = products[:, 0]
        start = int(self.basis.bias)
        for part, functions in zip(self.parts, self.basis.parts, strict=True):
            own = products[:, start : start + part.rank]
            combined[:, functions] = own @ part.centre_features.T
            start += part.rank
        return combined

    def coordinates(
        self, rows: Rows, row_weights: Array, target: Array
    ) -> tuple[Array, Array]:
        """V (r, M) and z (r, K) with the inner products of W^½[Φ target].

        A pass looks at every row: where the features fall short of the stated accuracy,
        there will be more of them, and the pass is repeated.
        """
        expansion = self
        turned, poor = self._turned(rows, row_weights, target)
        for _ in range(_MOST_REPAIRS):
            better = expansion.repaired(poor) if len(poor) else expansion
            if better is expansion:
                break
            expansion = better
            turned, poor = expansion._turned(rows, row_weights, target)
        size = expansion.n_features
        return expansion.combine(turned[:, :size]), turned[:, size:]

    def _turned(
        self, rows: Rows, row_weights: Array, target: Array
    ) -> tuple[Array, AnyArray]:
        """R of W^½[F target], and rows that are poorly described."""
        root = np.sqrt(row_weights)[:, None]
        coarse = self.tol >= _COARSE

        def turn(item: tuple[slice, AnyArray]) -> tuple[Array, AnyArray]:
            part, X = item
            features = self.features(X)
            block = np.hstack([features, target[part]]) * root[part]
            inner = block.T @ block if coarse else rotated(block)
            return inner, self._poor(X, features)

        width = self.n_features + target.shape[1]
        turned, poor, limit = np.zeros((width * coarse, width)), None, rows.entries
        for block, short in in_order(turn, rows.blocks(width), available_threads()):
            turned = turned + block if coarse else rotated(np.vstack([turned, block]))
            if poor is None or (len(short) and poor.size < limit):
                poor = short if poor is None else np.concatenate([poor, short])
        assert poor is not None
        if coarse:
            turned = upper_factor(turned)
        # Of many rows a few thousand, spread evenly over all.
        return turned, poor[:: max(1, -(-len(poor) // _MOST_POOR))]

    def _poor(self, X: AnyArray, features: Array) -> AnyArray:
        """Of these rows the worst whose functions are off by more than stated."""
        found, start = X[:0], int(self.basis.bias)
        for part in self.parts:
            own = features[:, start : start + part.rank]
            found = np.concatenate([found, part.poor(X, own)])
            start += part.rank
        return found

    def repaired(self, rows: AnyArray) -> "LowRank":
        """With features enough for these rows too; itself if that takes too many."""
        parts = list(self.parts)
        for place, part in enumerate(parts):
            left = self.most - sum(other.rank for other in parts) + part.rank
            parts[place] = part.repaired(rows, left)
        unchanged = all(new is old for new, old in zip(parts, self.parts, strict=True))
        return self if unchanged else replace(self, parts=tuple(parts))

"""The functions of one kernel as inner products of a few features."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.basis import Functions, as_rows
from relvec.design.pivots import Pivots, choose_pivots, first_batch, worst_rows
from relvec.precision import LEAST_TOLERANCE
from relvec.typing import AnyArray, Array

# Where the residuals of centres are this share of the tolerance, those of rows may be
# as many times the tolerance: an entry is off by the root of their product.
_MARGIN = 0.3
# Rows become pivots as long as there are not so many times as many then.
_MOST_GROWTH = 2


# Of so many centres, as pivots: with more, hardly any two describe each other.
_PROBE, _FULL = 300, 0.9


def _is_full(pivots: Pivots, centres: AnyArray, tol: float) -> bool:
    """Whether a few centres tell that there would have to be too many pivots."""
    some = centres[:_PROBE]
    rank = len(pivots.extended(some, np.empty((len(some), 0)), tol))
    return rank > _FULL * _PROBE


@dataclass(frozen=True)
class Reduced:
    """No value k(x, z) is off by more than ``tol`` times the largest k(x, x)."""

    group: Functions
    pivots: Pivots
    tol: float
    scale: float  # the largest k(x, x)
    finer: float  # no centre's residual is larger

    @classmethod
    def of(
        cls, group: Functions, *, tol: float, most: int, seed: int
    ) -> "Reduced | None":
        """Pivots among the centres; None if there would have to be too many."""
        centres = as_rows(group.centres)
        scale = float(np.max(group.kernel.diagonal(centres)))
        if most < 1 or not (np.isfinite(scale) and scale > 0):
            return None
        start = Pivots.none(group.kernel, centres)
        first = first_batch(len(centres), most, seed)
        finer = _MARGIN * tol * scale
        if len(centres) > _MOST_GROWTH * most and _is_full(
            start, centres[first], finer
        ):
            return None
        pivots, features = choose_pivots(start, centres, finer, most, first)
        if len(pivots) > most:
            return None
        found = cls(group, pivots, tol, scale, finer)
        vars(found)["centre_features"] = features  # no need to evaluate them again
        return found

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.pivots)

    def features(self, X: AnyArray) -> Array:
        """f(x) of every row, (n, rank)."""
        return self.pivots.features(X)

    @cached_property
    def centre_features(self) -> Array:
        """f(z) of every centre."""
        return self.features(as_rows(self.group.centres))

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        """Of these rows the worst whose functions are off by more than stated."""
        residual = self.pivots.residual(X, features)
        return X[worst_rows(residual, self._most_residual)]

    @property
    def _most_residual(self) -> float:
        """That a row may have; less is rounding."""
        least = LEAST_TOLERANCE * self.scale
        return max(least, (self.tol * self.scale) ** 2 / self.finer)

    def repaired(self, rows: AnyArray, most: int) -> "Reduced":
        """With pivots enough for these rows too; itself if that takes too many."""
        residual = self.pivots.residual(rows, self.features(rows))
        rows = rows[residual > self._most_residual]
        if len(rows) == 0:
            return self
        few = min(most, _MOST_GROWTH * self.rank)
        pivots, _ = choose_pivots(self.pivots, rows, self.finer, few)
        if len(pivots) <= few:
            return replace(self, pivots=pivots)
        # Too many rows are far from all centres to describe each of them. It is enough
        # to describe the centres so well that the residuals of rows do not matter.
        least = _MARGIN * LEAST_TOLERANCE * self.scale
        finer = max(least, (self.tol * self.scale) ** 2 / np.max(residual))
        if finer >= self.finer:
            return self
        centres = as_rows(self.group.centres)
        pivots, _ = choose_pivots(self.pivots, centres, finer, most)
        if len(pivots) > most:
            return self
        return replace(self, pivots=pivots, finer=finer)

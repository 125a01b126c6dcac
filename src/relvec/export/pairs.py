"""A row beside the centres of some functions, as a kernel sees both.

Features are taken from an origin among the centres before anything else is done with
them: far from zero, single precision has no digits left for differences. What a scaler
does to them is made one with the kernel's own length scales.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.export.expressions import (
    Expression,
    constant,
    elementwise,
    matmul,
    squared,
    squared_distances,
)
from relvec.kernels.checks import chosen_columns
from relvec.typing import Array


@dataclass(frozen=True, eq=False)
class Scaling:
    """(x − shift)/scale of every feature, before a model sees it."""

    shift: Array  # (d,)
    scale: Array  # (d,)

    @classmethod
    def none(cls, n_features: int) -> "Scaling":
        """That leaves features as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def after(self, first: "Scaling") -> "Scaling":
        """Of what another has scaled before."""
        shift = first.shift + self.shift * first.scale
        return Scaling(shift, first.scale * self.scale)

    def undone(self, rows: Array) -> Array:
        """Rows as they were before."""
        return rows * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class Pairs:
    """A row x and centres z, or the row and itself."""

    given: Expression  # (d,) the row as it comes
    row: Expression  # (d,) less the origin, not scaled
    origin: Array  # (d,)
    scaling: Scaling
    centres: Array | None  # (n, d) scaled; None for the row itself

    @property
    def n_features(self) -> int:
        """That are seen."""
        return len(self.origin)

    def beside(self, centres: Any) -> "Pairs":
        """The same row beside other centres."""
        return replace(self, centres=np.asarray(centres, dtype=np.float64))

    def itself(self) -> "Pairs":
        """The row beside itself."""
        return replace(self, centres=None)

    def narrowed(self, columns: Any) -> "Pairs":
        """Some features alone; all for None."""
        if columns is None:
            return self
        chosen = chosen_columns(columns, self.n_features)
        return Pairs(
            self.given.take(chosen),
            self.row.take(chosen),
            self.origin[chosen],
            Scaling(self.scaling.shift[chosen], self.scaling.scale[chosen]),
            None if self.centres is None else self.centres[:, chosen],
        )

    def differences(self, length_scale: Any = 1.0) -> Expression:
        """(x − z)/ℓ (n, d), by one ℓ, one for each feature, or for each centre too."""
        if self.centres is None:
            return constant(np.zeros((1, self.n_features)))
        ell = np.asarray(length_scale, dtype=np.float64)
        rate = 1 / (self.scaling.scale * ell)
        if ell.ndim > 1:
            return (self.row.wider(0) - self._places) * rate
        return (self.row * rate).wider(0) - self._places * rate

    def turns(self, period: Any) -> Expression:
        """(x − z)/p (n, d) less whole periods, of which no digits are lost far away."""
        if self.centres is None:
            return self.differences()
        wide = np.broadcast_to(period * self.scaling.scale, (self.n_features,))
        row = elementwise("remainder", self.given, wide) * (1 / wide)
        places = np.fmod(self.scaling.undone(self.centres), wide)
        return row.wider(0) - places / wide

    def squares(self, length_scale: Any = 1.0, *, exact: bool = False) -> Expression:
        """‖(x − z)/ℓ‖² (n,); ``exact`` also for those nearly the same."""
        ell = np.asarray(length_scale, dtype=np.float64)
        if self.centres is None or ell.ndim > 1 or exact:
            return squared(self.differences(ell)).sum()
        rate = 1 / (self.scaling.scale * ell)
        return squared_distances(self.row * rate, self._places * rate)

    @property
    def _places(self) -> Array:
        """The centres less the origin, not scaled: (n, d).

        Not by way of the features as they were given, far from zero perhaps, where
        digits would be lost that a scaler has saved.
        """
        assert self.centres is not None
        return self.centres * self.scaling.scale + (self.scaling.shift - self.origin)

    def products(self) -> Expression:
        """xᵀz (n,)."""
        if self.centres is None:
            return (self.seen() * self.seen()).sum().wider(0)
        at_origin = (self.origin - self.scaling.shift) / self.scaling.scale
        slopes = matmul(self.row, (self.centres / self.scaling.scale).T)
        return slopes + self.centres @ at_origin

    def seen(self) -> Expression:
        """The row as the kernel sees it, (d,)."""
        scale = self.scaling.scale
        return self.row * (1 / scale) + (self.origin - self.scaling.shift) / scale

    def others(self) -> Expression:
        """The centres as the kernel sees them, (n, d)."""
        return self.seen().wider(0) if self.centres is None else constant(self.centres)


def origin_of(centres: Array) -> Array:
    """A point among centres (n, d), one that single precision can hold.

    Zero, where it is among them already.
    """
    if len(centres) == 0:
        return np.zeros(centres.shape[1])
    middle, width = centres.mean(axis=0), centres.std(axis=0)
    single = np.asarray(middle, dtype=np.float32).astype(np.float64)
    return np.where(np.abs(middle) > width, single, 0.0)

"""Length scales to begin with, from the distances between rows."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from relvec.chance import generator
from relvec.kernel_learning import Range
from relvec.kernels.radial import Radial
from relvec.typing import AnyArray, Array

# Those of _STARTS were not varied; other values of the rest are not on record.
_MOST_ROWS = 500  # with 125 000 pairs, enough for quantiles of 2 %
_NEAR, _FAR = 0.02, 0.98  # quantiles of the distances of pairs: all but the outermost
_NARROWEST = 0.6  # of the near distance: narrower, functions explain single rows
_CENTRE = 1 / 1.5  # of the median distance, where a search begins
_STARTS = (1.0, 0.3, 3.0)  # of the centre
_WIDE_OF_ONE = 2.0  # of the far distance, where a feature has hardly any influence
_PARTS_OF_ONE = (0.15, 0.3)  # of the median distance, for the one that has
_AT_BOUND = 0.3  # in log ℓ: within a factor of 1.35
# Below the bound: all scales so wide, and one at it, are those of a plane.
_PLANE = 10.0
_WIDER, _NARROWER = 100.0, 20.0  # than the median distance: as far as scales may go


@dataclass(frozen=True)
class Distances:
    """Between rows whose features are divided by a shape."""

    shape: Array  # (1 or d,) relative scales of the features that the kernel sees
    near: float
    median: float
    far: float
    nearest: float  # the median distance of a row to the one nearest to it
    n_features: int

    @classmethod
    def of(cls, rows: Array, shape: Array, seed: int) -> "Distances":
        """Of some of the rows (N, features that the kernel sees), equal ones once."""
        rows = np.unique(rows, axis=0)
        if len(rows) > _MOST_ROWS:
            drawing = generator(seed)
            rows = rows[drawing.choice(len(rows), _MOST_ROWS, replace=False)]
        distances = pdist(rows / shape)
        if len(distances) == 0:
            return cls(shape, 1.0, 1.0, 1.0, 1.0, rows.shape[1])
        near, median, far = np.quantile(distances, [_NEAR, 0.5, _FAR])
        square = squareform(distances)
        np.fill_diagonal(square, np.inf)
        nearest = float(np.median(square.min(axis=0)))
        found = float(near), float(median), float(far), nearest
        return cls(shape, *found, rows.shape[1])

    def widths(self, number: int) -> Array:
        """So many from narrow to wide, in geometric progression."""
        if number == 1:
            return np.array([self.centre])
        return np.geomspace(_NARROWEST * self.near, self.far, number)

    def several(self, number: int) -> list[Array]:
        """So many for one dictionary; dictionaries from wide ones to narrow ones."""
        median, near = self.median, self.near
        ends = [
            (median, 10 * median),
            (median / 3, 3 * median),
            (1.5 * near, 2 * median),
            # Narrower than distances between rows, functions explain single ones.
            (0.7 * near, median),
        ]
        return [np.geomspace(min(pair), max(pair), number) for pair in ends]

    def single_features(self) -> list[Array]:
        """Scales narrow in one feature and wide in all others, two for each."""
        size = len(self.shape)
        if size == 1:
            return []
        wide = _WIDE_OF_ONE * self.far
        return [
            np.where(np.arange(size) == feature, part * self.median, wide) * self.shape
            for feature in range(size)
            for part in _PARTS_OF_ONE
        ]

    def starts(self, number: int) -> list[Array]:
        """At most so many scales to begin with, of which a few steps tell the best."""
        return [part * self.centre * self.shape for part in _STARTS[:number]]

    @property
    def centre(self) -> float:
        """A width that is rarely far from the best."""
        return _CENTRE * self.median

    @property
    def allowed(self) -> Range:
        """Within which scales may move."""
        narrowest = min(self.median / _NARROWER, _NARROWEST * self.near / 2)
        shape = np.log(self.shape)
        return Range(shape + np.log(narrowest), shape + np.log(_WIDER * self.median))

    @property
    def shared_by_rows(self) -> Range:
        """Within which functions of one width reach other rows than their own.

        Narrower, a row explains itself, and noise cannot be told from a signal.
        """
        least = np.log(self.shape) + np.log(self.nearest)
        return Range(np.maximum(self.allowed.low, least), self.allowed.high)

    @property
    def resolved_by_rows(self) -> Range:
        """The same for scales of each feature, whose distances are shares of those.

        Twice as much, since others are wider then and rows nearer.
        """
        part = np.log(2 * self.nearest) - 0.5 * np.log(max(1, self.n_features))
        least = np.log(self.shape) + part
        return Range(np.maximum(self.allowed.low, least), self.allowed.high)

    def remark(self, scales: Array) -> str | None:
        """What there is to say of scales that ran as far as they may."""
        logs, allowed = np.log(scales), self.allowed
        narrow = np.flatnonzero(logs < allowed.low + _AT_BOUND)
        if len(narrow):
            which = f" of feature {narrow[0]}" if len(scales) > 1 else ""
            return (
                f"the length scale{which} ran to its lower bound, far below the "
                "distances between rows: the model follows single rows; more rows, or "
                "a kernel of your own, may help"
            )
        wide = np.all(logs > allowed.high - np.log(_PLANE))
        if wide and np.any(logs > allowed.high - _AT_BOUND):
            return (
                f"length scales ran to their upper bound, {_WIDER:g} times the median "
                "distance between rows: the data look like a plane; try "
                "kernel='linear' or a list with it"
            )
        return None


def given_shape(kernel: Radial) -> Array:
    """Relative scales of the features, as far as the kernel has any: (1 or d,)."""
    given = np.atleast_1d(kernel.scale)
    return given / np.exp(np.mean(np.log(given)))


def natural_shape(kernel: Radial, rows: AnyArray, sample_weight: Array) -> Array:
    """One for each feature: the kernel's own, or else standard deviations (d,)."""
    given = given_shape(kernel)
    if len(given) > 1:
        return given
    deviation = np.sqrt(variances(rows, sample_weight))
    return np.where(deviation > 0, deviation, 1.0)


def variances(rows: AnyArray, sample_weight: Array) -> Array:
    """Of every feature; zero where only rounding is left of it."""
    mean = np.average(rows, axis=0, weights=sample_weight)
    found = np.average((rows - mean) ** 2, axis=0, weights=sample_weight)
    # That of a mean grows with the number of rows.
    digits = (8 + len(rows)) * np.finfo(float).eps
    rounding = digits * np.max(np.abs(rows), axis=0, initial=0.0)
    return np.where(found > rounding**2, found, 0.0)

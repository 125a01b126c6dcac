"""How probable targets are under the prior of an LS-SVM, and how far rows are off.

The prior of an LS-SVM is a Gaussian process: y ~ N(b, I/ζ + K/μ) with C = ζ/μ, b with
a flat prior (section 2.1 of the note, whose (17) is another model's evidence). Given C,
both the mean and the ratio of all variances follow; what is left is one scale, 1/μ.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relvec.precision import NOISE_FLOOR, TINY
from relvec.typing import Array

# 1 − h below this is rounding: such a row is all that tells of itself.
_LEAST_KEPT = 1e-14


@dataclass(frozen=True)
class Evidence:
    """log N(y | b, I/ζ + K/μ), b integrated out, at its best scale.

    −½[ν log 2π − ν log(μC) + volume + μ·energy] for each of K outputs.
    """

    freedom: float  # ν: observations, less one if there is a b
    C: float
    volume: float  # log |I + CV^½KV^½|, and log uq of b; nan if it has none
    energy: Array  # (K,) (y − b)ᵀα
    squares: Array  # (K,) mean squares of centred targets

    @cached_property
    def scale(self) -> float:
        """1/μ of most evidence, the same for all outputs."""
        found = float(np.sum(self.energy)) / max(self.freedom, 1.0) / len(self.energy)
        return max(found, self._least) if np.isfinite(found) else self._least

    @property
    def _least(self) -> float:
        """C times the least variance that the noise may have."""
        return max(NOISE_FLOOR * self.C * float(np.mean(self.squares)), TINY)

    @property
    def log_density(self) -> float:
        """Of all targets."""
        n_outputs, nu = len(self.energy), self.freedom
        constant = nu * (np.log(2 * np.pi) - np.log(self.C) + np.log(self.scale))
        each = constant + self.volume
        total = n_outputs * each + float(np.sum(self.energy)) / self.scale
        return float(-0.5 * total)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows as they are predicted by all others, in closed form.

    Of a row that stands for several, v > 1, one is left out; a row of v ≤ 1 as a whole.
    """

    residual: Array  # (N, K) y − f with all rows
    remaining: Array  # (N,) 1 − vh, with h the leverage of one of v such rows
    weight: Array  # (N,) v
    missing: Array | float = 0.0  # (N,) C·d, of which landmarks know nothing

    @cached_property
    def _kept(self) -> Array:
        """1 − δh, with δ of a row of weight v left out."""
        share = np.minimum(1.0, self.weight) / self.weight
        kept = (1 - share) + share * self.remaining
        return np.where(np.abs(kept) < _LEAST_KEPT, _LEAST_KEPT, kept)

    @cached_property
    def errors(self) -> Array:
        """(N, K) y less what the other rows predict."""
        return self.residual / self._kept[:, None]

    @cached_property
    def inflation(self) -> Array:
        """(N,) variance of these errors, that of the noise being 1."""
        leverage = (1 - self.remaining) / self.weight
        return np.asarray(1 + leverage / self._kept + self.missing)

    @property
    def mean_square(self) -> float:
        """Of the errors, PRESS."""
        with np.errstate(over="ignore"):
            return _average(self.errors**2, self.weight)

    @property
    def noise_variance(self) -> float:
        """For which errors are as large as they should be."""
        with np.errstate(over="ignore"):
            squares = self.errors**2 / np.maximum(self.inflation, 1.0)[:, None]
            return _average(squares, self.weight)


def _average(values: Array, weight: Array) -> float:
    return float(np.average(values.mean(axis=1), weights=weight))

"""Gaussian noise of known or estimated precision, for one output or several.

Several outputs share α: with w_c ~ N(0, σ_c²/α), in units of its own noise, t_c/σ_c,
each has unit noise and the same prior, so that one factor serves them all. Then η = Φw
is in these units, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.likelihoods.base import NoiseLikelihood, PseudoObservations
from relvec.linalg import SQUARABLE
from relvec.parameters import check_noise_variance
from relvec.precision import NOISE_FLOOR
from relvec.typing import Array

# Section 4, step 1: the initial noise as a fraction of the variance, with a floor in
# units of the mean square for targets that hardly vary.
STARTING_NOISE, _LEAST_STARTING_NOISE = 0.1, 1e-6
# Smallest mean square of targets: up to its inverse, noise precisions times squares of
# ΦᵀΦ stay in the range of double precision.
_LEAST_KNOWN_NOISE = 1e-24


@dataclass(frozen=True)
class Gaussian(NoiseLikelihood):
    """y = η + ε with ε ~ N(0, 1/noise_precision), independent over rows and outputs."""

    noise_precision: Array  # (K,)
    estimated: bool = True
    ceiling: float | Array = 1 / NOISE_FLOOR  # of all outputs, or (K,)

    @classmethod
    def starting(
        cls,
        y: Array,
        sample_weight: Array,
        offset: float = 0.0,
        noise_variance: float | None = None,
    ) -> "Gaussian":
        """Initial noise, to be estimated, for targets (N, K) without ``offset``.

        The search begins with ``noise_variance``, or with a tenth of the targets'.
        """
        magnitude = root_mean_square(y, sample_weight) or _squarable(offset) or 1.0
        weight = sample_weight[:, None]
        mean = (y * weight).sum(axis=0) / weight.sum(axis=0)
        variance = ((y - mean) ** 2 * weight).sum(axis=0) / weight.sum(axis=0)
        least = _LEAST_STARTING_NOISE * magnitude**2
        noise = np.maximum(STARTING_NOISE * variance, least)
        if noise_variance is not None:
            noise = np.full(len(noise), max(noise_variance, STARTING_NOISE * least))
        return cls(1 / noise, ceiling=1 / (NOISE_FLOOR * magnitude**2))

    @classmethod
    def known(cls, noise_variance: float, n_outputs: int = 1) -> "Gaussian":
        """Noise of a given variance."""
        return cls(np.full(n_outputs, 1 / noise_variance), estimated=False)

    @property
    def conjugate(self) -> bool:
        return True

    @property
    def noise_variance(self) -> Array:
        return 1 / self.noise_precision

    @property
    def scale(self) -> Array:
        return np.sqrt(self.noise_variance)

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        return PseudoObservations(y, sample_weight[:, None], self.noise_precision)

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        beta = self.noise_precision
        rss = sample_weight @ (y - eta) ** 2
        count = sample_weight.sum()
        return float(0.5 * np.sum(count * np.log(beta / (2 * np.pi)) - beta * rss))

    def sufficient_statistics(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> tuple[Array, Array]:
        n_parameters = len(self.log_parameters)
        squares = sample_weight @ (y - eta) ** 2
        return np.full(n_parameters, sample_weight.sum()), squares[:n_parameters]

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "Gaussian":
        return self

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        total = variance + self.noise_variance
        terms = np.log(2 * np.pi * total) + (y - mean) ** 2 / total
        return -0.5 * np.asarray(terms.sum(axis=1))


def gaussian_noise(
    y: Array,
    sample_weight: Array,
    noise_variance: Any,
    offset: float = 0.0,
    initial: float | None = None,
) -> Gaussian:
    """Interpret ``noise_variance``: "estimate" or a number.

    ``initial`` is the value that an estimate starts from.
    """
    check_noise_variance(noise_variance)
    if isinstance(noise_variance, str):
        return Gaussian.starting(y, sample_weight, offset, initial)
    least = _LEAST_KNOWN_NOISE * root_mean_square(y, sample_weight) ** 2
    if noise_variance < least:
        raise ValueError(
            f"noise_variance={noise_variance!r} is too small beside the mean square of "
            f"y for floating point: give at least {least:.0e}"
        )
    return Gaussian.known(noise_variance, y.shape[1])


def root_mean_square(y: Array, sample_weight: Array) -> float:
    """√(Σ v y² / Σ v) over rows and outputs; 0 if targets are zero."""
    peak = _squarable(np.max(np.abs(y), initial=0.0))
    if peak == 0:
        return 0.0
    squares = ((y / peak) ** 2).mean(axis=1)
    return peak * float(np.sqrt((squares * sample_weight).sum() / sample_weight.sum()))


def _squarable(target: Any) -> float:
    """Size of a target; targets whose square overflows are refused."""
    size = abs(float(target))
    smallest, largest = SQUARABLE
    if size and not smallest < size < largest:
        raise ValueError(
            f"y is of the order of {size:.0e}, whose square floating point cannot "
            "hold: change its unit"
        )
    return size


@dataclass(frozen=True)
class SharedGaussian(Gaussian):
    """y = (η + ε)/√noise_precision with ε ~ N(0, 1), independent over all."""

    @classmethod
    def of(
        cls,
        y: Array,
        sample_weight: Array,
        noise_variance: Any,
        offset: Array | float = 0.0,
        initial: Array | float | None = None,
    ) -> "SharedGaussian":
        """Interpret ``noise_variance`` for each output separately."""
        size = y.shape[1]
        given = [
            np.broadcast_to(np.asarray(one, dtype=object), size)
            for one in (noise_variance, offset, initial)
        ]
        columns = zip(np.split(y, size, axis=1), *given, strict=True)
        each = [gaussian_noise(column, sample_weight, *own) for column, *own in columns]
        return cls(
            np.concatenate([one.noise_precision for one in each]),
            estimated=each[0].estimated,
            ceiling=np.array([one.ceiling for one in each]),
        )

    @property
    def unit(self) -> Array:
        return self.scale

    @property
    def in_target_units(self) -> Gaussian:
        return Gaussian(self.noise_precision, self.estimated, self.ceiling)

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        return PseudoObservations(y / self.unit, sample_weight[:, None], np.ones(1))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return self.in_target_units.log_density(y, eta * self.unit, sample_weight)

    def sufficient_statistics(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> tuple[Array, Array]:
        # η grows with the root of the precision, so squares are y(y − ησ). At the mean
        # of the weights that is yᵀC⁻¹y: what weights spend is in it.
        n_parameters = len(self.log_parameters)
        squares = sample_weight @ (y * (y - eta * self.unit))
        return np.full(n_parameters, sample_weight.sum()), squares[:n_parameters]

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        unit = self.unit
        return self.in_target_units.log_predictive(y, mean * unit, variance * unit**2)

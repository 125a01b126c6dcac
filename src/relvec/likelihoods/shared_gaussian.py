"""Gaussian noise of several outputs, by which the priors of their weights are measured.

With w_c ~ N(0, σ_c²/α) all outputs share α: in units of its own noise, t_c/σ_c, each
has noise of size one and the same prior, and one factor serves them all. Then η = Φw
is in these units too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.likelihoods.base import PseudoObservations
from relvec.likelihoods.gaussian import Gaussian, gaussian_noise
from relvec.typing import Array


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
        """What an estimator means by ``noise_variance``, of each output by itself."""
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
    def absolute(self) -> Gaussian:
        return Gaussian(self.noise_precision, self.estimated, self.ceiling)

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        return PseudoObservations(y / self.unit, sample_weight[:, None], np.ones(1))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return self.absolute.log_density(y, eta * self.unit, sample_weight)

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
        return self.absolute.log_predictive(y, mean * unit, variance * unit**2)

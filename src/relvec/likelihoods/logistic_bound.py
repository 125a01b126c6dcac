"""A quadratic below the logarithm of the logistic likelihood (Jaakkola & Jordan 2000).

For every ξ, with λ(ξ) = tanh(ξ/2)/(4ξ),

    log σ(±η) ≥ log σ(ξ) ± η/2 − ξ/2 − λ(ξ)(η² − ξ²),

with equality at η = ±ξ. Over a Gaussian of η the best ξ² is E[η²]. For given ξ the
likelihood is that of Gaussian observations, so posterior and evidence are exact; the
evidence is a lower bound of the true one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from relvec.likelihoods.base import PseudoObservations
from relvec.typing import Array

_SMALL = 1e-3  # below, λ by its series


@dataclass(frozen=True)
class LogisticBound:
    """The bound on p(y | η), y in {0, 1}, that touches at η = ±ξ."""

    xi: Array  # (N, K)

    @classmethod
    def at(cls, eta: Array, variance: Array) -> "LogisticBound":
        """The best bound for η with these means and variances."""
        return cls(np.sqrt(eta**2 + variance))

    @property
    def conjugate(self) -> bool:
        return True

    @property
    def steady(self) -> bool:
        return True

    @property
    def log_parameters(self) -> Array:
        return np.empty(0)

    @property
    def noise_variance(self) -> Array:
        return np.full(1, np.nan)

    @property
    def noise_ceiling(self) -> Array | None:
        return None

    @property
    def noiseless(self) -> bool:
        return False

    def natural_scale(self, y: Array, sample_weight: Array) -> float:
        return 1.0

    def rescaled(self, scale: float) -> "LogisticBound":
        return self

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        precision = 2 * self._curvature
        target = (y - 0.5) / precision
        weights = sample_weight[:, None] * precision
        return PseudoObservations(target, weights, np.ones(y.shape[1]))

    def curvature(self, y: Array, eta: Array, sample_weight: Array) -> None:
        return None

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        xi = self.xi
        at_touch = log_expit(xi) - xi / 2
        terms = at_touch + (y - 0.5) * eta - self._curvature * (eta**2 - xi**2)
        return float(np.sum(sample_weight @ terms))

    def refit(
        self,
        y: Array,
        eta: Array,
        sample_weight: Array,
        freedom: Array,
        extra: Array | float = 0.0,
    ) -> "LogisticBound":
        return self

    def lower_bound(self, eta: Array, variance: Array) -> "LogisticBound":
        return LogisticBound.at(eta, variance)

    def with_parameters(self, log_parameters: Array) -> "LogisticBound":
        return self

    @property
    def _curvature(self) -> Array:
        """λ(ξ)."""
        xi = np.maximum(self.xi, _SMALL)
        series = 1 / 8 - self.xi**2 / 96
        return np.where(self.xi < _SMALL, series, np.tanh(xi / 2) / (4 * xi))

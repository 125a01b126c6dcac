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
from relvec.likelihoods.classes import ClassLikelihood
from relvec.likelihoods.logistic_integral import log_moderated
from relvec.typing import Array

_SMALL = 1e-3  # below, λ by its series


@dataclass(frozen=True)
class LogisticBound(ClassLikelihood):
    """The bound on p(y | η), y in {0, 1}, that touches at η = ±ξ."""

    xi: Array  # (N, K)

    @classmethod
    def at(cls, eta: Array, variance: Array) -> "LogisticBound":
        """The best bound for η with these means and variances."""
        return cls(np.sqrt(eta**2 + variance))

    @property
    def conjugate(self) -> bool:
        return True

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        precision = 2 * self._curvature
        target = (y - 0.5) / precision
        weights = sample_weight[:, None] * precision
        return PseudoObservations(target, weights, np.ones(y.shape[1]))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        xi = self.xi
        at_touch = log_expit(xi) - xi / 2
        terms = at_touch + (y - 0.5) * eta - self._curvature * (eta**2 - xi**2)
        return float(np.sum(sample_weight @ terms))

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "LogisticBound":
        return LogisticBound.at(eta, variance)

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """Of the likelihood that is bounded."""
        return log_moderated(y, mean, variance)

    @property
    def _curvature(self) -> Array:
        """λ(ξ)."""
        xi = np.maximum(self.xi, _SMALL)
        series = 1 / 8 - self.xi**2 / 96
        return np.where(self.xi < _SMALL, series, np.tanh(xi / 2) / (4 * xi))

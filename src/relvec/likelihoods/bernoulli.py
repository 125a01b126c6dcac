"""Two classes through the logistic link, by Laplace's approximation, eqs. (9)-(14)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from relvec.likelihoods.base import PseudoObservations
from relvec.likelihoods.classes import ClassLikelihood
from relvec.likelihoods.logistic_bound import LogisticBound
from relvec.likelihoods.logistic_integral import log_moderated
from relvec.precision import LEAST_PRECISION
from relvec.typing import Array


@dataclass(frozen=True)
class Bernoulli(ClassLikelihood):
    """y in {0, 1} with p(y = 1) = σ(η)."""

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        probability = expit(eta)
        beta = np.maximum(probability * expit(-eta), LEAST_PRECISION)  # eq. 11
        target = eta + (y - probability) / beta  # eq. 14
        weights = sample_weight[:, None] * beta
        return PseudoObservations(target, weights, np.ones(y.shape[1]))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        terms = y * log_expit(eta) + (1 - y) * log_expit(-eta)
        return float(np.sum(sample_weight @ terms))

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> LogisticBound:
        return LogisticBound.at(eta, variance)

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        return log_moderated(y, mean, variance)

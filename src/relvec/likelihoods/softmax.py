"""Several classes through the multinomial logit, by Laplace's approximation.

The probability of a class is exp ηc / Σ exp η; thesis (5.1.4.1) means this and prints a
sigmoid. The curvature of its logarithm couples the classes, diag(p) − ppᵀ: the mode is
found with all of it, the evidence leaves out what couples two classes, so that each has
a posterior covariance of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from relvec.likelihoods.averages import averaged, root_of, scattered
from relvec.likelihoods.base import PseudoObservations
from relvec.likelihoods.classes import ClassLikelihood, log_of_own
from relvec.precision import LEAST_PRECISION
from relvec.typing import Array


@dataclass(frozen=True)
class Softmax(ClassLikelihood):
    """y (N, K) is one for the class of the row and zero for all others."""

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        p = softmax(eta, axis=1)
        precision = np.maximum(p * (1 - p), LEAST_PRECISION)
        target = eta + (y - p) / precision
        weights = sample_weight[:, None] * precision
        return PseudoObservations(target, weights, np.ones(y.shape[1]))

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array]:
        p = softmax(eta, axis=1)
        weighted = sample_weight[:, None] * p

        def product(vectors: Array) -> Array:
            return weighted * (vectors - np.sum(p * vectors, axis=1, keepdims=True))

        return product

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return float(np.sum(sample_weight @ (y * log_softmax(eta, axis=1))))

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> None:
        return None

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        return log_of_own(softmax_probabilities(mean, variance), y)


def softmax_probabilities(mean: Array, spread: Array) -> Array:
    """E[softmax η] (N, K) for η of these variances (N, K) or covariances (N, K, K)."""
    return averaged(
        lambda eta, _: softmax(eta, axis=2),
        mean,
        root_of(spread),
        scattered(mean.shape[1]),
    )

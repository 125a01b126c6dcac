"""Two classes through the logistic link, by Laplace's approximation, eqs. (9)-(14).

The predictive probability integrates the sigmoid over the posterior of η. A logistic
variable is a normal one whose standard deviation is 2V with V from the distribution
of Kolmogorov and Smirnov (Andrews & Mallows 1974), so

    ∫ σ(η) N(η | m, s²) dη = ∫ Φ(m / √(4v² + s²)) k(v) dv,

a smooth one-dimensional integral whose trapezoidal sum gives the probability to
rounding for every s, monotone in m and exactly one half at m = 0.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logsumexp

from relvec.likelihoods.base import PseudoObservations
from relvec.likelihoods.classes import ClassLikelihood
from relvec.likelihoods.logistic_bound import LogisticBound
from relvec.typing import Array

# Below this the precision of a pseudo-observation carries no information and its
# target, eq. (14), would overflow.
_LEAST_PRECISION = 1e-12
_ROWS_AT_ONCE = 32_768


@dataclass(frozen=True)
class Bernoulli(ClassLikelihood):
    """y in {0, 1} with p(y = 1) = σ(η)."""

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        probability = expit(eta)
        beta = np.maximum(probability * expit(-eta), _LEAST_PRECISION)  # eq. 11
        target = eta + (y - probability) / beta  # eq. 14
        weights = sample_weight[:, None] * beta
        return PseudoObservations(target, weights, np.ones(y.shape[1]))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        terms = y * log_expit(eta) + (1 - y) * log_expit(-eta)
        return float(np.sum(sample_weight @ terms))

    def lower_bound(self, eta: Array, variance: Array) -> LogisticBound:
        return LogisticBound.at(eta, variance)


def moderated_log_odds(mean: Array, variance: Array) -> Array:
    """log p/(1 − p) with p = ∫ σ(η) N(η | mean, variance) dη."""
    odds = np.empty(len(mean))
    for start in range(0, len(mean), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        odds[rows] = _mixed_log_odds(mean[rows], variance[rows])
    return odds


def _mixed_log_odds(mean: Array, variance: Array) -> Array:
    nodes, weights = _kolmogorov_rule()
    z = mean / np.sqrt(4 * nodes[:, None] ** 2 + variance)
    sides = [logsumexp(log_ndtr(s * z), axis=0, b=weights[:, None]) for s in (1, -1)]
    return np.asarray(sides[0] - sides[1])


@cache
def _kolmogorov_rule(n_nodes: int = 32) -> tuple[Array, Array]:
    """Nodes and weights for averages over the Kolmogorov-Smirnov distribution.

    In log v the density falls doubly exponentially on both sides, where the
    trapezoidal rule converges geometrically.
    """
    nodes = np.geomspace(0.15, 7.0, n_nodes)
    weights = nodes * _kolmogorov_density(nodes)
    return nodes, weights / weights.sum()


def _kolmogorov_density(v: Array) -> Array:
    """d/dv of P(V <= v), by whichever of its two series converges at v."""
    j = np.arange(1, 40)[:, None]
    tail = 8 * v * np.sum((-1.0) ** (j + 1) * j**2 * np.exp(-2 * (j * v) ** 2), axis=0)
    c = ((2 * j - 1) * np.pi) ** 2 / 8
    head = np.sqrt(2 * np.pi) * np.sum(
        (2 * c / v**4 - 1 / v**2) * np.exp(-c / v**2), axis=0
    )
    return np.where(v > 0.8, tail, head)

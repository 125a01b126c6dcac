"""Two classes through the logistic link.

``Bernoulli`` is Laplace's approximation, eqs. (9)-(14). ``LogisticBound`` is a
quadratic lower bound of the likelihood (Jaakkola & Jordan 2000): for every ξ, with
λ(ξ) = tanh(ξ/2)/(4ξ),

    log σ(±η) ≥ log σ(ξ) ± η/2 − ξ/2 − λ(ξ)(η² − ξ²),

with equality at η = ±ξ. Over a Gaussian of η the best ξ² is E[η²]. For given ξ the
likelihood is Gaussian, so posterior and evidence are exact; the evidence is a lower
bound of the true one.

Averages of the sigmoid over a Gaussian use that a logistic variable is a normal one
with standard deviation 2V, where V has the distribution of Kolmogorov and Smirnov
(Andrews & Mallows 1974):

    ∫ σ(η) N(η | m, s²) dη = ∫ Φ(m / √(4v² + s²)) k(v) dv.

The trapezoidal sum of this smooth integral gives the probability to rounding for every
s, monotone in m and exactly one half at m = 0.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from relvec.likelihoods.base import ClassLikelihood, PseudoObservations
from relvec.precision import LEAST_PRECISION
from relvec.typing import Array

_ROWS_AT_ONCE = 32_768  # times 32 nodes: temporaries of 8 MB


def log_moderated(y: Array, mean: Array, variance: Array) -> Array:
    """log p(y) (N,) of y in {0, 1} (N, 1) for η ~ N(mean, variance)."""
    odds = moderated_log_odds(mean[:, 0], variance[:, 0])
    return np.asarray(log_expit(np.where(y[:, 0] > 0.5, odds, -odds)))


def moderated_log_odds(mean: Array, variance: Array) -> Array:
    """log p/(1 − p) with p = ∫ σ(η) N(η | mean, variance) dη."""
    if len(mean) <= _ROWS_AT_ONCE:
        return _mixed_log_odds(mean, variance)
    odds = np.empty(len(mean))
    for start in range(0, len(mean), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        odds[rows] = _mixed_log_odds(mean[rows], variance[rows])
    return odds


def _mixed_log_odds(mean: Array, variance: Array) -> Array:
    squares, weights = _mixture()
    # Both signs at once; scipy's ``logsumexp`` is several times slower for a single
    # row.
    n_rows = len(mean)
    logs = np.empty((len(squares), 2 * n_rows))
    z = np.divide(mean, np.sqrt(squares + variance), out=logs[:, :n_rows])
    np.negative(z, out=logs[:, n_rows:])
    log_ndtr(logs, out=logs)
    largest = logs.max(axis=0)
    logs -= largest
    log_p = np.log(weights @ np.exp(logs, out=logs)) + largest
    return np.asarray(log_p[:n_rows] - log_p[n_rows:])


@cache
def _mixture() -> tuple[Array, Array]:
    """Variances 4v² (nodes, 1) and weights."""
    nodes, weights = kolmogorov_rule()
    return 4 * nodes[:, None] ** 2, weights


@cache
def kolmogorov_rule(n_nodes: int = 32) -> tuple[Array, Array]:
    """Nodes and weights for averages over the Kolmogorov-Smirnov distribution.

    In log v the density falls doubly exponentially on both sides, where the
    trapezoidal rule converges geometrically.
    """
    nodes = np.geomspace(0.15, 7.0, n_nodes)
    weights = nodes * _kolmogorov_density(nodes)
    return nodes, weights / weights.sum()


def _kolmogorov_density(v: Array) -> Array:
    """Density of V, by the series that converges faster at v.

    ``scipy.stats.kstwobign.pdf`` is wrong by 6e-9 at 0.85, which is 1e-9 of log odds.
    """
    j = np.arange(1, 40)[:, None]
    tail = 8 * v * np.sum((-1.0) ** (j + 1) * j**2 * np.exp(-2 * (j * v) ** 2), axis=0)
    c = ((2 * j - 1) * np.pi) ** 2 / 8
    head = np.sqrt(2 * np.pi) * np.sum(
        (2 * c / v**4 - 1 / v**2) * np.exp(-c / v**2), axis=0
    )
    return np.where(v > 0.8, tail, head)


_SMALL = 1e-3  # below, λ by its series


@dataclass(frozen=True)
class LogisticBound(ClassLikelihood):
    """Lower bound of p(y | η), y in {0, 1}, that touches at η = ±ξ."""

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
        """Use the likelihood itself, not its bound."""
        return log_moderated(y, mean, variance)

    @property
    def _curvature(self) -> Array:
        """λ(ξ)."""
        xi = np.maximum(self.xi, _SMALL)
        series = 1 / 8 - self.xi**2 / 96
        return np.where(self.xi < _SMALL, series, np.tanh(xi / 2) / (4 * xi))


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

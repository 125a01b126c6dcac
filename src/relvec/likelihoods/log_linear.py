"""Poisson counts and log precisions: densities whose logarithm is a·η − b·e^η.

Both are concave in η, so Newton's method finds the one mode:

    gradient  a − μ        curvature  −μ        μ = b·e^η
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import gammaln, logsumexp, wrightomega

from relvec.likelihoods.base import ClassLikelihood, PseudoObservations
from relvec.precision import LEAST_PRECISION
from relvec.typing import Array

_LARGEST = 100.0  # limit of η, so that squares stay finite
_N_NODES = 24  # about the mode of the integrand: ten digits up to a variance of one


@dataclass(frozen=True)
class LogLinear(ClassLikelihood, ABC):
    """log p(y | η) = a·η − b·e^η + c, with a, b and c for every row."""

    @abstractmethod
    def terms(self, y: Array) -> tuple[Array, Array, Array]:
        """a, b and c (N, K)."""

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        a, b, _ = self.terms(y)
        mu = b * np.exp(np.minimum(eta, _LARGEST))
        beta = np.maximum(mu, LEAST_PRECISION)
        target = eta + (a - mu) / beta
        weights = sample_weight[:, None] * beta
        return PseudoObservations(target, weights, np.ones(y.shape[1]))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        a, b, c = self.terms(y)
        with np.errstate(over="ignore"):  # to −∞, which no step goes to
            mu = b * np.exp(eta)
            return float(np.sum(sample_weight @ (a * eta - mu + c)))

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> None:
        return None

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """Use Gauss and Hermite's rule around the mode of the integrand.

        That is η̂ = m + v(a − μ) with vμ = ω(log vb + m + va), Wright's function.
        """
        a, b, c = self.terms(y)
        with np.errstate(divide="ignore"):
            spent = wrightomega(np.log(variance * b) + mean + variance * a)
        pull = a - np.divide(spent, variance, out=b * np.exp(mean), where=variance > 0)
        narrower = 1 / (1 + spent)
        nodes, log_weights = _rule()
        z = np.sqrt(variance * narrower)[..., None] * nodes
        eta = (mean + variance * pull)[..., None] + z
        # ½(η − m)²/v, without the quotient
        lost = 0.5 * variance * pull**2
        away = lost[..., None] + pull[..., None] * z
        away += 0.5 * narrower[..., None] * nodes**2
        with np.errstate(over="ignore"):
            mu = b[..., None] * np.exp(eta)
        logs = a[..., None] * eta - mu - away + log_weights
        found = logsumexp(logs, axis=-1) + 0.5 * np.log(narrower) + c
        return np.asarray(found.sum(axis=1))


@cache
def _rule() -> tuple[Array, Array]:
    """Nodes, and logarithms of weights for integrals times 1/√(2π)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    return nodes, np.log(weights) + 0.5 * nodes**2 - 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Poisson(LogLinear):
    """y = 0, 1, 2, ... with mean exposure·e^η."""

    exposure: float = 1.0

    def terms(self, y: Array) -> tuple[Array, Array, Array]:
        constant = y * np.log(self.exposure) - gammaln(y + 1)
        return y, np.full(y.shape, self.exposure), constant


_LOG_NORMAL = -0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class LogPrecision(LogLinear):
    """y = ε² with ε ~ N(0, e^−η), by the density of ε."""

    def terms(self, y: Array) -> tuple[Array, Array, Array]:
        return np.full(y.shape, 0.5), 0.5 * y, np.full(y.shape, _LOG_NORMAL)

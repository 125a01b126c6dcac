"""Noise with heavy tails: Student's t as a mixture of Gaussians.

The logarithm of Student's density is convex in the squared residual r², so every
tangent is below it: with u(ξ²) = (ν + 1)/(ν + βξ²),

    log t(r) ≥ log t(ξ) − ½βu(ξ²)(r² − ξ²),

with equality at r² = ξ². Over a Gaussian of η the best ξ² is E[r²]. For given ξ this is
Gaussian noise of precision βu, which is small for outliers; the evidence is a lower
bound of the true one.

A t variable of ν degrees of freedom is a normal one of variance 1/τ with τ from a gamma
distribution of shape and rate ν/2, so the predictive density is

    ∫ t(y | η, σ²) N(η | m, s²) dη = ∫ N(y | m, s² + σ²/τ) Ga(τ | ν/2, ν/2) dτ,

a smooth integral over log τ, computed to all digits by a trapezoidal sum.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp, ndtr

from relvec.likelihoods.base import (
    ClassLikelihood,
    NoiseLikelihood,
    PseudoObservations,
    re_estimated,
)
from relvec.precision import NOISE_FLOOR
from relvec.typing import Array

# Step in log τ in units of its standard deviation for many degrees of freedom, and at
# most; it leaves errors of 1e-8. This number of nodes reaches targets 1e8 scales away.
_STEP, _N_NODES = 0.5, 128
_FURTHEST_ABOVE = (4.0, 9.0)  # in log τ, and in its standard deviations
_ROWS_AT_ONCE = 8192  # times nodes: temporaries of 8 MB
_MOST_STEPS, _STEP_TOLERANCE = 60, 1e-10  # of Newton's method, which takes ten


def log_convolved(
    squares: Array, variance: Array, scale: Array, degrees_of_freedom: float
) -> Array:
    """log ∫ t(y | η, scale²) N(η | m, variance) dη of (y − m)², elementwise."""
    log_weights, tau = _rule(degrees_of_freedom)
    total = variance[..., None] + scale[..., None] ** 2 / tau
    terms = -0.5 * (np.log(2 * np.pi * total) + squares[..., None] / total)
    return np.asarray(logsumexp(terms + log_weights, axis=-1))


def central_quantile(
    level: float, variance: Array, scale: float, degrees_of_freedom: float
) -> Array:
    """Half the width (N,) of the central interval with this probability."""
    parts = []
    for start in range(0, max(1, len(variance)), _ROWS_AT_ONCE):
        some = variance[start : start + _ROWS_AT_ONCE]
        parts.append(_half_width(level, some, scale, degrees_of_freedom))
    return np.concatenate(parts)


def _half_width(level: float, variance: Array, scale: float, nu: float) -> Array:
    """Use Newton's method: beyond the mean the distribution function is concave.

    Newton's steps from below therefore increase and stay below.
    """
    log_weights, tau = _rule(nu)
    weights = np.exp(log_weights)
    std = np.sqrt(variance[:, None] + scale**2 / tau)
    half = np.zeros(len(variance))
    for _ in range(_MOST_STEPS):
        z = half[:, None] / std
        inside = (2 * ndtr(z) - 1) @ weights
        slope = (np.exp(-0.5 * z * z) / std) @ weights * np.sqrt(2 / np.pi)
        step = (level - inside) / slope
        half = half + step
        if np.all(step <= _STEP_TOLERANCE * half):
            break
    return half


@cache
def _rule(degrees_of_freedom: float) -> tuple[Array, Array]:
    """Logarithms of weights, and nodes τ, for averages over the gamma distribution."""
    shape = degrees_of_freedom / 2
    spread = 1 / np.sqrt(shape)
    most, deviations = _FURTHEST_ABOVE
    last, step = min(most, deviations * spread), _STEP * min(1.0, spread)
    log_tau = last - step * np.arange(_N_NODES)[::-1]
    log_density = shape * (np.log(shape) + log_tau - np.exp(log_tau)) - gammaln(shape)
    return log_density + np.log(step), np.exp(log_tau)


# Range of estimated degrees of freedom: with two there is no variance, with many the
# noise is nearly Gaussian. With a lower limit of 3, errors were four times as large on
# draws 100 to 105 of Friedman's function with a fifth of outliers. Estimates start from
# the lower limit: starting from 4, two of 60 fits to such data found nothing.
FEWEST, _MOST = 2.2, 100.0
_CLOSE = 1e-2  # tolerance in their logarithm
_TO_STD = 1.4826  # of a normal variable's median absolute deviation
# Share of the median of non-zero targets, if more than half of them are zero.
_LEAST_SCALE = 1e-2


@dataclass(frozen=True)
class StudentT(NoiseLikelihood):
    """y = η + ε with √noise_precision·ε from Student's t distribution.

    Pseudo-observations are those of the bound that touches at η. Their precisions are
    positive and as large as possible, whereas minus the second derivative is negative
    for outliers.
    """

    noise_precision: Array  # (K,)
    degrees_of_freedom: float = FEWEST
    estimated: bool = True
    ceiling: float | Array = 1 / NOISE_FLOOR
    freedom_estimated: bool = False

    @classmethod
    def starting(
        cls,
        y: Array,
        sample_weight: Array,
        degrees_of_freedom: float = FEWEST,
        *,
        freedom_estimated: bool = False,
    ) -> "StudentT":
        """Initial noise, to be estimated, as large as the targets (N, K).

        Use the median absolute value, which outliers hardly change.
        """
        middle = [_typical_magnitude(one, sample_weight) for one in y.T]
        scale = _TO_STD * np.array(middle)
        ceiling = 1 / (NOISE_FLOOR * float(np.max(scale)) ** 2)
        return cls(
            scale**-2,
            degrees_of_freedom,
            ceiling=ceiling,
            freedom_estimated=freedom_estimated,
        )

    @property
    def scale(self) -> Array:
        freedom = self.degrees_of_freedom
        return np.sqrt(freedom / (freedom - 2) / self.noise_precision)

    def row_scales(self, squares: Array) -> Array:
        """u (N, K) of squared residuals."""
        freedom = self.degrees_of_freedom
        return (freedom + 1) / (freedom + self.noise_precision * squares)

    def log_densities(self, squares: Array) -> Array:
        """log t (N, K) of squared residuals."""
        freedom, beta = self.degrees_of_freedom, self.noise_precision
        constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2)
        peak = constant + 0.5 * np.log(beta / (np.pi * freedom))
        tail = 0.5 * (freedom + 1) * np.log1p(beta * squares / freedom)
        return np.asarray(peak - tail)

    def with_freedom_of(self, squares: Array, sample_weight: Array) -> "StudentT":
        """Re-estimate the degrees of freedom by maximum likelihood."""
        if not self.freedom_estimated:
            return self

        def loss(log_freedom: float) -> float:
            other = replace(self, degrees_of_freedom=float(np.exp(log_freedom)))
            return -float(np.sum(sample_weight @ other.log_densities(squares)))

        bounds = float(np.log(FEWEST)), float(np.log(_MOST))
        found = minimize_scalar(loss, bounds=bounds, options={"xatol": _CLOSE})
        return replace(self, degrees_of_freedom=float(np.exp(found.x)))

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        weights = sample_weight[:, None] * self.row_scales((y - eta) ** 2)
        return PseudoObservations(y, weights, self.noise_precision)

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return float(np.sum(sample_weight @ self.log_densities((y - eta) ** 2)))

    def sufficient_statistics(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> tuple[Array, Array]:
        n_parameters = len(self.log_parameters)
        squares = (y - eta) ** 2
        weighted = sample_weight @ (self.row_scales(squares) * squares)
        return np.full(n_parameters, sample_weight.sum()), weighted[:n_parameters]

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "ScaleMixture":
        return ScaleMixture(self, (y - eta) ** 2 + variance)

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        scale = np.broadcast_to(self.noise_precision**-0.5, y.shape)
        freedom = self.degrees_of_freedom
        terms = log_convolved((y - mean) ** 2, variance, scale, freedom)
        return np.asarray(terms.sum(axis=1))


@dataclass(frozen=True)
class ScaleMixture(ClassLikelihood):
    """Lower bound of Student's t that touches at squared residuals ξ²."""

    bounded: StudentT
    squares: Array  # (N, K) ξ²

    @property
    def conjugate(self) -> bool:
        return True

    @property
    def row_scales(self) -> Array:
        """u (N, K), from which the precisions of rows follow."""
        return self.bounded.row_scales(self.squares)

    def relative_scales(self, sample_weight: Array) -> tuple[Array, Array]:
        """u/ū (N, K), and the mean ū (K,)."""
        scales = self.row_scales
        mean = np.average(scales, axis=0, weights=sample_weight)
        return scales / mean, mean

    def refitted(self, sample_weight: Array) -> StudentT:
        """Re-estimate the noise as Σv(u/ū)ξ²/Σv, and the degrees of freedom."""
        relative, _ = self.relative_scales(sample_weight)
        squares = sample_weight @ (relative * self.squares)
        count = sample_weight.sum()
        found = re_estimated(self.bounded, count, squares)
        noise = self.bounded.with_parameters(found.log_parameters)
        return noise.with_freedom_of(self.squares, sample_weight)

    def log_normaliser(self, sample_weight: Array) -> float:
        """Σv times the terms that Gaussian noise does not have.

        Gaussian noise has the precision βū and row weights v·u/ū. The result does not
        depend on β if the distribution of row scales, whose mean is u, is kept: then it
        is Σv(½E[log u/ū] − KL) of that distribution.
        """
        scales, beta = self.row_scales, self.bounded.noise_precision
        _, mean = self.relative_scales(sample_weight)
        terms = self.bounded.log_densities(self.squares)
        terms = terms + 0.5 * beta * scales * self.squares
        return float(
            np.sum(sample_weight @ (terms - 0.5 * np.log(beta * mean / (2 * np.pi))))
        )

    @property
    def scale(self) -> Array:
        return self.bounded.scale

    def rescaled(self, scale: float | Array) -> "ScaleMixture":
        return ScaleMixture(self.bounded.rescaled(scale), self.squares * scale**2)

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        weights = sample_weight[:, None] * self.row_scales
        return PseudoObservations(y, weights, self.bounded.noise_precision)

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        slope = -0.5 * self.bounded.noise_precision * self.row_scales
        touching = self.bounded.log_densities(self.squares)
        terms = touching + slope * ((y - eta) ** 2 - self.squares)
        return float(np.sum(sample_weight @ terms))

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "ScaleMixture":
        return self.bounded.lower_bound(y, eta, variance)

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """Use the likelihood itself, not its bound."""
        return self.bounded.log_predictive(y, mean, variance)


def _typical_magnitude(values: Array, weight: Array) -> float:
    """Median absolute value, or a part of the median of non-zero values."""
    magnitude = np.abs(values)
    middle = weighted_median(magnitude, weight)
    if middle > 0 or not magnitude.any():
        return middle or 1.0
    some = magnitude > 0
    return _LEAST_SCALE * weighted_median(magnitude[some], weight[some])


def weighted_median(values: Array, weight: Array) -> float:
    """A value with half of the weight on either side, or the mean of two."""
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    half = 0.5 * below[-1]
    first, last = np.searchsorted(below, [half, np.nextafter(half, np.inf)])
    return float(values[order[[first, min(last, len(order) - 1)]]].mean())

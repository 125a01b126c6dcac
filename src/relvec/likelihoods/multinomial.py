"""Several classes through the multinomial probit or the softmax.

*Probit* (Psorakis et al. 2010). Every row has an auxiliary variable for each class,
yc ~ N(ηc, 1), and belongs to the class of the largest, with probability Z(η). Only
differences of classes count, so the K classes are described by K − 1 orthonormal
contrasts ζ, η = ζCᵀ: what all classes have in common is not observed and integrates
out. Three approximations of the evidence differ in their pseudo-observations:

- a lower bound, from a factor q(y) for the auxiliary variables: they are observed with
  a precision of one, whatever η is. The pseudo-observations are their means (3);
- Laplace's, with the curvature of log Z, averaged over contrasts so that all classes
  share one posterior covariance. It is close to the evidence, where the bound is far
  too low if classes are well separated;
- expectation propagation, ``EPProbit``, which is closer still and slower. If
  classes can be separated, the posterior reaches far beyond its mode on one side, so
  that Laplace's evidence is too low and its probabilities are too cautious. Here each
  row is replaced by the Gaussian observation that keeps mean and variance of η as they
  are with the row itself, given all the others; the variance is the mean over outputs.

*Softmax*, by Laplace's approximation. The probability of a class is exp ηc / Σ exp η;
thesis (5.1.4.1) means this and prints a sigmoid. The curvature diag(p) − ppᵀ couples
the classes. The mode is found with all of it; the evidence drops the coupling of two
classes, so that each class has its own posterior covariance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from scipy.special import log_softmax, ndtr, softmax

from relvec.likelihoods.averages import (
    Rule,
    along_first,
    averaged,
    common_variance,
    line_root,
    lower_root,
    root_of,
    scattered,
)
from relvec.likelihoods.base import ClassLikelihood, PseudoObservations, log_of_own
from relvec.likelihoods.probit_integrals import FEW_NODES, N_NODES, log_probabilities
from relvec.likelihoods.probit_rows import CavityRows, Comparisons, ProbitRows, Terms
from relvec.precision import LEAST_PRECISION
from relvec.typing import Array

# Points for correlated outputs of more than three classes, each with an integral for
# every class. Mean errors are 5e-4 (four classes) to 3e-3 (eight) if covariances are
# several times the noise.
_DRAWS = 256


@dataclass(frozen=True, eq=False)
class MultinomialProbit(ClassLikelihood):
    """y (N, outputs) are rows of the coding, one row for each class.

    A coding by contrasts omits what all classes have in common. The identity matrix as
    coding has an output for each class, for models that give each class its own prior.
    """

    coding: Array  # (K, outputs), orthonormal columns
    bound: bool = False
    n_nodes: int = N_NODES  # of the quadrature
    _last: list[tuple[Array, Array, ProbitRows]] = field(
        default_factory=list, init=False, repr=False
    )

    @cached_property
    def low_accuracy(self) -> "MultinomialProbit":
        return MultinomialProbit(self.coding, self.bound, FEW_NODES)

    def rescaled(self, scale: float | Array) -> "MultinomialProbit":
        # The cache is as large as the training data.
        return MultinomialProbit(self.coding, self.bound)

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        rows = self._rows(y, eta, sample_weight)
        precision = np.ones((len(y), 1))
        if not self.bound:
            precision = np.maximum(rows.precision, LEAST_PRECISION)[:, None]
        target = eta + rows.gradient / precision
        weights = sample_weight[:, None] * precision
        return PseudoObservations(target, weights, np.ones(1))

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array]:
        rows, weight = self._rows(y, eta, sample_weight), sample_weight[:, None]
        return lambda vectors: weight * rows.product(vectors)

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return float(sample_weight @ self._rows(y, eta, sample_weight).log_density)

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "MultinomialProbit":
        return MultinomialProbit(self.coding, bound=True)

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        p = self.probabilities(mean, variance)
        return log_of_own(p, y @ self.coding.T)

    def probabilities(self, mean: Array, spread: Array) -> Array:
        """P(class) (N, K) for outputs with these moments.

        ``spread`` holds variances (N, outputs), or covariances (N, outputs, outputs).
        """
        C = self.coding
        if spread.ndim == 3:
            return _averaged_probabilities(C, mean, spread)
        if C.shape[1] < len(C):
            # All contrasts have the same variance, and so do differences of classes.
            common = spread.mean(axis=1, keepdims=True)
            spread = np.broadcast_to(common, (len(mean), len(C)))
        return class_probabilities(mean @ C.T, spread)

    def _rows(self, y: Array, eta: Array, sample_weight: Array) -> Terms:
        """Integrals at η; the last ones are cached."""
        last = self._last[0] if self._last and self._last[0][0] is y else None
        if last is None or last[1] is not eta:
            contrast = last[2].contrast if last else Comparisons.of(self.coding, y)
            last = (y, eta, ProbitRows.at(contrast, eta, self.n_nodes))
            self._last[:] = [last]
        return last[2]


@cache
def contrasts(n_classes: int) -> Array:
    """(K, K − 1) orthonormal columns that are orthogonal to one."""
    steps = np.arange(1, n_classes)
    columns = np.where(np.arange(n_classes)[:, None] < steps, 1.0, 0.0)
    columns[steps, steps - 1] = -steps
    return columns / np.sqrt(steps * (steps + 1.0))


def class_probabilities(mean: Array, variance: Array) -> Array:
    """P(class) (N, K) for η ~ N(mean, diag(variance)), (22); rows sum to one."""
    std = np.sqrt(1 + variance)
    if mean.shape[1] > 2:
        return np.exp(log_probabilities(mean, std))
    odds = (mean[:, 1] - mean[:, 0]) / np.hypot(*std.T)
    return ndtr(np.stack([-odds, odds], axis=1))


def _averaged_probabilities(coding: Array, mean: Array, covariance: Array) -> Array:
    """P(class) (N, K) for correlated outputs.

    The variance that all directions share is integrated like that of independent
    outputs; the rest is averaged over points.
    """
    common = common_variance(covariance)[:, None]
    rest = covariance - common[:, None] * np.eye(covariance.shape[1])
    n_classes = len(coding)
    root = line_root(rest) if n_classes == 3 else lower_root(rest)

    def probabilities(zeta: Array, rows: slice) -> Array:
        eta = (zeta @ coding.T).reshape(-1, n_classes)
        variance = np.repeat(common[rows], zeta.shape[1], axis=0)
        found = class_probabilities(eta, np.broadcast_to(variance, eta.shape))
        return found.reshape(*zeta.shape[:2], n_classes)

    return averaged(probabilities, mean, root, coupled_rule(n_classes))


def coupled_rule(n_classes: int) -> Rule:
    """Points and weights for averages over correlated outputs.

    With three classes, the part that two contrasts do not share lies along one
    direction.
    """
    return along_first(2) if n_classes == 3 else scattered(n_classes - 1, _DRAWS)


# Least share of a row's posterior precision without its own, a difference that rounds.
_LEAST_LEFT = 1e-12


@dataclass(frozen=True, eq=False)
class EPProbit(MultinomialProbit):
    """The multinomial probit by EP; ``cavity`` (N,) holds the cavity variances of η."""

    cavity: Array | float = 0.0
    _cached: list["_CachedRows"] = field(default_factory=list, init=False, repr=False)

    @property
    def ep(self) -> "EPProbit":
        return self

    @property
    def low_accuracy(self) -> "EPProbit":
        return self

    def correction(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return float(sample_weight @ self._rows(y, eta, sample_weight).correction)

    def cavities(
        self, y: Array, eta: Array, variance: Array, sample_weight: Array
    ) -> Array:
        rows = self._rows(y, eta, sample_weight)
        own = np.minimum(sample_weight, 1) * rows.precision
        return variance / np.maximum(1 - own * variance, _LEAST_LEFT)

    def with_cavity(self, cavity: Array) -> "EPProbit":
        other = replace(self, cavity=cavity)
        other._cached[:] = self._cached
        return other

    def rescaled(self, scale: float | Array) -> "EPProbit":
        # After the fit there may be other rows, whose cavities are unknown.
        return EPProbit(self.coding)

    def _rows(self, y: Array, eta: Array, sample_weight: Array) -> CavityRows:
        last = self._cached[0] if self._cached and self._cached[0].y is y else None
        if last and last.eta is eta and last.cavity is self.cavity:
            return last.rows
        cavity = np.broadcast_to(self.cavity, len(eta))
        pull = np.minimum(sample_weight, 1) * cavity
        # Do not start from a diverged search.
        if last and np.all(np.isfinite(last.rows.mean)):
            rows = last.rows.moved(eta, cavity, pull)
        else:
            rows = CavityRows.at(Comparisons.of(self.coding, y), eta, cavity, pull)
        self._cached[:] = [_CachedRows(y, eta, self.cavity, rows)]
        return rows


@dataclass(frozen=True, eq=False)
class _CachedRows:
    """Arguments and result of the last call."""

    y: Array
    eta: Array
    cavity: Array | float
    rows: CavityRows


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
    """E[softmax η] (N, K), with variances (N, K) or covariances (N, K, K)."""
    return averaged(
        lambda eta, _: softmax(eta, axis=2),
        mean,
        root_of(spread),
        scattered(mean.shape[1]),
    )

"""Likelihoods as Gaussian pseudo-observations of the linear predictor η = Φw."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, cast

import numpy as np

from relvec.precision import TINY
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class PseudoObservations:
    """Targets t̂ with precision B = diag(row_weights)·noise_precision, per output.

    The precision has two factors because a Gaussian likelihood changes only the second:
    weighted Gram matrices stay valid when the noise changes.
    """

    target: Array  # (N, K)
    row_weights: Array  # (N, K), or (N, 1) where all outputs share them
    noise_precision: Array  # (K,), or (1,) where all outputs share it

    @property
    def precision(self) -> Array:
        """B, (N, K), or (N, 1) if all outputs share it."""
        return self.row_weights * self.noise_precision


class Likelihood(Protocol):
    """p(y | η) with η = Φw, as the engine uses it.

    Besides α, the noise precisions of the pseudo-observations may be estimated, one for
    each output.
    """

    @property
    def conjugate(self) -> bool:
        """Whether the pseudo-observations are the data, whatever η is.

        If so, gains are exact and statistics can be updated. Otherwise every change of
        the model is refitted by Newton's method and confirmed by its evidence.
        """

    @property
    def ep(self) -> "EP | None":
        """The likelihood if EP is used; None for the posterior at its mode."""

    @property
    def low_accuracy(self) -> "Likelihood":
        """The likelihood computed to a few digits, while the model still changes."""

    @property
    def scale(self) -> Array:
        """Standard deviation of y given η per output; NaN if y has no unit."""

    @property
    def unit(self) -> Array | None:
        """(K,) the unit of η relative to y, its noise; None if it is the same."""

    @property
    def in_target_units(self) -> "Likelihood":
        """The likelihood of an η that has the unit of y."""

    def rescaled(self, scale: float | Array) -> "Likelihood":
        """The likelihood for targets multiplied by ``scale``, without caches.

        Each output may have its own scale, (K,), if η has one for each.
        """

    @property
    def log_parameters(self) -> Array:
        """Logarithms of the estimated parameters, possibly none."""

    @property
    def parameter_ceiling(self) -> Array | None:
        """The largest allowed values of the parameters; None without any."""

    def with_parameters(
        self, log_parameters: Array, *, fixed: bool = False
    ) -> "Likelihood":
        """The likelihood with other parameters, which may then be fixed."""

    def sufficient_statistics(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> tuple[Array, Array]:
        """A count and a sum of squares for each parameter θ.

        The log density is ½(count·log θ − squares·θ), or has that gradient by log θ.
        """

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        """The quadratic expansion of the log density at ``eta``.

        If the log density is not concave, it is a tangent quadratic below it.
        """

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array] | None:
        """The product of minus the Hessian of the log density with vectors (N, K).

        None if it equals the pseudo-observations' precision. It differs if outputs
        depend on each other.
        """

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        """Σₙ vₙ log p(yₙ | ηₙ), constants included."""

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "Likelihood | None":
        """A lower bound whose precisions do not depend on η.

        It is the best one for y and η with these means and variances (N, K); the
        likelihood itself if it is conjugate, None if no bound is known.
        """

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """log ∫ p(yₙ | η) N(η | mean, variance) dη (N,), with moments (N, K)."""


class EP(Likelihood, Protocol):
    """A likelihood for expectation propagation, which depends on each row's cavity.

    Its log density and derivatives are those of ``relvec.likelihoods.probit_rows``.
    """

    @property
    def cavity(self) -> Array | float:
        """Variance of η in the cavities (N,)."""

    def cavities(
        self, y: Array, eta: Array, variance: Array, sample_weight: Array
    ) -> Array:
        """Cavity variances (N,), given the variances (N,) with the row itself."""

    def with_cavity(self, cavity: Array) -> "EP":
        """The likelihood with other cavities."""

    def correction(self, y: Array, eta: Array, sample_weight: Array) -> float:
        """Terms of the log evidence that Laplace's approximation does not have."""


def at_ceiling(likelihood: Likelihood, outputs: AnyArray | bool = True) -> bool:
    """Whether a parameter has reached its largest value, which is a perfect fit.

    ``outputs`` selects the outputs that are checked.
    """
    ceiling = likelihood.parameter_ceiling
    if ceiling is None:
        return False
    # Parameters are passed as logarithms, which costs a few last digits.
    reached = np.exp(likelihood.log_parameters) >= (1 - 1e-9) * ceiling
    return bool(np.any(reached & outputs))


def refitted(
    likelihood: Likelihood,
    y: Array,
    eta: Array,
    sample_weight: Array,
    *,
    more: tuple[Array | float, Array | float] = (0.0, 0.0),
) -> Likelihood:
    """Re-estimate parameters as count/squares, step 9 of Tipping & Faul's algorithm.

    ``more`` is added to both: a prior adds to them, and weights reduce the number of
    observations. A parameter without observations keeps its value.
    """
    if likelihood.parameter_ceiling is None:
        return likelihood
    count, squares = likelihood.sufficient_statistics(y, eta, sample_weight)
    return re_estimated(likelihood, count + more[0], squares + more[1])


def re_estimated(likelihood: Likelihood, count: Array, squares: Array) -> Likelihood:
    """Re-estimate parameters from statistics summed over rows."""
    ceiling = likelihood.parameter_ceiling
    if ceiling is None:
        return likelihood
    present = np.exp(likelihood.log_parameters)
    goal = np.where(count > 0, count, present * squares)
    precision = goal / np.maximum(squares, goal / ceiling)
    return likelihood.with_parameters(np.log(precision))


class ClassLikelihood:
    """Base of likelihoods that are not conjugate and have no parameters."""

    @property
    def conjugate(self) -> bool:
        return False

    @property
    def ep(self) -> EP | None:
        return None

    @property
    def low_accuracy(self) -> Self:
        return self

    @property
    def log_parameters(self) -> Array:
        return np.empty(0)

    @property
    def parameter_ceiling(self) -> Array | None:
        return None

    @property
    def scale(self) -> Array:
        return np.full(1, np.nan)

    @property
    def unit(self) -> Array | None:
        return None

    @property
    def in_target_units(self) -> Any:
        return self

    def rescaled(self, scale: float | Array) -> Self:
        return self

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array] | None:
        return None

    def sufficient_statistics(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> tuple[Array, Array]:
        return np.empty(0), np.empty(0)

    def with_parameters(self, log_parameters: Array, *, fixed: bool = False) -> Self:
        return self


class NoiseLikelihood(ClassLikelihood):
    """Base of likelihoods with noise precisions, which may be estimated."""

    noise_precision: Array  # (K,)
    estimated: bool
    ceiling: float | Array  # largest precision of all outputs, or (K,)

    @property
    def log_parameters(self) -> Array:
        return np.log(self.noise_precision) if self.estimated else np.empty(0)

    @property
    def parameter_ceiling(self) -> Array | None:
        if not self.estimated:
            return None
        return np.full(len(self.noise_precision), self.ceiling)

    def rescaled(self, scale: float | Array) -> Self:
        precision, ceiling = self.noise_precision, self.ceiling
        factor = scale**2
        return self._with(noise_precision=precision / factor, ceiling=ceiling / factor)

    def with_parameters(self, log_parameters: Array, *, fixed: bool = False) -> Self:
        if not self.estimated:
            return self
        precision = np.exp(log_parameters)
        return self._with(noise_precision=precision, estimated=not fixed)

    def _with(self, **changes: Any) -> Self:
        changed: Self = replace(cast(Any, self), **changes)
        return changed


def log_of_own(probabilities: Array, scores: Array) -> Array:
    """log p (N,) of each row's class, which has the largest score (N, K)."""
    own = np.argmax(scores, axis=1)[:, None]
    p = np.take_along_axis(probabilities, own, axis=1)[:, 0]
    return np.log(np.maximum(p, TINY))


@dataclass(frozen=True)
class HeldObservations(ClassLikelihood):
    """The quadratic expansion of another likelihood at one point, up to a constant.

    Its targets are y; each row belongs to one output or to all.
    """

    belongs: Array  # (N, K) of zeros and ones, or (N, 1) where outputs share all rows

    @property
    def conjugate(self) -> bool:
        return True

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        weights = sample_weight[:, None] * self.belongs
        return PseudoObservations(y, weights, np.ones(self.belongs.shape[1]))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        # Include the constant of a Gaussian model of all rows and outputs, so that the
        # evidence equals that of inner products.
        constant = y.shape[1] * sample_weight.sum() * np.log(2 * np.pi)
        squares = np.sum(sample_weight @ (self.belongs * (y - eta) ** 2))
        return -0.5 * float(squares + constant)

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "HeldObservations":
        return self

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        squares = self.belongs * ((y - mean) ** 2 + variance)
        return -0.5 * np.asarray(squares.sum(axis=1))

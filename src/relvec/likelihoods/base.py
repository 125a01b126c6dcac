"""Likelihoods as Gaussian pseudo-observations of the linear predictor η = Φw."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from relvec.precision import TINY
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class PseudoObservations:
    """Targets t̂ with precision B = diag(row_weights)·noise_precision, per output.

    The precision is kept in two factors because a Gaussian likelihood moves only the
    second: weighted Gram matrices then survive every change of the noise.
    """

    target: Array  # (N, K)
    row_weights: Array  # (N, K), or (N, 1) where all outputs share them
    noise_precision: Array  # (K,), or (1,) where all outputs share it

    @property
    def precision(self) -> Array:
        """B, (N, K), or (N, 1) where all outputs share it."""
        return self.row_weights * self.noise_precision


class Likelihood(Protocol):
    """p(y | η) with η = Φw, and what the engine must know of it.

    What is estimated beside α are the noise precisions of the pseudo-observations, one
    for each output, or nothing.
    """

    @property
    def conjugate(self) -> bool:
        """Whether the pseudo-observations are the data themselves, whatever η is.

        Then gains are exact and statistics can be updated; otherwise every change
        of the model is refitted by Newton's method and confirmed by its evidence.
        """

    @property
    def matching(self) -> "Matching | None":
        """Itself, if moments are to be matched; None for the posterior at its mode."""

    @property
    def coarse(self) -> "Likelihood":
        """The same to a few digits, for a model that is about to change; or itself."""

    @property
    def scale(self) -> Array:
        """Standard deviation of y about η per output; nan where y has no unit."""

    @property
    def unit(self) -> Array | None:
        """(K,) that η is in, beside y: its noise; None where both have one unit."""

    @property
    def absolute(self) -> "Likelihood":
        """The same of an η that has the unit of y; or itself."""

    def rescaled(self, scale: float | Array) -> "Likelihood":
        """The same likelihood for targets multiplied by ``scale``, without caches.

        The targets of each output may have their own, (K,), where η has one.
        """

    @property
    def log_parameters(self) -> Array:
        """Logarithms of the parameters that are estimated; empty without any."""

    @property
    def parameter_ceiling(self) -> Array | None:
        """The largest values the parameters may have; None without any."""

    def with_parameters(
        self, log_parameters: Array, *, fixed: bool = False
    ) -> "Likelihood":
        """With other values for its parameters, which are no more if they are fixed."""

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

        Where that is not concave, a quadratic below it that touches there.
        """

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array] | None:
        """The product of minus the Hessian of the log density with vectors (N, K).

        None where that is the pseudo-observations' precision. Where it is not, because
        outputs depend on each other, Newton's method has it beside them.
        """

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        """Σₙ vₙ log p(yₙ | ηₙ), constants included."""

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "Likelihood | None":
        """A likelihood below this one whose precisions do not depend on η.

        It is the best such for y and η with these means and variances (N, K); itself
        where it is conjugate, None where no bound is known.
        """

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """log ∫ p(yₙ | η) N(η | mean, variance) dη (N,), of moments (N, K)."""


class Matching(Likelihood, Protocol):
    """A likelihood whose rows are asked beside what all others say, their cavities.

    Its log density and derivatives are those of ``relvec.likelihoods.probit_rows``.
    """

    @property
    def cavity(self) -> Array | float:
        """Variance of η in the cavities (N,)."""

    def cavities(
        self, y: Array, eta: Array, variance: Array, sample_weight: Array
    ) -> Array:
        """That variance (N,) if it is ``variance`` (N,) with the row itself."""

    def with_cavity(self, cavity: Array) -> "Matching":
        """The same with other cavities."""

    def correction(self, y: Array, eta: Array, sample_weight: Array) -> float:
        """What the log evidence has besides the terms that Laplace's has."""


def at_ceiling(likelihood: Likelihood, outputs: AnyArray | bool = True) -> bool:
    """Whether a parameter has reached the largest value it may have: a perfect fit.

    Of some outputs, if only these are asked for.
    """
    ceiling = likelihood.parameter_ceiling
    if ceiling is None:
        return False
    # Parameters travel as logarithms, which costs them a few last digits.
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
    """With the parameters count/squares, step 9 of Tipping & Faul's algorithm.

    ``more`` is added to both: a prior brings its own, and weights take observations
    away. A parameter of which none are left stays as it is.
    """
    if likelihood.parameter_ceiling is None:
        return likelihood
    count, squares = likelihood.sufficient_statistics(y, eta, sample_weight)
    return re_estimated(likelihood, count + more[0], squares + more[1])


def re_estimated(likelihood: Likelihood, count: Array, squares: Array) -> Likelihood:
    """The same from statistics that are summed over rows."""
    ceiling = likelihood.parameter_ceiling
    if ceiling is None:
        return likelihood
    present = np.exp(likelihood.log_parameters)
    goal = np.where(count > 0, count, present * squares)
    precision = goal / np.maximum(squares, goal / ceiling)
    return likelihood.with_parameters(np.log(precision))


class ClassLikelihood:
    """A likelihood that is not conjugate, with nothing to estimate."""

    @property
    def conjugate(self) -> bool:
        return False

    @property
    def matching(self) -> Matching | None:
        return None

    @property
    def coarse(self) -> Self:
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
    def absolute(self) -> Self:
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


def log_of_own(probabilities: Array, scores: Array) -> Array:
    """log p (N,) of the class of each row, that of the largest score (N, K)."""
    own = np.argmax(scores, axis=1)[:, None]
    p = np.take_along_axis(probabilities, own, axis=1)[:, 0]
    return np.log(np.maximum(p, TINY))


@dataclass(frozen=True)
class HeldObservations(ClassLikelihood):
    """The quadratic expansion of another likelihood, at one place and up to a constant.

    Its targets are y, each known to one output or to all.
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
        # With the constant that a Gaussian model has by its inner products, of all rows
        # and outputs, so that evidence is the same either way.
        constant = y.shape[1] * sample_weight.sum() * np.log(2 * np.pi)
        squares = np.sum(sample_weight @ (self.belongs * (y - eta) ** 2))
        return -0.5 * float(squares + constant)

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "HeldObservations":
        return self

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        squares = self.belongs * ((y - mean) ** 2 + variance)
        return -0.5 * np.asarray(squares.sum(axis=1))

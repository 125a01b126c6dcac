"""Likelihoods seen as Gaussian pseudo-observations of the linear predictor Φw."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from relvec.typing import Array


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
    """p(y | η) with η = Φw, and what the engine must know of it."""

    @property
    def conjugate(self) -> bool:
        """Whether the pseudo-observations are the data themselves, whatever η is.

        Then gains are exact and statistics can be updated; otherwise every change
        of the model is refitted by Newton's method and confirmed by its evidence.
        """
        ...

    @property
    def matching(self) -> "Matching | None":
        """Itself, if moments are to be matched; None for the posterior at its mode."""
        ...

    @property
    def steady(self) -> bool:
        """Whether the precisions are the same whatever η is.

        Then inner products of columns survive every change of the model.
        """
        ...

    @property
    def log_parameters(self) -> Array:
        """Logarithms of the parameters that ``refit`` moves; empty without any."""
        ...

    @property
    def noise_variance(self) -> Array:
        """Variance of the noise per output; nan where there is none to speak of."""
        ...

    @property
    def noise_ceiling(self) -> Array | None:
        """The largest noise precision (K,); None where it is not estimated."""
        ...

    @property
    def noiseless(self) -> bool:
        """Whether the noise stands at its floor: a perfect fit."""
        ...

    def natural_scale(self, y: Array, sample_weight: Array) -> float:
        """The unit in which the targets are of order one; 1 where they have none."""
        ...

    def rescaled(self, scale: float) -> "Likelihood":
        """The same likelihood for targets multiplied by ``scale``."""
        ...

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        """The quadratic expansion of the log density at ``eta``."""
        ...

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array] | None:
        """The product of minus the Hessian of the log density with vectors (N, K).

        None where that is the pseudo-observations' precision. Where it is not, because
        outputs depend on each other, Newton's method has it beside them.
        """
        ...

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        """Σₙ vₙ log p(yₙ | ηₙ), constants included."""
        ...

    def refit(
        self,
        y: Array,
        eta: Array,
        sample_weight: Array,
        freedom: Array,
        extra: Array | float = 0.0,
    ) -> "Likelihood":
        """The noise precision re-estimated as freedom / (Σv(y − η)² + extra).

        ``freedom`` (one number per output) is what observations are left to estimate
        it from; where nothing is left, it stays as it is.
        """
        ...

    def lower_bound(self, eta: Array, variance: Array) -> "Likelihood":
        """A conjugate likelihood below this one, if it is not conjugate itself.

        It is the best such for η with these means and variances (N, K).
        """
        ...

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """log ∫ p(yₙ | η) N(η | mean, variance) dη (N,), of moments (N, K)."""
        ...

    def with_parameters(self, log_parameters: Array) -> "Likelihood":
        """The same likelihood with other values for its parameters."""
        ...


class Matching(Likelihood, Protocol):
    """A likelihood whose rows are asked beside what all others say, their cavities.

    Its log density and derivatives are those of ``relvec.likelihoods.probit_rows``.
    """

    @property
    def cavity(self) -> Array | float:
        """Variance of η in the cavities (N,)."""
        ...

    def cavities(
        self, y: Array, eta: Array, variance: Array, sample_weight: Array
    ) -> Array:
        """That variance (N,) if it is ``variance`` (N,) with the row itself."""
        ...

    def with_cavity(self, cavity: Array) -> "Matching":
        """The same with other cavities."""
        ...

    def correction(self, y: Array, eta: Array, sample_weight: Array) -> float:
        """What the log evidence has besides the terms that Laplace's has."""
        ...

"""What every family of targets has to say."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from relvec.likelihoods import Likelihood
from relvec.modelling.residuals import LEVEL, Calibration, Residuals
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class LeftOut:
    """Rows as a model predicts them without themselves."""

    targets: Array  # (N, outputs)
    mean: Array  # (N, outputs) of latent values
    variance: Array  # (N, outputs)
    fitted: tuple[Array, Array]  # mean and variance with them
    weight: Array  # (N,)
    n_functions: int  # of the model
    n_parameters: float  # of these, effective, for each output
    n_observations: float  # that it was fitted to
    offset: Array | float = 0.0  # that latent values are less
    # Whether the functions were selected again without these rows, each row by a model
    # that has never seen it. Otherwise rows are left out in closed form.
    repeated: bool = False
    noise: Array | None = None  # (N,) variance of each row's noise, where it varies

    @property
    def method(self) -> str:
        """How the rows were left out, as a calibration calls it."""
        return "folds" if self.repeated else "leave-one-out"

    def errors(self, *, centred: bool) -> Array:
        """Of targets (N, outputs), which were perhaps centred by their mean."""
        if self.repeated:
            return self.targets - self.mean
        # The mean of the targets has seen every row, too.
        count = self.n_observations
        centring = count / max(count - 1, 1.0) if centred else 1.0
        return centring * (self.targets - self.mean)

    def of_output(self, number: int) -> "LeftOut":
        """The same of one output alone."""
        one = slice(number, number + 1)
        return replace(
            self,
            targets=self.targets[:, one],
            mean=self.mean[:, one],
            variance=self.variance[:, one],
            fitted=(self.fitted[0][:, one], self.fitted[1][:, one]),
        )


def within(found: Any, errors: Array) -> AnyArray:
    """Whether errors lie in the 90 % intervals of a symmetric distribution."""
    lower, upper = found.interval(LEVEL)
    return np.asarray(np.abs(errors) <= 0.5 * (upper - lower))


class Family(Protocol):
    """Targets ↔ likelihood ↔ predictive distribution."""

    @property
    def labels(self) -> AnyArray | None:
        """Of classes, if targets are such."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the noise, by the names of an estimator's attributes."""

    @property
    def price(self) -> float:
        """Nats of evidence that a function has to be worth in the end."""

    @property
    def coupled(self) -> bool:
        """Whether predictions need the covariance of all outputs together."""

    @property
    def units(self) -> Array | None:
        """(K,) of outputs that are measured otherwise than one another; or None."""

    @property
    def in_units(self) -> "Family":
        """The same of targets that are measured in these; or itself."""

    def offset(self, mean: float, weight: float) -> float:
        """What latent values are centred by, for targets of this mean and weight."""

    def targets(self, y: AnyArray, offset: Any) -> Array:
        """Targets as given as those of outputs (N, outputs), less an offset."""

    def given(self, targets: Array, offset: Any) -> AnyArray:
        """Targets as ``encoded`` takes them, from those of outputs less an offset."""

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: Any
    ) -> Likelihood:
        """Of targets less an offset, with the parameters to begin with."""

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        """Rows with their targets as the outputs of a likelihood."""

    def regressed(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        """The data as a Gaussian process is to see them: real numbers, with noise.

        For some that is about latent values (N, outputs) less the offset, if these are
        known already; for others it is the data themselves.
        """

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "Family":
        """The same with the parameters that were found."""

    def calibrated(self, left_out: LeftOut) -> "Family":
        """The same with predictions as uncertain as rows left out ask for."""

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        """The likelihood that was fitted, with as much noise as this has come to."""

    def residuals(self, left_out: LeftOut) -> Residuals | None:
        """How far rows left out are off, for what they were promised; None of classes.

        By the variance of latent values that they are said to have.
        """

    def calibration(self, left_out: LeftOut) -> Calibration | None:
        """How well predictions hold for rows left out; None where nobody asks."""

    def prior_mean(self, left_out: LeftOut, at: Array, variance: Array) -> Array | None:
        """What is to be added to latent values (K,) where nothing is known of them.

        They are ``at`` there, and as uncertain as ``variance`` (K,) says. None is
        nothing at all.
        """

    def output_weights(self, mean: Array) -> Array:
        """Weights (outputs, n) of the model as users know them, functions last."""

    def expected(self, mean: Array, variance: Array) -> Array:
        """Outputs (N, outputs) to be expected for latent values."""

    def response(self, latent: Array) -> Array:
        """Targets to be expected (N, outputs), by means of latent values alone."""

    def predictive(self, mean: Array, variance: Array) -> Any:
        """The distribution of targets for latent values (N, outputs).

        If they are coupled, covariances (N, outputs, outputs) stand for variances.
        """


class OneTarget:
    """What a family of one target for each row says unless it has its own word."""

    labels: ClassVar[None] = None
    price: ClassVar[float] = 0.0
    coupled: ClassVar[bool] = False

    @property
    def units(self) -> Array | None:
        return None

    @property
    def in_units(self) -> Self:
        return self

    def offset(self, mean: float, weight: float) -> float:
        return 0.0

    def given(self, targets: Array, offset: Any) -> AnyArray:
        return np.asarray((targets + offset)[:, 0])

    def regressed(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        return data

    def response(self, latent: Array) -> Array:
        return latent

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> Self:
        return self

    def calibrated(self, left_out: LeftOut) -> Self:
        return self

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        return likelihood

    def residuals(self, left_out: LeftOut) -> Residuals | None:
        return None

    def calibration(self, left_out: LeftOut) -> Calibration | None:
        return None

    def prior_mean(self, left_out: LeftOut, at: Array, variance: Array) -> Array | None:
        return None

    def output_weights(self, mean: Array) -> Array:
        return mean[0]

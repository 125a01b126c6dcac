"""What every family of targets has to say."""

from dataclasses import dataclass
from typing import Any, Protocol

from relvec.likelihoods import Likelihood
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
    offset: float = 0.0  # that latent values are less


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

    def offset(self, mean: float, weight: float) -> float:
        """What latent values are centred by, for targets of this mean and weight."""

    def targets(self, y: AnyArray, offset: float) -> Array:
        """Targets as given as those of outputs (N, outputs), less an offset."""

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
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

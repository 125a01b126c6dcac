"""What every family of targets has to say."""

from typing import Any, Protocol

from relvec.likelihoods import Likelihood
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.typing import AnyArray, Array


class Family(Protocol):
    """Targets ↔ likelihood ↔ predictive distribution."""

    @property
    def labels(self) -> AnyArray | None:
        """Of classes, if targets are such."""

    @property
    def price(self) -> float:
        """Nats of evidence that a function has to be worth in the end."""

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        """Rows with their targets as the outputs of a likelihood."""

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "Family":
        """The same with the parameters that were found."""

    def output_weights(self, mean: Array) -> Array:
        """Weights (outputs, n) of the model as users know them, functions last."""

    def predictive(self, mean: Array, variance: Array) -> Any:
        """The distribution of targets for latent values (N, outputs)."""

"""Classes as one model of all: their outputs, and what latent values make of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from relvec.likelihoods import (
    Bernoulli,
    Likelihood,
    MatchedProbit,
    MultinomialProbit,
    Softmax,
)
from relvec.likelihoods.logistic_integral import moderated_log_odds
from relvec.likelihoods.multinomial_probit import contrasts
from relvec.likelihoods.softmax import softmax_probabilities
from relvec.modelling.families.base import LeftOut
from relvec.modelling.families.probabilities import Doubt, Losses, as_log_p
from relvec.modelling.predictive import ClassDistribution, decision_of
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.typing import AnyArray, Array, Indices

# Akaike's price of a parameter, here the α of a function, found by maximisation.
_PRICE = 1.0


@dataclass(frozen=True, eq=False)
class ClassFamily(ABC):
    """Classes, of which rows have the indices as their targets."""

    labels: AnyArray  # (K,)
    doubt: Doubt | None = field(default=None, kw_only=True)
    # Whether predictions are by the covariance of all outputs together.
    coupled: bool = field(default=False, kw_only=True)
    price: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """Of the outputs."""

    def outputs(self, indices: Indices) -> Array:
        """(N, outputs) for indices of classes."""
        return np.eye(len(self.labels))[indices]

    def targets(self, y: AnyArray, offset: float) -> Array:
        return self.outputs(np.searchsorted(self.labels, y))

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> Likelihood:
        return self.likelihood

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        return TrainingSet(rows, self.outputs(y), self.likelihood)

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "ClassFamily":
        return self

    def calibrated(self, left_out: LeftOut) -> "ClassFamily":
        codes = self.outputs(np.arange(len(self.labels)))
        squares = ((left_out.targets[:, None] - codes) ** 2).sum(axis=2)
        losses = Losses(
            fitted=as_log_p(self.decision(*left_out.fitted)),
            left_out=as_log_p(self.decision(left_out.mean, left_out.variance)),
            classes=np.argmin(squares, axis=1),
            weight=left_out.weight,
            spent=left_out.n_parameters / left_out.n_observations,
        )
        return replace(self, doubt=losses.doubt())

    def output_weights(self, mean: Array) -> Array:
        return mean

    def expected(self, mean: Array, variance: Array) -> Array:
        p = self.predictive(mean, variance).probabilities
        return p @ self.outputs(np.arange(len(self.labels)))

    def predictive(self, mean: Array, variance: Array) -> ClassDistribution:
        decision = self.decision(mean, variance)
        if self.doubt is not None:
            decision = self.doubt.applied(decision)
        return ClassDistribution(self.labels, decision)

    @abstractmethod
    def decision(self, mean: Array, variance: Array) -> Array:
        """Log odds (N,) of two classes, or log probabilities (N, K), of the model."""


class TwoClasses(ClassFamily):
    """The logistic link: one output, and one set of weights."""

    @property
    def likelihood(self) -> Bernoulli:
        return Bernoulli()

    def outputs(self, indices: Indices) -> Array:
        return indices[:, None].astype(np.float64)

    def output_weights(self, mean: Array) -> Array:
        return mean[0]

    def decision(self, mean: Array, variance: Array) -> Array:
        return moderated_log_odds(mean[:, 0], variance[:, 0])


@dataclass(frozen=True, eq=False)
class Probit(ClassFamily):
    """The multinomial probit, on contrasts of the classes."""

    moments: bool = False  # matched, in the place of Laplace's approximation

    @property
    def price(self) -> float:  # type: ignore[override]
        # One curvature for all contrasts charges functions too much already.
        return _PRICE if len(self.labels) == 2 else 0.0

    @property
    def likelihood(self) -> MultinomialProbit:
        kind = MatchedProbit if self.moments else MultinomialProbit
        return kind(self._contrasts)

    @property
    def _contrasts(self) -> Array:
        return contrasts(len(self.labels))

    def outputs(self, indices: Indices) -> Array:
        return self._contrasts[indices]

    def output_weights(self, mean: Array) -> Array:
        return self._contrasts @ mean

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(self.likelihood.probabilities(mean, variance))


class ClassWiseProbit(ClassFamily):
    """The multinomial probit with an output, and a prior, for each class."""

    @property
    def likelihood(self) -> MultinomialProbit:
        return MultinomialProbit(np.eye(len(self.labels)), bound=True)

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(self.likelihood.probabilities(mean, variance))


class PluggedIn(ClassWiseProbit):
    """The same by the weights alone, (22): no variance, and no doubt."""

    def calibrated(self, left_out: LeftOut) -> "PluggedIn":
        return self

    def decision(self, mean: Array, variance: Array) -> Array:
        return super().decision(mean, np.zeros_like(mean))


class Logit(ClassFamily):
    """The multinomial logit."""

    @property
    def likelihood(self) -> Softmax:
        return Softmax()

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(softmax_probabilities(mean, variance))

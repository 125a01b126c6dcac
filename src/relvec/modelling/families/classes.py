"""Classes as one model of all: their outputs, and what latent values make of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from relvec.evidence import Mrvm2
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
from relvec.parameters import check_choice
from relvec.parametric import Parametric
from relvec.typing import AnyArray, Array, Indices

# Akaike's price of a parameter, here the α of a function, found by maximisation.
_PRICE = 1.0
SINGLE_MODELS = ("mrvm1", "mrvm2", "softmax")


@dataclass(frozen=True, eq=False, repr=False)
class Mrvm1(Parametric):
    """Settings of ``multi_class="mrvm1"``.

    Parameters
    ----------
    posterior : {"mode", "moments"}, default="mode"
        Whether the posterior of the weights is Laplace's approximation at their mode,
        or the one whose mean and variance match those of the likelihood for every row
        (expectation propagation). The latter has better probabilities and takes longer.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Mrvm1
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVC(gamma=0.1, multi_class=Mrvm1(posterior="moments")).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    posterior: str = "mode"

    def __post_init__(self) -> None:
        check_choice("posterior", self.posterior, ("mode", "moments"))


@dataclass(frozen=True, eq=False)
class ClassFamily(ABC):
    """Classes, of which rows have the indices as their targets."""

    labels: AnyArray  # (K,)
    doubt: Doubt | None = field(default=None, kw_only=True)
    price: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """Of the outputs."""

    def outputs(self, indices: Indices) -> Array:
        """(N, outputs) for indices of classes."""
        return np.eye(len(self.labels))[indices]

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


class Logit(ClassFamily):
    """The multinomial logit."""

    @property
    def likelihood(self) -> Softmax:
        return Softmax()

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(softmax_probabilities(mean, variance))


def class_family(multi_class: str | Mrvm1 | Mrvm2, labels: AnyArray) -> ClassFamily:
    """What ``multi_class`` means for these classes."""
    if isinstance(multi_class, Mrvm1):
        return Probit(labels, moments=multi_class.posterior == "moments")
    if isinstance(multi_class, Mrvm2) or multi_class == "mrvm2":
        return ClassWiseProbit(labels)
    if multi_class == "auto" and len(labels) == 2:
        return TwoClasses(labels)
    return Logit(labels) if multi_class == "softmax" else Probit(labels)

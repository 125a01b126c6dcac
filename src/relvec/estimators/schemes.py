"""How classes become targets of a likelihood, and its latent values probabilities."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import expit

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
from relvec.parameters import check_choice
from relvec.typing import Array, Indices

# Akaike's price of a parameter, here the α of a function, found by maximisation.
_PRICE = 1.0
SINGLE_MODELS = ("mrvm1", "mrvm2", "softmax")


@dataclass(frozen=True)
class Mrvm1:
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


class Scheme(Protocol):
    """One model for all classes."""

    @property
    def likelihood(self) -> Likelihood:
        """Of the targets."""
        ...

    @property
    def price(self) -> float:
        """Nats of evidence that a function has to be worth in the end."""
        ...

    def targets(self, labels: Indices) -> Array:
        """(N, outputs) for labels 0, 1, ... of the classes."""
        ...

    def by_class(self, weights: Array) -> Array:
        """Weights (outputs, n) of the model as weights (K, n) of the classes.

        Two classes with one output have one set of weights, (n,).
        """
        ...

    def decision(self, mean: Array, variance: Array) -> Array:
        """Log odds (N,) of two classes, or log probabilities (N, K)."""
        ...


@dataclass(frozen=True)
class TwoClasses:
    """The logistic link."""

    price: ClassVar[float] = 0.0

    @property
    def likelihood(self) -> Bernoulli:
        return Bernoulli()

    def targets(self, labels: Indices) -> Array:
        return labels[:, None].astype(np.float64)

    def by_class(self, weights: Array) -> Array:
        return weights[0]

    def decision(self, mean: Array, variance: Array) -> Array:
        return moderated_log_odds(mean[:, 0], variance[:, 0])


@dataclass(frozen=True)
class Probit:
    """The multinomial probit, on contrasts of the classes."""

    n_classes: int
    moments: bool = False  # matched, in the place of Laplace's approximation

    @property
    def price(self) -> float:
        # One curvature for all contrasts charges functions too much already.
        return _PRICE if self.n_classes == 2 else 0.0

    @property
    def likelihood(self) -> MultinomialProbit:
        kind = MatchedProbit if self.moments else MultinomialProbit
        return kind(contrasts(self.n_classes))

    def targets(self, labels: Indices) -> Array:
        return contrasts(self.n_classes)[labels]

    def by_class(self, weights: Array) -> Array:
        return contrasts(self.n_classes) @ weights

    def decision(self, mean: Array, variance: Array) -> Array:
        return _decision(self.likelihood.probabilities(mean, variance))


@dataclass(frozen=True)
class ClassWiseProbit:
    """The multinomial probit with an output, and a prior, for each class."""

    n_classes: int
    price: ClassVar[float] = 0.0

    @property
    def likelihood(self) -> MultinomialProbit:
        return MultinomialProbit(np.eye(self.n_classes), bound=True)

    def targets(self, labels: Indices) -> Array:
        return np.eye(self.n_classes)[labels]

    def by_class(self, weights: Array) -> Array:
        return weights

    def decision(self, mean: Array, variance: Array) -> Array:
        return _decision(self.likelihood.probabilities(mean, variance))


@dataclass(frozen=True)
class Logit:
    """The multinomial logit."""

    n_classes: int
    price: ClassVar[float] = 0.0

    @property
    def likelihood(self) -> Softmax:
        return Softmax()

    def targets(self, labels: Indices) -> Array:
        return np.eye(self.n_classes)[labels]

    def by_class(self, weights: Array) -> Array:
        return weights

    def decision(self, mean: Array, variance: Array) -> Array:
        return _decision(softmax_probabilities(mean, variance))


def scheme_for(multi_class: str | Mrvm1 | Mrvm2, n_classes: int) -> Scheme:
    """What ``multi_class`` means for so many classes."""
    if isinstance(multi_class, Mrvm1):
        return Probit(n_classes, moments=multi_class.posterior == "moments")
    if as_mrvm2(multi_class) is not None:
        return ClassWiseProbit(n_classes)
    if multi_class == "auto" and n_classes == 2:
        return TwoClasses()
    return Logit(n_classes) if multi_class == "softmax" else Probit(n_classes)


def is_settings(multi_class: Any) -> bool:
    """Whether it is a model with its settings, and not one by name."""
    return isinstance(multi_class, Mrvm1 | Mrvm2)


def as_mrvm2(multi_class: Any) -> Mrvm2 | None:
    """Its settings, if it is meant."""
    if isinstance(multi_class, Mrvm2):
        return multi_class
    return Mrvm2() if multi_class == "mrvm2" else None


def check_solver(multi_class: Any, solver: Any) -> None:
    """Whether a solver that begins with all functions has this model."""
    if as_mrvm2(multi_class) is not None:
        msg = (
            "multi_class='mrvm2' is a solver of its own: leave solver at "
            f"'sequential'; got {solver!r}"
        )
        raise ValueError(msg)
    if multi_class == Mrvm1("moments"):
        # Its fixed points ask for more digits than cavities have.
        msg = (
            "Mrvm1(posterior='moments') is searched function by function: leave solver "
            f"at 'sequential'; got {solver!r}"
        )
        raise ValueError(msg)


def probabilities(decision: Array) -> Array:
    """(N, K) from log odds or log probabilities."""
    if decision.ndim == 1:
        return expit(np.column_stack([-decision, decision]))
    p = np.exp(decision)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _decision(p: Array) -> Array:
    log_p = np.log(np.maximum(p, np.finfo(float).tiny))
    if p.shape[1] > 2:
        return log_p
    odds = log_p[:, 1] - log_p[:, 0]
    # Odds that probabilities cannot tell from even ones are even.
    return np.where(np.abs(odds) < np.finfo(float).eps, 0.0, odds)

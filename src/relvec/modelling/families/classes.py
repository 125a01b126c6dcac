"""Classes as one model of all: their outputs, and what latent values make of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import root
from scipy.special import kolmogi, logit, ndtr, ndtri

from relvec.likelihoods import (
    Bernoulli,
    EPProbit,
    Likelihood,
    MultinomialProbit,
    Softmax,
)
from relvec.likelihoods.bernoulli import moderated_log_odds
from relvec.likelihoods.multinomial import contrasts, softmax_probabilities
from relvec.modelling.families.base import LeftOut
from relvec.modelling.families.probabilities import Doubt, Losses, as_log_p
from relvec.modelling.predictive import ClassPrediction, decision_of
from relvec.modelling.residuals import Calibration
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.typing import AnyArray, Array, Indices

# Akaike's price of a parameter, here the α of a function, found by maximisation.
_PRICE = 1.0
# A logistic variable is a normal one of deviation 2V, V distributed as Kolmogorov's
# statistic: so many times it has no more than this variance.
_MOST_TIMES = 0.95
_MOST_VARIANCE = float(4 * kolmogi(1 - _MOST_TIMES) ** 2)
# Leads of a class that no rounding of an integral takes from it.
_CLEAR, _CLEAR_MEANS = 1e-9, 1e-6

_EVEN = 1e-9  # of latent values


@dataclass(frozen=True, eq=False)
class ClassFamily(ABC):
    """Classes, of which rows have the indices as their targets."""

    labels: AnyArray  # (K,)
    doubt: Doubt | None = field(default=None, kw_only=True)
    # Whether predictions are by the covariance of all outputs together.
    coupled: bool = field(default=False, kw_only=True)
    price: ClassVar[float] = 0.0

    @property
    def units(self) -> Array | None:
        return None

    @property
    def in_units(self) -> "ClassFamily":
        return self

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """Of the outputs."""

    def outputs(self, indices: Indices) -> Array:
        """(N, outputs) for indices of classes."""
        return np.eye(len(self.labels))[indices]

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def offset(self, mean: float, weight: float) -> float:
        return 0.0

    def targets(self, y: AnyArray, offset: float) -> Array:
        return self.outputs(np.searchsorted(self.labels, y))

    def given(self, targets: Array, offset: float) -> AnyArray:
        return self._classes(targets)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> Likelihood:
        return self.likelihood

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        return TrainingSet(rows, self.outputs(y), self.likelihood)

    def regressed(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        return data

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "ClassFamily":
        return self

    def calibrated(self, left_out: LeftOut) -> "ClassFamily":
        """Mix probabilities with the frequencies where rows left out ask for it."""
        losses = Losses(
            fitted=as_log_p(self.decision(*left_out.fitted)),
            left_out=as_log_p(self.decision(left_out.mean, left_out.variance)),
            classes=self._classes(left_out.targets),
            weight=left_out.weight,
            spent=left_out.n_parameters / left_out.n_observations,
            exact=left_out.repeated,
        )
        if not left_out.repeated:
            return replace(self, doubt=losses.doubt())
        better = replace(self, doubt=losses.doubt())
        now, then = self.calibration(left_out), better.calibration(left_out)
        return better if now.clearly_worse_than(then) else self

    def _classes(self, targets: Array) -> Indices:
        """Indices of classes (N,) for their outputs."""
        codes = self.outputs(np.arange(len(self.labels)))
        # The nearest code, without an array of rows, classes and outputs.
        nearness = targets @ codes.T - 0.5 * (codes**2).sum(axis=1)
        return np.argmax(nearness, axis=1)

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        return likelihood

    def residuals(self, left_out: LeftOut) -> None:
        return None

    def calibration(self, left_out: LeftOut) -> Calibration:
        decision = self.decision(left_out.mean, left_out.variance)
        if self.doubt is not None:
            decision = self.doubt.applied(decision)
        return Calibration.of_classes(
            left_out.method,
            as_log_p(decision),
            self._classes(left_out.targets),
            left_out.weight,
        )

    def prior_mean(self, left_out: LeftOut, at: Array, variance: Array) -> Array | None:
        """So much that classes are as probable as they are frequent."""
        n_classes = len(self.labels)
        classes = self._classes(left_out.targets)
        count = np.bincount(classes, left_out.weight, n_classes)
        # Half a row for a class of which none was drawn.
        log_odds = np.log(np.maximum(count, 0.5))
        # Of as many outputs as classes, one direction tells nothing.
        free = np.eye(len(at)) if len(at) < n_classes else contrasts(n_classes)
        spread = variance[None]
        if self.coupled:
            spread = np.diag(variance)[None]

        def excess(moved: Array) -> Array:
            log_p = as_log_p(self.decision((at + free @ moved)[None], spread))[0]
            apart = log_p - log_odds
            return np.asarray(apart[1:] - apart[0])

        found = root(excess, -free.T @ at)
        # As frequent as they are probable already, to the digits of the search.
        even = np.abs(found.x).max() < _EVEN
        return None if even or not found.success else np.asarray(free @ found.x)

    def output_weights(self, mean: Array) -> Array:
        return mean

    def expected(self, mean: Array, variance: Array) -> Array:
        p = self.predictive(mean, variance).probabilities
        return p @ self.outputs(np.arange(len(self.labels)))

    def response(self, latent: Array) -> Array:
        return latent

    def predictive(self, mean: Array, variance: Array) -> "LatentClasses":
        return LatentClasses(self.labels, self, mean, variance)

    def foregone(self, mean: Array, variance: Array) -> Indices:
        """(N,) the most probable classes where no integral is to tell; else -1."""
        return np.full(len(mean), -1)

    @abstractmethod
    def decision(self, mean: Array, variance: Array) -> Array:
        """Log odds (N,) of two classes, or log probabilities (N, K), of the model."""


@dataclass(frozen=True, eq=False)
class LatentClasses(ClassPrediction):
    """What latent values say of classes; integrals are computed if they are asked for.

    They take more time than all else, and most classes can be told without.
    """

    labels: AnyArray
    family: ClassFamily
    mean: Array
    variance: Array

    @cached_property
    def decision(self) -> Array:  # type: ignore[override]
        found, doubt = self.family.decision(self.mean, self.variance), self.family.doubt
        return found if doubt is None else doubt.applied(found)

    @property
    def predicted(self) -> AnyArray:
        chosen = self.family.foregone(self.mean, self.variance)
        return super().predicted if chosen.min(initial=0) < 0 else self.labels[chosen]


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

    def foregone(self, mean: Array, variance: Array) -> Indices:
        """By bounds of p₁ − p₀, which are functions of z and of the mean."""
        m = mean[:, 0]
        z = m / np.sqrt(_MOST_VARIANCE + variance[:, 0])
        even = (0.0, _CLEAR) if self.doubt is None else self.doubt.even(_CLEAR)
        below, above = _limits(*even)
        first = (z < below[0]) & (m < below[1])
        second = (z > above[0]) & (m > above[1])
        return np.where(first | second, second, -1)


@lru_cache
def _limits(even: float, room: float) -> tuple[tuple[float, float], ...]:
    """Of z and m: below the first two the first class leads, above the others not.

    p₁ − p₀ is E[2Φ(m/√(4V² + s²)) − 1] for η ~ N(m, s²). Its size is at most that for
    s = 0, |2σ(m) − 1|, and at least that of most V, each as large as the largest.
    """
    sizes = np.clip(np.array([even - room, even + room]), -1.0, 1.0)
    by_z = ndtri(0.5 + 0.5 * np.clip(sizes / _MOST_TIMES, -1.0, 1.0))
    by_mean = logit(0.5 + 0.5 * sizes)
    return tuple(zip(by_z.tolist(), by_mean.tolist(), strict=True))


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
        kind = EPProbit if self.moments else MultinomialProbit
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

    def foregone(self, mean: Array, variance: Array) -> Indices:
        """By means, where classes have one variance and no doubt is against them."""
        if self.coupled:
            return super().foregone(mean, variance)
        common = variance.sum(axis=1, keepdims=True) / variance.shape[1]
        eta = mean @ self._contrasts.T / np.sqrt(1 + common)
        chosen, ordered = eta.argmax(axis=1), np.sort(eta, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > self._clear
        if self.doubt is not None:
            # Another is the largest no more often than it is larger than this one.
            largest = ndtr((eta - ordered[:, -1:]) / np.sqrt(2))
            leads = 1.5 - largest.sum(axis=1, keepdims=True) - largest
            clear &= self.doubt.overcome(leads, chosen, _CLEAR_MEANS)
        return np.where(clear, chosen, -1)

    @property
    def _clear(self) -> float:
        """How far another class must be behind."""
        return _CLEAR_MEANS / (1.0 if self.doubt is None else 1 - self.doubt.share)


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

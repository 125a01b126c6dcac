"""Probabilities of classes as uncertain as rows left out ask for.

Laplace's approximation without a row hardly changes where classes are nearly separated:
then the loss of rows left out is optimistic. Generalised cross-validation is not, but
it has no loss of single rows. So it tells which share of the rows is to be taken as
drawn from the frequencies of the classes, whatever the model says of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from relvec.typing import AnyArray, Array, Indices

# Observations that an effective parameter costs: Friedman's, as in
# ``relvec.kernel_learning.criteria``; 1 and 2 were worse on 25 problems of classes.
_COST_PER_PARAMETER = 3.0
_LEAST_LEFT = 0.05  # of all observations
_MOST_AT_RANDOM = 0.5  # of all rows: with very few of them costs say nothing
_LEAST_GAIN = 1.0  # nats of all rows: less is no evidence for anything
_LARGEST_DOUBT = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Doubt:
    """The share of the classes' frequencies in probabilities."""

    share: float
    frequencies: Array  # (K,)

    def applied(self, decision: Array) -> Array:
        """To log odds (N,) of two classes, or log probabilities (N, K)."""
        if decision.ndim == 1:
            return DoubtOfEach.of([self]).applied(decision)
        return np.logaddexp(decision + self.log_sure, self.log_shares)

    @property
    def log_sure(self) -> float:
        """Of what the model says, its share."""
        return float(np.log1p(-self.share))

    @property
    def log_shares(self) -> Array:
        """Of the frequencies (K,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.share * self.frequencies)

    def even(self, room: float) -> tuple[float, float]:
        """p₁ − p₀ of two classes that are equally probable with this doubt.

        And around it what becomes ``room`` with it.
        """
        first, second = (float(one) for one in self.frequencies)
        sure = 1 - self.share
        return self.share * (first - second) / sure, room / sure

    def overcome(self, leads: Array, chosen: Indices, room: float) -> AnyArray:
        """Whether the class of a row stays before all others with this doubt (N,).

        Without it, it is, by at least what ``leads`` (N, K) say of p − pⱼ.
        """
        against = self.share * (self.frequencies - self.frequencies[chosen][:, None])
        kept = (against <= 0) | ((1 - self.share) * leads > against + room)
        return np.asarray(kept.all(axis=1))


@dataclass(frozen=True, eq=False)
class DoubtOfEach:
    """The same of several models of two classes each, as logarithms."""

    sure: Array  # (M,)
    first: Array  # (M,) of the first class's frequency
    second: Array  # (M,)

    @classmethod
    def of(cls, doubts: Sequence[Doubt | None]) -> "DoubtOfEach":
        """None has no share."""
        none = Doubt(0.0, np.full(2, 0.5))
        each = [one or none for one in doubts]
        first, second = np.transpose([one.log_shares for one in each])
        return cls(np.array([one.log_sure for one in each]), first, second)

    def applied(self, odds: Array) -> Array:
        """To log odds (…, M) of the second classes."""
        above = np.logaddexp(log_expit(odds) + self.sure, self.second)
        below = np.logaddexp(log_expit(-odds) + self.sure, self.first)
        return np.asarray(above - below)


@dataclass(frozen=True, eq=False)
class Losses:
    """What a model says of its rows with them, and without each of them."""

    fitted: Array  # (N, K) log probabilities
    left_out: Array  # (N, K)
    classes: Indices  # (N,)
    weight: Array  # (N,)
    spent: float  # share of the observations on effective parameters
    exact: bool = False  # whether functions were selected again without these rows

    def doubt(self) -> Doubt | None:
        """That of least loss; None where it is not worth a nat."""
        frequencies = np.bincount(self.classes, self.weight, self.fitted.shape[1])
        frequencies = frequencies / self.weight.sum()
        at_random = 0.0 if self.exact else self._at_random(frequencies)
        p = np.exp(self.left_out)

        def loss(share: float) -> float:
            mixed = (1 - share) * p + share * frequencies
            log_p = np.log(np.maximum(mixed, np.finfo(float).tiny))
            drawn = at_random * self._mean(log_p @ frequencies)
            return -(1 - at_random) * self._mean(self._own(log_p)) - drawn

        found = minimize_scalar(loss, bounds=(0, _LARGEST_DOUBT), method="bounded")
        gain = self.weight.sum() * (loss(0.0) - float(found.fun))
        return Doubt(float(found.x), frequencies) if gain > _LEAST_GAIN else None

    def _at_random(self, frequencies: Array) -> float:
        """With so many rows at random the loss is that of cross-validation."""
        left = max(1 - _COST_PER_PARAMETER * self.spent, _LEAST_LEFT)
        expected = -self._mean(self._own(self.fitted)) - np.log(left)
        known = -self._mean(self._own(self.left_out))
        drawn = -self._mean(self.left_out @ frequencies)
        if expected <= known:
            return 0.0
        share = (expected - known) / max(drawn - known, expected - known)
        return float(min(share, _MOST_AT_RANDOM))

    def _own(self, log_p: Array) -> Array:
        return log_p[np.arange(len(log_p)), self.classes]

    def _mean(self, values: Array) -> float:
        return float(np.average(values, weights=self.weight))


def as_log_p(decision: Array) -> Array:
    """Log probabilities (N, K) of log odds of two classes, or as they are."""
    if decision.ndim > 1:
        return decision
    return log_softmax(np.column_stack([np.zeros(len(decision)), decision]), axis=1)

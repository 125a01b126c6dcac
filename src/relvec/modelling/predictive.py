"""What a model says of new rows: distributions of their targets."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaln, expit, xlogy
from scipy.stats import nbinom
from scipy.stats import t as student_t

from relvec.likelihoods.student_t import central_quantile
from relvec.parameters import check_fraction
from relvec.precision import ROUNDING
from relvec.typing import AnyArray, Array

# Of the logarithm of a rate: less is none, and with more the upper quantiles of a gamma
# distribution of given mean would fall again.
_LOG_VARIANCES = 1e-12, 5.0
_EVEN = 32 * np.finfo(float).eps


@dataclass(frozen=True)
class TargetDistribution:
    """Of real targets: Gaussian, or Student's t where the noise is integrated out."""

    mean: Array  # (n_rows,)
    variance: Array  # (n_rows,) of the function
    noise_variance: float | Array  # (n_rows,) if it varies
    degrees_of_freedom: float = np.inf

    @property
    def std(self) -> Array:
        """Standard deviation of the targets, noise included."""
        return np.sqrt(self.variance + self.noise_variance)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds between which a target lies with probability ``coverage``."""
        check_fraction("coverage", coverage)
        freedom = self.degrees_of_freedom
        noise = self.noise_variance / variance_factor(freedom)
        quantile = student_t.ppf(0.5 + coverage / 2, freedom)
        half = quantile * np.sqrt(self.variance + noise)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class CountDistribution:
    """Of counts whose rate is uncertain: negative binomial.

    A gamma distribution of shape 1/v and mean e^m is, as one of the rate's logarithm,
    about N(m, v) by Laplace's approximation, which is all that a model tells of it.
    """

    mean: Array  # (n_rows,) e^m
    variance: Array  # (n_rows,) v, of the logarithm

    def log_density(self, counts: Array) -> Array:
        """log p (n_rows,), for numbers in between, too."""
        k, y = 1 / np.maximum(self.variance, _LOG_VARIANCES[0]), counts
        total = self.mean + k
        chosen = -np.log(k + y) - betaln(k, y + 1)
        spread = k * np.log1p(self.mean / k)
        return np.asarray(chosen + xlogy(y, self.mean) - y * np.log(total) - spread)

    @property
    def std(self) -> Array:
        """Standard deviation of the counts."""
        return np.sqrt(self.mean + self.variance * self.mean**2)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Whole numbers between which a count is with at least that probability."""
        check_fraction("coverage", coverage)
        v = np.clip(self.variance, *_LOG_VARIANCES)
        counts = nbinom(1 / v, 1 / (1 + v * self.mean))
        lower, upper = 0.5 - coverage / 2, 0.5 + coverage / 2
        return np.asarray(counts.ppf(lower)), np.asarray(counts.ppf(upper))


@dataclass(frozen=True)
class HeavyTailedDistribution:
    """Of real targets with noise of heavy tails: Student's t and a Gaussian added."""

    mean: Array  # (n_rows,)
    variance: Array  # (n_rows,) of the function
    scale_variance: float  # σ² of Student's t
    degrees_of_freedom: float

    @property
    def std(self) -> Array:
        """Standard deviation of the targets, noise included."""
        noise = self.scale_variance * variance_factor(self.degrees_of_freedom)
        return np.sqrt(self.variance + noise)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds between which a target lies with probability ``coverage``."""
        check_fraction("coverage", coverage)
        scale = float(np.sqrt(self.scale_variance))
        half = central_quantile(coverage, self.variance, scale, self.degrees_of_freedom)
        return self.mean - half, self.mean + half


def variance_factor(degrees_of_freedom: float) -> float:
    """Variance of a Student-t distribution of unit scale, where it has one."""
    if np.isinf(degrees_of_freedom) or degrees_of_freedom <= 2:
        return 1.0
    return degrees_of_freedom / (degrees_of_freedom - 2)


class ClassPrediction:
    """What a decision says of class labels."""

    labels: AnyArray  # (K,)
    decision: (
        Array  # (n_rows,) log odds of the second, or (n_rows, K) log probabilities
    )

    @cached_property
    def probabilities(self) -> Array:
        """(n_rows, K). Largest ones that differ by rounding alone are equal."""
        if self.decision.ndim == 1:
            p = expit(np.column_stack([-self.decision, self.decision]))
        else:
            p = np.exp(self.decision)
            p /= p.sum(axis=1, keepdims=True)
        largest = p.max(axis=1, keepdims=True, initial=0.0)
        return np.where(p >= largest * (1 - ROUNDING), largest, p)

    @property
    def predicted(self) -> AnyArray:
        """(n_rows,) labels; the first of those that are equally probable."""
        return self.labels[np.argmax(self.probabilities, axis=1)]


@dataclass(frozen=True)
class ClassDistribution(ClassPrediction):
    """Of class labels, by a decision that was made."""

    labels: AnyArray
    decision: Array


@dataclass(frozen=True)
class ClassVotes:
    """What several models have voted for; it has no probabilities."""

    labels: AnyArray  # (K,)
    decision: Array  # (n_rows, K) votes, and less than half a one to break ties

    @property
    def predicted(self) -> AnyArray:
        """(n_rows,) labels of most votes."""
        return self.labels[np.argmax(self.decision, axis=1)]


def decision_of(p: Array) -> Array:
    """Log odds of two classes, or log probabilities of more, from probabilities."""
    log_p = np.log(np.maximum(p, np.finfo(float).tiny))
    if p.shape[1] > 2:
        return log_p
    odds = log_p[:, 1] - log_p[:, 0]
    # Odds that probabilities, averages over some nodes, cannot tell from even ones.
    return np.where(np.abs(odds) < _EVEN, 0.0, odds)

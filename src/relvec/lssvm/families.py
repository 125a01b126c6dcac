"""Targets of an LS-SVM: numbers as they are, and classes as ±1.

The link of classes is the Bayesian one of section 2.1: with targets t = f + ε the
density of a code ±1 is N(±1 | f, S), so by Bayes' rule the log odds of two classes are
2f/S, and of several, each against the rest, a softmax of 2f/S. As targets ±1 are no
Gaussian noise, S is left to the data: that of least log loss of the rows left out. It
changes no decision. The variance of f itself is not in it: where there are no data f
goes back to b as it is, and with a variance of each row the log loss was higher on 10
of 14 tables (tuned by "loo", 5 folds).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax
from scipy.stats import t as student_t

from relvec.likelihoods import gaussian_noise
from relvec.lssvm.evidence import LeftOut
from relvec.modelling import (
    LEVEL,
    Calibration,
    ClassDistribution,
    Regression,
    Residuals,
    TargetDistribution,
    TrainingRows,
    TrainingSet,
    variance_factor,
)
from relvec.parameters import check_fraction
from relvec.typing import AnyArray, Array, Indices

# Of log S, which is 0 where the noise of targets ±1 is all there is; e⁷ is a thousand.
_RANGE = 7.0
# Rows that are taken as drawn from the frequencies of the classes: without any, the
# best S of classes that rows left out tell apart would be 0. Platt's (1999)
# targets say the same of his.
_DOUBTED = 1.0


class CommonScale(TargetDistribution):
    """With one scale of function and noise."""

    def interval(self, coverage: float) -> tuple[Array, Array]:
        check_fraction("coverage", coverage)
        unit = self.std / np.sqrt(variance_factor(self.degrees_of_freedom))
        half = student_t.ppf(0.5 + coverage / 2, self.degrees_of_freedom) * unit
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class RealTargets(Regression):
    """y = f(x) + ε, ε Gaussian, as in relevance vector regression."""

    needs_left_out: ClassVar[bool] = False
    has_bars: ClassVar[bool] = True

    def predictive(self, mean: Array, variance: Array) -> TargetDistribution:
        """Student's distribution of all of it where the one scale of all is uncertain.

        Its variance is that of a larger scale, and so are both parts of it.
        """
        assert not isinstance(self.noise_variance, str)
        freedom = self.degrees_of_freedom
        wider = variance_factor(freedom)
        return CommonScale(
            mean[:, 0], wider * variance[:, 0], wider * self.noise_variance, freedom
        )

    def calibrated_on(self, targets: Array, left_out: LeftOut) -> "RealTargets":
        """The noise says it all."""
        return self

    def standardised(self, left_out: LeftOut) -> Residuals:
        """How far rows left out are off, for what they were promised."""
        promised = self._promised_to(left_out).std
        return Residuals.of(left_out.errors[:, 0], promised, left_out.weight)

    def calibration_on(self, targets: Array, left_out: LeftOut) -> Calibration:
        """What the 90 % intervals of rows left out cover."""
        lower, upper = self._promised_to(left_out).interval(LEVEL)
        covered = (lower <= left_out.errors[:, 0]) & (left_out.errors[:, 0] <= upper)
        return Calibration.of_intervals("leave-one-out", covered, left_out.weight)

    def _promised_to(self, left_out: LeftOut) -> TargetDistribution:
        """The distribution of the errors of rows left out."""
        noise: Any = self.noise_variance
        inflation = np.maximum(left_out.inflation, 1.0)
        latent = noise * (inflation - 1)[:, None]
        return self.predictive(np.zeros_like(latent), latent)


@dataclass(frozen=True, eq=False)
class SignedClasses:
    """Classes, of which rows have the indices as their targets."""

    labels: AnyArray  # (K,)
    noise_variance: float = 1.0
    link_variance: float = 1.0  # S
    needs_left_out: ClassVar[bool] = True
    has_bars: ClassVar[bool] = False

    def encoded(self, rows: TrainingRows, indices: Indices) -> TrainingSet:
        """Rows with ±1 for each class, or for the second of two."""
        codes = 2 * np.eye(len(self.labels))[indices] - 1
        targets = codes[:, 1:] if len(self.labels) == 2 else codes
        likelihood = gaussian_noise(targets, rows.weight, "estimate")
        return TrainingSet(rows, targets, likelihood)

    def with_noise(self, noise_variance: float, freedom: float) -> "SignedClasses":
        """With the variance that was found."""
        return replace(self, noise_variance=noise_variance)

    def calibrated_on(self, targets: Array, left_out: LeftOut) -> "SignedClasses":
        """With the link that rows left out ask for."""
        values, weight = self._both(targets - left_out.errors), left_out.weight
        classes = np.argmax(self._both(targets), axis=1)
        frequencies = np.bincount(classes, weight, len(self.labels)) / weight.sum()

        def gradient(log_variance: float) -> float:
            """Of the log loss by 2/S, in which it is convex."""
            p = softmax(2 * np.exp(-log_variance) * values, axis=1)
            expected = np.sum(p * values, axis=1)
            known = values[np.arange(len(values)), classes]
            doubted = np.average(expected - values @ frequencies, weights=weight)
            return float(weight @ (expected - known) + _DOUBTED * doubted)

        return replace(self, link_variance=float(np.exp(_root(gradient))))

    def calibration_on(self, targets: Array, left_out: LeftOut) -> Calibration:
        """The log loss of rows left out."""
        log_p = log_softmax(
            2 / self.link_variance * self._both(targets - left_out.errors), axis=1
        )
        classes = np.argmax(self._both(targets), axis=1)
        return Calibration.of_classes("leave-one-out", log_p, classes, left_out.weight)

    def predictive(self, mean: Array, variance: Array) -> ClassDistribution:
        """Of latent values (N, 1) or (N, K)."""
        odds = 2 / self.link_variance * self._both(mean)
        if mean.shape[1] == 1:
            return ClassDistribution(self.labels, odds[:, 1])
        return ClassDistribution(self.labels, log_softmax(odds, axis=1))

    def _both(self, values: Array) -> Array:
        """(N, K), with a zero for the first of two classes."""
        if values.shape[1] > 1:
            return values
        return np.hstack([np.zeros_like(values), values])


def _root(gradient: Callable[[float], float]) -> float:
    """Of log S, or the end of its range that is nearest to it."""
    narrow, wide = gradient(-_RANGE), gradient(_RANGE)
    if narrow <= 0 or wide >= 0:
        return -_RANGE if narrow <= 0 else _RANGE
    return float(brentq(gradient, -_RANGE, _RANGE, xtol=1e-14))

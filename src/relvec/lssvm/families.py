"""Targets of an LS-SVM: numbers as they are, and classes as ±1.

The Bayesian link of section 2.1: with targets t = f + ε the predictive density of a
code ±1 is N(±1 | f, S), S the variance of f and of the noise. By Bayes' rule the log
odds of two classes are 2f/S; of several, each against the rest, those of the codes
make a softmax of 2f/S. As targets ±1 are no Gaussian noise, a slope is left to the
data: that of least log loss of the rows left out. It changes no decision.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from relvec.likelihoods import gaussian_noise
from relvec.lssvm.evidence import LeftOut
from relvec.modelling import ClassDistribution, Regression, TrainingRows, TrainingSet
from relvec.typing import AnyArray, Array, Indices

# Of the slope's logarithm, about that of Gaussian noise: e⁷ is a thousand.
_RANGE = 7.0
# Rows that are taken as drawn from the frequencies of the classes: without any, the
# best slope of classes that rows left out tell apart would have no end. Platt's (1999)
# targets say the same of his.
_DOUBTED = 1.0


@dataclass(frozen=True)
class RealTargets(Regression):
    """y = f(x) + ε, ε Gaussian, as in relevance vector regression."""

    left_out: ClassVar[bool] = False  # whether predictions need them

    def calibrated_on(
        self, targets: Array, left_out: LeftOut, *, bars: bool
    ) -> "RealTargets":
        """The noise says it all."""
        return self


@dataclass(frozen=True, eq=False)
class SignedClasses:
    """Classes, of which rows have the indices as their targets."""

    labels: AnyArray  # (K,)
    noise_variance: float = 1.0
    slope: float = 1.0
    left_out: ClassVar[bool] = True

    def encoded(self, rows: TrainingRows, indices: Indices) -> TrainingSet:
        """Rows with ±1 for each class, or for the second of two."""
        codes = 2 * np.eye(len(self.labels))[indices] - 1
        targets = codes[:, 1:] if len(self.labels) == 2 else codes
        likelihood = gaussian_noise(targets, rows.weight, "estimate")
        return TrainingSet(rows, targets, likelihood)

    def with_noise(self, noise_variance: float, freedom: float) -> "SignedClasses":
        """With the variance that was found."""
        return replace(self, noise_variance=noise_variance)

    def calibrated_on(
        self, targets: Array, left_out: LeftOut, *, bars: bool
    ) -> "SignedClasses":
        """With the slope that rows left out ask for; ``bars``: by their variances."""
        inflation = left_out.inflation if bars else np.ones(len(targets))
        log_odds = self._log_odds(
            targets - left_out.errors, (inflation[:, None] - 1) * self.noise_variance
        )
        classes = (
            (targets[:, 0] > 0).astype(np.intp)
            if targets.shape[1] == 1
            else np.argmax(targets, axis=1)
        )
        weight = left_out.weight
        frequencies = np.bincount(classes, weight, len(self.labels)) / weight.sum()

        def loss(log_slope: float) -> float:
            log_p = log_softmax(np.exp(log_slope) * log_odds, axis=1)
            known = log_p[np.arange(len(log_p)), classes]
            doubted = _DOUBTED * np.average(log_p @ frequencies, weights=weight)
            return float(-(weight @ known) - doubted)

        found = minimize_scalar(loss, bounds=(-_RANGE, _RANGE), method="bounded")
        return replace(self, slope=float(np.exp(found.x)))

    def predictive(self, mean: Array, variance: Array) -> ClassDistribution:
        """Of latent values (N, 1) or (N, K) and their variances."""
        log_odds = self.slope * self._log_odds(mean, variance)
        if mean.shape[1] == 1:
            return ClassDistribution(self.labels, log_odds[:, 1] - log_odds[:, 0])
        return ClassDistribution(self.labels, log_softmax(log_odds, axis=1))

    def _log_odds(self, mean: Array, variance: Array) -> Array:
        """(N, K), but for a constant of each row."""
        found = 2 * mean / (variance + self.noise_variance)
        if mean.shape[1] > 1:
            return np.asarray(found)
        return np.hstack([np.zeros_like(found), found])

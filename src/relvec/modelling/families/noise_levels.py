"""Squared errors: variables of mean e^−η, by whose log precision noise may vary."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma

from relvec.likelihoods import Gaussian, LogPrecision
from relvec.modelling.families.base import OneTarget
from relvec.modelling.predictive import TargetDistribution
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.typing import AnyArray, Array

_LARGEST = 300.0  # |η| whose exponential still has a finite square
# Of log χ²: its mean, and its variance π²/2.
_LOG_MEAN, _LOG_VARIANCE = float(digamma(0.5) + np.log(2)), np.pi**2 / 2
_LEAST = 1e-6  # of the mean square, where logarithms are taken


@dataclass(frozen=True)
class NoiseLevels(OneTarget):
    """ε² with ε ~ N(0, e^−η)."""

    factor: float = 1.0  # of variances, that rows left out ask for

    def offset(self, mean: float, weight: float) -> float:
        return -float(np.log(mean)) if mean > 0 else 0.0

    def targets(self, y: AnyArray, offset: float) -> Array:
        return np.asarray(y * np.exp(offset))[:, None]

    def given(self, targets: Array, offset: Any) -> AnyArray:
        return np.asarray(targets * np.exp(-offset))[:, 0]

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        mean = float(np.average(y, weights=rows.weight))
        offset = self.offset(mean, rows.weight.sum())
        targets = self.targets(y, offset)
        likelihood = self.starting_likelihood(targets, rows.weight, offset)
        return TrainingSet(rows, targets, likelihood, offset)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> LogPrecision:
        return LogPrecision()

    def regressed(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        """Fisher's expansion, of information ½; to begin with, logarithms of squares.

        Newton's has most of its weight where a square is large by chance.
        """
        if latent is None:
            squares = np.maximum(data.targets, _LEAST)
            seen, variance = _LOG_MEAN - np.log(squares), _LOG_VARIANCE
        else:
            latent = np.clip(latent, -_LARGEST, _LARGEST)
            seen, variance = latent + 1 - data.targets * np.exp(latent), 2.0
        known = Gaussian.known(variance)
        return replace(data, targets=seen, likelihood=known)

    def expected(self, mean: Array, variance: Array) -> Array:
        return self.response(mean)

    def response(self, latent: Array) -> Array:
        return self.factor * np.exp(-np.clip(latent, -_LARGEST, _LARGEST))

    def predictive(self, mean: Array, variance: Array) -> TargetDistribution:
        """Of the errors themselves, which have a mean of zero."""
        levels = self.response(mean)[:, 0]
        nothing = np.zeros_like(levels)
        return TargetDistribution(nothing, nothing, levels)

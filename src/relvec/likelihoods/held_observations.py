"""Pseudo-observations that are held: all that is left of rows that were summed up."""

from dataclasses import dataclass

import numpy as np

from relvec.likelihoods.base import PseudoObservations
from relvec.likelihoods.classes import ClassLikelihood
from relvec.typing import Array


@dataclass(frozen=True)
class HeldObservations(ClassLikelihood):
    """The quadratic expansion of another likelihood, at one place and up to a constant.

    Its targets are y, each known to one output or to all.
    """

    belongs: Array  # (N, K) of zeros and ones, or (N, 1) where outputs share all rows

    @property
    def conjugate(self) -> bool:
        return True

    def pseudo_observations(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> PseudoObservations:
        weights = sample_weight[:, None] * self.belongs
        return PseudoObservations(y, weights, np.ones(self.belongs.shape[1]))

    def log_density(self, y: Array, eta: Array, sample_weight: Array) -> float:
        # With the constant that a Gaussian model has by its inner products, of all rows
        # and outputs, so that evidence is the same either way.
        constant = y.shape[1] * sample_weight.sum() * np.log(2 * np.pi)
        squares = np.sum(sample_weight @ (self.belongs * (y - eta) ** 2))
        return -0.5 * float(squares + constant)

    def lower_bound(self, y: Array, eta: Array, variance: Array) -> "HeldObservations":
        return self

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        squares = self.belongs * ((y - mean) ** 2 + variance)
        return -0.5 * np.asarray(squares.sum(axis=1))

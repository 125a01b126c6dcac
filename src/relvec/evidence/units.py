"""Between the user's units and those of the engine, where targets are of order one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.evidence.base import Model, Problem
from relvec.likelihoods import Likelihood, root_mean_square
from relvec.typing import Array


@dataclass(frozen=True)
class Units:
    """The scale of the targets, and what log densities have less in their unit."""

    scale: Any  # a number, or (K,) where outputs have units of their own
    shift: float

    @classmethod
    def of(cls, problem: Problem) -> "Units":
        """That of targets which have a unit is their root mean square."""
        y, weight, scale = problem.y, problem.sample_weight, 1.0
        if problem.likelihood.unit is not None:
            columns = np.split(y, y.shape[1], axis=1)
            each = np.array([root_mean_square(one, weight) or 1.0 for one in columns])
            return cls(each, float(weight.sum() * np.log(each).sum()))
        if not np.any(np.isnan(problem.likelihood.scale)):
            scale = root_mean_square(y, weight) or 1.0
        # A density of y is one of y/scale divided by scale, for every observation.
        count = weight.sum() * y.shape[1]
        return cls(scale, float(count * (np.log(scale) - problem.density_shift)))

    def inside(self, problem: Problem) -> Problem:
        """The problem as the engine solves it."""
        weights, own = problem.start_weights, problem.likelihood.unit
        unit = self.scale if own is None else own[:, None]
        return replace(
            problem,
            y=problem.y / self.scale,
            start_weights=None if weights is None else weights / unit,
            # Weights that are measured by the noise have no unit of their own.
            scale=self.scale if own is None else 1.0,
            likelihood=problem.likelihood.rescaled(1 / self.scale),
        )

    def of_weights(self, problem: Problem, model: Model) -> Array:
        """By which weights (K, n) are multiplied for columns and targets as given."""
        norms = problem.design.column_norms[np.sort(model.active)]
        unit = model.likelihood.unit
        if unit is None:
            return np.asarray(self.scale / norms)
        return np.asarray((self.scale * unit)[:, None] / norms)

    def noise_std(self, likelihood: Likelihood) -> float:
        """Of all outputs, their root mean square."""
        if likelihood.unit is None:
            return float(np.sqrt(np.mean(likelihood.scale**2)) * self.scale)
        return float(np.sqrt(np.mean((likelihood.scale * self.scale) ** 2)))

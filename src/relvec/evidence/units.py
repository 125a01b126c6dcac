"""Between the user's units and those of the engine, where targets are of order one."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.base import Problem
from relvec.likelihoods import root_mean_square
from relvec.posterior import Posterior


@dataclass(frozen=True)
class Units:
    """The scale of the targets, and what log densities have less in their unit."""

    scale: float
    shift: float

    @classmethod
    def of(cls, problem: Problem) -> "Units":
        """That of targets which have a unit is their root mean square."""
        scale = 1.0
        if not np.any(np.isnan(problem.likelihood.scale)):
            scale = root_mean_square(problem.y, problem.sample_weight) or 1.0
        # A density of y is one of y/scale divided by scale, for every observation.
        count = problem.sample_weight.sum() * problem.y.shape[1]
        return cls(scale, float(count * (np.log(scale) - problem.density_shift)))

    def inside(self, problem: Problem) -> Problem:
        """The problem as the engine solves it."""
        weights = problem.start_weights
        return replace(
            problem,
            y=problem.y / self.scale,
            start_weights=None if weights is None else weights / self.scale,
            scale=self.scale,
            likelihood=problem.likelihood.rescaled(1 / self.scale),
        )

    def outside(self, problem: Problem, posterior: Posterior) -> Posterior:
        """The posterior for columns and targets as they were given."""
        norms = problem.design.column_norms[posterior.active]
        return posterior.rescaled(self.scale / norms)

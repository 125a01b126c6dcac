"""From all functions downwards, with a prior for every weight of every class.

Solves   max over all α_mc of the log evidence, by Laplace's approximation with all that
         couples the classes: section 5.1.4 of Ben-Shimon's thesis
Given    a likelihood of several outputs
By       MacKay's α_mc = γ_mc/w_mc², γ_mc = 1 − α_mc Σ_mc,mc, with one Σ of all weights;
         a function leaves when α is beyond a threshold for all classes
Until    no log α changes by more than ``tol``
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.coupled import check_few
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.solver import Search, Solver
from relvec.evidence.updates import Gammas, MacKay
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionOfEach(Solver):
    """The iteration as it is."""

    @property
    def begins_with_all(self) -> str:
        return "a prior for every weight"

    def maximiser(self, problem: Problem, search: Search) -> FixedPoint:
        return FixedPoint(EachWeight(), tol=search.tol, deadline=search.deadline)

    def starting_precision(self, n_basis: int, known: Array | None) -> Array | None:
        return known  # that of every class


@dataclass(frozen=True)
class EachWeight(MacKay):
    """MacKay's update of every weight; none goes beyond the threshold."""

    coupled: ClassVar[bool] = True
    least_rise: ClassVar[float] = 1e-2  # many α move for ever, and gain nothing

    def starting(self, problem: Problem, active: Indices) -> Array:
        check_few(problem.y.shape[1] * len(active))
        common = super().starting(problem, active)
        return np.broadcast_to(common, (problem.y.shape[1], len(active)))

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        gamma = 1 - posterior.prior_precision * posterior.variances
        with np.errstate(divide="ignore", invalid="ignore"):
            updated = (gamma + 2 * priors.a) / (posterior.mean**2 + 2 * priors.b)
        return np.fmin(updated, self._threshold(posterior))

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return np.any(updated < self._threshold(posterior), axis=0)

    def _threshold(self, posterior: Posterior) -> Array:
        return self.prune * posterior.information

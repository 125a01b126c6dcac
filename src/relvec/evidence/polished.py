"""A fixed point found from above, then a second chance for what was pruned.

A function that has left a top-down iteration never comes back, and some that stayed
gain nothing. Whether a function out of the model is worth having is told by q² > s,
with C from the functions in it; the sequential search goes on from there.
"""

from dataclasses import dataclass, replace
from typing import Any

from relvec.evidence.base import Problem
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.pooled import Pooled
from relvec.evidence.sequential import Sequential
from relvec.evidence.state import state_at
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class PolishedState:
    """The state of whichever search is on."""

    inner: Any  # FixedPointState, then SequentialState
    polishing: bool = False

    @property
    def steps(self) -> int:
        return int(self.inner.steps)

    @property
    def likelihood(self) -> Likelihood:
        return self.inner.likelihood

    @property
    def log_evidence(self) -> float:
        return float(self.inner.log_evidence)

    @property
    def log_hyperprior(self) -> float:
        return float(self.inner.log_hyperprior)

    @property
    def active(self) -> Indices:
        return self.inner.active

    @property
    def prior_precision(self) -> Array:
        return self.inner.prior_precision

    @property
    def mean(self) -> Array:
        return self.inner.mean

    @property
    def effective_parameters(self) -> Array:
        return self.inner.effective_parameters

    @property
    def observations(self) -> PseudoObservations:
        return self.inner.observations

    @property
    def log_determinant(self) -> float:
        return float(self.inner.log_determinant)


@dataclass(frozen=True)
class Polished:
    """The fixed point first, the sequential search from there."""

    fixed_point: FixedPoint
    polish: Sequential | Pooled

    def init(self, problem: Problem) -> PolishedState:
        return PolishedState(self.fixed_point.init(problem))

    def converged(self, problem: Problem, state: PolishedState) -> bool:
        return state.polishing and self.polish.converged(problem, state.inner)

    def step(self, problem: Problem, state: PolishedState) -> PolishedState:
        if state.polishing:
            return replace(state, inner=self.polish.step(problem, state.inner))
        if not self.fixed_point.converged(problem, state.inner):
            return replace(state, inner=self.fixed_point.step(problem, state.inner))
        start = state_at(problem, state.inner.mode)
        start = replace(start, steps=state.steps)
        return PolishedState(start, polishing=True)

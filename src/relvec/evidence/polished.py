"""A fixed point found from above, then a second chance for what was pruned.

A function that has left a top-down iteration never comes back, and some that stayed
gain nothing. Whether a function out of the model is worth having is told by q² > s,
with C from the functions in it; the sequential search goes on from there. What it ends
at is a maximum near the fixed point, not always a high one: at the end it also begins
from nothing, which takes it little time, and the higher maximum stays.
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
    afresh: Any = None  # SequentialState of the search from nothing, while it goes on
    judged: bool = False  # it has ended

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
    """The fixed point first, the sequential search from there and from nothing."""

    fixed_point: FixedPoint
    polish: Sequential | Pooled

    def init(self, problem: Problem) -> PolishedState:
        return PolishedState(self.fixed_point.init(problem))

    def converged(self, problem: Problem, state: PolishedState) -> bool:
        return state.judged

    def step(self, problem: Problem, state: PolishedState) -> PolishedState:
        inner = state.inner
        if state.afresh is not None:
            return self._afresh(problem, state)
        if state.polishing and not self.polish.converged(problem, inner):
            return replace(state, inner=self.polish.step(problem, inner))
        if state.polishing:
            return replace(state, afresh=self.polish.init(replace(problem, start=None)))
        if not self.fixed_point.converged(problem, inner):
            return replace(state, inner=self.fixed_point.step(problem, inner))
        start = replace(state_at(problem, inner.mode), steps=state.steps)
        return PolishedState(start, polishing=True)

    def _afresh(self, problem: Problem, state: PolishedState) -> PolishedState:
        """Another step from nothing; the model found so far stays meanwhile."""
        if not self.polish.converged(problem, state.afresh):
            return replace(state, afresh=self.polish.step(problem, state.afresh))
        found = replace(state.afresh, steps=state.steps + 1)
        higher = found.log_evidence > state.log_evidence
        inner = found if higher else state.inner
        return PolishedState(inner, polishing=True, judged=True)

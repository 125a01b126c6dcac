"""A fixed point found from above, then a second chance for what was pruned.

A function that has left a top-down iteration never comes back, and some that stayed
gain nothing. Whether a function out of the model is worth having is told by q² > s,
with C from the functions in it; the sequential search goes on from there. What it ends
at is a maximum near the fixed point, not always a high one: at the end it also begins
from nothing, which takes it little time, and the higher maximum stays.
"""

from dataclasses import dataclass, replace
from typing import Any

from relvec.evidence.base import Model, Problem
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.search import BatchSearch


@dataclass(frozen=True)
class PolishedState:
    """The state of whichever search is on."""

    inner: Any  # FixedPointState, then that of the polishing search
    polishing: bool = False
    afresh: Any = None  # of the search from nothing, while it goes on
    judged: bool = False  # it has ended

    @property
    def steps(self) -> int:
        return int(self.inner.steps)

    @property
    def model(self) -> Model:
        return self.inner.model


@dataclass(frozen=True)
class Polished:
    """The fixed point first, the sequential search from there and from nothing."""

    fixed_point: FixedPoint
    polish: BatchSearch

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
            nothing = replace(problem, start=None, start_weights=None)
            return replace(state, afresh=self.polish.init(nothing))
        if not self.fixed_point.settled(inner):
            return replace(state, inner=self.fixed_point.step(problem, inner))
        start = self.polish.resumed(problem, inner.model, state.steps)
        return PolishedState(start, polishing=True)

    def _afresh(self, problem: Problem, state: PolishedState) -> PolishedState:
        """Another step from nothing; the model found so far stays meanwhile."""
        if not self.polish.converged(problem, state.afresh):
            return replace(state, afresh=self.polish.step(problem, state.afresh))
        found = state.afresh.model
        inner = state.inner
        if found.log_evidence > inner.model.log_evidence:
            inner = replace(state.afresh, steps=state.steps + 1)
        return PolishedState(inner, polishing=True, judged=True)

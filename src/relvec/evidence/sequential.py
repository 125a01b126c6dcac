"""The sequential algorithm of Tipping & Faul 2003, section 4.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       adding, re-estimating or deleting one basis function at a time, from an
         empty model, each step the exact maximum over one α
Until    no candidate gains more than ``tol`` nats, and neither any log α nor the log
         noise would move by ``tol``                                        (4.4)

Departures from the paper: the noise update of step 9 is a fixed point without a
guarantee, and so are the gains of a Laplace approximation; such a step is taken only
as far as the refitted evidence rises, so the evidence never falls.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.base import Problem, interpolates
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.selection import choose, proposals
from relvec.evidence.state import (
    SequentialState,
    is_fragile,
    mode_after,
    refreshed,
    state_at,
    updated,
)
from relvec.evidence.statistics import GramStatistics, added, deleted, reestimated
from relvec.likelihoods import refitted
from relvec.typing import Indices

# Precisions of a seed's prior to try, relative to its precision from the data, and how
# many functions may join it before it must have paid.
_SEED_PRIORS = (1e-3, 1e-6, 1e-9)
_SEED_COMPANY = 5


@dataclass(frozen=True)
class Sequential:
    """Settings of the sequential algorithm, one action per pass over the dictionary."""

    selection: str = "gain"  # "random", "cyclic"
    start: int | None = None  # a column; None: the largest normalised projection
    tol: float = 1e-4
    noise_interval: int = 10
    refresh_interval: int = 50
    seed: int = 0

    def init(self, problem: Problem) -> SequentialState:
        active, alpha = np.empty(0, dtype=np.intp), np.empty(0)
        if problem.start_precision is not None:
            active = np.flatnonzero(np.isfinite(problem.start_precision))
            alpha = problem.start_precision[active]
            if problem.least_precision is not None:
                alpha = np.maximum(alpha, problem.least_precision[active])
        start = np.zeros((problem.y.shape[1], len(active)))
        mode = posterior_at_mode(problem, problem.likelihood, active, alpha, start)
        return state_at(problem, mode)

    def converged(self, problem: Problem, state: SequentialState) -> bool:
        idle = self.worthwhile(state).size == 0
        searched = state.seeded or len(state.active) > 0
        done = state.settled and idle and searched and not state.stale
        return done or interpolates(problem, state)

    def step(self, problem: Problem, state: SequentialState) -> SequentialState:
        if state.settled and len(state.active) == 0:
            after = self._seeded_start(problem, state)
        elif state.gram is not None and state.exact:
            after = self._exact_step(problem, state, state.gram)
        else:
            after = self._confirmed_step(problem, state)
        idle = self.worthwhile(after).size == 0
        if idle or (state.steps + 1) % self.noise_interval == 0:
            after = self._refit_likelihood(problem, after)
        accepted = after.stats is not state.stats
        return replace(after, steps=state.steps + accepted)

    def worthwhile(self, state: SequentialState) -> Indices:
        """Functions whose best action is more than the tolerance, ascending."""
        options = state.proposals
        inside = np.isfinite(options.current)
        moves = np.where(inside, options.change >= self.tol, options.gain > self.tol)
        moves[list(state.rejected)] = False
        return np.flatnonzero(moves)

    def _pick(self, state: SequentialState) -> int | None:
        worthwhile = self.worthwhile(state)
        if worthwhile.size == 0:
            return None
        if state.steps == 0:
            if self.start in worthwhile:
                return self.start
            return choose(state.proposals, worthwhile, "gain", 0, 0)
        turn = state.cursor if self.selection == "cyclic" else state.steps
        return choose(state.proposals, worthwhile, self.selection, turn, self.seed)

    def _seeded_start(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Several functions at once, where none gains alone.

        Around centred targets, wide kernels are worth nothing but beside each other
        or the constant. A seed is held with a broad prior while others join it; the
        step counts if the evidence comes to exceed that of the empty model.
        """
        if self.worthwhile(state).size:
            return replace(state, settled=False)
        S, Q = state.stats.sparsity_in, state.stats.quality_in
        seed = self.start if self.start is not None else problem.bias
        if seed is None:
            usable = np.all(state.stats.least_sparsity < S, axis=0)
            seed = int(np.argmax(np.sum(Q**2 / np.where(usable, S, np.inf), axis=0)))
        for broad in _SEED_PRIORS:
            precision = float(broad * np.mean(S[:, seed]))
            found = _with_company(problem, state, seed, precision)
            if found is not None:
                return replace(found, steps=state.steps, seeded=True)
        return replace(state, seeded=True)

    def _exact_step(
        self, problem: Problem, state: SequentialState, gram: GramStatistics
    ) -> SequentialState:
        """Steps 4-8 and the update formulae: the gain is the evidence's own."""
        index = self._pick(state)
        if index is None:
            return replace(state, rejected=(), stale=False) if state.stale else state
        precision = float(state.proposals.precision[index])
        position = np.flatnonzero(state.active == index)
        if position.size == 0:
            weights = problem.sample_weight[:, None]
            row = problem.design.cross_gram(np.array([index]), weights)
            gram = added(gram, index, precision, row)
        elif np.isfinite(precision):
            gram = reestimated(gram, int(position[0]), precision)
        else:
            gram = deleted(gram, int(position[0]))
        after = updated(state, gram, float(state.proposals.gain[index]))
        after = replace(after, cursor=index + 1)
        if after.updates < self.refresh_interval and not is_fragile(after):
            options = proposals(gram, problem.least_precision)
            return replace(after, proposals=options)
        after = refreshed(problem, after, after.likelihood)
        if after.log_evidence >= state.log_evidence:
            return after
        return self._confirmed_step(problem, state)

    def _confirmed_step(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Steps 4-8 with the model refitted and its evidence asked.

        A function whose action was rejected waits until no other action is left.
        """
        while True:
            index = self._pick(state)
            if index is None and not state.stale:
                return state
            if index is None:
                state = replace(state, rejected=(), stale=False)
                continue
            for target in _damped_targets(state, index):
                mode = mode_after(problem, state, index, target)
                if mode.log_evidence > state.log_evidence:
                    return replace(
                        state_at(problem, mode),
                        cursor=index + 1,
                        rejected=state.rejected,
                        stale=bool(state.rejected),
                    )
            state = replace(state, rejected=(*state.rejected, index))

    def _refit_likelihood(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Step 9, as far along as the evidence rises."""
        eta = problem.design.matvec(state.mean, state.active)
        goal = refitted(
            state.likelihood,
            problem.y,
            eta,
            problem.sample_weight,
            more=(-state.effective_parameters, 0.0),
        )
        origin = state.likelihood.log_parameters
        distance = goal.log_parameters - origin
        settled = bool(np.max(np.abs(distance), initial=0.0) < self.tol)
        if settled:
            return replace(state, settled=True)
        for fraction in (1.0, 0.5, 0.25, 0.125, 0.0625):
            trial = state.likelihood.with_parameters(origin + fraction * distance)
            after = refreshed(problem, state, trial)
            if after.log_evidence >= state.log_evidence:
                return after
        return replace(state, settled=True)


def _with_company(
    problem: Problem, empty: SequentialState, seed: int, precision: float
) -> SequentialState | None:
    """The seed and what joins it, once together they exceed the empty model."""
    state, index = empty, seed
    for _ in range(1 + _SEED_COMPANY):
        if not (np.isfinite(precision) and precision > 0):
            return None
        state = state_at(problem, mode_after(problem, state, index, precision))
        if state.log_evidence > empty.log_evidence:
            return state
        outside = np.isinf(state.proposals.current)
        index = int(np.argmax(np.where(outside, state.proposals.gain, -np.inf)))
        precision = float(state.proposals.precision[index])
    return None


def _damped_targets(state: SequentialState, index: int) -> list[float]:
    """α to try in turn: the proposed one, then ever more cautious ones."""
    precision = float(state.proposals.precision[index])
    current = float(state.proposals.current[index])
    if not np.isfinite(precision):
        return [precision]
    if not np.isfinite(current):
        return [precision, 4 * precision, 16 * precision]
    return [current * (precision / current) ** f for f in (1.0, 0.5, 0.25, 0.125)]

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

from relvec.blockwise import check_time
from relvec.evidence.base import Problem, interpolates, started
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.moments import spent
from relvec.evidence.search_model import SearchModel, mode_after, model_at, refreshed
from relvec.evidence.selection import choose, proposals
from relvec.evidence.statistics import GramStatistics, added, deleted, reestimated
from relvec.likelihoods import refitted
from relvec.precision import MOST_DOUBT, lost
from relvec.typing import Indices

# Precisions of a seed's prior to try, relative to its precision from the data: weights
# of wide functions are large. And how many may join it before it must have paid.
_SEED_PRIORS = (1e-3, 1e-6, 1e-9)
_SEED_COMPANY = 5
# Shares of a step that are tried in turn; a sixteenth gains an eighth of it at most.
_BACKTRACKING = (1.0, 0.5, 0.25, 0.125, 0.0625)


@dataclass(frozen=True)
class SequentialState:
    """A model and what single steps keep beside it."""

    model: SearchModel
    steps: int = 0  # accepted so far
    cursor: int = 0  # where the cyclic selection goes on
    settled: bool = False  # the likelihood's own parameters have converged
    updates: int = 0  # steps since the statistics were last recomputed
    doubt: float = 0.0  # nats by which the gains since then may be wrong
    rejected: tuple[int, ...] = ()  # functions whose refitted evidence fell
    stale: bool = False  # some of them were rejected by an earlier model
    seeded: bool = False  # a start from several functions at once has been tried

    @property
    def is_fragile(self) -> bool:
        """Whether gains since the last recomputation are no longer to be trusted."""
        lost_sign = np.any(self.model.stats.variances <= 0)
        most = MOST_DOUBT * max(1.0, abs(self.model.log_evidence))
        return bool(lost_sign or self.doubt > most)


@dataclass(frozen=True)
class Sequential:
    """Settings of the sequential algorithm, one action per pass over the dictionary."""

    selection: str = "gain"  # "random", "cyclic"
    start: int | None = None  # a column; None: the largest normalised projection
    tol: float = 1e-4
    noise_interval: int = 10
    refresh_interval: int = 50
    seed: int = 0

    def init(self, problem: Problem, *, rough: bool = False) -> SequentialState:
        """A ``rough`` one is for searches that do not go by small differences."""
        active, alpha = started(problem)
        start = np.zeros((problem.y.shape[1], len(active)))
        if problem.start_weights is not None:
            norms = problem.design.column_norms[active]
            start = problem.start_weights[:, active] * norms
        at = active, alpha, start
        mode = posterior_at_mode(problem, problem.likelihood, *at, rough=rough)
        return SequentialState(model_at(problem, mode))

    def resumed(self, model: SearchModel, steps: int) -> SequentialState:
        """The state of a search that goes on from a model."""
        return SequentialState(model, steps)

    def converged(self, problem: Problem, state: SequentialState) -> bool:
        idle = self.worthwhile(state).size == 0
        searched = state.seeded or len(state.model.active) > 0
        done = state.settled and idle and searched and not state.stale
        return done or interpolates(problem, state.model)

    def step(self, problem: Problem, state: SequentialState) -> SequentialState:
        if state.settled and len(state.model.active) == 0:
            after = self._seeded_start(problem, state)
        elif state.model.gram is not None and state.model.exact:
            after = self._exact_step(problem, state, state.model.gram)
        else:
            after = self._confirmed_step(problem, state)
        idle = self.worthwhile(after).size == 0
        if idle or (state.steps + 1) % self.noise_interval == 0:
            after = self._refit_likelihood(problem, after)
        accepted = after.model is not state.model
        return replace(after, steps=state.steps + accepted)

    def worthwhile(self, state: SequentialState) -> Indices:
        """Functions whose best action is more than the tolerance, ascending."""
        options = state.model.proposals
        inside = np.isfinite(options.current)
        moves = np.where(inside, options.change >= self.tol, options.gain > self.tol)
        moves[list(state.rejected)] = False
        return np.flatnonzero(moves)

    def _pick(self, state: SequentialState) -> int | None:
        worthwhile, options = self.worthwhile(state), state.model.proposals
        if worthwhile.size == 0:
            return None
        if state.steps == 0:
            if self.start in worthwhile:
                return self.start
            return choose(options, worthwhile, "gain", 0, 0)
        turn = state.cursor if self.selection == "cyclic" else state.steps
        return choose(options, worthwhile, self.selection, turn, self.seed)

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
        stats = state.model.stats
        S, Q = stats.sparsity_in, stats.quality_in
        seed = self.start if self.start is not None else problem.bias
        if seed is None:
            usable = np.all(stats.least_sparsity < S, axis=0)
            seed = int(np.argmax(np.sum(Q**2 / np.where(usable, S, np.inf), axis=0)))
        for broad in _SEED_PRIORS:
            broadest = np.array([broad * np.mean(S[:, seed])])
            precision = float(problem.allowed(np.array([seed]), broadest)[0])
            found = _with_company(problem, state.model, seed, precision)
            if found is not None:
                return SequentialState(found, seeded=True)
        return replace(state, seeded=True)

    def _exact_step(
        self, problem: Problem, state: SequentialState, gram: GramStatistics
    ) -> SequentialState:
        """Steps 4-8 and the update formulae: the gain is the evidence's own."""
        model, index = state.model, self._pick(state)
        if index is None:
            return replace(state, rejected=(), stale=False) if state.stale else state
        gram = _after_action(problem, model, gram, index)
        gain = float(model.proposals.gain[index])
        evidence = model.log_evidence + gain
        moved = replace(
            model, stats=gram, gram=gram, log_evidence=evidence, solution=None
        )
        after = replace(
            state,
            model=moved,
            cursor=index + 1,
            settled=False,
            updates=state.updates + 1,
            doubt=state.doubt + abs(gain) * lost(gram.condition),
        )
        if after.updates < self.refresh_interval and not after.is_fragile:
            options = proposals(gram, problem.least_precision)
            return replace(after, model=replace(moved, proposals=options))
        fresh = refreshed(problem, moved, moved.likelihood)
        if fresh.log_evidence >= model.log_evidence:
            return SequentialState(fresh, cursor=index + 1, seeded=state.seeded)
        return self._confirmed_step(problem, state)

    def _confirmed_step(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Steps 4-8 with the model refitted and its evidence asked.

        A function whose action was rejected waits until no other action is left.
        """
        while True:
            check_time()
            index = self._pick(state)
            if index is None and not state.stale:
                return state
            if index is None:
                state = replace(state, rejected=(), stale=False)
                continue
            for target in _damped_targets(state.model, index):
                mode = mode_after(problem, state.model, index, target)
                if mode.log_evidence > state.model.log_evidence:
                    return SequentialState(
                        model_at(problem, mode),
                        cursor=index + 1,
                        rejected=state.rejected,
                        stale=bool(state.rejected),
                    )
            state = replace(state, rejected=(*state.rejected, index))

    def _refit_likelihood(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Step 9, as far along as the evidence rises."""
        model, likelihood = state.model, state.model.likelihood
        eta = problem.design.matvec(model.mean, model.active)
        data = problem.y, eta, problem.sample_weight
        weights = spent(likelihood, model.effective_parameters)
        goal = refitted(likelihood, *data, more=(-weights, 0.0))
        origin = likelihood.log_parameters
        distance = goal.log_parameters - origin
        if np.max(np.abs(distance), initial=0.0) < self.tol:
            return replace(state, settled=True)
        for fraction in _BACKTRACKING:
            trial = likelihood.with_parameters(origin + fraction * distance)
            after = refreshed(problem, model, trial)
            if after.log_evidence >= model.log_evidence:
                return SequentialState(after, cursor=state.cursor, seeded=state.seeded)
        return replace(state, settled=True)


def _after_action(
    problem: Problem, model: SearchModel, gram: GramStatistics, index: int
) -> GramStatistics:
    """The statistics after the best action of one function."""
    precision = float(model.proposals.precision[index])
    position = np.flatnonzero(model.active == index)
    if position.size == 0:
        weights = problem.sample_weight[:, None]
        row = problem.design.cross_gram(np.array([index]), weights)
        return added(gram, index, precision, row)
    if np.isfinite(precision):
        return reestimated(gram, int(position[0]), precision)
    return deleted(gram, int(position[0]))


def _with_company(
    problem: Problem, empty: SearchModel, seed: int, precision: float
) -> SearchModel | None:
    """The seed and what joins it, once together they exceed the empty model."""
    model, index = empty, seed
    for _ in range(1 + _SEED_COMPANY):
        if not (np.isfinite(precision) and precision > 0):
            return None
        model = model_at(problem, mode_after(problem, model, index, precision))
        if model.log_evidence > empty.log_evidence:
            return model
        outside = np.isinf(model.proposals.current)
        index = int(np.argmax(np.where(outside, model.proposals.gain, -np.inf)))
        precision = float(model.proposals.precision[index])
    return None


def _damped_targets(model: SearchModel, index: int) -> list[float]:
    """α to try in turn: the proposed one, then ever more cautious ones."""
    precision = float(model.proposals.precision[index])
    current = float(model.proposals.current[index])
    if not np.isfinite(precision):
        return [precision]
    if not np.isfinite(current):
        return [precision, 4 * precision, 16 * precision]
    return [current * (precision / current) ** f for f in _BACKTRACKING[:-1]]

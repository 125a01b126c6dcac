"""The sequential algorithm on pools of functions, Tipping & Faul 2003, section 6.2.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       rounds: one pass over the dictionary finds what every function would gain;
         the best that are no copies of each other join the model in a pool, where
         the algorithm runs on small arrays (``pool``), followed by Newton's method
         on all α and the noise (``newton``)
Until    a pass finds no candidate that gains more than ``tol`` nats, and Newton's
         step is below ``tol``

Loose tolerances in early rounds, the asked one at the end. Before that a second look in
which the data say more (``second_look``). A likelihood that is not
Gaussian is searched in its quadratic expansion, and a round counts only if the refitted
evidence confirms it.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from relvec.evidence.base import Problem, interpolates
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.rounds import Candidates, Outcome, Rounds, play
from relvec.evidence.second_look import (
    colder_for_long,
    excessive,
    is_better,
    is_time_to_look,
    look_begun,
    look_in_vain,
    look_settled,
    look_taken,
    look_tol,
    search_tol,
)
from relvec.evidence.sequential import Sequential
from relvec.evidence.state import (
    FoundModel,
    Look,
    SequentialState,
    state_at,
    state_with,
)
from relvec.posterior import Posterior
from relvec.precision import LEAST_RESIDUAL, MOST_DOUBT, SEARCH_LIMIT, lost
from relvec.typing import Array

_MOST_ACTIONS = 10_000
_FEWER_ACTIONS = (8, 1)  # where the evidence did not confirm a whole round
_LEAST_GAIN = 0.01  # of a round, as a share of the tolerance
_LEAST_STEP = 1e-4  # the same of a single step, after which the next may gain more
# What a last round must promise where its evidence has to be asked for: a multiple of
# the tolerance, at most so many nats.
_LEAST_PROMISE = (10, 1e-3)


@dataclass(frozen=True)
class Pooled:
    """Settings of the search; ``single`` steps where a pool cannot be trusted."""

    single: Sequential = field(default_factory=Sequential)
    rounds: Rounds = field(default_factory=Rounds)
    price: float = 0.0  # nats that a function has to be worth in the end

    def init(self, problem: Problem) -> SequentialState:
        return self.single.init(problem)

    def converged(self, problem: Problem, state: SequentialState) -> bool:
        # Where every row explains itself the evidence rises as the noise goes to zero,
        # ever more slowly.
        return state.exhausted or interpolates(problem, state)

    def step(self, problem: Problem, state: SequentialState) -> SequentialState:
        after = self._advanced(problem, state)
        return replace(after, steps=state.steps + (after.stats is not state.stats))

    def _advanced(self, problem: Problem, state: SequentialState) -> SequentialState:
        if state.gram is None or self._starts_alone(state):
            return self._single_step(problem, state)
        ceiling = state.likelihood.parameter_ceiling
        tol = search_tol(state, self.single.tol)
        if state.look is not None:
            return self._look_on(problem, state, state.look, tol)
        late = is_time_to_look(state)
        after = None if late else self._round(problem, state, ceiling, tol)
        if after is not None:
            return after
        # What a look adds to a model, a price would take out again.
        if not (state.looked_again or self.price):
            return look_begun(problem, state)
        # What an approximate dictionary still promises now is its error.
        exact = state.likelihood.conjugate and not problem.design.approximate
        # Where Gram matrices are out of digits no round has polished the noise.
        if exact and (not state.settled or self.single.worthwhile(state).size):
            return self._single_step(problem, state)
        thin = self.price > 0 and not state.thinning
        return replace(
            state,
            thinning=state.thinning or thin,
            settled=state.settled and not thin,
            exhausted=not thin,
        )

    def _starts_alone(self, state: SequentialState) -> bool:
        if len(state.active):
            return False
        return self.single.start is not None or not self.single.worthwhile(state).size

    def _single_step(self, problem: Problem, state: SequentialState) -> SequentialState:
        after = self.single.step(problem, state)
        # Steps that gain next to nothing may go on for thousands.
        gain = after.log_evidence - state.log_evidence
        idle = gain <= _LEAST_STEP * self.single.tol and len(state.active) > 0
        done = idle or self.single.converged(problem, after)
        return replace(
            after,
            looks=state.looks,
            looked_again=state.looked_again,
            exhausted=done,
        )

    def _round(
        self,
        problem: Problem,
        state: SequentialState,
        ceiling: Array | None,
        tol: float,
    ) -> SequentialState | None:
        """The state after a round; None if nothing is left that raises the evidence."""
        price = self.price if state.thinning else 0.0
        if state.gram is None or (state.settled and not self._gains(state, tol, price)):
            return None
        candidates = self.rounds.candidates(problem, state, state.gram, tol + price)
        setting = _Setting(ceiling, tol, price)
        after = _played(problem, state, candidates, setting)
        if after is None:
            return None
        columns = candidates.columns
        last = columns[-1] + 1 if len(columns) else state.cursor
        return replace(
            after,
            steps=state.steps,
            cursor=int(last),
            looks=state.looks,
            looked_again=state.looked_again,
            thinning=state.thinning,
        )

    def _gains(self, state: SequentialState, tol: float, price: float) -> bool:
        """Whether some function's best action is more than the tolerance."""
        worthwhile = replace(self.single, tol=tol).worthwhile(state)
        inside = np.isfinite(state.proposals.current[worthwhile])
        gain = state.proposals.gain[worthwhile]
        return bool(np.any(inside | (gain > tol + price)))

    def _look_on(
        self, problem: Problem, state: SequentialState, look: Look, tol: float
    ) -> SequentialState:
        """Another round of the second look; the model found so far stays meanwhile."""
        if colder_for_long(state, look):
            return look_settled(problem, state, look)
        ceiling = state.likelihood.parameter_ceiling if look.released else None
        after = self._round(look.problem, look.state, ceiling, look_tol(look, tol))
        if after is None:
            return look_settled(problem, state, look)
        if excessive(problem, state, after):
            return look_in_vain(problem, state)
        if look.released and is_better(state, after):
            return look_taken(state, after)
        return replace(state, look=replace(look, state=after, rounds=look.rounds + 1))


@dataclass(frozen=True)
class _Setting:
    """What a round is played at."""

    ceiling: Array | None  # of a noise that is free
    tol: float
    price: float


def _played(
    problem: Problem,
    state: SequentialState,
    candidates: Candidates,
    setting: _Setting,
) -> SequentialState | None:
    """A round that counts, of ever fewer actions; None if there is none."""
    conjugate = state.likelihood.conjugate
    refused = None
    for most in (_MOST_ACTIONS, *_FEWER_ACTIONS):
        outcome = play(problem, state, candidates, most=most, **vars(setting))
        if not conjugate and _is_idle(state, outcome, setting):
            return None
        if outcome.is_like(refused):
            continue
        after = _confirmed(problem, state, outcome, setting)
        if after is not None:
            done = outcome.final and outcome.ascent.converged
            # What a function is worth beside its price, only another round tells.
            return replace(after, settled=done and not setting.price)
        # Where Gram matrices tell all, nothing was to be gained; and with little in
        # sight another refit is not worth it.
        if outcome.gain > -setting.tol if conjugate else outcome.final:
            return None
        refused = outcome
    return None


def _confirmed(
    problem: Problem, state: SequentialState, outcome: Outcome, setting: _Setting
) -> SequentialState | None:
    """The outcome's model, if its evidence is higher by a share of the tolerance.

    Less the price of its functions. In Gram form where that is exact and sound, from
    the rows elsewhere. Polished by Newton's method, a model need not be higher.
    """
    polished = outcome.final and outcome.ascent.converged and not state.settled
    least = _LEAST_GAIN * setting.tol
    if polished and state.likelihood.conjugate:
        least = -MOST_DOUBT * max(1.0, abs(state.log_evidence))
    ascent, solution = outcome.ascent, outcome.solution
    if solution.condition >= max(SEARCH_LIMIT, problem.design.gram_limit):
        return None  # found with digits that Gram matrices do not have
    likelihood = state.likelihood.with_parameters(np.log(ascent.noise_precision))
    evidence = state.log_evidence + outcome.gain
    in_gram_form = likelihood.conjugate
    if not (likelihood.conjugate and _is_sound(problem, outcome, state.log_evidence)):
        mode = posterior_at_mode(
            problem,
            likelihood,
            outcome.active,
            ascent.prior_precision,
            solution.mean,
            rough=not outcome.final,
        )
        evidence = mode.log_evidence
        in_gram_form &= problem.design.approximate
    more = len(outcome.active) - len(state.active)
    # An evidence that is not a number is not higher.
    if not evidence - setting.price * more > state.log_evidence + least:
        return None
    if not in_gram_form:
        return state_at(problem, mode, state)
    # A posterior of exact columns would not match inner products of approximate ones.
    posterior = Posterior(
        outcome.active, ascent.prior_precision, solution.mean, solution.factor
    )
    model = FoundModel(likelihood, posterior, evidence)
    seen = replace(state.observations, noise_precision=ascent.noise_precision)
    return state_with(problem, model, seen, state.gram, solution)


def _is_idle(state: SequentialState, outcome: Outcome, setting: _Setting) -> bool:
    """Whether a round at the tolerance asked for promises too little for a refit."""
    more = len(outcome.active) - len(state.active)
    multiple, most = _LEAST_PROMISE
    least = min(multiple * setting.tol, most)
    return outcome.final and outcome.gain - setting.price * more < least


def _is_sound(problem: Problem, outcome: Outcome, log_evidence: float) -> bool:
    """Whether Gram matrices can be trusted with the evidence of this model."""
    solution = outcome.solution
    squares = outcome.ascent.moments.target_squares
    accurate = lost(solution.condition) <= MOST_DOUBT * max(1.0, abs(log_evidence))
    fitted = solution.residual > LEAST_RESIDUAL * squares
    return bool(
        accurate and solution.condition < problem.design.gram_limit and np.all(fitted)
    )

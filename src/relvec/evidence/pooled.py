"""The sequential algorithm on pools of functions, Tipping & Faul 2003, section 6.2.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       rounds: one pass over the dictionary finds what every function would gain;
         the best that are no copies of each other join the model in a pool, where
         the algorithm runs on small arrays (``pool``), followed by Newton's method
         on all α and the noise (``newton``)
Until    a pass finds no candidate that gains more than ``tol`` nats, and Newton's
         step is below ``tol``

Loose tolerances in early rounds, the asked one at the end. A likelihood that is not
Gaussian is searched in its quadratic expansion, and a round counts only if the refitted
evidence confirms it.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from relvec.evidence.base import Problem, interpolates
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.rounds import Entrants, Outcome, Rounds, play
from relvec.evidence.search_model import (
    Fitted,
    SearchModel,
    model_at,
    model_in_gram_form,
)
from relvec.evidence.sequential import Sequential, SequentialState
from relvec.posterior import Posterior
from relvec.precision import LEAST_RESIDUAL, MOST_DOUBT, SEARCH_LIMIT, lost

# Of a step, as a share of the tolerance: a hundred of them come to no more than that.
_LEAST_GAIN = 0.01
# What a last round must promise where its evidence has to be asked for: a multiple of
# the tolerance, at most so many nats. Asked for less, two classes take a quarter longer
# for 0.004 nats.
_LEAST_PROMISE = (10, 1e-3)


@dataclass(frozen=True)
class PooledState:
    """A model, with what single steps keep, and what of the search is over."""

    search: SequentialState
    eliminating: bool = False  # functions are asked their price
    exhausted: bool = False  # no round is left that raises the evidence

    @property
    def model(self) -> SearchModel:
        return self.search.model

    @property
    def steps(self) -> int:
        return self.search.steps

    def reopened(self, model: SearchModel, steps: int) -> "PooledState":
        """The same search of a model for which nothing is settled or over."""
        return PooledState(SequentialState(model, steps, self.search.cursor))


@dataclass(frozen=True)
class Pooled:
    """Settings of the search; ``single`` steps where a pool cannot be trusted."""

    single: Sequential = field(default_factory=Sequential)
    rounds: Rounds = field(default_factory=Rounds)
    price: float = 0.0  # nats that a function has to be worth in the end

    @property
    def tol(self) -> float:
        """Nats, and changes of log α and log β, that are not worth another round."""
        return self.single.tol

    def with_tol(self, tol: float) -> "Pooled":
        """The same search to another tolerance."""
        return replace(self, single=replace(self.single, tol=tol))

    def init(self, problem: Problem) -> PooledState:
        return PooledState(self.single.init(problem))

    def resumed(self, model: SearchModel, steps: int) -> PooledState:
        """The state of a search that goes on from a model."""
        return PooledState(self.single.resumed(model, steps))

    def converged(self, problem: Problem, state: PooledState) -> bool:
        # Where every row explains itself the evidence rises as the noise goes to zero,
        # ever more slowly.
        return state.exhausted or interpolates(problem, state.model)

    def step(self, problem: Problem, state: PooledState) -> PooledState:
        model, search = state.model, state.search
        if model.gram is None or (not state.eliminating and self._starts_alone(search)):
            return self._single_step(problem, state)
        after = self._round(problem, state)
        if after is not None:
            return replace(state, search=after)
        # What an approximate dictionary still promises now is its error.
        exact = model.likelihood.conjugate and not problem.design.approximate
        # Where Gram matrices are out of digits no round has polished the noise.
        left = not search.settled or self.single.worthwhile(search).size
        if exact and left and not state.eliminating:
            return self._single_step(problem, state)
        return self._ended(state)

    def _starts_alone(self, search: SequentialState) -> bool:
        if len(search.model.active):
            return False
        return self.single.start is not None or not self.single.worthwhile(search).size

    def _single_step(self, problem: Problem, state: PooledState) -> PooledState:
        after = self.single.step(problem, state.search)
        # Steps that gain next to nothing may go on for thousands.
        gain = after.model.log_evidence - state.model.log_evidence
        idle = gain <= _LEAST_GAIN * self.tol and len(state.model.active) > 0
        done = idle or self.single.converged(problem, after)
        state = replace(state, search=after)
        return self._ended(state) if done else state

    def _ended(self, state: PooledState) -> PooledState:
        """Nothing gains any more: functions are asked their price, or it is over."""
        over = not self.price or state.eliminating or state.model.gram is None
        asked = state.eliminating or not over
        return replace(state, eliminating=asked, exhausted=over)

    def _round(self, problem: Problem, state: PooledState) -> SequentialState | None:
        """The state after a round; None if nothing is left that raises the evidence."""
        search, gram = state.search, state.model.gram
        price = self.price if state.eliminating else 0.0
        polished = search.settled and not price
        if gram is None or (polished and not self.single.worthwhile(search).size):
            return None
        entrants = self.rounds.entrants(problem, search, gram, self.tol + price)
        found = _played(problem, search, entrants, self.tol, price)
        if found is None:
            return None
        model, settled = found
        columns = entrants.columns
        last = columns[-1] + 1 if len(columns) else search.cursor
        return SequentialState(model, search.steps + 1, int(last), settled)


def _played(
    problem: Problem,
    state: SequentialState,
    entrants: Entrants,
    tol: float,
    price: float,
) -> tuple[SearchModel, bool] | None:
    """A round that counts, perhaps of one action, and whether Newton's method ended.

    None if there is no such round.
    """
    conjugate = state.model.likelihood.conjugate
    for most in (np.inf, 1):
        limits = {"tol": tol, "most": most, "price": price}
        outcome = play(problem, state.model, entrants, **limits)
        cost = price * (len(outcome.active) - len(state.model.active))
        if not conjugate and _is_idle(outcome, tol, cost):
            return None
        done = outcome.final and outcome.ascent.converged
        least = _LEAST_GAIN * tol + cost
        if done and conjugate and not state.settled:
            # Polished by Newton's method, a model need not be higher.
            least = cost - MOST_DOUBT * max(1.0, abs(state.model.log_evidence))
        model = _confirmed(problem, state.model, outcome, least)
        if model is not None:
            return model, done
        # Where Gram matrices tell all, nothing was to be gained; and with little in
        # sight another refit is not worth it.
        if outcome.gain > -tol if conjugate else outcome.final:
            return None
    return None


def _confirmed(
    problem: Problem, before: SearchModel, outcome: Outcome, least: float
) -> SearchModel | None:
    """The outcome's model, if its evidence is higher by more than the ``least`` gain.

    In Gram form where that is exact and sound, from the rows elsewhere.
    """
    ascent, solution = outcome.ascent, outcome.solution
    if solution.condition >= max(SEARCH_LIMIT, problem.design.gram_limit):
        return None  # found with digits that Gram matrices do not have
    likelihood = before.likelihood.with_parameters(np.log(ascent.noise_precision))
    evidence = before.log_evidence + outcome.gain
    in_gram_form = likelihood.conjugate
    if not (likelihood.conjugate and _is_sound(problem, outcome, before.log_evidence)):
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
    # An evidence that is not a number is not higher.
    if not evidence > before.log_evidence + least:
        return None
    if not in_gram_form:
        return model_at(problem, mode, before)
    # A posterior of exact columns would not match inner products of approximate ones.
    posterior = Posterior(
        outcome.active, ascent.prior_precision, solution.mean, solution.factor
    )
    fitted = Fitted(likelihood, posterior, evidence)
    seen = replace(before.observations, noise_precision=ascent.noise_precision)
    return model_in_gram_form(problem, fitted, seen, before.gram, solution)


def _is_idle(outcome: Outcome, tol: float, cost: float) -> bool:
    """Whether a round at the tolerance asked for promises too little for a refit."""
    multiple, most = _LEAST_PROMISE
    return outcome.final and outcome.gain - cost < min(multiple * tol, most)


def _is_sound(problem: Problem, outcome: Outcome, log_evidence: float) -> bool:
    """Whether Gram matrices can be trusted with the evidence of this model."""
    solution = outcome.solution
    squares = outcome.ascent.moments.target_squares
    accurate = lost(solution.condition) <= MOST_DOUBT * max(1.0, abs(log_evidence))
    fitted = solution.residual > LEAST_RESIDUAL * squares
    return bool(
        accurate and solution.condition < problem.design.gram_limit and np.all(fitted)
    )

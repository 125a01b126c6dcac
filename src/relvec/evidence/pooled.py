"""The sequential algorithm on pools of functions, Tipping & Faul 2003, section 6.2.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       rounds: one pass over the dictionary finds what every function would gain;
         the best that are no copies of each other join the model in a pool, where
         the algorithm runs on small arrays (``pool``), followed by Newton's method
         on all α and the noise (``newton``)
Until    a pass finds no candidate that gains more than ``tol`` nats, and Newton's
         step is below ``tol``; or a few rounds in succession gain less than ``tol``
         nats for each observation

Loose tolerances in early rounds, the asked one at the end. A likelihood that is not
Gaussian is searched in its quadratic expansion, and a round counts only if the refitted
evidence confirms it.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from relvec.evidence.base import Problem, interpolates
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.noise_units import log_noise, observed_with
from relvec.evidence.rounds import NO_ENTRANTS, Goal, Outcome, Rounds, play
from relvec.evidence.search_model import (
    Fitted,
    SearchModel,
    model_at,
    model_in_gram_form,
)
from relvec.evidence.sequential import Sequential, SequentialState
from relvec.posterior import Posterior
from relvec.precision import DIFFERENCE_LIMIT, LEAST_RESIDUAL, MOST_DOUBT, lost
from relvec.typing import Array, Indices

# Of a step, as a share of the tolerance: a hundred of them come to no more than that.
_LEAST_GAIN = 0.01
# What a last round must promise where its evidence has to be asked for: a multiple of
# the tolerance, at most so many nats. Asked for less, two classes take a quarter longer
# for 0.004 nats.
_LEAST_PROMISE = (10, 1e-3)
# Nats by which an evidence at a rough mode, whose decrement is 1e-3, is not wrong. What
# is lower by more is not looked at again.
_ROUGH_DOUBT = 1.0


@dataclass(frozen=True)
class PooledState:
    """A model, with what single steps keep, and what of the search is over."""

    search: SequentialState
    eliminating: bool = False  # functions are asked their price
    exhausted: bool = False  # no round is left that raises the evidence
    idle: int = 0  # rounds so far, in succession, that gained next to nothing
    # Active functions and α that rounds from this model came to and that are no higher.
    refused: "tuple[tuple[Indices, Array], ...]" = ()

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
    # Rounds in succession that gain next to nothing before it ends. Half of all rounds
    # of large fits were such, and what is left after three is theirs too.
    patience: int = 3
    polish: bool = True  # whether it ends with Newton's method to its end

    @property
    def tol(self) -> float:
        """Nats, and changes of log α and log β, that are not worth another round."""
        return self.single.tol

    def with_tol(self, tol: float) -> "Pooled":
        """The same search to another tolerance."""
        return replace(self, single=replace(self.single, tol=tol))

    def init(self, problem: Problem) -> PooledState:
        return PooledState(self.single.init(problem, rough=True))

    def resumed(self, model: SearchModel, steps: int) -> PooledState:
        """The state of a search that goes on from a model."""
        return PooledState(self.single.resumed(model, steps))

    def converged(self, problem: Problem, state: PooledState) -> bool:
        # Where every row explains itself the evidence rises as the noise goes to zero,
        # ever more slowly.
        return state.exhausted or interpolates(problem, state.model)

    def step(self, problem: Problem, state: PooledState) -> PooledState:
        if not state.eliminating and self._starts_alone(state.search):
            return self._single_step(problem, state)
        after, refused = self._round(problem, state)
        if after is None:
            return self._ended(replace(state, refused=refused))
        gain = after.model.log_evidence - state.model.log_evidence
        little = gain < self.tol * problem.n_observations
        idle = state.idle + 1 if little else 0
        return replace(state, search=after, idle=idle, refused=())

    def _starts_alone(self, search: SequentialState) -> bool:
        if len(search.model.active):
            return False
        return self.single.start is not None or not self.single.worthwhile(search).size

    def _single_step(self, problem: Problem, state: PooledState) -> PooledState:
        after = self.single.step(problem, state.search)
        found = replace(state, search=after)
        return self._ended(found) if self.single.converged(problem, after) else found

    def _ended(self, state: PooledState) -> PooledState:
        """Nothing gains any more: functions are asked their price, or it is over."""
        over = not self.price or state.eliminating
        asked = state.eliminating or not over
        return replace(state, eliminating=asked, exhausted=over, idle=0)

    def _round(
        self, problem: Problem, state: PooledState
    ) -> "tuple[SequentialState | None, tuple[tuple[Indices, Array], ...]]":
        """The state after a round; None if nothing is left that raises the evidence.

        And what was refused by then.
        """
        search, price = state.search, self.price if state.eliminating else 0.0
        tired = state.idle >= self.patience
        polished = (search.settled and not price) or (tired and not self.polish)
        if polished and (tired or not self.single.worthwhile(search).size):
            return None, state.refused
        short = NO_ENTRANTS
        if not tired:
            options, turn = search.model.proposals, search.steps
            short = self.rounds.short_list(
                options, self.tol + price, turn=turn, cursor=search.cursor
            )
        refused = list(state.refused)
        found = self._played(problem, search, short, price, refused)
        if found is None:
            return None, tuple(refused)
        model, settled = found
        last = short[-1] + 1 if len(short) else search.cursor
        return SequentialState(model, search.steps + 1, int(last), settled), ()

    def _played(
        self,
        problem: Problem,
        state: SequentialState,
        short: Indices,
        price: float,
        refused: list[tuple[Indices, Array]],
    ) -> tuple[SearchModel, bool] | None:
        """A round that counts, perhaps of one action; whether Newton's method ended.

        None if there is none; what it came to is then among the ``refused``.
        """
        tol, conjugate = self.tol, state.model.likelihood.conjugate
        for most in (np.inf, 1):
            goal = Goal(tol, most, price)
            outcome = play(problem, state.model, short, self.rounds, goal)
            cost = price * (len(outcome.active) - len(state.model.active))
            if not conjugate and _is_idle(outcome, tol, cost):
                return None
            # One action may come to what many did; and so may the next search.
            if not conjugate and _is_among(refused, outcome):
                continue
            done = outcome.final and outcome.ascent.converged
            least = _LEAST_GAIN * tol + cost
            if done and conjugate and not state.settled:
                # Polished by Newton's method, a model need not be higher.
                least = cost - MOST_DOUBT * max(1.0, abs(state.model.log_evidence))
            doubt = _LEAST_GAIN * tol * problem.n_observations
            model = _confirmed(problem, state.model, outcome, least, doubt)
            if model is not None:
                return model, done
            refused.append((outcome.active, outcome.ascent.prior_precision))
            # Where moments tell all, nothing was to be gained; and with little in sight
            # another refit is not worth it.
            if outcome.gain > -tol if conjugate else outcome.final:
                return None
        return None


def _confirmed(
    problem: Problem,
    before: SearchModel,
    outcome: Outcome,
    least: float,
    doubt: float,
) -> SearchModel | None:
    """The outcome's model, if its evidence is higher by more than the ``least`` gain.

    In Gram form where that is exact, but for so many nats of ``doubt``, and from the
    rows elsewhere.
    """
    ascent, solution = outcome.ascent, outcome.solution
    noise = log_noise(before.likelihood, ascent.noise_precision)
    likelihood = before.likelihood.with_parameters(noise)
    evidence = before.log_evidence + outcome.gain
    found = outcome.active, ascent.prior_precision, solution.mean
    doubt = max(doubt, MOST_DOUBT * max(1.0, abs(evidence)))
    sound = before.gram is not None and _is_sound(outcome, doubt)
    # An evidence that is not a number is not higher.
    if not (likelihood.conjugate and sound):
        # In the order in which the model will be reported, to its last digit.
        order = np.argsort(outcome.active)
        active, alpha, mean = found
        at = active[order], alpha[order], mean[:, order]
        mode = posterior_at_mode(problem, likelihood, *at, rough=True)
        higher = mode.log_evidence > before.log_evidence + least
        near = mode.log_evidence > before.log_evidence + least - _ROUGH_DOUBT
        if outcome.final and near and not likelihood.conjugate:
            mode = posterior_at_mode(problem, likelihood, *at[:2], mode.posterior.mean)
            higher = mode.log_evidence > before.log_evidence + least
        return model_at(problem, mode, before) if higher else None
    if not evidence > before.log_evidence + least:
        return None
    fitted = Fitted(likelihood, Posterior(*found, solution.factor), evidence)
    noisy = before.observations, likelihood, ascent.noise_precision
    seen = observed_with(problem, *noisy)
    return model_in_gram_form(problem, fitted, seen, before.gram, solution)


def _is_among(refused: list[tuple[Indices, Array]], outcome: Outcome) -> bool:
    """Whether a round came to a model that is known to be no higher."""
    alpha = outcome.ascent.prior_precision
    return any(
        np.array_equal(outcome.active, active) and np.allclose(alpha, before)
        for active, before in refused
    )


def _is_idle(outcome: Outcome, tol: float, cost: float) -> bool:
    """Whether a round at the tolerance asked for promises too little for a refit."""
    multiple, most = _LEAST_PROMISE
    return outcome.final and outcome.gain - cost < min(multiple * tol, most)


def _is_sound(outcome: Outcome, doubt: float) -> bool:
    """Whether Gram matrices can be trusted with the evidence of this model."""
    solution = outcome.solution
    squares = outcome.ascent.moments.target_squares
    fitted = (solution.residual > LEAST_RESIDUAL * squares) | (squares == 0)
    # Residuals beyond the noise, where that is known and wrong, are beyond it in error.
    ascent = outcome.ascent
    beyond = ascent.noise_precision * solution.residual / ascent.moments.count
    error = lost(solution.condition) * max(1.0, float(beyond.max(initial=0.0)))
    exact = solution.condition < DIFFERENCE_LIMIT
    return bool(exact and error <= doubt and np.all(fitted))

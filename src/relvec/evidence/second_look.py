"""A second look: what would have entered the model found had the data said more.

A search that takes one function for noise estimates too much of it, and then takes
others for noise as well. So the noise is lowered, functions enter that were rejected,
the noise is released, and the better model stays. Where no noise is estimated, rows
count for more instead. A look is played in rounds like any search; the model found
stays the state of the outer search until the look is judged.
"""

from dataclasses import replace

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.moments import solve
from relvec.evidence.rounds import NO_CANDIDATES, known_moments
from relvec.evidence.state import (
    FoundModel,
    Look,
    SequentialState,
    state_at,
    state_with,
)
from relvec.posterior import Posterior
from relvec.typing import Array

# Nats: where no function out of a model promises more, rounds of a first search would
# only polish what a look is about to change.
_LITTLE = 0.1
_FIRST_TOL = 1e-2  # two models are compared before either is polished
_COLD_TOL = 0.3  # nats, while the noise is lowered
# Those that enter first are the ones that were missed; later rounds find what fits the
# noise, which leaves again when that is released. So there are few of them; one more of
# a model that has no more functions than this.
_COLD_ROUNDS, _ONE_MORE = 2, 32
_COLDER = (4.0, 16.0, 64.0, 256.0)  # divide the noise in turn, until something enters
# Where there is no noise to lower, rows count for more: one time for so many of them,
# within bounds. Few rows that count for much are just fitted.
_ROWS_A_TIME, _HEAVIER = 256, (2.0, 64.0)
_MOST_SPENT = 0.5  # of the observations on weights
# With less noise any rich dictionary goes on growing. A search that was stuck needs a
# few functions more; a large model that wants a quarter more is overfitting.
_GROWTH = (1.25, 64)
_PRICE = 0.5  # nats, for every function more
_WORTH_ANOTHER = 5.0  # nats found by a look from which the next one is tried
# A model of so few functions may be all that gains one at a time, as with wide kernels;
# looks from there take little time, and so many are tried, each colder than the last.
_FEW, _LOOKS_OF_FEW = 16, 2


def search_tol(state: SequentialState, tol: float) -> float:
    """The tolerance of a search that leads to ``tol``, before its looks and after."""
    last = state.looked_again or not _by_noise(state)
    return tol if last else max(tol, _FIRST_TOL)


def look_tol(look: Look, tol: float) -> float:
    """The tolerance of a look's next round."""
    return tol if look.released or not _by_noise(look.state) else _COLD_TOL


def is_time_to_look(state: SequentialState) -> bool:
    """Whether a search has found all but little of what it will find."""
    if state.looked_again or not _by_noise(state):
        return False
    outside = np.isinf(state.proposals.current)
    promised = state.proposals.gain[outside].max(initial=0.0)
    return len(state.active) > _FEW and promised <= _LITTLE


def look_begun(problem: Problem, state: SequentialState) -> SequentialState:
    """With less noise or heavier rows; the more so, the more looks there were."""
    factors = _factors(problem, state)
    if state.looks >= len(factors):
        return look_ended(state)
    factor, ceiling = factors[state.looks], state.likelihood.parameter_ceiling
    if ceiling is None:
        heavier = replace(problem, sample_weight=factor * problem.sample_weight)
        look = Look(_at(heavier, state), heavier)
    else:
        beta = np.minimum(factor * state.observations.noise_precision, ceiling)
        look = Look(_with_noise(problem, state, beta), problem)
    return replace(state, look=look, looks=state.looks + 1)


def _by_noise(state: SequentialState) -> bool:
    return state.likelihood.parameter_ceiling is not None


def _factors(problem: Problem, state: SequentialState) -> tuple[float, ...]:
    """By which the data say more in one look after the other."""
    if _by_noise(state):
        return _COLDER
    # Every round of such a look is a refit: tried where that takes no time.
    quick = len(state.active) <= _FEW and len(state.mean) == 1
    times = np.clip(problem.sample_weight.sum() / _ROWS_A_TIME, *_HEAVIER)
    return (float(times),) if quick else ()


def colder_for_long(found: SequentialState, look: Look) -> bool:
    """Whether the noise has been low for as long as that is of use."""
    enough = _COLD_ROUNDS + (len(found.active) <= _ONE_MORE)
    return not look.released and look.rounds == enough


def look_settled(
    problem: Problem, state: SequentialState, look: Look
) -> SequentialState:
    """After its last round: release the noise, try with less of it, or judge."""
    if look.released and is_better(state, look.state):
        return look_taken(state, look.state)
    if look.released:
        return look_in_vain(problem, state)
    if np.setdiff1d(look.state.active, state.active).size == 0:
        return look_begun(problem, state)
    same = look.problem is problem
    free = replace(look.state, settled=False) if same else _at(problem, look.state)
    return replace(state, look=Look(free, problem, look.rounds, released=True))


def excessive(problem: Problem, found: SequentialState, state: SequentialState) -> bool:
    """Whether a look has taken in more functions than it should.

    A model that spends its observations on weights is not taken either: its evidence
    grows as its noise, estimated from nothing, goes to zero. Observations of equal rows
    are as good as one: there are no more of them than functions, one for every distinct
    row.
    """
    share, few = _GROWTH
    effective = np.max(state.effective_parameters, initial=0.0)
    available = min(problem.sample_weight.sum(), problem.design.shape[1])
    grown = len(state.active) > share * len(found.active) + few
    return bool(grown or effective > _MOST_SPENT * available)


def is_better(state: SequentialState, found: SequentialState) -> bool:
    """Whether a model is worth its functions."""
    more = max(0, len(found.active) - len(state.active))
    return found.log_evidence > state.log_evidence + _PRICE * more


def look_taken(state: SequentialState, found: SequentialState) -> SequentialState:
    """The model it found; after a great gain looks begin anew."""
    great = found.log_evidence >= state.log_evidence + _WORTH_ANOTHER
    looks = 0 if great else state.looks
    done = looks > 0 and not _another(found, looks)
    return replace(
        found,
        steps=state.steps,
        looks=looks,
        looked_again=done,
        settled=False,
        look=None,
    )


def look_in_vain(problem: Problem, state: SequentialState) -> SequentialState:
    """Nothing better was found: look elsewhere, or be content."""
    another = _another(state, state.looks)
    return look_begun(problem, state) if another else look_ended(state)


def look_ended(state: SequentialState) -> SequentialState:
    """There will be no other."""
    return replace(state, look=None, looked_again=True, settled=False)


def _another(state: SequentialState, looks: int) -> bool:
    """Whether there is to be another look after so many."""
    return len(state.active) <= _FEW and looks < _LOOKS_OF_FEW


def _at(problem: Problem, state: SequentialState) -> SequentialState:
    """The same functions and α on another problem."""
    alpha, likelihood = state.prior_precision, state.likelihood
    mode = posterior_at_mode(problem, likelihood, state.active, alpha, state.mean)
    return state_at(problem, mode)


def _with_noise(
    problem: Problem, state: SequentialState, noise_precision: Array
) -> SequentialState:
    """The same functions and α for another noise."""
    alpha = state.prior_precision
    moments = known_moments(problem, state, NO_CANDIDATES)
    before = state.solution or solve(moments, alpha, state.observations.noise_precision)
    after = solve(moments, alpha, noise_precision)
    model = FoundModel(
        state.likelihood.with_parameters(np.log(noise_precision)),
        Posterior(state.active, alpha, after.mean, after.factor),
        state.log_evidence + after.log_evidence - before.log_evidence,
    )
    seen = replace(state.observations, noise_precision=noise_precision)
    return state_with(problem, model, seen, state.gram, after)

"""The second look: what it may find, what it costs, and what it must not do."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import classification
from sklearn.datasets import make_friedman1

from relvec.design import DenseDesign
from relvec.evidence import Limits, Pooled, Problem, maximise
from relvec.evidence.second_look import (
    excessive,
    look_begun,
    look_ended,
    look_in_vain,
    look_settled,
)
from relvec.evidence.state import Look, mode_after, state_at
from relvec.kernels import Gaussian
from relvec.likelihoods import gaussian_noise


def regression(X, y, kernel):
    design = DenseDesign.weighted(kernel(X, X), np.ones(len(X)))
    y = (y - y.mean())[:, None]
    noise = gaussian_noise(y, np.ones(len(X)), "estimate")
    return Problem(design, y, noise, np.ones(len(X)))


def stuck():
    """Functions that are worth little alone, so that they are taken for noise."""
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    return regression(X, y, Gaussian(1.0))


def rich():
    """A model that goes on growing with less noise, as a narrow kernel's does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(300)
    return regression(X, y, Gaussian(2.5))


def first_maximum(problem):
    """The state in which the search begins to look again."""
    pooled, state = Pooled(), Pooled().init(problem)
    while state.look is None:
        assert not pooled.converged(problem, state)
        state = pooled.step(problem, state)
    return state


def test_a_look_begins_with_less_noise_and_the_same_functions():
    problem = stuck()
    state = first_maximum(problem)
    inner = state.look.state

    assert np.array_equal(inner.active, state.active)
    assert_allclose(inner.prior_precision, state.prior_precision)
    ratio = inner.observations.noise_precision / state.observations.noise_precision
    assert_allclose(ratio, 4)
    assert inner.log_evidence < state.log_evidence


def test_the_model_found_stays_while_a_look_goes_on():
    """So that a limit, a callback or an interrupt between rounds leaves it."""
    problem = stuck()
    pooled, state = Pooled(), first_maximum(problem)
    rounds = 0
    while state.look is not None:
        after = pooled.step(problem, state)
        rounds += 1
        assert after.steps == state.steps or after.look is None
        if after.look is not None:
            assert after.stats is state.stats
            assert after.log_evidence == state.log_evidence
        state = after

    assert rounds > 3


def test_a_look_does_not_wait_for_what_it_is_about_to_change():
    """It begins as soon as little is in sight, with some of that still to be had."""
    state = first_maximum(rich())
    assert len(state.active) > 16
    outside = np.setdiff1d(np.arange(len(state.proposals.gain)), state.active)

    assert 0.01 < state.proposals.gain[outside].max() <= 0.1


@pytest.mark.parametrize(("problem", "rounds"), [(stuck(), 3), (rich(), 2)])
def test_the_noise_is_released_after_a_few_rounds(problem, rounds):
    """Of a model of few functions after one more."""
    state = first_maximum(problem)
    assert (len(state.active) <= 16) == (rounds == 3)
    worn = replace(state, look=replace(state.look, rounds=rounds))
    entrant = np.setdiff1d(np.arange(problem.design.shape[1]), state.active)[:1]
    inner = state_at(
        problem, mode_after(problem, worn.look.state, int(entrant[0]), 1.0)
    )
    worn = replace(worn, look=replace(worn.look, state=inner))

    assert Pooled().step(problem, worn).look.released
    fresh = replace(worn, look=replace(worn.look, rounds=rounds - 1))
    assert not Pooled().step(problem, fresh).look.released


def test_rows_of_a_classifier_count_twice_and_then_once():
    """No noise can be lowered; a row that is there twice says more as well."""
    problem = classification(seed=0)
    state = first_maximum(problem)
    assert_allclose(state.look.problem.sample_weight, 2)
    assert np.array_equal(state.look.state.active, state.active)
    while not state.look.released:
        state = Pooled().step(problem, state)

    assert state.look.problem is problem


@pytest.mark.parametrize(("weight", "times"), [(1, 2), (32, 10), (1000, 64)])
def test_the_more_rows_the_more_they_count(weight, times):
    problem = classification(seed=0)
    state = replace(first_maximum(problem), look=None, looks=0)
    problem = replace(problem, sample_weight=np.full(80, float(weight)))

    look = look_begun(problem, state).look
    assert_allclose(look.problem.sample_weight, times * weight)


@pytest.mark.parametrize("seed", [0, 4, 7])
def test_a_classifier_that_is_stuck_is_freed(seed):
    problem = classification(seed=seed)
    content = replace(Pooled().init(problem), looked_again=True)
    while not Pooled().converged(problem, content):
        content = Pooled().step(problem, content)
    fit = maximise(problem, Pooled(), Limits())

    assert fit.log_evidence > content.log_evidence + 0.5
    assert np.all(np.diff(fit.history["log_evidence"]) > -1e-6)


def test_functions_that_have_a_price_are_not_looked_for():
    problem, pooled = classification(seed=0), Pooled(price=1.0)
    state = pooled.init(problem)
    while not pooled.converged(problem, state):
        state = pooled.step(problem, state)
        assert state.look is None

    assert state.thinning


def test_refits_that_take_long_are_not_done_for_a_look():
    problem = classification(seed=0)
    state = replace(first_maximum(problem), look=None, looks=0)
    twice = replace(state.stats, mean=np.repeat(state.stats.mean, 2, axis=0))
    many = replace(state.stats, active=np.arange(17))

    assert look_begun(problem, state).look is not None
    for stats in (twice, many):
        assert look_begun(problem, replace(state, stats=stats)).looked_again


def test_a_search_that_is_stuck_is_freed():
    problem = stuck()
    before = first_maximum(problem)
    fit = maximise(problem, Pooled(), Limits())

    assert fit.log_evidence > before.log_evidence + 30
    assert np.all(np.diff(fit.history["log_evidence"]) > -1e-6)


def test_a_rich_dictionary_is_not_let_grow():
    problem = rich()
    before = first_maximum(problem)
    fit = maximise(problem, Pooled(), Limits())

    assert len(fit.posterior.active) <= 1.25 * len(before.active) + 64


def test_the_noise_is_lowered_further_where_nothing_enters():
    problem = stuck()
    state = first_maximum(problem)
    again = look_settled(problem, state, Look(replace(state, look=None), problem))
    ratio = again.look.state.observations.noise_precision
    ratio = ratio / state.observations.noise_precision

    assert_allclose(ratio, 16)
    last = look_begun(problem, replace(state, looks=4))
    assert last.look is None
    assert last.looked_again


@pytest.mark.parametrize(
    ("gain", "more", "taken"),
    [
        (1.0, 0, True),
        (-1.0, 0, False),
        (1.0, 3, False),
        (2.0, 3, True),
        (1.0, -3, True),
    ],
)
def test_every_function_more_has_its_price(gain, more, taken):
    problem = stuck()
    state = replace(first_maximum(problem), looks=2)
    size = len(state.active) + more
    stats = replace(state.stats, active=np.arange(size))
    found = replace(state, stats=stats, log_evidence=state.log_evidence + gain)
    judged = look_settled(problem, state, Look(found, problem, released=True))

    assert judged.look is None
    assert (judged.stats is stats) == taken
    assert judged.looked_again


def test_after_a_great_gain_there_is_another_look():
    problem = stuck()
    state = first_maximum(problem)
    found = replace(state, log_evidence=state.log_evidence + 10)
    judged = look_settled(problem, state, Look(found, problem, released=True))

    assert not judged.looked_again


def test_few_functions_are_looked_at_twice():
    """With wide kernels no function gains alone, and not with a little less noise."""
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    problem = regression(X, y, Gaussian(3 / np.sqrt(2)))
    first = first_maximum(problem)
    assert len(first.active) < 16
    assert look_in_vain(problem, first).looks == 2
    assert look_in_vain(problem, replace(first, looks=2)).looked_again
    many = replace(first, stats=replace(first.stats, active=np.arange(17)))
    assert look_in_vain(problem, many).looked_again

    fit = maximise(problem, Pooled(), Limits())
    assert fit.log_evidence > first.log_evidence + 60


def test_models_that_spend_their_observations_are_excessive():
    problem = stuck()
    state = first_maximum(problem)
    assert not excessive(problem, state, state)

    many = replace(state, stats=replace(state.stats, active=np.arange(100)))
    assert excessive(problem, state, many)
    free = np.full_like(state.prior_precision, 1e-300)
    spent = replace(state, stats=replace(state.stats, prior_precision=free))
    few = replace(problem, sample_weight=np.full(200, 0.05))
    assert excessive(few, state, spent)
    assert look_ended(state).looked_again

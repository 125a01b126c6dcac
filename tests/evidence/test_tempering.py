"""Tempering: what it may find, what it costs, and what it must not do."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import classification
from sklearn.datasets import make_friedman1

from relvec.design import DenseDesign
from relvec.evidence import Limits, Problem, maximise
from relvec.evidence.pooled import Pooled
from relvec.evidence.search_model import mode_after, model_at
from relvec.evidence.tempering import Tempered, Trial, excessive
from relvec.kernels import Gaussian
from relvec.likelihoods import gaussian_noise

TEMPERED = Tempered(Pooled())


def regression(X, y, kernel):
    design = DenseDesign.weighted(kernel(X, X), np.ones(len(X)))
    y = (y - y.mean())[:, None]
    noise = gaussian_noise(y, np.ones(len(X)), "estimate")
    return Problem(design, y, noise, np.ones(len(X)))


def stuck():
    """Functions that are worth little alone, so that they are taken for noise."""
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    return regression(X, y, Gaussian(1.5))


def rich():
    """A model that goes on growing with less noise, as a narrow kernel's does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(300)
    return regression(X, y, Gaussian(2.5))


def first_maximum(problem):
    """The state in which the first trial begins."""
    state = TEMPERED.init(problem)
    while state.trial is None:
        assert not TEMPERED.converged(problem, state)
        state = TEMPERED.step(problem, state)
    return state


def with_model(state, **changes):
    """With a model of other properties."""
    return TEMPERED.inner.resumed(replace(state.model, **changes), state.steps)


def of_size(state, size, **changes):
    stats = replace(state.model.stats, active=np.arange(size))
    return with_model(state, stats=stats, **changes)


def test_a_trial_begins_with_less_noise_and_the_same_functions():
    problem = stuck()
    state = first_maximum(problem)
    model, tempered = state.model, state.trial.state.model

    assert np.array_equal(tempered.active, model.active)
    assert_allclose(tempered.prior_precision, model.prior_precision)
    ratio = tempered.observations.noise_precision / model.observations.noise_precision
    assert_allclose(ratio, 4)
    assert tempered.log_evidence < model.log_evidence


def test_the_noise_is_fixed_until_it_is_released():
    problem = stuck()
    state = first_maximum(problem)
    noise = state.trial.state.model.observations.noise_precision
    assert state.trial.state.model.likelihood.parameter_ceiling is None
    while not state.trial.released:
        assert_allclose(state.trial.state.model.observations.noise_precision, noise)
        state = TEMPERED.step(problem, state)

    assert state.trial.state.model.likelihood.parameter_ceiling is not None


def test_the_model_found_stays_while_a_trial_goes_on():
    """So that a limit, a callback or an interrupt between rounds leaves it."""
    problem = stuck()
    state = first_maximum(problem)
    rounds = 0
    while state.trial is not None:
        after = TEMPERED.step(problem, state)
        rounds += 1
        assert after.steps == state.steps or after.trial is None
        if after.trial is not None:
            assert after.model is state.model
        state = after

    assert rounds > 3


def test_a_trial_does_not_wait_for_what_it_is_about_to_change():
    """It begins as soon as little is in sight, with some of that still to be had."""
    model = first_maximum(rich()).model
    assert len(model.active) > 16
    outside = np.setdiff1d(np.arange(len(model.proposals.gain)), model.active)

    assert 0.01 < model.proposals.gain[outside].max() <= 0.1


@pytest.mark.parametrize(("problem", "rounds"), [(stuck(), 3), (rich(), 2)])
def test_the_noise_is_released_after_a_few_rounds(problem, rounds):
    """Of a model of few functions after one more."""
    state = first_maximum(problem)
    assert (len(state.model.active) <= 16) == (rounds == 3)
    entrant = np.setdiff1d(np.arange(problem.design.shape[1]), state.model.active)[0]
    tempered = state.trial.state.model
    model = model_at(problem, mode_after(problem, tempered, int(entrant), 1.0))
    trial = replace(state.trial, state=TEMPERED.inner.resumed(model, 0), rounds=rounds)
    worn = replace(state, trial=trial)

    assert TEMPERED.step(problem, worn).trial.released
    fresh = replace(worn, trial=replace(trial, rounds=rounds - 1))
    assert not TEMPERED.step(problem, fresh).trial.released


def test_rows_of_a_classifier_count_twice_and_then_once():
    """No noise can be lowered; a row that is there twice says more as well."""
    problem = classification(seed=0)
    state = first_maximum(problem)
    assert_allclose(state.trial.problem.sample_weight, 2)
    assert np.array_equal(state.trial.state.model.active, state.model.active)
    while not state.trial.released:
        state = TEMPERED.step(problem, state)

    assert state.trial.problem is problem


@pytest.mark.parametrize(("weight", "times"), [(1, 2), (32, 10), (1000, 64)])
def test_the_more_rows_the_more_they_count(weight, times):
    problem = classification(seed=0)
    state = replace(first_maximum(problem), trial=None, trials=0)
    problem = replace(problem, sample_weight=np.full(80, float(weight)))

    trial = TEMPERED.begun(problem, state).trial
    assert_allclose(trial.problem.sample_weight, times * weight)


@pytest.mark.parametrize("seed", [0, 4, 7])
def test_a_classifier_that_is_stuck_is_freed(seed):
    problem = classification(seed=seed)
    plain = maximise(problem, Pooled(), Limits())
    fit = maximise(problem, TEMPERED, Limits())

    assert fit.log_evidence > plain.log_evidence + 0.5
    assert np.all(np.diff(fit.history["log_evidence"]) > -1e-6)


def test_refits_that_take_long_are_not_done_for_a_trial():
    problem = classification(seed=0)
    state = replace(first_maximum(problem), trial=None, trials=0)
    stats = state.model.stats
    twice = with_model(
        state, stats=replace(stats, mean=np.repeat(stats.mean, 2, axis=0))
    )

    assert TEMPERED.begun(problem, state).trial is not None
    for found in (twice, of_size(state, 17)):
        assert TEMPERED.begun(problem, replace(state, found=found)).final


def test_a_search_that_is_stuck_is_freed():
    problem = stuck()
    before = first_maximum(problem).model
    fit = maximise(problem, TEMPERED, Limits())

    assert fit.log_evidence > before.log_evidence + 30
    assert np.all(np.diff(fit.history["log_evidence"]) > -1e-6)


def test_a_rich_dictionary_is_not_let_grow():
    problem = rich()
    before = first_maximum(problem).model
    fit = maximise(problem, TEMPERED, Limits())

    assert len(fit.posterior.active) <= 1.25 * len(before.active) + 64


def test_the_noise_is_lowered_further_where_nothing_enters():
    problem = stuck()
    state = first_maximum(problem)
    again = TEMPERED.settled(problem, state, state.trial)
    ratio = again.trial.state.model.observations.noise_precision
    ratio = ratio / state.model.observations.noise_precision

    assert_allclose(ratio, 16)
    last = TEMPERED.begun(problem, replace(state, trials=4))
    assert last.trial is None
    assert last.final


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
    state = replace(first_maximum(problem), trials=2)
    size, evidence = len(state.model.active) + more, state.model.log_evidence
    found = of_size(state, size, log_evidence=evidence + gain)
    judged = TEMPERED.settled(problem, state, Trial(found, problem, released=True))

    assert judged.trial is None
    assert (judged.model is found.model) == taken
    assert judged.final


@pytest.mark.parametrize(("gain", "trials"), [(4.9, 1), (5.1, 0)])
def test_after_a_great_gain_trials_begin_anew(gain, trials):
    """Five nats: so much was missed that more may have been."""
    problem = stuck()
    state = first_maximum(problem)
    found = with_model(state, log_evidence=state.model.log_evidence + gain)
    judged = TEMPERED.settled(problem, state, Trial(found, problem, released=True))

    assert judged.trials == trials
    assert not judged.final


def test_few_functions_are_tried_twice():
    """With wide kernels no function gains alone, and not with a little less noise."""
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    problem = regression(X, y, Gaussian(3 / np.sqrt(2)))
    first = first_maximum(problem)
    assert len(first.model.active) < 16
    assert TEMPERED.in_vain(problem, first).trials == 2
    assert TEMPERED.in_vain(problem, replace(first, trials=2)).final
    many = replace(first, found=of_size(first, 17))
    assert TEMPERED.in_vain(problem, many).final

    fit = maximise(problem, TEMPERED, Limits())
    assert fit.log_evidence > first.model.log_evidence + 60


@pytest.mark.parametrize(("share", "too_many"), [(0.45, False), (0.55, True)])
def test_models_that_spend_their_observations_are_excessive(share, too_many):
    problem = stuck()
    model = first_maximum(problem).model
    assert not excessive(problem, model, model)

    free = np.full_like(model.prior_precision, 1e-300)
    spent = replace(model, stats=replace(model.stats, prior_precision=free))
    count = len(model.active) / share
    few = replace(problem, sample_weight=np.full(200, count / 200))
    assert excessive(few, model, spent) == too_many


@pytest.mark.parametrize(("more", "too_many"), [(60, False), (72, True)])
def test_models_that_grow_by_more_than_a_quarter_and_64_are_excessive(more, too_many):
    state = first_maximum(stuck())
    size = len(state.model.active)
    grown = of_size(state, size + more).model

    assert excessive(stuck(), state.model, grown) == too_many


def test_an_empty_model_is_not_tempered():
    """There is nothing that the noise could have hidden."""
    problem = stuck()
    state = TEMPERED.init(problem)

    assert TEMPERED.begun(problem, state).final

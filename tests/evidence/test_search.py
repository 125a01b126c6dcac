"""The search by batches: who joins, what it may not do, and where it ends."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import covariance
from problems import classification
from sklearn.datasets import make_friedman1

from relvec.data import noisy_sinc
from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence import search as search_module
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.products import best_additions
from relvec.evidence.search import BatchSearch, SearchSettings, _unlike
from relvec.kernels import Gaussian
from relvec.likelihoods import (
    HeldObservations,
    SharedGaussian,
    gaussian_noise,
)
from relvec.precision import COPY


def regression(X, y, kernel, noise="estimate"):
    y, weights = (y - y.mean())[:, None], np.ones(len(X))
    design = DenseDesign.weighted(kernel(X, X), weights)
    return Problem(design, y, gaussian_noise(y, weights, noise), weights)


def sinc(n_rows=60, seed=0, width=0.8):
    X, y = noisy_sinc(n_rows, seed=seed)
    return regression(X, y, Gaussian(width=width))


def friedman(seed=0):
    """Functions that are worth little alone, so that they are taken for noise."""
    X, y = make_friedman1(200, noise=1.0, random_state=seed)
    return regression(X, y, Gaussian(1.5))


def several_outputs(seed=0):
    X, y = noisy_sinc(60, seed=seed)
    y = np.column_stack([y, 10 * np.cos(X[:, 0]) + np.roll(y, 7)])
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, 60)
    design = DenseDesign.weighted(Gaussian(2.0)(X), weights)
    return Problem(design, y, SharedGaussian.of(y, weights, "estimate"), weights)


def held(seed=0):
    """Pseudo-observations of two outputs, known to one each, without a noise."""
    rng = np.random.default_rng(seed)
    belongs = np.repeat(np.eye(2), 40, axis=0)
    Phi = rng.standard_normal((80, 25))
    y = belongs * (2 * Phi[:, :2] + rng.standard_normal((80, 2)))
    weights = rng.uniform(0.5, 2.0, 80)
    design = DenseDesign.weighted(Phi, weights)
    return Problem(design, y, HeldObservations(belongs), weights)


PROBLEMS = {
    "numbers": sinc,
    "wide functions": lambda: sinc(width=3.0),
    "classes": classification,
    "several outputs": several_outputs,
    "held observations": held,
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]()


def states_of(problem, search=None, **begun):
    """From the first to the last."""
    search = search or BatchSearch()
    states = [replace(search.init(problem), **begun)]
    while not search.converged(problem, states[-1]):
        states.append(search.step(problem, states[-1]))
        assert len(states) < 300
    return states


def ended(problem, search=None, **begun):
    return states_of(problem, search, **begun)[-1].model


def gains(problem, model):
    """What every function would gain beside the model."""
    at = model.active, model.prior_precision, model.noise_precision
    return best_additions(model.products.statistics(*at), problem.least_precision)[1]


def batches_of(monkeypatch, problem, search=None):
    """Each batch of a search, with the model that it joined."""
    joined, original = [], search_module._joined

    def recording(problem, model, batch, newton):
        joined.append((problem, model, *batch))
        return original(problem, model, batch, newton)

    monkeypatch.setattr(search_module, "_joined", recording)
    states_of(problem, search)
    return [one for one in joined if len(one[2])]


# Batches


@pytest.mark.parametrize("batch", [1, 5, 32])
@pytest.mark.parametrize("make", [sinc, friedman, classification])
def test_a_batch_is_of_functions_that_gain_and_are_unlike(monkeypatch, make, batch):
    """|T|² < c²·S·S of any two, T by its definition."""
    settings = SearchSettings(batch=batch)
    found = batches_of(monkeypatch, make(), BatchSearch(settings=settings))
    assert found

    for problem, model, columns, alpha in found:
        precision, gain = best_additions(statistics(model), problem.least_precision)
        assert len(set(columns)) == len(columns) <= batch
        assert not set(columns) & set(model.active)
        assert np.all(gain[columns] > 0)
        assert_allclose(alpha, precision[columns])
        assert likeness(problem, model, columns).max() < settings.likeness[-1]


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("limit", [0.5, 0.9])
@pytest.mark.parametrize("most", [3, 60])
def test_those_who_join_are_unlike_all_before_and_nobody_else_is(most, limit, n_groups):
    """For every output; more alike than that only where few are unlike."""
    left = np.random.default_rng(most).standard_normal((n_groups, 6, 60))
    overlaps = np.swapaxes(left, 1, 2) @ left
    size = np.sqrt(np.diagonal(overlaps, axis1=1, axis2=2))
    cosines = np.abs(overlaps / size[:, :, None] / size[:, None]).max(axis=0)
    expected = []
    for function in range(60):
        if len(expected) < most and np.all(cosines[function, expected] < limit):
            expected.append(function)

    assert _unlike(overlaps, most, limit).tolist() == expected


def test_wide_functions_join_together_although_they_are_alike(monkeypatch):
    problem = sinc(width=6.0)
    _, model, columns, _ = batches_of(monkeypatch, problem)[0]
    alike = likeness(problem, model, columns)

    assert len(columns) > 1
    assert alike.max() > SearchSettings().likeness[0]


def statistics(model):
    at = model.active, model.prior_precision, model.noise_precision
    return model.products.statistics(*at)


def likeness(problem, model, columns):
    """|cosine| of any two given the model."""
    unit = problem.design.matrix / problem.design.column_norms
    seen = model.products.seen
    precision = seen.row_weights[:, 0] * model.noise_precision[0]
    C = covariance(unit, precision, model.active, model.prior_precision)
    chosen = unit[:, columns]
    T = chosen.T @ np.linalg.solve(C, chosen)
    size = np.sqrt(T.diagonal())
    alike = np.abs(T) / np.outer(size, size)
    np.fill_diagonal(alike, 0.0)
    return alike


@pytest.mark.parametrize("factor", [1.0, -3.0])
def test_copies_of_active_functions_do_not_join(monkeypatch, factor):
    """Not even under another sign or size: their gain is that of what is there."""
    given = sinc()
    Phi = given.design.matrix
    twice = DenseDesign.weighted(np.hstack([Phi, factor * Phi]), given.sample_weight)
    problem = replace(given, design=twice)
    found = batches_of(monkeypatch, problem)

    unit = twice.matrix / twice.column_norms
    for _, model, columns, _ in found:
        cosines = unit[:, columns].T @ unit[:, model.active]
        assert np.abs(cosines).max(initial=0.0) <= COPY
    alone, both = (ended(one) for one in (given, problem))
    assert len(both.active) == len(alone.active)
    assert_allclose(both.log_evidence, alone.log_evidence, rtol=1e-9)


def test_the_first_function_may_be_chosen(monkeypatch):
    problem = sinc()
    gain = gains(problem, BatchSearch().init(problem).model)
    second = int(np.argsort(gain)[-2])
    first = batches_of(monkeypatch, problem, BatchSearch(start=second))[0]

    assert first[2].tolist() == [second]


def test_a_random_selection_repeats_with_the_seed(monkeypatch):
    def order(seed):
        search = BatchSearch(selection="random", seed=seed)
        return [one[2].tolist() for one in batches_of(monkeypatch, sinc(), search)]

    assert order(3) == order(3)
    assert order(3) != order(4)


def test_a_cyclic_selection_goes_by_the_order(monkeypatch):
    search = BatchSearch(selection="cyclic")
    for _, _, columns, _ in batches_of(monkeypatch, sinc(), search):
        assert np.all(np.diff(columns) > 0)


# The way up


def test_the_evidence_never_falls_and_is_that_of_the_model(problem):
    """As the mode's own formula has it, for every model on the way."""
    states = states_of(problem)
    evidence = [state.model.log_evidence for state in states]

    assert np.all(np.diff(evidence) >= 0)
    assert states[-1].model.log_evidence > evidence[0] + 1
    assert states[-1].steps == np.sum(np.diff(evidence) > 0)
    for state in states[1:]:
        model = state.model
        at = model.active, model.prior_precision, model.mean
        mode = posterior_at_mode(problem, model.likelihood, *at)
        # The mode of classes is found roughly on the way.
        near = 1e-6 if problem.likelihood.conjugate else 0.1
        assert_allclose(model.log_evidence, mode.log_evidence, rtol=1e-7, atol=near)


def test_the_model_found_stays_while_a_trial_goes_on(problem):
    """So that a limit or a callback between steps leaves it."""
    search = BatchSearch()
    state = search.init(problem)
    while not search.converged(problem, state):
        after = search.step(problem, state)
        if after.steps == state.steps:
            assert after.model is state.model
        assert after.model.products.design is problem.design
        assert np.array_equal(
            after.model.observations.row_weights.sum(axis=1) > 0,
            problem.sample_weight > 0,
        )
        state = after


@pytest.mark.parametrize("width", [10.0, 30.0, 100.0])
@pytest.mark.parametrize("drawn", [True, False])
def test_functions_that_gain_nothing_alone_are_found_together(drawn, width):
    """Wide ones around a line without noise, whose targets are centred."""
    rows = np.random.default_rng(0).uniform(-1, 1, 50)
    x = np.sort(rows) if drawn else np.linspace(-1, 1, 50)
    problem = regression(x[:, None], 2 * x, Gaussian(width))
    empty = BatchSearch().init(problem).model
    assert gains(problem, empty).max() < 0.1

    model = ended(problem)
    assert model.log_evidence > empty.log_evidence + 250
    eta = model.products.design.matvec(model.mean, model.active)[:, 0]
    assert np.sqrt(np.mean((eta - problem.y[:, 0]) ** 2)) < 5e-3


@pytest.mark.parametrize("seed", range(3))
def test_annealing_leads_out_of_a_trap(seed):
    """What functions that are still missing will explain looks like noise."""
    problem = friedman(seed)
    polished = ended(problem, phase="polishing")
    model = ended(problem)

    assert model.log_evidence > polished.log_evidence + 8
    assert 0.8 < float(model.likelihood.scale[0]) < 1.8
    assert float(polished.likelihood.scale[0]) > 2


@pytest.mark.parametrize("seed", [0, 4, 7])
def test_annealing_of_classes_costs_no_evidence(seed):
    """There each observation counts for several, as there is no noise to lower."""
    problem = classification(seed=seed)

    polished = ended(problem, phase="polishing").log_evidence
    assert ended(problem).log_evidence > polished - 0.5


def test_annealing_leaves_the_weights_of_rows_and_a_known_noise_as_they_are():
    problem = replace(sinc(), likelihood=gaussian_noise(sinc().y, np.ones(60), 0.01))
    model = ended(problem)

    assert_allclose(model.likelihood.noise_precision, 100.0)
    assert_allclose(model.noise_precision, 100.0)
    classes = ended(classification())
    assert np.all(classes.observations.row_weights <= 0.25 + 1e-12)


def test_it_goes_on_from_a_model():
    problem, search = sinc(), BatchSearch()
    first = search.init(problem)
    for _ in range(2):
        first = search.step(problem, first)
    problem = problem.resumed(first.model)
    state = search.init(problem)

    assert_allclose(state.model.log_evidence, first.model.log_evidence, rtol=1e-9)
    while not search.converged(problem, state):
        state = search.step(problem, state)
    assert state.model.log_evidence >= first.model.log_evidence


# The end


def test_it_ends_where_no_function_gains_more_than_the_tolerance(problem):
    """Alone, at its best α beside the model; nor does one that leaves."""
    for tol in (1e-3, 1e-5):
        model = ended(problem, BatchSearch(tol=tol))
        gain = gains(problem, model)
        gain[model.active] = 0.0
        most = tol * problem.n_observations

        assert gain.max() < most
        for left_out in range(len(model.active)):
            assert without(problem, model, left_out) < model.log_evidence + most


def without(problem, model, left_out):
    """The evidence of the model without one of its functions, the others held."""
    stay = np.delete(np.arange(len(model.active)), left_out)
    at = model.active[stay], model.prior_precision[stay], model.mean[:, stay]
    return posterior_at_mode(problem, model.likelihood, *at).log_evidence


@pytest.mark.parametrize("make", [sinc, friedman, classification])
def test_in_the_end_every_function_is_worth_its_price(make):
    problem, price = make(), 3.0
    free, priced = (ended(problem, BatchSearch(price=p)) for p in (0.0, price))

    assert 0 < len(priced.active) <= len(free.active)
    for left_out in range(len(priced.active)):
        loss = priced.log_evidence - without(problem, priced, left_out)
        assert loss > 0.9 * price


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_explained_by_no_more_than_chance(seed):
    """A few narrow functions gain; the evidence of none is hardly lower."""
    X, y = np.random.default_rng(seed).standard_normal((2, 80, 3))
    problem = regression(X, y[:, 0], Gaussian(1.0))
    model, variance = ended(problem), np.mean(problem.y**2)
    empty = -40 * (np.log(2 * np.pi * variance) + 1)

    assert len(model.active) < 10
    assert empty < model.log_evidence < empty + 10


# Settings


def test_constants_cannot_be_changed_by_others():
    with pytest.raises(FrozenInstanceError):
        SearchSettings().batch = 3


@pytest.mark.parametrize(
    "changes",
    [
        {"batch": 1},
        {"batch": 200},
        {"temperatures": (16.0,)},
        {"annealing_rounds": 1},
        {"most_trials": 1},
        {"likeness": (0.999,)},
        {"growth_steps": 1, "polish_steps": 3},
    ],
    ids=str,
)
def test_other_constants_find_a_model_as_well(changes):
    """None of them decides whether signal is found."""
    problem = sinc()
    empty = BatchSearch().init(problem).model.log_evidence
    found = ended(problem, BatchSearch(settings=SearchSettings(**changes)))

    share = (found.log_evidence - empty) / (ended(problem).log_evidence - empty)
    assert share > 0.9


def test_a_batch_shrinks_where_rounds_gain_little_and_grows_again():
    states = states_of(friedman(), BatchSearch(tol=3e-3))
    polishing = [state.batch for state in states if state.phase == "polishing"]
    largest = BatchSearch().settings.batch

    assert polishing[0] == largest
    assert max(polishing) <= largest
    assert min(polishing) == 1
    assert np.any(np.diff(polishing) > 0)
    assert states[0].phase == "annealing"
    assert states[-1].phase == "over"

"""The search on pools: what it keeps from step to step, and what a price asks."""

from dataclasses import replace

import numpy as np
import pytest
from problems import classification, gaussian_kernel

from relvec.data import noisy_sinc
from relvec.design import DenseDesign
from relvec.evidence import BottomUp, Problem, Search, Sequential
from relvec.evidence import pooled as pooled_module
from relvec.evidence.moments import solve
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import NO_ENTRANTS, known_moments
from relvec.evidence.search_model import mode_after, model_at
from relvec.evidence.tempering import Tempered
from relvec.likelihoods import Gaussian


def regression(noise=0.1):
    X, y = noisy_sinc(60, noise=noise, seed=0)
    y, weights = (y - y.mean())[:, None], np.ones(60)
    design = DenseDesign.weighted(gaussian_kernel(X, X, 3.0), weights)
    return Problem(design, y, Gaussian.starting(y, weights), weights)


def ended(problem, pooled, most=200):
    state = pooled.init(problem)
    for _ in range(most):
        if pooled.converged(problem, state):
            return state
        state = pooled.step(problem, state)
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("make", [regression, classification])
def test_in_the_end_every_function_is_worth_its_price(make):
    """Beside the others as they are: the cost of its deletion, eq. 37."""
    problem, price = make(), 2.0
    plain = ended(problem, Pooled()).model
    state = ended(problem, Pooled(price=price))
    model = state.model
    assert state.eliminating
    assert 0 < len(model.active) <= len(plain.active)

    moments = known_moments(problem, model, NO_ENTRANTS)
    alpha, beta = model.prior_precision, model.observations.noise_precision
    whole = solve(moments, alpha, beta).log_evidence
    for left_out in range(len(alpha)):
        rest = np.delete(np.arange(len(alpha)), left_out)
        less = solve(moments.subset(rest), alpha[rest], beta).log_evidence
        assert whole - less > 0.99 * price


def test_a_single_step_forgets_nothing_of_the_search():
    """One that changes the model, where Gram matrices are out of digits."""
    problem, pooled = regression(), Pooled(price=1.0)
    state = ended(problem, Pooled())
    weakest = int(state.model.active[0])
    mode = mode_after(problem, state.model, weakest, np.inf)
    model = replace(model_at(problem, mode), gram=None)
    before = replace(pooled.resumed(model, 7), eliminating=True)
    after = pooled.step(problem, before)

    assert after.model is not before.model
    assert after.steps == 8
    assert after.eliminating


def test_only_a_search_without_a_price_is_tempered():
    """What tempering adds to a model, a price would take out again."""
    assert isinstance(BottomUp().maximiser(None, Search()), Tempered)
    assert isinstance(BottomUp().maximiser(None, Search(price=1.0)), Pooled)


def test_a_tolerance_is_that_of_single_steps_and_rounds():
    loose = Pooled(price=1.0).with_tol(0.5)

    assert loose.tol == loose.single.tol == 0.5
    assert loose.price == 1.0


def recorded(monkeypatch, name, change=lambda outcome: outcome):
    """Calls of a function of the module, whose results are changed."""
    calls, function = [], getattr(pooled_module, name)

    def recording(*arguments, **settings):
        calls.append(settings)
        return change(function(*arguments, **settings))

    monkeypatch.setattr(pooled_module, name, recording)
    return calls


def test_a_round_that_is_not_confirmed_is_played_again_with_one_action(monkeypatch):
    """In the expansion of a likelihood many actions may lead too far."""
    problem, pooled = classification(), Pooled()
    state = pooled.init(problem)
    monkeypatch.setattr(pooled_module, "_confirmed", lambda *arguments: None)
    calls = recorded(monkeypatch, "play")
    after = pooled.step(problem, state)

    assert [call["most"] for call in calls] == [np.inf, 1]
    assert after.exhausted


@pytest.mark.parametrize(
    ("tol", "gain", "asked"),
    [
        (1e-5, 0.9e-4, 0),
        (1e-5, 1.1e-4, 1),
        (1.0, 0.9e-3, 0),
        (1.0, 1.1e-3, 1),
    ],
)
def test_a_last_round_that_promises_little_is_not_refitted(
    monkeypatch, tol, gain, asked
):
    """Ten times the tolerance, or a thousandth of a nat: a refit takes time."""
    problem, pooled = classification(), Pooled()
    state = pooled.resumed(ended(problem, pooled).model, 1)
    recorded(monkeypatch, "play", lambda found: replace(found, gain=gain, final=True))
    calls = recorded(monkeypatch, "posterior_at_mode")
    pooled.with_tol(tol).step(problem, state)

    assert len(calls) == asked


@pytest.mark.parametrize(("gain", "ends"), [(0.9e-6, True), (1.1e-6, False)])
def test_single_steps_that_gain_next_to_nothing_end_the_search(monkeypatch, gain, ends):
    """They may go on for thousands."""
    problem, pooled = regression(), Pooled()
    model = replace(ended(problem, pooled).model, gram=None)
    state = pooled.resumed(model, 1)
    higher = replace(model, log_evidence=model.log_evidence + gain)
    monkeypatch.setattr(
        Sequential, "step", lambda self, problem, search: replace(search, model=higher)
    )

    assert pooled.step(problem, state).exhausted == ends

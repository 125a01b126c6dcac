"""The search on pools: what it keeps from step to step, and what a price asks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import classification, gaussian_kernel

from relvec.basis import Basis
from relvec.data import noisy_sinc
from relvec.design import DenseDesign, Rows
from relvec.design.blocked import BlockedDesign, Room
from relvec.evidence import BottomUp, Problem, Search
from relvec.evidence import pooled as pooled_module
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import NO_ENTRANTS, known_moments
from relvec.evidence.search_model import mode_after, model_at
from relvec.evidence.staged import Staged
from relvec.evidence.tempering import Tempered
from relvec.kernels import Columns
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
    whole = moments.solved(alpha, beta).log_evidence
    for left_out in range(len(alpha)):
        rest = np.delete(np.arange(len(alpha)), left_out)
        less = moments.subset(rest).solved(alpha[rest], beta).log_evidence
        assert whole - less > 0.99 * price


def test_a_round_in_coordinates_forgets_nothing_of_the_search():
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
    problem = regression()
    free, priced = (BottomUp().maximiser(problem, Search(price=p)) for p in (0.0, 1.0))

    assert isinstance(free, Tempered)
    assert isinstance(priced, Pooled)
    assert priced.price == 1.0


@pytest.mark.parametrize(("price", "thorough"), [(0.0, Tempered), (1.0, Pooled)])
def test_a_dictionary_that_is_not_held_is_searched_by_its_parts(price, thorough):
    """Each pass lets more functions in, where passes are dear."""
    problem = regression()
    held = BottomUp().maximiser(problem, Search(price=1.0))
    unheld = replace(problem, design=unheld_design(problem.design))
    search = BottomUp().maximiser(unheld, Search(price=price))

    assert isinstance(search, Staged)
    assert isinstance(search.thorough, thorough)
    assert search.price == price
    assert not search.pooled.price
    assert search.pooled.rounds.width > held.rounds.width


def unheld_design(design):
    basis = Basis.of(Columns(), np.arange(design.shape[1]), bias=False)
    rows, norms, weight = Rows.of(design.matrix), design.column_norms, np.ones(60)
    return BlockedDesign(rows, basis, norms, weight, Room(entries=1e6, keep=1e6))


def test_a_tolerance_is_that_of_single_steps_and_rounds():
    loose = Pooled(price=1.0).with_tol(0.5)

    assert loose.tol == loose.single.tol == 0.5
    assert loose.price == 1.0


def recorded(monkeypatch, name, change=lambda outcome: outcome):
    """Calls of a function of the module, whose results are changed."""
    calls, function = [], getattr(pooled_module, name)

    def recording(*arguments, **settings):
        calls.append(arguments)
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

    assert [goal.most for *_, goal in calls] == [np.inf, 1]
    assert after.exhausted


@pytest.mark.parametrize(
    ("tol", "gain", "asked"),
    [
        (1e-5, 0.9e-4, 0),
        (1e-5, 1.1e-4, 2),
        (1.0, 0.9e-3, 0),
        (1.0, 1.1e-3, 2),
    ],
)
def test_a_last_round_that_promises_little_is_not_refitted(
    monkeypatch, tol, gain, asked
):
    """Ten times the tolerance, or a thousandth of a nat: a refit takes time.

    One is rough at first, and to the end where that does not refuse it.
    """
    problem, pooled = classification(), Pooled()
    state = pooled.resumed(ended(problem, pooled).model, 1)
    recorded(monkeypatch, "play", lambda found: replace(found, gain=gain, final=True))
    calls = recorded(monkeypatch, "posterior_at_mode")
    pooled.with_tol(tol).step(problem, state)

    assert len(calls) == asked


def idle_rounds(monkeypatch, pooled, share):
    """Rounds until the end if each gains such a share of what counts; 20 at most."""
    problem = regression()
    gain = share * pooled.tol * problem.sample_weight.sum()

    def confirmed(problem, before, *arguments):
        return replace(before, log_evidence=before.log_evidence + gain)

    state = pooled.resumed(ended(problem, pooled).model, 1)
    monkeypatch.setattr(pooled_module, "_confirmed", confirmed)
    calls = recorded(monkeypatch, "play", lambda found: replace(found, final=False))
    while not state.exhausted and len(calls) < 20:
        state = pooled.step(problem, state)
    return calls


@pytest.mark.parametrize("patience", [1, 3])
def test_rounds_that_gain_next_to_nothing_end_the_search(monkeypatch, patience):
    """The tolerance for each observation; half of all rounds of large fits are such."""
    pooled = Pooled(patience=patience, polish=False)

    assert len(idle_rounds(monkeypatch, pooled, 0.9)) == patience


def test_rounds_that_gain_enough_do_not_end_it(monkeypatch):
    assert len(idle_rounds(monkeypatch, Pooled(patience=1, polish=False), 1.1)) == 20


def test_a_tired_search_is_polished_with_what_it_has(monkeypatch):
    """Rounds without candidates, until Newton's method ends."""
    calls = idle_rounds(monkeypatch, Pooled(patience=2), 0.9)

    assert len(calls) > 2
    assert all(len(short) == 0 for _, _, short, *_ in calls[2:])


def test_the_whole_search_is_the_same_in_coordinates(monkeypatch):
    """Of models that never have a Gram matrix, where one would have digits enough."""
    problem = regression()
    expected = ended(problem, Pooled()).model
    assert expected.gram is not None
    for name in ("model_at", "model_in_gram_form"):
        recorded(monkeypatch, name, lambda model: replace(model, gram=None))
    found = ended(problem, Pooled()).model

    assert found.gram is None
    assert np.array_equal(np.sort(found.active), np.sort(expected.active))
    assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-6)

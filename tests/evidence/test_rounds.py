"""Who joins a pool, and what a round makes of it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import random_case

from relvec import RVC
from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.moments import Moments, Overlaps
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import (
    NO_ENTRANTS,
    Goal,
    Rounds,
    coordinates_of,
    known_moments,
    play,
)
from relvec.evidence.search_model import model_at
from relvec.kernels import Gaussian
from relvec.likelihoods import gaussian_noise


def sinc(n_rows=60, kernel_width=0.8):
    X, y = noisy_sinc(n_rows, seed=0)
    weights, y = np.ones(n_rows), y[:, None]
    design = DenseDesign.weighted(Gaussian(width=kernel_width)(X), weights)
    return Problem(design, y, gaussian_noise(y, weights, "estimate"), weights)


def after_steps(problem, n_steps):
    pooled = Pooled()
    state = pooled.init(problem)
    for _ in range(n_steps):
        state = pooled.step(problem, state)
    return state.search


def random_overlaps(seed, n_functions, n_outputs=1, rank=6):
    """Of functions of which many are alike."""
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((n_outputs, rank, n_functions))
    overlap = np.swapaxes(left, 1, 2) @ left
    shape = (n_outputs, n_functions)
    return Overlaps(overlap, rng.standard_normal(shape), np.zeros(shape))


def likeness(overlaps):
    """|cosine| of what is left of any two, the largest of any output."""
    size = np.sqrt(np.diagonal(overlaps.overlap, axis1=1, axis2=2))
    return np.abs(overlaps.overlap / size[:, :, None] / size[:, None]).max(axis=0)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("width", [3, 64])
@pytest.mark.parametrize("seed", range(3))
def test_those_who_join_are_unlike_each_other_and_nobody_else_is(
    seed, width, n_outputs
):
    overlaps, n_active = random_overlaps(seed, 60, n_outputs), 4
    chosen = Rounds(width=width, likeness=0.6).entrants(overlaps, n_active)
    cosines = likeness(overlaps)
    for limit in (0.6, 0.99, 0.999):  # more alike where there are too few
        expected = []
        for index in range(n_active, 60):
            if len(expected) < width and np.all(cosines[index, expected] < limit):
                expected.append(index)
        if len(expected) >= min(8, width):
            break

    assert chosen.tolist() == expected


@pytest.mark.parametrize("factor", [1.0, -3.0])
def test_a_copy_of_an_active_function_does_not_join(factor):
    rng = np.random.default_rng(5)
    left = rng.standard_normal((8, 6))
    left[:, 4] = factor * left[:, 1]
    none = np.zeros((1, 6))
    overlaps = Overlaps((left.T @ left)[None], none, none)

    assert Rounds(likeness=1.1).entrants(overlaps, 3).tolist() == [3, 5]


def test_nobody_joins_where_nobody_is_on_the_list():
    assert Rounds().entrants(random_overlaps(0, 4), 4).size == 0


@pytest.mark.parametrize("n_steps", [0, 1])
@pytest.mark.parametrize("width", [2, 5, 64])
def test_the_short_list_is_of_functions_that_gain(width, n_steps):
    state, tol = after_steps(sinc(), n_steps), 1e-3
    options = state.model.proposals
    short = Rounds(width=width).short_list(state.model.proposals, tol)
    gain = options.gain[short]

    assert 0 < len(short) <= 2 * width
    assert len(set(short)) == len(short)
    assert np.all(gain > tol)
    assert not np.isin(short, state.model.active).any()
    assert np.all(np.diff(gain) <= 0)
    outside = np.isinf(options.current)
    assert gain[0] == options.gain[outside].max()
    if width == 64:
        assert len(short) == np.sum(options.gain[outside] > tol)


def test_a_random_short_list_repeats_with_the_seed():
    options = after_steps(sinc(), 0).model.proposals
    one, two = (Rounds("random", 8, seed=seed) for seed in (1, 2))
    short = one.short_list(options, 1e-3)
    again = one.short_list(options, 1e-3)

    assert np.array_equal(short, again)
    assert not np.array_equal(short, two.short_list(options, 1e-3))
    other = one.short_list(options, 1e-3, turn=1)
    assert not np.array_equal(again, other)


def test_a_cyclic_short_list_goes_on_where_the_last_one_ended():
    options = after_steps(sinc(), 0).model.proposals
    gaining = np.flatnonzero(options.gain > 1e-3)
    short = Rounds("cyclic", 4).short_list(options, 1e-3, cursor=40)
    later = np.concatenate([gaining[gaining >= 40], gaining])

    assert short.tolist() == later[:8].tolist()


def test_moments_of_a_short_list_are_those_of_its_columns():
    problem = sinc()
    model = after_steps(problem, 1).model
    short = np.setdiff1d(np.arange(60), model.active)[:7]
    columns = np.concatenate([model.active, short])
    found = known_moments(problem, model, short)
    exact = coordinates_of(problem, model, columns)
    V, z = exact.columns, exact.target

    assert_allclose(found.gram[0], V.T @ V, atol=1e-12)
    assert_allclose(found.target, z.T @ V, atol=1e-12)
    assert_allclose(found.target_squares, exact.target_squares)
    assert found.count == exact.count == 60


@pytest.mark.parametrize("goal", [Goal(1e-4), Goal(1e-4, most=1), Goal(1e-4, price=2)])
@pytest.mark.parametrize("n_steps", [0, 1, 3])
def test_a_round_in_coordinates_is_that_in_moments(n_steps, goal):
    """Where both have digits: models without a Gram matrix are played in the first."""
    problem, rounds = sinc(kernel_width=2.0), Rounds()
    state = after_steps(problem, n_steps)
    short = rounds.short_list(state.model.proposals, 1e-4)
    model = replace(state.model, solution=None)
    first, second = (
        play(problem, each, short, rounds, goal)
        for each in (model, replace(model, gram=None))
    )

    assert np.array_equal(first.active, second.active)
    assert_allclose(second.gain, first.gain, rtol=1e-5, atol=1e-7)
    alpha = second.ascent.prior_precision
    assert_allclose(alpha, first.ascent.prior_precision, rtol=1e-3)


def test_a_round_without_digits_for_moments_is_played_in_coordinates(monkeypatch):
    problem, rounds = sinc(kernel_width=2.0), Rounds()
    model = after_steps(problem, 1).model
    short = rounds.short_list(model.proposals, 1e-4)
    exact = play(problem, replace(model, gram=None), short, rounds, Goal(1e-4))

    def failing(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(Moments, "solved", failing)
    found = play(problem, model, short, rounds, Goal(1e-4))

    assert np.array_equal(found.active, exact.active)
    assert found.gain == exact.gain


def test_the_gain_of_a_round_is_the_difference_of_evidences():
    problem, rounds = sinc(), Rounds()
    state = after_steps(problem, 1)
    model, short = state.model, rounds.short_list(state.model.proposals, 1e-4)
    found = play(problem, model, short, rounds, Goal(1e-4))
    likelihood = model.likelihood.with_parameters(np.log(found.ascent.noise_precision))
    at = found.active, found.ascent.prior_precision, found.solution.mean
    after = posterior_at_mode(problem, likelihood, *at).log_evidence

    assert found.gain > 0.1
    assert_allclose(after - model.log_evidence, found.gain, rtol=1e-8)


def test_a_round_without_candidates_polishes_the_model():
    case = random_case(2)
    start = np.zeros((1, len(case.active)))
    at = case.problem, case.problem.likelihood, case.active, case.alpha, start
    model = model_at(case.problem, posterior_at_mode(*at))
    found = play(case.problem, model, NO_ENTRANTS, Rounds(), Goal(1e-4))

    assert found.final
    assert found.gain > 0
    assert set(found.active) <= set(case.active)


def test_a_model_whose_evidence_is_no_number_is_not_taken(monkeypatch):
    """As that of a posterior that was not found."""
    X, y = two_mixtures(200, seed=0)
    calls = []

    def failing(*arguments, **settings):
        mode = posterior_at_mode(*arguments, **settings)
        calls.append(mode)
        return replace(mode, log_evidence=np.nan) if len(calls) > 2 else mode

    monkeypatch.setattr("relvec.evidence.pooled.posterior_at_mode", failing)
    model = RVC(gamma=1.0).fit(X, y)

    assert len(calls) > 2
    assert np.isfinite(model.history_["log_evidence"]).all()
    assert model.score(X, y) > 0.85

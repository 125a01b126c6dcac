"""Actions inside a pool beside the evidence they claim to change."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import covariance, log_marginal
from problems import random_case

from relvec.evidence.moments import Overlaps
from relvec.evidence.pool import (
    Pool,
    _exchange,
    _moves,
    _options,
    _target,
    climb,
)


def dense_pool(case, variance):
    """T and Q by the N×N matrix."""
    inside = np.flatnonzero(variance)
    T, Q = [], []
    for target, precision in case.each_output():
        C = covariance(case.Phi, precision, inside, 1 / variance[inside])
        T.append(case.Phi.T @ np.linalg.solve(C, case.Phi))
        Q.append(case.Phi.T @ np.linalg.solve(C, target))
    products = np.stack([np.vstack(pair) for pair in zip(T, Q, strict=True)])
    products = products[0] if len(T) == 1 else products
    least = np.zeros((*products.shape[:-2], len(variance)))
    return Pool(products, variance.copy(), least)


def gains(pool):
    return _options(pool, pool.left)[1]


def target(pool, index):
    return _target(pool, pool.left, *_options(pool, pool.left), index)


def evidence(case, variance):
    inside = np.flatnonzero(variance)
    return sum(
        log_marginal(case.Phi, target, precision, inside, 1 / variance[inside])
        for target, precision in case.each_output()
    )


def some_variance(case):
    variance = np.zeros(case.Phi.shape[1])
    variance[case.active] = 1 / case.alpha
    return variance


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
def test_a_pool_of_some_functions_moves_as_one_of_all(n_outputs):
    """Whatever order in memory the overlaps of these functions come in."""
    case = random_case(0, n_outputs=n_outputs)
    variance = some_variance(case)
    dense = dense_pool(case, variance)
    overlaps = Overlaps(
        dense.overlap.reshape(n_outputs, len(variance), -1),
        dense.quality,
        np.zeros((n_outputs, len(variance))),
    )
    chosen = np.arange(len(variance))[::2]
    least_precision = np.full(len(chosen), 1e-20)
    pool = Pool.of(overlaps.subset(chosen), variance[chosen], least_precision, 0.0)
    pool.move(1, 0.7)
    dense.move(int(chosen[1]), 0.7)

    expected = dense.overlap[..., chosen[:, None], chosen]
    assert_allclose(pool.overlap, expected, rtol=1e-7, atol=1e-9)
    assert_allclose(pool.quality, dense.quality[:, chosen], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_move_is_the_recomputed_pool(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    variance = some_variance(case)
    pool = dense_pool(case, variance)
    outside = int(np.flatnonzero(variance == 0)[0])
    moves = [(outside, 0.7), (int(case.active[0]), 0.0), (int(case.active[1]), 3.0)]
    for index, value in moves:
        pool.move(index, value)
        variance[index] = value

    expected = dense_pool(case, variance)
    assert np.array_equal(pool.prior_variance, variance)
    assert_allclose(pool.overlap, expected.overlap, rtol=1e-7, atol=1e-9)
    assert_allclose(pool.quality, expected.quality, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_gains_are_differences_of_the_evidence(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    variance = some_variance(case)
    pool = dense_pool(case, variance)
    gain = gains(pool)
    before = evidence(case, variance)

    for index in range(len(variance)):
        after = variance.copy()
        after[index] = target(pool, index)
        difference = evidence(case, after) - before
        assert_allclose(gain[index], difference, rtol=1e-6, atol=1e-8 * abs(before))


@pytest.mark.parametrize("seed", range(4))
def test_one_output_is_a_case_of_many(seed):
    case = random_case(seed)
    pool = dense_pool(case, some_variance(case))
    one = (pool.sparsity, pool.quality, pool.left)
    twice = [np.repeat(np.atleast_2d(values), 2, axis=0) for values in one]

    (growth, gain), (growths, gains_of_both) = _moves(*one), _moves(*twice)
    assert_allclose(growths, [growth, growth], rtol=1e-9, atol=1e-12)
    assert_allclose(gains_of_both, 2 * gain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_outputs_that_share_a_covariance_are_many_that_are_equal(seed):
    case = random_case(seed)
    pool = dense_pool(case, some_variance(case))
    S, left = pool.sparsity, pool.left
    Q = pool.quality * np.array([[1.0], [-0.3], [2.0]])

    shared, several = (S, Q, left), (np.tile(S, (3, 1)), Q, np.tile(left, (3, 1)))
    (growth, gain), (growths, gains_of_all) = _moves(*shared), _moves(*several)
    assert_allclose(np.tile(growth, (3, 1)), growths, rtol=1e-9, atol=1e-12)
    assert_allclose(gain, gains_of_all, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_climb_ends_where_nothing_gains(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    pool = dense_pool(case, some_variance(case))
    before = evidence(case, pool.prior_variance)
    taken = climb(pool, 1e-6, 10_000)

    assert taken > 0
    assert evidence(case, pool.prior_variance) > before
    fresh = dense_pool(case, pool.prior_variance)
    assert np.max(gains(fresh)) < 1e-5
    assert not _exchange(fresh, 1e-5)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_bounded_variances(seed, n_outputs):
    """A function goes as far as it may, and gains what that is worth."""
    case = random_case(seed, n_outputs=n_outputs)
    variance = some_variance(case)
    free = dense_pool(case, variance)
    largest = max(target(free, index) for index in range(len(variance)))
    most = np.full(len(variance), 0.5 * largest)
    pool = replace(dense_pool(case, variance), most_variance=most)
    at_bound = 0
    for index, gain in enumerate(gains(pool)):
        nu = target(pool, index)
        assert_allclose(nu, min(target(free, index), most[index]), rtol=1e-7, atol=1e-9)
        at_bound += nu > 0.999 * most[index]
        moved = variance.copy()
        moved[index] = max(nu, 0.0)
        difference = evidence(case, moved) - evidence(case, variance)
        assert_allclose(gain, difference, rtol=1e-6, atol=1e-8)

    assert at_bound
    pool = replace(dense_pool(case, 0 * variance), most_variance=most)
    climb(pool, 1e-6, 1000)
    assert np.all(pool.prior_variance <= most * (1 + 1e-9))


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_priced_gains_are_differences_of_the_priced_evidence(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    variance = some_variance(case)
    price = 0.7
    pool = replace(dense_pool(case, variance), price=price)
    gain = gains(pool)
    before = evidence(case, variance) - price * np.count_nonzero(variance)

    for index in range(len(variance)):
        after = variance.copy()
        after[index] = target(pool, index)
        worth = evidence(case, after) - price * np.count_nonzero(after)
        atol = 1e-8 * abs(before)
        assert_allclose(gain[index], worth - before, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_function_stays_below_its_price(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    free = dense_pool(case, some_variance(case))
    climb(free, 1e-6, 10_000)
    priced = replace(dense_pool(case, free.prior_variance), price=3.0)
    climb(priced, 1e-6, 10_000)
    kept = priced.prior_variance
    found = evidence(case, kept)

    assert np.count_nonzero(kept) < np.count_nonzero(free.prior_variance)
    for index in np.flatnonzero(kept):
        without = kept.copy()
        without[index] = 0.0
        assert evidence(case, without) < found - 3.0 + 1e-5


def test_no_more_actions_than_allowed():
    case = random_case(2)
    pool = dense_pool(case, np.zeros(case.Phi.shape[1]))

    assert climb(pool, 1e-6, 3) == 3
    assert np.count_nonzero(pool.prior_variance) <= 3


def test_a_climb_ends_where_rounding_gains_for_ever(monkeypatch):
    case = random_case(2)
    pool = dense_pool(case, some_variance(case))
    monkeypatch.setattr("relvec.evidence.pool._exchange", lambda *_: True)

    assert climb(pool, np.inf, np.inf) <= 10 * len(pool.prior_variance)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_an_exchange_gains_what_two_moves_do(n_outputs):
    """A poor copy in the model and the good one outside."""
    case = random_case(1, n_outputs=n_outputs)
    rng = np.random.default_rng(0)
    good = case.Phi[:, 0]
    poor = good + 0.3 * rng.standard_normal(len(good)) / np.sqrt(len(good))
    target = np.repeat(5 * good[:, None], n_outputs, axis=1)
    case = type(case)(
        np.column_stack([poor, good]),
        type(case.seen)(target, case.seen.row_weights, case.seen.noise_precision),
        np.array([0]),
        np.array([0.05]),
    )
    pool = dense_pool(case, np.array([20.0, 0.0]))
    before = evidence(case, pool.prior_variance)

    assert _exchange(pool, 1e-3)
    assert pool.prior_variance[0] == 0
    assert pool.prior_variance[1] > 0
    assert evidence(case, pool.prior_variance) > before + 1e-3

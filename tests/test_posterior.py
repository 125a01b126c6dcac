"""The posterior in its factored form."""

import tracemalloc

import numpy as np
from numpy.testing import assert_allclose
from problems import drawn

from relvec.posterior import Posterior

ROWS = drawn(1, (2, 9, 4))
ALPHA = np.array([0.5, 2.0, 1e-3, 40.0])


def posterior(rng):
    root = 1 / np.sqrt(ALPHA)
    hessians = np.swapaxes(ROWS, 1, 2) @ ROWS
    factor = np.linalg.cholesky(np.eye(4) + hessians * root[:, None] * root)
    return Posterior(np.arange(4), ALPHA, rng.standard_normal((2, 4)), factor)


def covariances():
    return np.linalg.inv(np.diag(ALPHA) + np.swapaxes(ROWS, 1, 2) @ ROWS)


def test_covariance_solve_and_determinant(rng):
    found, Sigma = posterior(rng), covariances()
    right = rng.standard_normal((2, 4))

    assert_allclose(found.covariance, Sigma, rtol=1e-9)
    assert_allclose(found.solve(right), np.einsum("kij,kj->ki", Sigma, right))
    expected = -np.linalg.slogdet(Sigma)[1].sum() - 2 * np.log(ALPHA).sum()
    assert_allclose(found.log_determinant, expected)
    gamma = 1 - ALPHA * np.diagonal(Sigma, axis1=1, axis2=2)
    assert_allclose(found.effective_parameters, gamma.sum(axis=1))


def test_weights_drawn_have_the_covariance(rng):
    """A unit of each normal number, one after the other, is a root of it."""
    found = posterior(rng)
    for k, Sigma in enumerate(covariances()):
        units = np.zeros((4, 2, 4))
        units[:, k] = np.eye(4)
        apart = found.drawn(units) - found.mean
        assert_allclose(apart[:, k].T @ apart[:, k], Sigma, rtol=1e-9)
        assert not apart[:, 1 - k].any()


def test_weights_in_another_order(rng):
    found, order = posterior(rng), np.array([2, 0, 3, 1])
    other = found.reordered(order)

    assert_allclose(other.mean, found.mean[:, order])
    assert_allclose(other.active, order)
    assert_allclose(other.covariance, covariances()[:, order[:, None], order])
    assert_allclose(other.factor, np.tril(other.factor))
    assert_allclose(other.log_determinant, found.log_determinant)


def test_outputs_that_share_a_factor_are_solved_for_together(rng):
    separate = posterior(rng)
    shared = Posterior(
        np.arange(4), ALPHA, np.zeros((3, 4)), separate.factor[:1].copy()
    )
    right = rng.standard_normal((3, 4))

    assert_allclose(shared.solve(right), right @ covariances()[0], rtol=1e-9)
    empty = Posterior(np.arange(0), np.empty(0), np.empty((3, 0)), np.empty((1, 0, 0)))
    assert empty.solve(np.empty((3, 0))).shape == (3, 0)


def test_predictions(rng):
    found, Sigma = posterior(rng), covariances()
    functions = rng.standard_normal((6, 4))
    mean, variance = found.predict(functions)

    assert_allclose(mean, functions @ found.mean.T)
    expected = np.einsum("ni,kij,nj->nk", functions, Sigma, functions)
    assert_allclose(variance, expected)


def test_rescaled_weights_have_rescaled_moments(rng):
    found = posterior(rng)
    factors = np.array([3.0, 1e-8, 1e8, 0.2])
    scaled = found.rescaled(factors)

    assert_allclose(scaled.mean, found.mean * factors)
    expected = found.covariance * factors[:, None] * factors
    assert_allclose(scaled.covariance, expected, rtol=1e-9)


def test_variances_of_neighbours_side_by_side_have_digits():
    """Wide functions from left to right, and hardly any noise."""
    x, beta = np.linspace(-1, 1, 200), 1e12
    functions = np.exp(-np.square(x[:, None] - x[::8]) / 4)
    alpha = np.full(functions.shape[1], 1e-12)
    scaled = functions * np.sqrt(beta / alpha)
    reflected, upper = np.linalg.qr(np.vstack([scaled, np.eye(len(alpha))]))
    factor = (upper * np.sign(upper.diagonal())[:, None]).T
    found = Posterior(np.arange(len(alpha)), alpha, alpha[None], factor[None])
    expected = np.sum(reflected[:200] ** 2, axis=1) / beta

    assert_allclose(found.predict(functions)[1][:, 0], expected, rtol=1e-2)


def test_many_outputs_take_no_more_memory_to_predict_than_one(rng):
    """What is whitened is as large as the functions, of one output at a time."""
    n_outputs, size = 6, 40
    functions = rng.standard_normal((5000, size))
    factor = np.stack([np.eye(size)] * n_outputs)
    at = np.arange(size), np.ones((n_outputs, size)), np.ones((n_outputs, size))
    model = Posterior(*at, factor)
    tracemalloc.start()
    try:
        model.predict(functions)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 2.5 * functions.nbytes

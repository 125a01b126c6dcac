"""sparse_bayes with known precisions: penalised least squares, and its posterior."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import laplace_evidence, log_marginal
from problems import gaussian_kernel
from scipy.interpolate import BSpline, make_smoothing_spline
from scipy.optimize import minimize_scalar

from relvec import TopDown, sparse_bayes
from relvec.data import noisy_sinc

X, Y = noisy_sinc(50, seed=3)
PHI = np.column_stack([np.ones(50), gaussian_kernel(X, X[::2], 3.0)])


def penalised_least_squares(Phi, y, penalty):
    """(13) and (14) of Shah's note: min over w of ‖y − Φw‖² + wᵀ·penalty·w."""
    return np.linalg.solve(Phi.T @ Phi + penalty, Phi.T @ y)


def test_penalised_least_squares_is_the_posterior_mean():
    noise, alpha = 0.02, 3.0
    found = sparse_bayes(PHI, Y, noise_variance=noise, prior_precision=alpha)
    penalty = noise * alpha * np.eye(26)

    assert_array_equal(found.relevant, np.arange(26))
    assert_allclose(found.weights, penalised_least_squares(PHI, Y, penalty), rtol=1e-9)
    covariance = noise * np.linalg.inv(PHI.T @ PHI + penalty)
    assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-12)
    assert_allclose(found.prior_precision, alpha)
    expected = log_marginal(
        PHI, Y, np.full(50, 1 / noise), np.arange(26), np.full(26, alpha)
    )
    assert_allclose(found.log_evidence, expected, rtol=1e-10)
    assert found.n_iter == 1


def test_a_precision_for_each_column_and_none_of_some():
    alpha = np.geomspace(0.1, 100, 26)
    alpha[[3, 8]] = np.inf
    found = sparse_bayes(PHI, Y, noise_variance=0.02, prior_precision=alpha)
    left = np.setdiff1d(np.arange(26), [3, 8])

    expected = penalised_least_squares(PHI[:, left], Y, 0.02 * np.diag(alpha[left]))
    assert_array_equal(found.relevant, left)
    assert_allclose(found.weights, expected, rtol=1e-9)
    assert_allclose(found.predict(PHI)[0], PHI[:, left] @ expected, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_the_noise_alone_maximises_the_evidence(alpha):
    def negative(log_noise):
        precision = np.full(50, np.exp(-log_noise))
        return -log_marginal(PHI, Y, precision, np.arange(26), np.full(26, alpha))

    best = minimize_scalar(negative, bounds=(-10, 3), method="bounded")
    found = sparse_bayes(PHI, Y, prior_precision=alpha, tol=1e-6)

    assert_allclose(found.noise_variance, np.exp(best.x), rtol=1e-4)
    assert_allclose(found.log_evidence, -best.fun, rtol=1e-8)
    assert len(found.relevant) == 26


def test_rows_count_as_often_as_they_weigh():
    counts = np.arange(50) % 3
    rows = np.repeat(np.arange(50), counts)
    given = {"noise_variance": 0.02, "prior_precision": 2.0}
    found = sparse_bayes(PHI, Y, sample_weight=counts, **given)

    assert_allclose(found.weights, sparse_bayes(PHI[rows], Y[rows], **given).weights)


def test_two_classes():
    """Penalised logistic regression, and Laplace's approximation about it."""
    rng = np.random.default_rng(4)
    Phi = rng.standard_normal((90, 12))
    y = (Phi[:, 2] - Phi[:, 8] + 0.5 * rng.standard_normal(90) > 0).astype(int)
    found = sparse_bayes(Phi, y, "bernoulli", prior_precision=0.5)

    slope = Phi.T @ (y - 1 / (1 + np.exp(-Phi @ found.weights))) - 0.5 * found.weights
    assert_allclose(slope, 0, atol=1e-8)
    expected = laplace_evidence(Phi, y, np.arange(12), np.full(12, 0.5))
    assert_allclose(found.log_evidence, expected, rtol=1e-8)


def cubic_splines(x):
    """B-splines with a knot on every point, and the integral of f″² as a matrix."""
    knots = np.concatenate([[x[0]] * 3, x, [x[-1]] * 3])
    splines = BSpline(knots, np.eye(len(knots) - 4), 3)
    # Products of second derivatives are parabolas between knots: Simpson is exact.
    curvature = splines.derivative(2)
    Omega = np.zeros((len(knots) - 4,) * 2)
    for left, right in pairwise(x):
        inside = left + (right - left) * np.array([1e-12, 0.5, 1 - 1e-12])
        weights = (right - left) / 6 * np.array([1, 4, 1])
        values = curvature(inside)
        Omega += values.T * weights @ values
    return splines(x), Omega


def test_a_penalty_of_curvature_by_turning_the_dictionary():
    """(13): the smoothing spline, of which straight lines cost nothing."""
    x, y = X[:, 0], Y
    Phi, Omega = cubic_splines(x)
    eigenvalues, U = np.linalg.eigh(Omega)
    free = eigenvalues < 1e-10 * eigenvalues[-1]
    turn = U / np.sqrt(np.where(free, 1.0, eigenvalues))
    penalty, noise = 0.5, 0.01
    found = sparse_bayes(
        Phi @ turn,
        y,
        noise_variance=noise,
        prior_precision=np.where(free, 1e-9, penalty / noise),
    )

    assert free.sum() == 2
    smooth = make_smoothing_spline(x, y, lam=penalty)(x)
    assert_allclose(found.predict(Phi @ turn)[0], smooth, atol=1e-6)
    expected = penalised_least_squares(Phi, y, penalty * Omega)
    assert_allclose(turn @ found.weights, expected, atol=1e-5)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, "auto", None, [1.0, 2.0], [[1.0]]])
def test_precisions_are_positive(bad):
    with pytest.raises(ValueError, match="prior_precision must be 'estimate', a posit"):
        sparse_bayes(PHI, Y, prior_precision=bad)


def test_some_column_must_be_left():
    with pytest.raises(ValueError, match="prior_precision leaves out every column"):
        sparse_bayes(PHI, Y, prior_precision=np.inf)


def test_known_precisions_are_not_searched_for():
    with pytest.raises(ValueError, match="prior_precision gives them: leave out one"):
        sparse_bayes(PHI, Y, prior_precision=1.0, solver=TopDown())

"""The multinomial probit and the softmax against slow and obvious versions."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax as exact_softmax
from scipy.stats import norm

from relvec.likelihoods import MultinomialProbit
from relvec.likelihoods.multinomial_probit import class_probabilities, contrasts
from relvec.likelihoods.probit_integrals import log_cdf_and_ratio, orthant
from relvec.likelihoods.softmax import softmax_probabilities


def exact_log_orthant(d, rate):
    """By mpmath, split where the integrand has its peak."""

    def integrand(u):
        product = mpmath.npdf(u)
        for a, b in zip(rate, d, strict=True):
            product *= mpmath.ncdf(a * u + b)
        return product

    grid = np.linspace(-10, 60, 7001)
    heights = norm.logpdf(grid) + norm.logcdf(np.outer(grid, rate) + np.asarray(d)).sum(
        axis=1
    )
    peak = grid[np.argmax(heights)]
    pieces = [peak - 12, peak - 4, peak - 1, peak, peak + 1, peak + 4, peak + 12]
    with mpmath.workdps(20):
        return float(mpmath.log(mpmath.quad(integrand, pieces, maxdegree=5)))


@pytest.mark.parametrize("n_others", [1, 2, 4, 9])
@pytest.mark.parametrize("spread", [0.1, 2.0, 10.0, 30.0])
def test_quadrature_is_accurate(n_others, spread, rng):
    """To eight digits in the likelihood; to five where variances differ."""
    d = spread * rng.standard_normal((2, n_others))
    rate = np.exp(0.5 * rng.standard_normal((2, n_others)))
    for rates, error in ((np.ones_like(d), 2e-8), (rate, 1e-5)):
        exact = [exact_log_orthant(*pair) for pair in zip(d, rates, strict=True)]
        assert_allclose(orthant(d, rates).log_z, exact, rtol=error, atol=error)


def test_two_classes_are_a_binary_probit():
    d = np.linspace(-30, 30, 25)[:, None]
    assert_allclose(orthant(d).log_z, norm.logcdf(d[:, 0] / np.sqrt(2)), 1e-9, 1e-14)


def test_two_classes_need_no_quadrature():
    """Values to all digits; slopes and curvatures beside those of mpmath."""
    d, rate = np.linspace(-20, 20, 9)[:, None], np.linspace(0.2, 3, 9)[:, None]
    found = orthant(d, rate)

    def exact(x, a):
        return mpmath.log(mpmath.ncdf(x / mpmath.sqrt(1 + a * a)))

    with mpmath.workdps(40):
        pairs = [tuple(map(mpmath.mpf, row)) for row in np.hstack([d, rate])]
        values = [float(exact(x, a)) for x, a in pairs]
        slopes = [float(mpmath.diff(lambda v, a=a: exact(v, a), x)) for x, a in pairs]
        curves = [
            float(-mpmath.diff(lambda v, a=a: exact(v, a), x, 2)) for x, a in pairs
        ]
    assert_allclose(found.log_z, values, rtol=1e-12)
    assert_allclose(found.gradient[:, 0], slopes, rtol=1e-10)
    assert_allclose(found.curvature[:, 0, 0], curves, rtol=1e-8)


def test_tails_of_the_normal_distribution():
    z = np.concatenate([-np.geomspace(40, 1e-3, 40), np.geomspace(1e-3, 40, 40)])
    log_cdf, ratio = log_cdf_and_ratio(z)

    assert_allclose(log_cdf, norm.logcdf(z), rtol=1e-13, atol=0)
    assert_allclose(ratio, np.exp(norm.logpdf(z) - norm.logcdf(z)), rtol=1e-11)


def test_contrasts_are_orthonormal():
    for n_classes in (2, 3, 10):
        C = contrasts(n_classes)
        assert_allclose(C.T @ C, np.eye(n_classes - 1), atol=1e-14)
        assert_allclose(C.sum(axis=0), 0, atol=1e-14)


def test_pseudo_targets_are_means_of_the_auxiliary_variables(rng):
    """(3): of a normal variable, given that that of its class is the largest."""
    eta = np.array([0.3, -0.5, 1.1])
    C = contrasts(3)
    draws = eta + rng.standard_normal((400_000, 3))
    inside = draws[np.argmax(draws, axis=1) == 0]
    likelihood = MultinomialProbit(C, bound=True)
    seen = likelihood.pseudo_observations(C[[0]], (eta @ C)[None], np.ones(1))

    assert_allclose(seen.target[0], inside.mean(axis=0) @ C, atol=0.01)


def test_probabilities_agree_with_chance_and_sum_to_one(rng):
    mean = np.array([[0.5, -1.0, 0.2, 2.0]])
    variance = np.array([[0.3, 2.0, 0.0, 1.0]])
    noise = np.sqrt(1 + variance) * rng.standard_normal((400_000, 4))
    winners = np.argmax(mean + noise, axis=1)
    p = class_probabilities(mean, variance)

    assert_allclose(p[0], np.bincount(winners) / len(winners), atol=0.004)
    rows = 20 * rng.standard_normal((200, 6))
    total = class_probabilities(rows, rng.uniform(0, 9, rows.shape)).sum(axis=1)
    assert_allclose(total, 1, rtol=1e-12)


def test_softmax_probabilities(rng):
    mean = rng.standard_normal((3, 4))
    variance = rng.uniform(0, 4, mean.shape)
    draws = mean + np.sqrt(variance) * rng.standard_normal((200_000, 3, 4))
    expected = exact_softmax(draws, axis=2).mean(axis=0)

    assert_allclose(softmax_probabilities(mean, variance), expected, atol=0.005)
    certain = softmax_probabilities(mean, np.zeros_like(mean))
    assert_allclose(certain, exact_softmax(mean, axis=1), rtol=1e-12)

"""Counts: what is beyond the laws of every likelihood."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm, poisson

from relvec.likelihoods import Poisson

COUNTS = np.array([[0.0], [1.0], [7.0], [250.0]])
ONES = np.ones(4)


def test_the_density_is_that_of_counts():
    eta = np.array([[-1.0], [0.5], [1.0], [3.0]])
    expected = poisson.logpmf(COUNTS, 2.5 * np.exp(eta)).sum()

    assert_allclose(Poisson(2.5).log_density(COUNTS, eta, ONES), expected, rtol=1e-12)


@pytest.mark.parametrize("variance", [1e-14, 1e-3, 0.3, 4.0])
def test_the_predictive_density_is_the_integral(variance):
    mean = np.array([[-2.0], [0.5], [1.5], [4.0]])
    found = Poisson(2.0).log_predictive(COUNTS, mean, np.full((4, 1), variance))
    width = np.sqrt(variance)
    for y, m, log_p in zip(COUNTS[:, 0], mean[:, 0], found, strict=True):

        def density(z, y=y, m=m):
            rate = 2.0 * np.exp(m + width * z)
            return norm.pdf(z) * poisson.pmf(y, rate)

        grid = np.linspace(-9, 9, 2001)
        peak = grid[np.argmax(density(grid))]
        expected, _ = quad(density, -10, 10, points=[peak], limit=400, epsabs=0)
        assert_allclose(log_p, np.log(expected), atol=2e-4)


def test_a_certain_rate_needs_no_integral():
    mean = np.array([[-2.0], [0.5], [1.5], [5.0]])
    found = Poisson().log_predictive(COUNTS, mean, np.zeros((4, 1)))

    assert_allclose(found, poisson.logpmf(COUNTS, np.exp(mean))[:, 0], rtol=1e-10)


def test_nothing_overflows_where_a_step_has_gone_too_far():
    eta = np.array([[1e4], [800.0], [-800.0], [-1e4]])
    seen = Poisson(3.0).pseudo_observations(COUNTS, eta, ONES)

    assert np.isfinite(seen.target).all()
    assert np.isfinite(seen.precision).all()
    # Newton's step from far above is one unit down, not a leap.
    assert_allclose((seen.target - eta)[:2], -1.0)
    assert Poisson().log_density(COUNTS, eta, ONES) == -np.inf
    wide = Poisson().log_predictive(COUNTS, 0 * eta, np.full((4, 1), 1e8))
    assert np.isfinite(wide).all()


def test_a_rate_beyond_all_numbers_has_no_density():
    """Nor a warning, also where only the sum over rows overflows."""
    y, eta = np.ones((3, 1)), np.full((3, 1), 709.0)

    for weight in (1.0, 1e3):
        assert Poisson().log_density(y, eta, np.full(3, weight)) < -1e300
    assert Poisson().log_density(y, 2 * eta, np.ones(3)) == -np.inf

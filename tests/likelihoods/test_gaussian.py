"""The noise: where it starts, how it moves, where it stops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from relvec.likelihoods import Gaussian, at_ceiling, refitted


def test_the_density_is_the_normal_one():
    y, eta = np.array([[1.0], [2.0]]), np.array([[0.5], [2.5]])
    density = Gaussian(np.array([4.0])).log_density(y, eta, np.array([1.0, 3.0]))

    expected = np.array([1.0, 3.0]) @ norm.logpdf(y - eta, scale=0.5)
    assert_allclose(density, expected[0])


def test_it_starts_from_a_tenth_of_the_weighted_variance():
    y = np.array([[0.0], [1.0], [5.0]])
    weights = np.array([1.0, 2.0, 1.0])
    start = Gaussian.starting(y, weights)

    repeated = np.array([0.0, 1.0, 1.0, 5.0])
    assert_allclose(start.noise_variance, 0.1 * repeated.var())


def test_the_fixed_point_of_step_nine():
    rng = np.random.default_rng(0)
    y, eta = rng.standard_normal((2, 30, 1))
    noise = Gaussian(np.array([1.0]))
    goal = refitted(noise, y, eta, np.ones(30), more=(-4.0, 0.0))

    assert_allclose(goal.noise_variance, np.sum((y - eta) ** 2) / (30 - 4))


def test_it_stops_at_the_floor():
    y = np.array([[1.0], [-1.0]])
    start = Gaussian.starting(y, np.ones(2))
    perfect = refitted(start, y, y, np.ones(2), more=(-1.0, 0.0))

    assert at_ceiling(perfect)
    assert_allclose(perfect.noise_variance, 1e-12)
    assert not at_ceiling(start)


def test_it_stays_where_nothing_is_left_to_estimate_it_from():
    y = np.array([[1.0], [-1.0]])
    start = Gaussian.starting(y, np.ones(2))
    same = refitted(start, y, 0.5 * y, np.ones(2), more=(-2.0, 0.0))

    assert_allclose(same.noise_variance, start.noise_variance)


@pytest.mark.parametrize("magnitude", [1e-141, 1e141])
def test_targets_whose_squares_leave_floating_point_are_refused(magnitude):
    y = magnitude * np.array([[1.0], [2.0]])

    with pytest.raises(ValueError, match="change its unit"):
        Gaussian.starting(y, np.ones(2))

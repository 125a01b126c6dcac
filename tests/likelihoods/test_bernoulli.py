"""The moderated log odds against the integral they stand for."""

import tracemalloc

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from relvec.likelihoods.bernoulli import Bernoulli, moderated_log_odds


def integral(mean, std):
    """∫ σ(mean + std·z) N(z | 0, 1) dz in thirty digits."""
    with mpmath.workdps(30):
        crossing = -mean / std
        places = sorted({-12.0, 12.0, min(max(crossing, -12.0), 12.0), 0.0})
        return mpmath.quad(
            lambda z: mpmath.npdf(z) / (1 + mpmath.exp(-(mean + std * z))), places
        )


@pytest.mark.parametrize("mean", [-12.0, -3.0, -0.4, 0.0, 1.0, 7.0])
@pytest.mark.parametrize("std", [0.05, 1.0, 4.0, 30.0])
def test_the_probability_is_the_integral(mean, std):
    odds = moderated_log_odds(np.array([mean]), np.array([std**2]))

    assert_allclose(expit(odds)[0], float(integral(mean, std)), rtol=1e-6, atol=1e-12)


def test_without_uncertainty_it_is_the_sigmoid():
    mean = np.linspace(-30, 30, 41)

    assert_allclose(moderated_log_odds(mean, np.zeros(41)), mean, rtol=1e-5, atol=1e-12)


def test_it_is_closer_than_mackays_approximation():
    mean, variance = np.array([1.0, 3.0, 5.0]), np.array([1.0, 9.0, 100.0])
    truth = [float(integral(m, v**0.5)) for m, v in zip(mean, variance, strict=True)]
    mackay = expit(mean / np.sqrt(1 + np.pi * variance / 8))
    ours = expit(moderated_log_odds(mean, variance))

    assert np.all(np.abs(ours - truth) < 1e-4 * np.abs(mackay - truth))


def test_symmetry_and_order():
    mean = np.sort(np.random.default_rng(0).normal(0, 20, 200))
    for variance in (0.0, 1.0, 1e4):
        odds = moderated_log_odds(mean, np.full(200, variance))
        assert np.all(np.diff(odds) > 0)
        assert_allclose(moderated_log_odds(-mean, np.full(200, variance)), -odds)
    assert moderated_log_odds(np.zeros(1), np.ones(1))[0] == 0


def test_certain_predictions_do_not_overflow():
    eta = np.array([[-800.0], [-40.0], [0.0], [40.0], [800.0]])
    y = np.array([[1.0], [0.0], [1.0], [1.0], [0.0]])
    likelihood = Bernoulli()
    seen = likelihood.pseudo_observations(y, eta, np.ones(5))

    assert np.isfinite(seen.target).all()
    assert np.all(seen.precision > 0)
    assert_allclose(likelihood.log_density(y, eta, np.ones(5)), -1600 - np.log(2))
    assert_allclose(
        moderated_log_odds(np.array([-100.0]), np.zeros(1)), -100, rtol=1e-2
    )


def test_many_rows_take_little_memory():
    tracemalloc.start()
    odds = moderated_log_odds(np.ones(300_000), np.ones(300_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert np.ptp(odds) == 0
    assert peak < 100e6


def test_logit_inverts_within_rounding():
    odds = moderated_log_odds(np.array([0.3, -2.0]), np.array([2.0, 0.5]))

    assert_allclose(logit(expit(odds)), odds, rtol=1e-12)

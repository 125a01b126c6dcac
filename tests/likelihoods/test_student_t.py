"""Student's t, its mixture of Gaussian noises, and a Gaussian added to it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn
from scipy.integrate import quad
from scipy.special import digamma
from scipy.stats import gamma, norm
from scipy.stats import t as student_t

from relvec.likelihoods import Gaussian, StudentT, weighted_median
from relvec.likelihoods.student_t import ScaleMixture, central_quantile, log_convolved

Y = drawn(5, (30, 1))
WEIGHT = np.random.default_rng(6).uniform(0.5, 2, 30)
NOISE = StudentT(np.array([2.0]), 4.0)


def bound(noise=NOISE):
    return noise.lower_bound(Y, np.zeros_like(Y), np.full(Y.shape, 0.1))


def test_the_density_is_that_of_scipy():
    expected = student_t.logpdf(Y, 4.0, scale=2**-0.5)

    assert_allclose(NOISE.log_densities(Y**2), expected, rtol=1e-13)


@pytest.mark.parametrize("variance", [0.2, 3.0])
@pytest.mark.parametrize("freedom", [2.5, 4.0, 60.0])
@pytest.mark.parametrize("error", [0.0, 1.5, 12.0])
def test_the_convolution_is_an_integral_over_the_latent_value(error, freedom, variance):
    def integrand(eta):
        return student_t.pdf(error - eta, freedom, scale=0.5) * norm.pdf(
            eta, scale=variance**0.5
        )

    far = 12 * variance**0.5
    expected, _ = quad(integrand, -far, far, epsabs=0, limit=300, points=[0.0, error])
    one = np.ones(1)
    found = log_convolved(error**2 * one, variance * one, 0.5 * one, freedom)
    assert_allclose(found, np.log(expected), atol=1e-6)


def test_far_rows_have_the_density_of_their_tails():
    found = log_convolved(np.array([1e12]), np.zeros(1), np.ones(1), 4.0)

    assert_allclose(found, student_t.logpdf(1e6, 4.0), rtol=1e-9)


@pytest.mark.parametrize("level", [0.1, 0.9, 0.999])
def test_quantiles_without_a_latent_variance_are_those_of_student(level):
    found = central_quantile(level, np.zeros(2), 3.0, 4.0)

    assert_allclose(found, 3 * student_t.ppf(0.5 + level / 2, 4.0), rtol=1e-6)


def test_quantiles_hold_as_much_as_they_say(rng):
    draws = 0.7 * rng.standard_t(3.0, 200_000) + 1.3 * rng.standard_normal(200_000)
    half = central_quantile(0.8, np.array([1.3**2]), 0.7, 3.0)

    assert_allclose(np.mean(np.abs(draws) < half), 0.8, atol=4e-3)


def test_row_scales_are_what_the_mixture_expects():
    """E[τ] of its posterior, a gamma distribution, given how far a row is off."""
    expected = gamma.mean(2.5, scale=2 / (4.0 + 2.0 * Y**2))

    assert_allclose(NOISE.row_scales(Y**2), expected, rtol=1e-13)


def test_the_normaliser_is_of_the_distribution_of_scales():
    """Σv(½E[log u] − KL) − ½Σv log ū, whatever the noise is by now."""
    found = bound()
    shape, rate = 2.5, 0.5 * (4.0 + 2.0 * found.squares)
    log_scale = digamma(shape) - np.log(rate)
    prior, posterior = gamma(2.0, scale=0.5), gamma(shape, scale=1 / rate)
    entropy = posterior.entropy()
    # E[log Ga(τ | 2, 2)], term by term.
    against = prior.logpdf(1.0) + 2 + log_scale - 2 * shape / rate
    _, mean = found.relative_scales(WEIGHT)
    expected = WEIGHT @ (0.5 * log_scale + against + entropy - 0.5 * np.log(mean))

    assert_allclose(found.log_normaliser(WEIGHT), expected.sum(), rtol=1e-10)


def test_the_bound_is_gaussian_noise_of_weights_and_the_normaliser():
    found = bound()
    relative, mean = found.relative_scales(WEIGHT)
    weighted = Gaussian(mean * NOISE.noise_precision)
    eta = np.full_like(Y, 0.4)
    density = weighted.log_density(Y, eta, WEIGHT * relative[:, 0])

    assert_allclose(WEIGHT @ relative, WEIGHT.sum(), rtol=1e-13)
    expected = density + found.log_normaliser(WEIGHT)
    assert_allclose(found.log_density(Y, eta, WEIGHT), expected, rtol=1e-12)


@pytest.mark.parametrize("estimated", [False, True])
def test_refitting_raises_the_likelihood_and_ends_where_scipy_does(estimated):
    """Of residuals themselves the fixed point is that of most likelihood."""
    draws = np.random.default_rng(0).standard_t(5.0, (2000, 1))
    weight = np.ones(len(draws))
    noise = StudentT(np.array([9.0]), 4.0, freedom_estimated=estimated)
    values = []
    for _ in range(60):
        values.append(noise.log_density(draws, 0 * draws, weight))
        noise = ScaleMixture(noise, draws**2).refitted(weight)

    assert np.all(np.diff(values) > -1e-9 * abs(values[0]))
    fixed = {} if estimated else {"fdf": 4.0}
    freedom, _, scale = student_t.fit(draws[:, 0], floc=0, **fixed)
    assert_allclose(noise.noise_precision**-0.5, scale, rtol=1e-2)
    assert_allclose(noise.degrees_of_freedom, freedom, rtol=0.03)


def test_degrees_of_freedom_stay_in_their_range(rng):
    for draws in (rng.standard_normal((500, 1)), rng.standard_cauchy((500, 1))):
        noise = StudentT(np.ones(1), freedom_estimated=True)
        for _ in range(30):
            noise = ScaleMixture(noise, draws**2).refitted(np.ones(500))
        assert 2.2 <= noise.degrees_of_freedom <= 100


def test_the_start_does_not_see_outliers():
    spoilt = Y.copy()
    spoilt[:10] = 1e6
    plain, other = (StudentT.starting(y, np.ones(30)) for y in (Y, spoilt))

    assert other.noise_precision[0] > 0.1 * plain.noise_precision[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_median_counts_repetitions(seed):
    rng = np.random.default_rng(seed)
    values, counts = rng.standard_normal(7), rng.integers(0, 4, 7) + (seed == 0)
    expected = np.median(np.repeat(values, counts))

    assert weighted_median(values, counts.astype(float)) == expected

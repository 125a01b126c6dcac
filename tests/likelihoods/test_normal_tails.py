"""The normal distribution of large arrays beside scipy's."""

import mpmath
import numpy as np
from numpy.testing import assert_allclose
from scipy.special import log_ndtr
from scipy.stats import norm

from relvec.likelihoods.probit_integrals import ratio_and_scaled, steepness


def test_both_tails_are_those_of_scipy():
    z = np.concatenate([-np.geomspace(1e3, 1e-3, 500), np.geomspace(1e-3, 1e3, 500)])
    ratio, scaled = ratio_and_scaled(z, np.empty((3, len(z))))
    log_cdf = np.log(scaled) - 0.5 * np.minimum(z, 0) ** 2

    assert_allclose(log_cdf, log_ndtr(z), rtol=1e-11, atol=1e-11)
    near = np.abs(z) < 30  # beyond, the plain quotient has no digits left
    plain = np.exp(norm.logpdf(z[near]) - log_ndtr(z[near]))
    assert_allclose(ratio[near], plain, rtol=1e-10)
    assert_allclose(ratio[z < -30], -z[z < -30], rtol=2e-3)
    assert_allclose(ratio[z > 40], 0, atol=1e-300)


def test_the_argument_is_left_as_it_is():
    z = np.linspace(-3, 3, 12).reshape(3, 4)
    before = z.copy()
    room = np.empty((3, 3, 4))
    ratio, scaled = ratio_and_scaled(z, room)

    assert_allclose(z, before, rtol=0)
    assert np.shares_memory(ratio, room)
    assert np.shares_memory(scaled, room)


def test_the_steepness_has_its_digits_in_both_tails():
    z = np.concatenate([-np.geomspace(1e9, 1e-3, 60), np.geomspace(1e-3, 30, 20)])
    ratio, _ = ratio_and_scaled(z, np.empty((3, len(z))))
    with mpmath.workdps(60):
        exact = []
        for one in map(mpmath.mpf, z):
            r = mpmath.npdf(one) / (mpmath.erfc(-one / mpmath.sqrt(2)) / 2)
            exact.append(float(r * (one + r)))
    before = z.copy()

    assert_allclose(steepness(z, ratio), exact, rtol=1e-9, atol=1e-6)
    assert_allclose(z, before, rtol=0)
    assert_allclose(steepness(z, ratio, out=z), exact, rtol=1e-9, atol=1e-6)

"""The multinomial probit and the softmax against slow and obvious versions."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax as exact_softmax
from scipy.stats import norm

from relvec.likelihoods import MultinomialProbit
from relvec.likelihoods.multinomial import (
    class_probabilities,
    contrasts,
    softmax_probabilities,
)
from relvec.likelihoods.probit_integrals import (
    log_cdf_and_ratio,
    log_probabilities,
    orthant,
)


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


@pytest.mark.parametrize("n_others", [1, 2, 9])
@pytest.mark.parametrize("spread", [0.1, 2.0, 10.0, 30.0])
def test_quadrature_is_accurate(n_others, spread, rng):
    """To eight digits."""
    d = spread * rng.standard_normal((2, n_others))
    exact = [exact_log_orthant(row, np.ones(n_others)) for row in d]
    assert_allclose(orthant(d).log_z, exact, rtol=2e-8, atol=2e-8)


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("spread", [0.1, 2.0, 10.0])
def test_probabilities_are_accurate(n_classes, spread, rng):
    """Those of improbable classes too, where variances differ and where they do not."""
    mean = spread * rng.standard_normal((2, n_classes))
    std = np.exp(0.5 * rng.standard_normal(mean.shape))
    std[0] = 2.0
    found = log_probabilities(mean, std)
    for n, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
        others = np.delete(np.arange(n_classes), c)
        width = std[n, others]
        d = (mean[n, c] - mean[n, others]) / width
        exact = exact_log_orthant(d, std[n, c] / width)
        assert_allclose(found[n, c], exact, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n_classes", [30, 300])
def test_probabilities_of_many_classes_are_those_of_a_fine_grid(n_classes, rng):
    mean, std = 2 * rng.standard_normal((3, n_classes)), np.ones((3, n_classes))
    mean[0] = 0
    v = np.linspace(-10, 20, 6001)[:, None]
    found = log_probabilities(mean, std)
    for row, log_p in zip(mean, found, strict=True):
        log_cdf = norm.logcdf(v - row)
        rest = log_cdf.sum(axis=1, keepdims=True) - log_cdf
        exact = np.exp(norm.logpdf(v - row) + rest).sum(axis=0) * (v[1] - v[0])
        assert_allclose(np.exp(log_p), exact, rtol=1e-7, atol=1e-14)
        assert_allclose(log_p, np.log(exact), atol=1e-4)


def plain_integrals(d):
    """log Z, its gradient and minus its curvature (J, J) of one row, on a fine grid."""
    u = np.linspace(-12, 12 + np.maximum(-d, 0).max(), 4001)[:, None]
    log_terms = norm.logpdf(u[:, 0]) + norm.logcdf(u + d).sum(axis=1)
    largest = log_terms.max()
    p = np.exp(log_terms - largest)
    log_z = largest + np.log(p.sum() * (u[1, 0] - u[0, 0]))
    p /= p.sum()
    r = np.exp(norm.logpdf(u + d) - norm.logcdf(u + d))
    gradient = p @ r
    slopes = p @ (r * (u + d + r))
    deviation = r - gradient
    return log_z, gradient, np.diag(slopes) - (deviation.T * p) @ deviation


@pytest.mark.parametrize("n_others", [2, 9, 24, 99])
@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0, 10.0])
def test_derivatives_are_those_of_a_fine_grid(n_others, spread, rng):
    """Rows that are right, and those that are not, however many classes there are."""
    d = spread * rng.standard_normal((6, n_others))
    d[3:] -= d[3:].min(axis=1, keepdims=True)
    found = orthant(d)
    for n, row in enumerate(d):
        log_z, gradient, curvature = plain_integrals(row)
        assert_allclose(found.log_z[n], log_z, rtol=1e-6, atol=1e-6)
        assert_allclose(found.gradient[n], gradient, rtol=1e-4, atol=1e-5)
        assert_allclose(found.curvature[n], curvature, rtol=1e-3, atol=1e-4)


def far_integrals(d):
    """The same by mpmath, where the integrand is tiny and the normal density is zero.

    Sums on an even grid about the peak, which Newton's method finds.
    """
    with mpmath.workdps(50):
        d = [mpmath.mpf(float(x)) for x in d]
        u, root = max(-x for x in d) / 2, mpmath.sqrt(2)

        def log_cdfs_and_ratios(u):
            cdfs = [mpmath.erfc(-(u + x) / root) / 2 for x in d]
            ratios = [mpmath.npdf(u + x) / p for x, p in zip(d, cdfs, strict=True)]
            return sum(mpmath.log(p) for p in cdfs), ratios

        for _ in range(30):
            _, r = log_cdfs_and_ratios(u)
            bend = sum(a * (u + x + a) for a, x in zip(r, d, strict=True))
            u += (sum(r) - u) / (1 + bend)
        step = mpmath.mpf(1) / 5
        places = [u + step * i for i in range(-40, 41)]
        at = [log_cdfs_and_ratios(place) for place in places]
        logs = [
            mpmath.log(mpmath.npdf(u)) + a for u, (a, _) in zip(places, at, strict=True)
        ]
        p = [mpmath.exp(one - max(logs)) for one in logs]
        total = sum(p)
        mean = [
            sum(a * r[j] for a, (_, r) in zip(p, at, strict=True)) / total
            for j in range(len(d))
        ]
        curvature = np.empty((len(d), len(d)))
        for j, k in np.ndindex(curvature.shape):
            terms = (
                (j == k) * r[j] * (u + d[j] + r[j])
                - (r[j] - mean[j]) * (r[k] - mean[k])
                for u, (_, r) in zip(places, at, strict=True)
            )
            curvature[j, k] = sum(a * b for a, b in zip(p, terms, strict=True)) / total
        log_z = float(max(logs) + mpmath.log(total * step))
    return log_z, [float(one) for one in mean], curvature


@pytest.mark.parametrize("distance", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("shape", [[-1.0, 0.0], [-1.0, -0.9, 0.0], [-1.0, -1.0, -1.0]])
def test_classes_that_are_far_behind_keep_their_derivatives(distance, shape):
    """What squares of the distance leave of sixteen digits."""
    d = distance * np.array(shape) + 0.3
    found = orthant(d[None])
    log_z, gradient, curvature = far_integrals(d)

    assert_allclose(found.log_z[0], log_z, rtol=1e-14)
    assert_allclose(found.gradient[0], gradient, rtol=1e-9, atol=1e-9)
    accuracy = 1e-7 + 1e-16 * distance**2
    assert_allclose(found.curvature[0], curvature, rtol=0, atol=accuracy)


@pytest.mark.parametrize("n_others", [2, 21, 99])
@pytest.mark.parametrize("distance", [1e7, 1e12, 1e100, 1e300])
def test_no_distance_is_too_far_for_the_integrals(n_others, distance, rng):
    d = distance * rng.uniform(-1, 1, (5, n_others))
    with np.errstate(all="raise", under="ignore"):
        found = orthant(d)

    for values in (found.log_z, found.gradient, found.slopes, found.deviations):
        assert np.all(np.isfinite(values))
    assert np.all(found.slopes <= 1 + 1e-9)


@pytest.mark.parametrize("behind", [1e2, 1e4, 1e6, 1e12])
def test_a_class_far_behind_leaves_the_others_their_probabilities(behind):
    mean = np.array([[0.0, behind, behind + 1.0]])
    expected = norm.cdf([[-np.inf, -np.sqrt(0.5), np.sqrt(0.5)]])

    found = class_probabilities(mean, np.zeros((1, 3)))
    assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_classes_are_told_apart_at_any_distance():
    mean = np.array([[0.0, 1e20, 2e20], [0.0, 1e150, -1e150]])
    found = class_probabilities(mean, np.ones((2, 3)))
    assert_allclose(found, [[0, 0, 1], [0, 1, 0]], atol=1e-12)


def test_products_are_those_of_the_matrix_however_rows_fall_into_blocks(rng):
    d, v = 3 * rng.standard_normal((2, 700, 5))
    found = orthant(d)
    expected = np.concatenate([orthant(d[[n]]).log_z for n in range(700)])

    assert_allclose(found.log_z, expected, rtol=1e-12)
    plain = np.einsum("njk,nk->nj", found.curvature, v)
    assert_allclose(found.product(v), plain, rtol=1e-9, atol=1e-12)


def test_two_classes_are_a_binary_probit():
    d = np.linspace(-30, 30, 25)[:, None]
    assert_allclose(orthant(d).log_z, norm.logcdf(d[:, 0] / np.sqrt(2)), 1e-9, 1e-14)


def test_two_classes_need_no_quadrature():
    """Values to all digits; slopes and curvatures beside those of mpmath."""
    d = np.linspace(-20, 20, 9)[:, None]
    found = orthant(d)

    def exact(x):
        return mpmath.log(mpmath.ncdf(x / mpmath.sqrt(2)))

    with mpmath.workdps(60):
        places = [mpmath.mpf(x) for x in d[:, 0]]
        values = [float(exact(x)) for x in places]
        slopes = [float(mpmath.diff(exact, x)) for x in places]
        curves = [float(-mpmath.diff(exact, x, 2)) for x in places]
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

"""Length scales by the evidence of a process."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from relvec.kernel_learning import GaussianProcess, Range, ScalePrior
from relvec.kernel_learning.gaussian_process import Proposal
from relvec.kernels import Gaussian, Matern
from relvec.kernels.per_centre_scale import PerCentreScale


def process(rng, n_rows=40, *, kernel=None, tied=False, weight=None):
    """A wave along the first feature."""
    X = rng.uniform(-3, 3, (n_rows, 3))
    y = np.sin(2 * X[:, :1]) + 0.1 * rng.standard_normal((n_rows, 1))
    y /= np.sqrt(np.mean(y**2))
    functions = PerCentreScale(kernel or Gaussian(), X, np.ones((n_rows, 1)))
    weight = np.ones(n_rows) if weight is None else weight
    return GaussianProcess(functions, y, weight, tied)


def allowed(n_features, least=0.1, most=100.0):
    ends = np.full(n_features, np.log(least)), np.full(n_features, np.log(most))
    return Range(*ends)


def test_the_evidence_is_a_density(rng):
    one = process(rng, weight=rng.uniform(0.5, 2, 40))
    scales, amplitude, noise = np.array([0.7, 2.0, 1.1]), 1.7, 0.2
    X = one.functions.centres
    covariance = amplitude * Gaussian(scales)(X, X) + noise * np.diag(1 / one.weight)
    expected = multivariate_normal(cov=covariance).logpdf(one.target[:, 0])
    value, _ = one.log_evidence(scales, np.log([amplitude, noise]))

    assert_allclose(value - 20 * np.log(2 * np.pi), expected)


def test_a_weight_counts_as_repetitions(rng):
    """Of rows in any order, which tell of no less noise."""
    one = process(rng, weight=rng.integers(1, 4, 40).astype(float))
    X, y = one.functions.centres, one.target
    places = rng.permutation(np.repeat(np.arange(40), one.weight.astype(int)))
    merged = GaussianProcess.of(Gaussian(), X, y, one.weight, tied=False)
    repeated = GaussianProcess.of(
        Gaussian(), X[places], y[places], np.ones(len(places)), tied=False
    )
    at = (np.array([0.7, 2.0, 1.1]), np.log([1.7, 0.2]))

    assert len(repeated.weight) == 40
    for each in (merged, repeated):
        assert_allclose(each.log_evidence(*at)[0], one.log_evidence(*at)[0])
        assert_allclose(
            each.proposed([np.ones(3)], allowed(3)).scales,
            one.proposed([np.ones(3)], allowed(3)).scales,
        )


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=2.5)], ids=str)
@pytest.mark.parametrize("n_scales", [1, 3])
def test_gradients_are_differences(kernel, n_scales, rng):
    one = process(rng, kernel=kernel, weight=rng.uniform(0.5, 2, 40))
    theta = rng.uniform(-0.5, 0.5, n_scales + 2)
    h = 1e-5

    def at(theta):
        return one.log_evidence(np.exp(theta[:-2]), theta[-2:])

    differences = [
        (at(theta + step)[0] - at(theta - step)[0]) / 2 / h
        for step in h * np.eye(len(theta))
    ]

    assert_allclose(at(theta)[1], differences, rtol=1e-5, atol=1e-6)


def test_features_without_influence_fade(rng):
    starts = [np.full(3, width) for width in (0.5, 2.0)]
    found = process(rng, 80).proposed(starts, allowed(3)).scales

    assert 0.4 < found[0] < 2
    assert found[1:].min() > 5 * found[0]


def test_tied_scales_keep_their_ratio_and_bounds(rng):
    one = process(rng, 80, tied=True)
    ratio = np.array([1.0, 4.0, 2.0])
    free, again = (
        one.proposed([start * ratio], allowed(3)).scales for start in (1.0, 2.0)
    )
    wide = one.proposed([5 * ratio], allowed(3, least=4.0)).scales

    assert_allclose(free, again, rtol=0.06)
    for found in (free, wide):
        assert_allclose(found / ratio, found[0])
    assert free.min() < 4.0 - 1e-7 <= wide.min()


def test_the_best_of_several_starts_is_taken():
    """From far too wide alone the wave is taken for noise."""
    X = np.linspace(-30, 30, 120)[:, None]
    y = np.sqrt(2) * np.sin(2 * X)
    one = GaussianProcess(
        PerCentreScale(Gaussian(), X, np.ones((120, 1))), y, np.ones(120), True
    )
    bounds = allowed(1, 0.05, 1000.0)
    lost = one.proposed([np.array([300.0])], bounds).scales
    found = one.proposed([np.array([300.0]), np.array([0.5])], bounds).scales

    assert lost[0] > 10
    assert 0.3 < found[0] < 3


def test_a_search_ends_when_there_is_no_time(rng):
    one, start, looks = process(rng), [np.full(3, 3.0)], []

    def ended():
        looks.append(True)
        return True

    hasty = one.proposed(start, allowed(3), ended).scales
    assert len(looks) == 1
    assert not np.allclose(hasty, one.proposed(start, allowed(3)).scales)


def test_the_mean_is_that_of_a_regression(rng):
    """Of weights with the kernel as covariance: at its rows and at others."""
    one = process(rng, weight=rng.uniform(0.5, 2, 40))
    proposal = Proposal(np.array([0.7, 2.0, 1.1]), 1.7, 0.2)
    X, kernel = one.functions.centres, Gaussian(proposal.scales)
    for rows in (X, rng.uniform(-3, 3, (7, 3))):
        noise = np.diag(0.2 / one.weight)
        expected = (
            1.7
            * kernel(rows, X)
            @ np.linalg.solve(1.7 * kernel(X, X) + noise, one.target)
        )
        assert_allclose(one.mean(proposal, rows), expected, rtol=1e-6, atol=1e-8)


def test_amplitude_and_noise_are_proposed_too(rng):
    one = process(rng, 200)
    found = one.proposed([np.ones(3)], allowed(3))
    gradient = one.log_evidence(found.scales, np.log([found.amplitude, found.noise]))[1]
    truth = 0.01 / np.mean(np.sin(2 * one.functions.centres[:, 0]) ** 2)

    assert 0.7 * truth < found.noise < 1.4 * truth
    assert abs(gradient[-1]) < 0.05 * 200


def test_errors_of_rows_left_out_are_those_of_refits(rng):
    """By all other rows, with the same kernel and noise."""
    one = process(rng, weight=rng.uniform(0.5, 2, 40))
    proposal = Proposal(np.array([0.7, 2.0, 1.1]), 1.7, 0.2)
    X, errors = one.functions.centres, []
    for row in range(40):
        rest = np.delete(np.arange(40), row)
        others = GaussianProcess(
            one.functions.subset(rest), one.target[rest], one.weight[rest], False
        )
        errors.append(one.target[row, 0] - others.mean(proposal, X[[row]])[0, 0])
    expected = np.average(np.square(errors), weights=one.weight)

    assert_allclose(one.leave_one_out(proposal), expected, rtol=1e-6)


def test_a_gain_is_beyond_a_constant_and_noise(rng):
    """Of a wave it is large, and of hardly any signal none."""
    one = process(rng, 80)
    found = one.proposed([np.ones(3)], allowed(3))
    nothing = Proposal(np.ones(3), 1e-9, float(np.mean(one.target**2)))

    assert one.gain(found) > 20
    assert_allclose(one.gain(nothing), 0, atol=1e-5)


def test_a_known_noise_stays(rng):
    one = replace(process(rng, 80, tied=True), known_noise=0.3)

    assert_allclose(one.proposed([np.ones(1)], allowed(1)).noise, 0.3, rtol=0.03)


def test_a_prior_pulls_the_width(rng):
    one = process(rng, 30, tied=True)
    prior = ScalePrior(np.log([5.0]), 1e4)
    free = one.proposed([np.ones(1)], allowed(1)).scales
    pulled = replace(one, prior=prior).proposed([np.ones(1)], allowed(1)).scales

    assert free[0] < 3
    assert_allclose(pulled, 5, rtol=0.05)


def test_outputs_that_are_relative_have_scales_of_their_own(rng):
    """The evidence is that of the best scales, and does not depend on units."""
    one = process(rng)
    y = np.column_stack([one.target, 40 * rng.standard_normal(40)])
    two = replace(one, target=y, relative=True)
    scales, others = np.array([0.7, 2.0, 1.1]), np.log([1.7, 0.2])
    X = one.functions.centres
    covariance = 1.7 * Gaussian(scales)(X, X) + 0.2 * np.eye(40)
    best = [
        multivariate_normal(cov=covariance * (t @ np.linalg.solve(covariance, t) / 40))
        for t in y.T
    ]
    expected = sum(each.logpdf(t) for each, t in zip(best, y.T, strict=True))
    value, gradient = two.log_evidence(scales, others)
    constant = 40 * (1 + np.log(2 * np.pi) - np.log(40))

    assert_allclose(value - constant, expected)
    h = 1e-5
    for place, step in enumerate(h * np.eye(2)):
        up, down = (two.log_evidence(scales, others + s * step)[0] for s in (1, -1))
        assert_allclose(gradient[3 + place], (up - down) / (2 * h), rtol=1e-4)
    same = replace(two, target=y * [1e-3, 5.0]).gain(Proposal(scales, 1.7, 0.2))
    assert_allclose(two.gain(Proposal(scales, 1.7, 0.2)), same)

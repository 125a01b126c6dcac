"""Laws of every likelihood: its pseudo-observations are its quadratic expansion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.likelihoods import (
    Bernoulli,
    Gaussian,
    LogisticBound,
    MultinomialProbit,
    Softmax,
)
from relvec.likelihoods.multinomial_probit import contrasts

RNG = np.random.default_rng(3)
N = 12
REAL = RNG.standard_normal((N, 2))
BINARY = RNG.integers(2, size=(N, 1)).astype(float)
CLASSES = RNG.integers(4, size=N)

LIKELIHOODS = {
    "Gaussian": (Gaussian(np.array([4.0, 0.5])), REAL),
    "Gaussian, known noise": (Gaussian.known(0.2, 2), REAL),
    "Bernoulli": (Bernoulli(), BINARY),
    "LogisticBound": (LogisticBound(np.full((1, 1), 0.7)), BINARY),
    "MultinomialProbit": (MultinomialProbit(contrasts(4)), contrasts(4)[CLASSES]),
    "MultinomialProbit, bound": (
        MultinomialProbit(np.eye(4), bound=True),
        np.eye(4)[CLASSES],
    ),
    "MultinomialProbit, two classes": (
        MultinomialProbit(contrasts(2)),
        contrasts(2)[CLASSES % 2],
    ),
    "Softmax": (Softmax(), np.eye(4)[CLASSES]),
}


@pytest.fixture(params=LIKELIHOODS)
def case(request):
    likelihood, y = LIKELIHOODS[request.param]
    eta = 1.5 * RNG.standard_normal(y.shape)
    return likelihood, y, eta, RNG.uniform(0.5, 3, N)


def differences(function, eta, h):
    """First and second central differences by every entry."""
    first, second = np.empty_like(eta), np.empty_like(eta)
    for place in np.ndindex(eta.shape):
        step = np.zeros_like(eta)
        step[place] = h
        up, here, down = function(eta + step), function(eta), function(eta - step)
        first[place] = (up - down) / (2 * h)
        second[place] = (up - 2 * here + down) / h**2
    return first, second


def test_pseudo_observations_agree_with_the_derivatives(case):
    likelihood, y, eta, weights = case
    seen = likelihood.pseudo_observations(y, eta, weights)

    slope, curve = differences(
        lambda at: likelihood.log_density(y, at, weights), eta, 1e-4
    )
    assert seen.precision.shape in {y.shape, (N, 1)}
    assert_allclose(seen.precision * (seen.target - eta), slope, rtol=1e-6, atol=1e-7)
    if likelihood.curvature(y, eta, weights) is None:
        assert_allclose(seen.precision, -curve, rtol=1e-4)


def test_the_curvature_of_coupled_outputs(case):
    """Products with the Hessian are differences of slopes."""
    likelihood, y, eta, weights = case
    product = likelihood.curvature(y, eta, weights)
    if product is None:
        return
    direction = RNG.standard_normal(y.shape)

    def slope(at):
        seen = likelihood.pseudo_observations(y, at, weights)
        return seen.precision * (seen.target - at)

    h = 1e-5
    change = (slope(eta + h * direction) - slope(eta - h * direction)) / (2 * h)
    assert_allclose(product(direction), -change, rtol=1e-6, atol=1e-8)


def test_steady_means_the_precisions_do_not_move(case):
    likelihood, y, eta, weights = case
    here = likelihood.pseudo_observations(y, eta, weights)
    there = likelihood.pseudo_observations(
        y, eta + RNG.standard_normal(y.shape), weights
    )

    assert np.array_equal(here.precision, there.precision) == likelihood.steady


def test_the_lower_bound_is_below(case):
    """And conjugate or steady; the same where there is nothing to bound."""
    likelihood, y, eta, weights = case
    bound = likelihood.lower_bound(eta, np.full(y.shape, 0.3))

    assert bound.conjugate or bound.steady or isinstance(bound, Softmax)
    for at in (eta, 0.5 * eta, -eta):
        value, limit = (
            each.log_density(y, at, weights) for each in (bound, likelihood)
        )
        if not isinstance(likelihood, LogisticBound):
            assert value <= limit + 1e-9 * abs(limit)


def test_conjugate_means_the_observations_do_not_move(case):
    likelihood, y, eta, weights = case
    here = likelihood.pseudo_observations(y, eta, weights)
    there = likelihood.pseudo_observations(y, eta + 1, weights)

    same = np.array_equal(here.target, there.target)
    assert same == likelihood.conjugate


def test_weights_are_repetitions(case):
    likelihood, y, eta, _ = case
    counts = np.arange(N) % 3
    weighted = likelihood.log_density(y, eta, counts.astype(float))
    rows = np.repeat(np.arange(N), counts)

    repeated = likelihood.log_density(y[rows], eta[rows], np.ones(len(rows)))
    assert_allclose(weighted, repeated, rtol=1e-13)


def test_parameters_round_trip(case):
    likelihood, *_ = case
    parameters = likelihood.log_parameters
    moved = likelihood.with_parameters(parameters + 0.3)

    assert_allclose(moved.log_parameters, parameters + 0.3)
    assert_allclose(
        likelihood.with_parameters(parameters).noise_variance,
        likelihood.noise_variance,
        rtol=1e-13,
    )


def test_rescaling_targets_shifts_the_density_by_the_jacobian(case):
    likelihood, y, eta, weights = case
    scale = 7.0 if likelihood.natural_scale(y, weights) != 1 else 1.0
    plain = likelihood.log_density(y, eta, weights)
    scaled = likelihood.rescaled(scale).log_density(scale * y, scale * eta, weights)

    jacobian = weights.sum() * y.shape[1] * np.log(scale)
    assert_allclose(scaled, plain - jacobian, rtol=1e-12)


def test_refitting_moves_the_parameters_uphill(case):
    """The fixed point of the noise lies in the direction of the evidence's slope."""
    likelihood, y, eta, weights = case
    freedom = np.full(y.shape[1], weights.sum() - 2.0)
    goal = likelihood.refit(y, eta, weights, freedom)
    move = goal.log_parameters - likelihood.log_parameters
    rss = weights @ (y - eta) ** 2
    slope = freedom - rss / likelihood.noise_variance

    assert np.all(move * slope[: len(move)] >= 0)


def test_the_predictive_density_is_the_mean_of_densities(case):
    """Over draws of the latent values; of a bound, that of what is bounded."""
    likelihood, y, eta, _ = case
    bounded = Bernoulli() if isinstance(likelihood, LogisticBound) else likelihood
    mean, variance = y + 0.3 * eta, np.full(y.shape, 0.2)
    draws = np.sqrt(0.2) * RNG.standard_normal((1000, y.shape[1]))
    draws = np.concatenate([draws, -draws])

    found = likelihood.log_predictive(y, mean, variance)
    for row in range(3):
        many, at = np.repeat(y[[row]], len(draws), axis=0), mean[row] + draws
        densities = [
            bounded.log_density(many[[i]], at[[i]], np.ones(1))
            for i in range(len(draws))
        ]
        expected = np.log(np.mean(np.exp(densities)))
        assert_allclose(found[row], expected, atol=0.05)

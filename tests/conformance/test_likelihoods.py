"""Laws of every likelihood: its pseudo-observations are its quadratic expansion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn, read_only

from relvec.likelihoods import (
    Bernoulli,
    Gaussian,
    LogisticBound,
    MultinomialProbit,
    Softmax,
)
from relvec.likelihoods.multinomial_probit import contrasts

N = 12
REAL = drawn(3, (N, 2))
CLASSES = np.array([3, 0, 1, 2, 2, 0, 1, 3, 0, 2, 1, 3])
BINARY = read_only(CLASSES[:, None] % 2 + 0.0)

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


UNCOUPLED = ["Gaussian", "Gaussian, known noise", "Bernoulli", "LogisticBound"]
COUPLED = [name for name in LIKELIHOODS if name not in UNCOUPLED]


def drawn_case(name, rng):
    likelihood, y = LIKELIHOODS[name]
    eta = 1.5 * rng.standard_normal(y.shape)
    return likelihood, y, eta, rng.uniform(0.5, 3, N)


@pytest.fixture(params=LIKELIHOODS)
def case(request, rng):
    return drawn_case(request.param, rng)


def bounded(likelihood):
    """What a bound bounds; any other likelihood itself."""
    return Bernoulli() if isinstance(likelihood, LogisticBound) else likelihood


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

    slope, _ = differences(lambda at: likelihood.log_density(y, at, weights), eta, 1e-4)
    assert seen.precision.shape in {y.shape, (N, 1)}
    assert_allclose(seen.precision * (seen.target - eta), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", UNCOUPLED)
def test_precisions_are_the_curvature_of_outputs_that_are_not_coupled(name, rng):
    likelihood, y, eta, weights = drawn_case(name, rng)
    seen = likelihood.pseudo_observations(y, eta, weights)
    _, curve = differences(lambda at: likelihood.log_density(y, at, weights), eta, 1e-4)

    assert likelihood.curvature(y, eta, weights) is None
    assert_allclose(seen.precision + np.zeros(y.shape), -curve, rtol=1e-4)


@pytest.mark.parametrize("name", COUPLED)
def test_the_curvature_of_coupled_outputs(name, rng):
    """Products with the Hessian are differences of slopes, up to quadrature."""
    likelihood, y, eta, weights = drawn_case(name, rng)
    product = likelihood.curvature(y, eta, weights)
    direction = rng.standard_normal(y.shape)

    def slope(at):
        seen = likelihood.pseudo_observations(y, at, weights)
        return seen.precision * (seen.target - at)

    h = 1e-5
    change = (slope(eta + h * direction) - slope(eta - h * direction)) / (2 * h)
    assert_allclose(product(direction), -change, rtol=1e-6, atol=1e-7)


def test_steady_means_the_precisions_do_not_move(case, rng):
    likelihood, y, eta, weights = case
    here = likelihood.pseudo_observations(y, eta, weights)
    there = likelihood.pseudo_observations(
        y, eta + rng.standard_normal(y.shape), weights
    )

    assert np.array_equal(here.precision, there.precision) == likelihood.steady


def test_the_lower_bound_is_below(case):
    """And conjugate or steady; the same where there is nothing to bound."""
    likelihood, y, eta, weights = case
    bound = likelihood.lower_bound(eta, np.full(y.shape, 0.3))

    assert bound.conjugate or bound.steady or isinstance(bound, Softmax)
    for at in (eta, 0.5 * eta, -eta):
        value = bound.log_density(y, at, weights)
        limit = bounded(likelihood).log_density(y, at, weights)
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


def test_refitting_moves_the_parameters_uphill(rng):
    """The fixed point of the noise lies in the direction of the evidence's slope."""
    likelihood, y, eta, weights = drawn_case("Gaussian", rng)
    freedom = np.full(2, weights.sum() - 2.0)
    goal = likelihood.refit(y, eta, weights, freedom)
    move = goal.log_parameters - likelihood.log_parameters
    rss = weights @ (y - eta) ** 2
    slope = freedom - rss / likelihood.noise_variance

    assert np.all(move * slope > 0)
    assert_allclose(goal.noise_variance, rss / freedom)


@pytest.mark.parametrize("name", [name for name in LIKELIHOODS if name != "Gaussian"])
def test_refitting_leaves_what_has_no_parameters(name, rng):
    likelihood, y, eta, weights = drawn_case(name, rng)
    freedom = np.full(y.shape[1], weights.sum() - 2.0)
    again = likelihood.refit(y, eta, weights, freedom)

    assert len(again.log_parameters) == 0
    assert np.array_equal(
        again.noise_variance, likelihood.noise_variance, equal_nan=True
    )


def test_the_predictive_density_is_the_mean_of_densities(case, rng):
    """Over draws of the latent values; of a bound, that of what is bounded."""
    likelihood, y, eta, _ = case
    mean, variance = y + 0.3 * eta, np.full(y.shape, 0.2)
    draws = np.sqrt(0.2) * rng.standard_normal((1000, y.shape[1]))
    draws = np.concatenate([draws, -draws])

    found = likelihood.log_predictive(y, mean, variance)
    for row in range(3):
        many, at = np.repeat(y[[row]], len(draws), axis=0), mean[row] + draws
        densities = [
            bounded(likelihood).log_density(many[[i]], at[[i]], np.ones(1))
            for i in range(len(draws))
        ]
        expected = np.log(np.mean(np.exp(densities)))
        assert_allclose(found[row], expected, atol=0.05)

"""Laws of every likelihood: its pseudo-observations are its quadratic expansion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn, read_only

from relvec.likelihoods import (
    Bernoulli,
    Gaussian,
    LogPrecision,
    MultinomialProbit,
    Poisson,
    SharedGaussian,
    Softmax,
    StudentT,
    refitted,
)
from relvec.likelihoods.bernoulli import LogisticBound
from relvec.likelihoods.multinomial import contrasts
from relvec.likelihoods.student_t import ScaleMixture

N = 12
REAL = drawn(3, (N, 2))
CLASSES = np.array([3, 0, 1, 2, 2, 0, 1, 3, 0, 2, 1, 3])
BINARY = read_only(CLASSES[:, None] % 2 + 0.0)

HEAVY_TAILED = StudentT(np.array([4.0, 0.5]), 3.0)

LIKELIHOODS = {
    "Gaussian": (Gaussian(np.array([4.0, 0.5])), REAL),
    "Gaussian, known noise": (Gaussian.known(0.2, 2), REAL),
    "SharedGaussian": (SharedGaussian(np.array([4.0, 0.5])), REAL),
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
    "LogPrecision": (LogPrecision(), 1 + 0.2 * np.abs(REAL[:, :1])),
    "Poisson": (Poisson(0.5), read_only(CLASSES[:, None] + 0.0)),
    "StudentT": (HEAVY_TAILED, REAL),
    "ScaleMixture": (ScaleMixture(HEAVY_TAILED, np.full((1, 2), 0.7)), REAL),
}


ESTIMATED = ["Gaussian", "SharedGaussian", "StudentT"]
NOT_CONCAVE = ["StudentT"]


def is_coupled(name):
    likelihood, y = LIKELIHOODS[name]
    return likelihood.curvature(y, np.zeros(y.shape), np.ones(N)) is not None


COUPLED = [name for name in LIKELIHOODS if is_coupled(name) and name not in NOT_CONCAVE]
UNCOUPLED = [name for name in LIKELIHOODS if name not in [*COUPLED, *NOT_CONCAVE]]


def drawn_case(name, rng):
    likelihood, y = LIKELIHOODS[name]
    eta = 1.5 * rng.standard_normal(y.shape)
    return likelihood, y, eta, rng.uniform(0.5, 3, N)


@pytest.fixture(params=LIKELIHOODS)
def case(request, rng):
    return drawn_case(request.param, rng)


def bounded(likelihood):
    """What a bound bounds; any other likelihood itself."""
    if isinstance(likelihood, ScaleMixture):
        return likelihood.bounded
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


@pytest.mark.parametrize("name", NOT_CONCAVE)
def test_precisions_are_no_less_than_a_curvature_that_may_be_negative(name, rng):
    likelihood, y, eta, weights = drawn_case(name, rng)
    seen = likelihood.pseudo_observations(y, eta, weights)
    _, curve = differences(lambda at: likelihood.log_density(y, at, weights), eta, 1e-4)

    assert likelihood.curvature(y, eta, weights) is None
    assert np.any(curve > 0)
    assert np.all(seen.precision > 0)
    assert np.all(seen.precision >= -curve - 1e-4)


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


def test_the_lower_bound_is_below(case):
    """With precisions that do not move; of some none is known."""
    likelihood, y, eta, weights = case
    bound = likelihood.lower_bound(y, eta, np.full(y.shape, 0.3))
    if bound is None:
        assert not likelihood.conjugate
        return
    assert bound is likelihood or not isinstance(likelihood, Gaussian)
    here, there = (
        bound.pseudo_observations(y, at, weights).precision for at in (eta, -eta)
    )
    assert np.array_equal(here, there)
    for at in (eta, 0.5 * eta, -eta):
        value = bound.log_density(y, at, weights)
        limit = bounded(likelihood).log_density(y, at, weights)
        assert value <= limit + 1e-9 * abs(limit)


def test_conjugate_means_the_observations_do_not_move(case):
    likelihood, y, eta, weights = case
    here = likelihood.pseudo_observations(y, eta, weights)
    there = likelihood.pseudo_observations(y, eta + 1, weights)

    same = np.array_equal(here.target, there.target)
    same = same and np.array_equal(here.precision, there.precision)
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
    same = likelihood.with_parameters(parameters)
    assert_allclose(same.scale, likelihood.scale, rtol=1e-13)


def test_fixed_parameters_are_none_and_do_not_move(case):
    likelihood, y, eta, weights = case
    parameters = likelihood.log_parameters
    assert (likelihood.parameter_ceiling is None) == (len(parameters) == 0)
    fixed = likelihood.with_parameters(parameters + 0.3, fixed=True)

    assert len(fixed.log_parameters) == 0
    assert fixed.parameter_ceiling is None
    assert refitted(fixed, y, eta, weights) is fixed
    moved = likelihood.with_parameters(parameters + 0.3)
    assert_allclose(fixed.scale, moved.scale)


def test_sufficient_statistics_are_the_slope_by_parameters(case):
    likelihood, y, eta, weights = case
    count, squares = likelihood.sufficient_statistics(y, eta, weights)
    parameters = likelihood.log_parameters
    assert count.shape == squares.shape == parameters.shape
    for place, step in enumerate(1e-5 * np.eye(len(parameters))):
        up, down = (
            likelihood.with_parameters(parameters + sign * step) for sign in (1, -1)
        )
        slope = up.log_density(y, eta, weights) - down.log_density(y, eta, weights)
        expected = count[place] - squares[place] * np.exp(parameters[place])
        assert_allclose(slope / 2e-5, 0.5 * expected, rtol=1e-6)


def test_rescaling_targets_shifts_the_density_by_the_jacobian(case):
    likelihood, y, eta, weights = case
    scale = 1.0 if np.isnan(likelihood.scale).any() else 7.0
    plain = likelihood.log_density(y, eta, weights)
    other = scale if likelihood.unit is None else 1.0  # η may be in units of the noise
    scaled = likelihood.rescaled(scale).log_density(scale * y, other * eta, weights)

    jacobian = weights.sum() * y.shape[1] * np.log(scale)
    assert_allclose(scaled, plain - jacobian, rtol=1e-12)


def test_refitting_moves_the_parameters_uphill(rng):
    """The fixed point of the noise lies in the direction of the evidence's slope."""
    likelihood, y, eta, weights = drawn_case("Gaussian", rng)
    goal = refitted(likelihood, y, eta, weights, more=(-2.0, 0.0))
    move = goal.log_parameters - likelihood.log_parameters
    count, squares = likelihood.sufficient_statistics(y, eta, weights)
    slope = count - 2.0 - squares * np.exp(likelihood.log_parameters)

    assert np.all(move * slope > 0)
    assert_allclose(goal.noise_variance, squares / (count - 2.0))


def test_a_rescaled_likelihood_keeps_nothing_of_the_rows(case):
    """It goes with the model, which must not keep the training rows."""
    likelihood, y, eta, weights = case
    likelihood.log_density(y, eta, weights)
    fields = vars(likelihood.rescaled(1.0))

    assert not any(isinstance(kept, list) and kept for kept in fields.values())


@pytest.mark.parametrize("name", [one for one in LIKELIHOODS if one not in ESTIMATED])
def test_refitting_leaves_what_has_no_parameters(name, rng):
    likelihood, y, eta, weights = drawn_case(name, rng)

    assert refitted(likelihood, y, eta, weights) is likelihood
    assert len(likelihood.log_parameters) == 0


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

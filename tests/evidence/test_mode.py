"""The mode, its Laplace approximation and the evidence there."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import laplace_evidence, log_marginal, moments
from problems import gaussian_kernel, random_case, unit_columns

from relvec.blockwise import OutOfTimeError, stopped_when
from relvec.design import DenseDesign
from relvec.evidence import Problem, WarmStart
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.sequential import Sequential
from relvec.likelihoods import Bernoulli, Gaussian, MultinomialProbit
from relvec.likelihoods.multinomial import contrasts


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_gaussian_evidence_is_the_marginal_density(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    problem = case.problem
    start = np.zeros((n_outputs, len(case.active)))
    mode = posterior_at_mode(
        problem, problem.likelihood, case.active, case.alpha, start
    )

    dense = sum(
        log_marginal(case.Phi, target, precision, case.active, case.alpha)
        for target, precision in case.each_output()
    )
    assert_allclose(mode.log_evidence, dense, rtol=1e-10)
    for k, (target, precision) in enumerate(case.each_output()):
        Sigma, mu = moments(case.Phi, target, precision, case.active, case.alpha)
        assert_allclose(mode.posterior.mean[k], mu, rtol=1e-8, atol=1e-10)
        assert_allclose(mode.posterior.covariance[k], Sigma, rtol=1e-8, atol=1e-12)


def classification_problem(seed, n_samples=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 2))
    Phi = unit_columns(gaussian_kernel(X, X, 1.0))
    y = (X[:, 0] + 0.7 * rng.standard_normal(n_samples) > 0).astype(float)
    weights = rng.integers(1, 4, n_samples).astype(float)
    design = DenseDesign(Phi, np.ones(n_samples))
    return Phi, Problem(design, y[:, None], Bernoulli(), weights)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strength", [1e-4, 1.0, 1e3])
def test_bernoulli_mode_against_a_general_optimiser(seed, strength):
    Phi, problem = classification_problem(seed)
    active = np.arange(0, 40, 7)
    alpha = strength * np.linspace(0.5, 2, len(active))
    mode = posterior_at_mode(
        problem, problem.likelihood, active, alpha, np.zeros((1, len(active)))
    )

    expected = laplace_evidence(
        Phi, problem.y[:, 0], active, alpha, problem.sample_weight
    )
    assert_allclose(mode.log_evidence, expected, rtol=1e-7)


class Tilted(Bernoulli):
    """Values that fall a little where their derivatives say that they do not."""

    asked = 0

    def log_density(self, y, eta, sample_weight):
        type(self).asked += 1
        return super().log_density(y, eta, sample_weight) - 1e-3 * eta.sum()


def test_newton_stops_where_values_contradict_derivatives():
    """As those of integrals do in their last digits: no step is then long enough."""
    _, problem = classification_problem(3)
    active, alpha = np.arange(0, 40, 7), np.full(6, 1e-3)
    start = np.zeros((1, len(active)))
    exact = posterior_at_mode(problem, Bernoulli(), active, alpha, start)
    found = posterior_at_mode(problem, Tilted(), active, alpha, start)

    assert Tilted.asked < 100
    assert_allclose(found.posterior.mean, exact.posterior.mean, rtol=1e-2)


@pytest.mark.parametrize("start", [0.0, 50.0, -1e4])
def test_newton_finds_the_mode_from_far_away(start):
    _, problem = classification_problem(3)
    active, alpha = np.arange(5), np.full(5, 1e-3)

    def search(first):
        return posterior_at_mode(problem, problem.likelihood, active, alpha, first)

    far, near = search(np.full((1, 5), start)), search(np.zeros((1, 5)))
    assert_allclose(far.posterior.mean, near.posterior.mean, rtol=1e-6)


def test_separable_classes_have_a_finite_mode():
    Phi = np.linspace(-1, 1, 20)[:, None]
    y = (Phi > 0).astype(float)
    problem = Problem(DenseDesign(Phi, np.ones(1)), y, Bernoulli(), np.ones(20))
    mode = posterior_at_mode(
        problem, Bernoulli(), np.array([0]), np.array([1e-10]), np.zeros((1, 1))
    )

    assert np.isfinite(mode.log_evidence)
    assert 10 < mode.posterior.mean[0, 0] < 1e4


def test_weights_are_repetitions():
    rng = np.random.default_rng(5)
    Phi, y = rng.standard_normal((12, 4)), rng.standard_normal((12, 1))
    counts = rng.integers(1, 4, 12)
    active, alpha, start = np.arange(4), np.ones(4), np.zeros((1, 4))

    def evidence(Phi, y, weights):
        problem = Problem(DenseDesign(Phi, np.ones(4)), y, noise, weights)
        return posterior_at_mode(problem, noise, active, alpha, start).log_evidence

    noise = Gaussian(np.array([3.0]))
    once = evidence(Phi, y, counts.astype(float))
    rows = np.repeat(np.arange(12), counts)
    repeated = evidence(Phi[rows], y[rows], np.ones(len(rows)))
    assert_allclose(once, repeated, rtol=1e-12)


def several_classes(n_classes=4, n_samples=60):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_samples, 2))
    C = contrasts(n_classes)
    y = C[np.argmax(X @ rng.standard_normal((2, n_classes)), axis=1)]
    design = DenseDesign.weighted(gaussian_kernel(X, X, 1.0), np.ones(n_samples))
    return Problem(design, y, MultinomialProbit(C), np.ones(n_samples))


def test_a_rough_mode_is_near_and_keeps_the_likelihood():
    problem = several_classes()
    at = np.arange(0, 60, 6), np.full(10, 1e-2), np.zeros((3, 10))
    exact = posterior_at_mode(problem, problem.likelihood, *at)
    rough = posterior_at_mode(problem, problem.likelihood, *at, rough=True)

    assert rough.likelihood is problem.likelihood
    assert_allclose(rough.log_evidence, exact.log_evidence, atol=0.05)
    density = problem.likelihood.log_density(problem.y, exact.eta, np.ones(60))
    coarse = problem.likelihood.low_accuracy
    found = coarse.log_density(problem.y, exact.eta, np.ones(60))
    assert coarse.n_nodes < problem.likelihood.n_nodes
    assert_allclose(found, density, atol=60 * 1e-5)


def test_a_search_may_begin_from_weights_of_functions_as_they_are():
    problem = several_classes()
    start = np.full(60, np.inf)
    start[::6] = 1e-2
    problem = replace(problem, start=WarmStart(start))
    found = Sequential().init(problem).model
    weights = np.zeros((3, 60))
    weights[:, ::6] = found.mean / problem.design.column_norms[::6]
    asked = []

    class Counted(MultinomialProbit):
        def pseudo_observations(self, y, eta, sample_weight):
            asked.append(eta)
            return super().pseudo_observations(y, eta, sample_weight)

    counted = Counted(problem.likelihood.coding)
    problem = replace(problem, start=WarmStart(start, weights), likelihood=counted)
    again = Sequential().init(problem).model
    assert_allclose(again.log_evidence, found.log_evidence, rtol=1e-7)
    assert len(asked) <= 3


@pytest.mark.parametrize("steps", [0, 2])
def test_a_search_for_the_mode_ends_when_time_is_over(steps):
    _, problem = classification_problem(0)
    n_columns = problem.design.shape[1]
    at = np.arange(n_columns), np.full(n_columns, 1e-6), np.zeros((1, n_columns))
    looks = []

    def over():
        looks.append(1)
        return len(looks) > 2 * steps  # one of the loop, one of a factor

    with stopped_when(over), pytest.raises(OutOfTimeError):
        posterior_at_mode(problem, problem.likelihood, *at)

    assert len(looks) == 2 * steps + 1

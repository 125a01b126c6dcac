"""Hyperpriors and the variational bound, against slow and obvious versions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln
from scipy.stats import gamma as gamma_distribution
from scipy.stats import multivariate_normal

from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import (
    EM,
    Hyperprior,
    Limits,
    MacKay,
    Problem,
    Status,
    Variational,
    maximise,
)
from relvec.evidence.fixed_point import FixedPoint
from relvec.kernels import Gaussian
from relvec.likelihoods import Bernoulli, gaussian_noise
from relvec.likelihoods.bernoulli import LogisticBound

INFORMATIVE = Hyperprior(a=0.5, b=0.1, c=3.0, d=0.2)


FLAT = Hyperprior()


def regression(n_rows=40, seed=0, hyperprior=INFORMATIVE, weights=None, unit=1.0):
    X, y = noisy_sinc(n_rows, seed=seed)
    Phi = np.column_stack([np.ones(n_rows), Gaussian(width=3.0)(X, X[::2])])
    weights = np.ones(n_rows) if weights is None else weights
    targets = unit * y[:, None]
    noise = gaussian_noise(targets, weights, "estimate")
    design = DenseDesign.weighted(Phi, weights)
    return Problem(design, targets, noise, weights, hyperprior=hyperprior)


def classification(n_rows=60, seed=0, hyperprior=FLAT):
    X, y = two_mixtures(n_rows, seed=seed)
    Phi = np.column_stack([np.ones(n_rows), Gaussian(width=0.5)(X, X[::2])])
    weights = np.ones(n_rows)
    design = DenseDesign.weighted(Phi, weights)
    targets = y[:, None].astype(float)
    return Problem(design, targets, Bernoulli(), weights, hyperprior=hyperprior)


def log_posterior(problem, active, log_alpha, log_beta):
    """(2.5.9) of the thesis from its definition, with the constant of the evidence."""
    Phi = problem.design.matrix[:, active]
    alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    C = np.eye(len(Phi)) / beta + (Phi / alpha) @ Phi.T
    evidence = multivariate_normal(np.zeros(len(Phi)), C).logpdf(problem.y[:, 0])
    prior = problem.hyperprior
    return (
        evidence
        + np.sum(prior.a * log_alpha - prior.b * alpha)
        + prior.c * log_beta
        - prior.d * beta
    )


@pytest.mark.parametrize("update", [MacKay(), EM()])
def test_informative_hyperpriors_are_maximised_over_logarithms(update):
    """In the user's units, where the thesis' formula has its maximum."""
    problem = regression()
    fit = maximise(problem, FixedPoint(update, tol=1e-7), Limits())
    active = fit.posterior.active
    log_alpha = np.log(fit.posterior.prior_precision)
    log_beta = -np.log(fit.likelihood.noise_variance[0])
    at = log_posterior(problem, active, log_alpha, log_beta)

    assert fit.status is Status.CONVERGED
    assert_allclose(fit.log_evidence, at, rtol=1e-9)
    h = 1e-3
    for step in (*(h * np.eye(len(active))), np.zeros(len(active))):
        shift = 0.0 if step.any() else h
        up = log_posterior(problem, active, log_alpha + step, log_beta + shift)
        down = log_posterior(problem, active, log_alpha - step, log_beta - shift)
        assert abs(up - down) / (2 * h) < 2e-4


def test_zeros_are_the_flat_ones():
    flat = maximise(regression(hyperprior=Hyperprior()), FixedPoint(), Limits())
    tiny = Hyperprior(1e-14, 1e-14, 1e-14, 1e-14)
    nearly = maximise(regression(hyperprior=tiny), FixedPoint(), Limits())

    assert_allclose(nearly.log_evidence, flat.log_evidence, rtol=1e-5)
    assert not Hyperprior().informative


def test_a_hyperprior_holds_the_noise():
    strong = Hyperprior(c=1e6, d=1e6 * 0.3**2)
    fit = maximise(regression(hyperprior=strong), FixedPoint(), Limits())

    assert_allclose(np.sqrt(fit.likelihood.noise_variance), 0.3, rtol=1e-3)


def explicit_bound(problem, model):
    """E[log p(t, w, α, β)] + entropies, term by term, in the engine's units."""
    design, posterior = problem.design, model.posterior
    Phi = (design.matrix / design.column_norms)[:, posterior.active]
    v, y = problem.sample_weight, problem.y[:, 0]
    priors = Variational().priors(problem, posterior.active)
    shape = priors.a + 0.5
    q_alpha = gamma_distribution(shape, scale=posterior.prior_precision / shape)
    noise_shape = priors.c + 0.5 * v.sum()
    beta = 1 / model.likelihood.noise_variance[0]
    q_beta = gamma_distribution(noise_shape, scale=beta / noise_shape)
    Sigma, mu = posterior.covariance[0], posterior.mean[0]

    def mean_log(shape, mean):
        return digamma(shape) - np.log(shape / mean)

    log_alpha = mean_log(shape, posterior.prior_precision)
    log_beta = mean_log(noise_shape, beta)
    spread = np.sum((Phi @ Sigma) * Phi, axis=1)
    residual = v @ ((y - Phi @ mu) ** 2 + spread)
    likelihood = 0.5 * v.sum() * (log_beta - np.log(2 * np.pi)) - 0.5 * beta * residual
    moments = mu**2 + np.diag(Sigma)
    weights = 0.5 * np.sum(
        log_alpha - np.log(2 * np.pi) - posterior.prior_precision * moments
    )

    def log_prior(shape, rate, mean, mean_log):
        constant = shape * np.log(rate) - gammaln(shape)
        return np.sum(constant + (shape - 1) * mean_log - rate * mean)

    return (
        likelihood
        + weights
        + log_prior(priors.a, priors.b, posterior.prior_precision, log_alpha)
        + log_prior(priors.c, priors.d, beta, log_beta)
        + multivariate_normal(mu, Sigma).entropy()
        + np.sum(q_alpha.entropy())
        + q_beta.entropy()
    )


@pytest.mark.parametrize("hyperprior", [Hyperprior(), INFORMATIVE])
def test_the_bound_is_what_its_definition_says(hyperprior):
    weights = np.random.default_rng(0).integers(1, 3, 40).astype(float)
    problem = regression(hyperprior=hyperprior, weights=weights)
    maximiser = FixedPoint(Variational())
    state = maximiser.init(problem)
    for _ in range(4):
        state = maximiser.step(problem, state)
        model = state.model
        assert_allclose(model.log_evidence, explicit_bound(problem, model), rtol=1e-9)


@pytest.mark.parametrize("make", [regression, classification])
@pytest.mark.parametrize("hyperprior", [Hyperprior(), INFORMATIVE])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bound_never_falls(make, hyperprior, seed):
    problem = make(seed=seed, hyperprior=hyperprior)
    fit = maximise(problem, FixedPoint(Variational(), tol=1e-4), Limits())
    trace = fit.history["log_evidence"]

    assert fit.status is Status.CONVERGED
    assert np.diff(trace).min() > -1e-10 * np.abs(trace).max()


def test_flat_hyperpriors_leave_few_functions():
    problem = regression(hyperprior=Hyperprior())
    fit = maximise(problem, FixedPoint(Variational(), tol=1e-3), Limits())

    assert 2 <= len(fit.posterior.active) < 10


def test_the_bound_is_one_of_the_density_of_classes():
    """Of the posterior for given α: below Laplace's estimate by less than a nat."""
    problem = classification()
    fit = maximise(problem, FixedPoint(Variational(), tol=1e-3), Limits())
    laplace = maximise(problem, FixedPoint(EM(), tol=1e-3), Limits())
    cost = Variational().log_hyperprior(
        problem,
        fit.posterior.rescaled(problem.design.column_norms[fit.posterior.active]),
        fit.likelihood,
    )

    assert -3 < fit.log_evidence - cost - laplace.log_evidence < 0.5


def test_units_do_not_matter():
    """A flat hyperprior's stand-in scales with the data."""
    fits = [
        maximise(
            regression(hyperprior=Hyperprior(), unit=unit),
            FixedPoint(Variational(), tol=1e-4),
            Limits(),
        )
        for unit in (1.0, 1e6)
    ]
    assert_allclose(fits[1].posterior.mean, 1e6 * fits[0].posterior.mean, rtol=1e-6)
    shift = 40 * np.log(1e6)
    assert_allclose(fits[1].log_evidence, fits[0].log_evidence - shift, rtol=1e-9)


class TestLogisticBound:
    """Below the likelihood, touching it at ±ξ."""

    ETA = np.linspace(-12, 12, 49)[:, None]

    @pytest.mark.parametrize("label", [0.0, 1.0])
    @pytest.mark.parametrize("xi", [1e-9, 5e-4, 0.5, 3.0, 30.0])
    def test_it_is_below(self, label, xi):
        for eta in self.ETA[:, None]:
            bound = LogisticBound(np.array([[xi]]))
            y, one = np.array([[label]]), np.ones(1)
            assert (
                bound.log_density(y, eta, one)
                <= Bernoulli().log_density(y, eta, one) + 1e-12
            )

    @pytest.mark.parametrize("xi", [1e-9, 5e-4, 2e-3, 0.5, 3.0, 30.0])
    def test_it_touches(self, xi):
        bound = LogisticBound(np.array([[xi]]))
        y, one = np.array([[1.0]]), np.ones(1)
        for eta in (xi, -xi):
            at = np.array([[eta]])
            exact = Bernoulli().log_density(y, at, one)
            value = bound.log_density(y, at, one)
            assert_allclose(value, exact, rtol=1e-12, atol=1e-14)

    def test_the_best_one_for_a_gaussian(self):
        """ξ² = E[η²] maximises the mean of the bound."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        mean, variance = 0.7, 2.0
        eta = (mean + np.sqrt(variance) * nodes)[:, None]
        y = np.ones_like(eta)

        def expected(xi):
            return LogisticBound(np.full_like(eta, xi)).log_density(y, eta, weights)

        best = LogisticBound.at(np.array([[mean]]), np.array([[variance]])).xi[0, 0]
        assert expected(best) > max(expected(0.98 * best), expected(1.02 * best))

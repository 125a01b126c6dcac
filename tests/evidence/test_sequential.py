"""The sequential algorithm: what each step promises and where it ends."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import laplace_evidence, log_marginal, sparsity_and_quality
from problems import gaussian_kernel

from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import Problem, Sequential
from relvec.likelihoods import Bernoulli, Gaussian


def regression(seed=0, n_samples=60, noise=0.1, width=3.0):
    X, y = noisy_sinc(n_samples, noise=noise, seed=seed)
    Phi = np.hstack([np.ones((n_samples, 1)), gaussian_kernel(X, X, width)])
    weights = np.ones(n_samples)
    likelihood = Gaussian.starting(y[:, None], weights)
    design = DenseDesign.weighted(Phi, weights)
    return Problem(design, y[:, None], likelihood, weights, bias=0)


def classification(seed=0, n_samples=80):
    X, y = two_mixtures(n_samples, seed=seed)
    Phi = np.hstack([np.ones((n_samples, 1)), gaussian_kernel(X, X, 0.5)])
    weights = np.ones(n_samples)
    design = DenseDesign.weighted(Phi, weights)
    return Problem(design, y[:, None].astype(float), Bernoulli(), weights, bias=0)


def walk(problem, maximiser, limit=5000):
    """All states of a fit, the first and the last included."""
    states = [maximiser.init(problem)]
    while not maximiser.converged(problem, states[-1]):
        states.append(maximiser.step(problem, states[-1]))
        assert len(states) < limit
    return states


def dense(problem):
    return problem.design.matrix / problem.design.column_norms


def evidence_of(problem, model):
    precision = np.full(len(problem.y), model.likelihood.noise_precision[0])
    return log_marginal(
        dense(problem), problem.y[:, 0], precision, model.active, model.prior_precision
    )


RULES = ["gain", "random", "cyclic"]


@pytest.mark.parametrize("selection", RULES)
@pytest.mark.parametrize("make", [regression, classification])
def test_the_evidence_never_falls(make, selection):
    states = walk(make(), Sequential(selection=selection))
    trace = np.array([state.model.log_evidence for state in states])

    assert len(trace) > 5
    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()


@pytest.mark.parametrize("noise_interval", [1, 3, 10])
def test_the_evidence_carried_along_is_the_marginal_density(noise_interval):
    problem = regression(seed=1)

    for state in walk(problem, Sequential(noise_interval=noise_interval)):
        exact = evidence_of(problem, state.model)
        assert_allclose(state.model.log_evidence, exact, rtol=1e-8)


def test_the_evidence_of_a_classifier_is_laplaces():
    problem = classification(seed=1)

    for state in walk(problem, Sequential())[1::7]:
        exact = laplace_evidence(
            dense(problem),
            problem.y[:, 0],
            state.model.active,
            state.model.prior_precision,
        )
        assert_allclose(state.model.log_evidence, exact, rtol=1e-7)


@pytest.mark.parametrize("selection", RULES)
def test_it_ends_at_a_stationary_point_of_the_definition(selection):
    """Eqs. (20)-(21) hold for every function, the noise equation too."""
    problem = regression(seed=2)
    last = walk(problem, Sequential(selection=selection, tol=1e-7))[-1].model
    active, alpha = last.active, last.prior_precision
    beta = last.likelihood.noise_precision[0]
    precision = np.full(len(problem.y), beta)
    S, Q = sparsity_and_quality(
        dense(problem), problem.y[:, 0], precision, active, alpha
    )
    outside = np.setdiff1d(np.arange(len(S)), active)
    s = alpha * S[active] / (alpha - S[active])
    q = alpha * Q[active] / (alpha - S[active])
    residual = problem.y[:, 0] - (problem.design.matvec(last.mean, active))[:, 0]

    best = Q[outside] ** 2 / S[outside]
    gains = 0.5 * (best - 1 - np.log(best))[best > 1]
    assert gains.max(initial=0.0) <= 1.1e-7
    assert_allclose(np.log(s**2 / (q**2 - s) / alpha), 0, atol=2e-6)
    freedom = len(residual) - last.effective_parameters[0]
    assert_allclose(beta * residual @ residual / freedom, 1, rtol=1e-6)


def test_the_first_function_has_the_largest_normalised_projection():
    problem = regression(seed=4)
    maximiser = Sequential(selection="cyclic")
    first = maximiser.step(problem, maximiser.init(problem))
    projections = np.abs(dense(problem).T @ problem.y[:, 0])

    assert first.model.active.tolist() == [np.argmax(projections)]


def test_it_can_start_from_a_given_column():
    problem = regression(seed=4)
    second_best = int(np.argsort(np.abs(dense(problem).T @ problem.y[:, 0]))[-2])
    maximiser = Sequential(start=second_best)
    first = maximiser.step(problem, maximiser.init(problem))

    assert first.model.active.tolist() == [second_best]


def test_a_useless_start_is_passed_over():
    problem = regression(seed=4)
    useless = np.zeros(problem.design.shape[1])
    useless[1:] = 1
    design = DenseDesign(problem.design.matrix * useless, problem.design.column_norms)
    blank = Problem(design, problem.y, problem.likelihood, problem.sample_weight)
    maximiser = Sequential(start=0)

    assert 0 not in maximiser.step(blank, maximiser.init(blank)).model.active


def test_where_no_function_gains_alone_several_start_together():
    """Wide functions around centred targets."""
    x = np.linspace(-1, 1, 40)[:, None]
    y = x + 0.05 * np.random.default_rng(0).standard_normal((40, 1))
    y -= y.mean()
    weights = np.ones(40)
    Phi = gaussian_kernel(x, x, 15.0)
    noise = Gaussian.starting(y, weights)
    problem = Problem(DenseDesign.weighted(Phi, weights), y, noise, weights)
    states = walk(problem, Sequential())
    trace = np.array([state.model.log_evidence for state in states])

    assert len(states[-1].model.active) >= 2
    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()
    assert trace[-1] > trace[0] + 20


def test_what_an_earlier_model_rejected_is_asked_again():
    """An exact state that inherits rejections clears them and comes to an end."""
    problem, maximiser = regression(seed=1), Sequential()
    last = walk(problem, maximiser)[-1]
    inherited = replace(last, rejected=(int(last.model.active[0]), 3), stale=True)
    assert not maximiser.converged(problem, inherited)

    after = maximiser.step(problem, inherited)
    assert after.rejected == ()
    assert maximiser.converged(problem, after)


def test_two_outputs_share_their_vectors():
    """The evidence of several outputs is the sum of theirs, and it never falls."""
    one, two = regression(seed=1), regression(seed=2)
    y = np.hstack([one.y, 3 * two.y])
    noise = Gaussian.starting(y, one.sample_weight)
    problem = Problem(one.design, y, noise, one.sample_weight)
    states = walk(problem, Sequential())
    last = states[-1].model
    trace = [state.model.log_evidence for state in states]
    parts = [
        log_marginal(
            dense(problem),
            y[:, k],
            np.full(len(y), beta),
            last.active,
            last.prior_precision,
        )
        for k, beta in enumerate(last.likelihood.noise_precision)
    ]

    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()
    assert_allclose(last.log_evidence, sum(parts), rtol=1e-9)
    assert last.mean.shape == (2, len(last.active))


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("width", [3.0, 4.0])
def test_nearly_dependent_columns_keep_the_promise(noise, width):
    """Wide kernels and little noise: Gram matrices alone would lose all digits."""
    problem = regression(seed=0, n_samples=80, noise=noise, width=width)
    states = walk(problem, Sequential())
    trace = np.array([state.model.log_evidence for state in states])
    last = states[-1].model
    fitted = problem.design.matvec(last.mean, last.active)
    error = np.sqrt(np.mean((fitted - problem.y) ** 2))

    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()
    assert error <= 1.2 * noise + 0.01


def test_copies_of_a_column_do_not_enter():
    problem = regression(seed=3)
    twice = np.repeat(problem.design.matrix, 2, axis=1)
    design = DenseDesign.weighted(twice, problem.sample_weight)
    doubled = Problem(design, problem.y, problem.likelihood, problem.sample_weight)
    single = walk(problem, Sequential())[-1].model
    last = walk(doubled, Sequential())[-1].model

    assert np.sort(last.active).tolist() == (2 * np.sort(single.active)).tolist()
    assert_allclose(last.log_evidence, single.log_evidence, rtol=1e-10)

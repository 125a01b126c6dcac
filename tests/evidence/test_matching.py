"""Moments matched row by row, beside what the integrals are."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import other_classes

from relvec import RVC, Mrvm1
from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.likelihoods import EPProbit, MultinomialProbit
from relvec.likelihoods.multinomial import contrasts
from relvec.likelihoods.probit_integrals import orthant

N_CLASSES = 3
C = contrasts(N_CLASSES)


def classes_problem(likelihood, n_rows=15, n_functions=1, seed=0, weights=None):
    """Labels that follow a few functions, nearly without error."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n_rows, n_functions))
    latent = 3 * Phi @ rng.standard_normal((n_functions, N_CLASSES))
    labels = np.argmax(latent + rng.standard_normal(latent.shape), axis=1)
    weights = np.ones(n_rows) if weights is None else weights
    design = DenseDesign(Phi, np.ones(n_functions))
    return Phi, Problem(design, C[labels], likelihood, weights)


def posterior_of(problem, alpha, start=0.0):
    alpha = np.broadcast_to(alpha, problem.design.shape[1])
    first = np.broadcast_to(start, (N_CLASSES - 1, len(alpha)))
    active = np.arange(len(alpha))
    return posterior_at_mode(problem, problem.likelihood, active, alpha, first)


def exact_moments(Phi, problem, alpha):
    """log evidence, mean and mean variance of two weights, on a grid."""
    axis = np.linspace(-30, 30, 101)
    first, second = np.meshgrid(axis, axis, indexing="ij")
    weights = np.stack([first.ravel(), second.ravel()], axis=1)
    log_p = np.zeros(len(weights))
    own = np.argmax(problem.y @ C.T, axis=1)
    differences = C[own][:, None] - C[other_classes(own, N_CLASSES)]
    for phi, contrast in zip(Phi[:, 0], differences, strict=True):
        log_p += orthant(phi * weights @ contrast.T).log_z
    log_p += np.log(alpha / (2 * np.pi)) - 0.5 * alpha * np.sum(weights**2, axis=1)
    largest = log_p.max()
    p = np.exp(log_p - largest)
    cell = (axis[1] - axis[0]) ** 2
    mean = p @ weights / p.sum()
    variance = p @ (weights - mean) ** 2 / p.sum()
    return largest + np.log(p.sum() * cell), mean, variance.mean()


def test_it_is_closer_to_the_integrals_than_the_mode():
    """Evidence, mean and variance, on average over a few problems."""
    alpha = 0.02
    errors = {MultinomialProbit: [], EPProbit: []}
    for seed in range(4):
        Phi, problem = classes_problem(MultinomialProbit(C), seed=seed)
        evidence, mean, variance = exact_moments(Phi, problem, alpha)
        for kind, found in errors.items():
            mode = posterior_of(replace(problem, likelihood=kind(C)), alpha)
            found.append(
                (
                    abs(mode.log_evidence - evidence),
                    np.linalg.norm(mode.posterior.mean[:, 0] - mean),
                    abs(np.log(mode.posterior.covariance[0, 0, 0] / variance)),
                )
            )
    laplace, matched = (np.mean(found, axis=0) for found in errors.values())
    assert np.all(matched < 0.75 * laplace)


def test_what_is_matched():
    """Aμ = Φᵀg, and each cavity is the posterior without its row."""
    Phi, problem = classes_problem(EPProbit(C), 40, 3)
    alpha = np.array([0.1, 0.5, 2.0])
    mode = posterior_of(problem, alpha)
    seen = mode.observations
    slope = Phi.T @ (seen.precision * (seen.target - mode.eta))
    sd = np.sqrt(np.diagonal(mode.posterior.covariance[0]))

    pull = slope.T - alpha * mode.posterior.mean
    assert np.max(np.abs(sd * pull)) < 0.05
    variance = np.einsum("ni,ij,nj->n", Phi, mode.posterior.covariance[0], Phi)
    cavity = 1 / (1 / variance - seen.precision[:, 0])
    assert_allclose(mode.likelihood.cavity, cavity, rtol=0.05, atol=0.02)
    assert cavity.max() > 1.5 * variance.min()


def test_evidence_follows_precisions_as_that_of_its_observations():
    """What the search takes for granted, and Laplace's evidence does not do."""

    def slopes(kind):
        _, problem = classes_problem(kind(C), 60, 2, seed=4)
        alpha, h = np.array([0.02, 0.1]), 0.05
        up = posterior_of(problem, alpha * [1 + h, 1]).log_evidence
        down = posterior_of(problem, alpha * [1 - h, 1]).log_evidence
        mode = posterior_of(problem, alpha)
        spent = alpha[0] * (mode.posterior.covariance[0, 0, 0])
        weights = alpha[0] * mode.posterior.mean[:, 0] ** 2
        return (up - down) / (2 * h), 0.5 * np.sum(1 - spent - weights)

    found, expected = slopes(EPProbit)
    assert_allclose(found, expected, rtol=0.03)
    found, expected = slopes(MultinomialProbit)
    assert abs(found - expected) > 0.06 * expected


def test_weights_are_repetitions():
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 4, 30)
    _, once = classes_problem(EPProbit(C), 30, 2, weights=counts.astype(float))
    rows = np.repeat(np.arange(30), counts)
    columns = once.design.matvec(np.eye(2), np.arange(2))[rows]
    repeated = replace(
        once,
        design=DenseDesign(columns, np.ones(2)),
        y=once.y[rows],
        sample_weight=np.ones(len(rows)),
    )

    first, second = posterior_of(once, 0.3), posterior_of(repeated, 0.3)
    assert_allclose(first.log_evidence, second.log_evidence, rtol=1e-5)
    assert_allclose(first.posterior.mean, second.posterior.mean, rtol=1e-2)


@pytest.mark.parametrize("weight", [1e-3, 0.3, 1.0])
def test_rows_that_count_for_less_than_one(weight):
    """Their cavities are not larger than what is left without them."""
    _, problem = classes_problem(EPProbit(C), 20, 2, weights=np.full(20, weight))
    mode = posterior_of(problem, 1e-3)

    assert np.isfinite(mode.log_evidence)
    assert np.all(mode.likelihood.cavity >= 0)
    assert np.all(mode.observations.precision >= 0)


@pytest.mark.parametrize("start", [50.0, -300.0])
def test_from_far_away(start):
    _, problem = classes_problem(EPProbit(C), 30, 3)
    far, near = posterior_of(problem, 0.1, start), posterior_of(problem, 0.1)

    assert_allclose(far.log_evidence, near.log_evidence, atol=1e-3)


@pytest.mark.parametrize("seed", [2, 3])
def test_from_where_full_steps_would_not_arrive(seed):
    """With all rows beyond doubt, and many of them wrong."""
    _, problem = classes_problem(EPProbit(C), 30, 3, seed=seed)
    start = 3000 * np.random.default_rng(seed).standard_normal((2, 3))
    far, near = posterior_of(problem, 0.01, start), posterior_of(problem, 0.01)

    assert_allclose(far.log_evidence, near.log_evidence, atol=1e-2)


def test_nothing_in_the_model():
    _, problem = classes_problem(EPProbit(C), 12)
    none = np.empty(0, dtype=np.intp)
    mode = posterior_at_mode(
        problem, problem.likelihood, none, np.empty(0), np.empty((2, 0))
    )

    assert_allclose(mode.log_evidence, -12 * np.log(N_CLASSES), rtol=1e-5)
    assert_allclose(mode.likelihood.cavity, 0)


def test_a_wide_cavity_does_not_make_the_search_swing():
    """Separable classes and a broad prior, where variances overshoot."""
    x = np.repeat(np.linspace(-1, 1, 3), 10)[:, None] + np.linspace(0, 0.1, 30)[:, None]
    Phi = np.hstack([x, x**2, np.ones((30, 1))])
    y = C[np.repeat(np.arange(3), 10)]
    problem = Problem(DenseDesign(Phi, np.ones(3)), y, EPProbit(C), np.ones(30))
    mode = posterior_of(problem, 1e-3)
    again = posterior_at_mode(
        problem, mode.likelihood, np.arange(3), np.full(3, 1e-3), mode.posterior.mean
    )

    assert_allclose(mode.log_evidence, again.log_evidence, atol=1e-3)
    variance = np.einsum("ni,ij,nj->n", Phi, mode.posterior.covariance[0], Phi)
    goal = mode.likelihood.cavities(y, mode.eta, variance, np.ones(30))
    assert np.max(np.abs(np.log1p(goal) - np.log1p(mode.likelihood.cavity))) < 0.02


def test_classes_that_can_be_separated_do_not_run_away():
    """Their evidence rises with ever larger weights, by less and less."""
    y = np.arange(100) % 2
    apart = 2.4 * (2 * y - 1)[:, None] / np.sqrt(5)
    X = np.random.default_rng(6).standard_normal((100, 5)) + apart
    settings = {"gamma": 0.2, "fit_intercept": False}
    model = RVC(multi_class=Mrvm1(posterior="moments"), **settings).fit(X, y)

    posterior = model.model_.posterior
    size = np.sqrt(np.mean(model.model_.basis(X) ** 2, axis=0))
    added = size / np.sqrt(posterior.prior_precision)
    assert np.all(model.predict(X) == y)
    assert 30 < added.max() < 100 * (1 + 1e-6)

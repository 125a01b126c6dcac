"""Newton's step for coupled outputs beside the system it solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.blockwise import OutOfTimeError, stopped_when
from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.mode import _in_steps, coupled_step, step_at_once
from relvec.likelihoods import MultinomialProbit
from relvec.likelihoods.multinomial import contrasts
from relvec.posterior import Posterior

N_ROWS, N_CLASSES, N_ACTIVE = 30, 3, 4


def step_problem(rng):
    """A problem, the posterior of its pseudo-observations, curvature and slope."""
    labels = np.arange(N_ROWS) % N_CLASSES
    y = contrasts(N_CLASSES)[labels]
    likelihood = MultinomialProbit(contrasts(N_CLASSES))
    Phi, weights = rng.standard_normal((N_ROWS, 6)), rng.uniform(0.5, 2, N_ROWS)
    problem = Problem(DenseDesign.weighted(Phi, weights), y, likelihood, weights)
    active, alpha = np.arange(N_ACTIVE), np.geomspace(1e-2, 1e2, N_ACTIVE)
    mean = rng.standard_normal((N_CLASSES - 1, N_ACTIVE))
    eta = problem.design.matvec(mean, active)
    seen = likelihood.pseudo_observations(y, eta, weights)
    factor = problem.design.factor(active, alpha, seen.precision)
    posterior = Posterior(active, alpha, mean, factor)
    return problem, posterior, likelihood.curvature(y, eta, weights)


def applied(problem, posterior, curvature, step):
    """(A + ΦᵀHΦ)x."""
    rows = curvature(problem.design.matvec(step, posterior.active))
    pulled = problem.design.rmatvec(rows, posterior.active)
    return posterior.prior_precision * step + pulled


def test_the_step_solves_the_system(rng):
    problem, posterior, curvature = step_problem(rng)
    slope = rng.standard_normal(posterior.mean.shape)
    step = coupled_step(problem, posterior, curvature, slope)

    assert_allclose(applied(problem, posterior, curvature, step), slope, rtol=1e-9)


def test_conjugate_gradients_come_close_where_the_mode_is(rng):
    problem, posterior, curvature = step_problem(rng)
    slope = 1e-4 * rng.standard_normal(posterior.mean.shape)
    at = posterior.active, posterior.prior_precision
    exact = step_at_once(problem, *at, curvature, slope)
    step = _in_steps(problem, posterior, curvature, slope)

    assert_allclose(step, exact, rtol=1e-2, atol=1e-3 * np.abs(exact).max())


def test_a_step_is_no_more_accurate_than_is_enough(rng):
    """The residual that it leaves, in standard deviations, is below what is asked."""
    problem, posterior, curvature = step_problem(rng)
    slope = 1e-2 * rng.standard_normal(posterior.mean.shape)

    def left(enough):
        step = _in_steps(problem, posterior, curvature, slope, enough)
        residual = slope - applied(problem, posterior, curvature, step)
        return np.sum((posterior.whitener[0] @ residual.T) ** 2)

    size = np.sum((posterior.whitener[0] @ slope.T) ** 2)
    enough = 0.1 * size
    assert left(0.0) <= 1.01 * size * min(5e-2, size)
    assert left(0.0) < left(enough) <= 0.25 * enough * 1.01


def test_conjugate_gradients_end_when_time_is_over(rng):
    problem, posterior, curvature = step_problem(rng)
    slope, looks = 1e-4 * rng.standard_normal(posterior.mean.shape), []

    def over():
        looks.append(1)
        return len(looks) == 3

    with stopped_when(over), pytest.raises(OutOfTimeError):
        _in_steps(problem, posterior, curvature, slope)

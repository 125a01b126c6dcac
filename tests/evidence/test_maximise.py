"""The driver: limits, clock, trace, callbacks, units."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_kernel

from relvec.data import noisy_sinc
from relvec.design import DenseDesign
from relvec.evidence import (
    Deadline,
    Limits,
    MacKay,
    Problem,
    Sequential,
    Status,
    maximise,
)
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.pooled import Pooled
from relvec.likelihoods import Gaussian


def problem(factor=1.0):
    X, y = noisy_sinc(60, seed=0)
    Phi = gaussian_kernel(X, X, 3.0)
    weights = np.ones(len(y))
    targets = factor * y[:, None]
    noise = Gaussian.starting(targets, weights)
    return Problem(DenseDesign.weighted(Phi, weights), targets, noise, weights)


def test_it_stops_at_max_iter_with_a_usable_model():
    fit = maximise(problem(), Sequential(), Limits(max_iter=3))

    assert fit.status is Status.MAX_ITER
    assert fit.n_iter == 3
    assert len(fit.posterior.active) > 0
    assert not fit.status.success


def test_it_stops_when_time_is_up():
    fit = maximise(problem(), Sequential(), Limits(deadline=Deadline.after(1e-9)))

    assert fit.status is Status.MAX_SECONDS
    assert fit.n_iter == 0


def test_a_callback_sees_every_step_and_may_stop():
    seen = []

    def callback(news):
        seen.append(news)
        return news.iteration == 4

    fit = maximise(problem(), Sequential(), callback=callback)

    assert fit.status is Status.STOPPED
    assert [news.iteration for news in seen] == [1, 2, 3, 4]
    assert_allclose([news.log_evidence for news in seen], fit.history["log_evidence"])


def test_the_history_ends_at_the_result():
    fit = maximise(problem(), Sequential())
    history = fit.history

    assert fit.status is Status.CONVERGED
    assert {len(values) for values in history.values()} == {fit.n_iter}
    assert set(history) == {
        "iteration",
        "log_evidence",
        "n_vectors",
        "gamma",
        "noise_std",
        "seconds",
    }
    assert history["n_vectors"][-1] == len(fit.posterior.active)
    assert_allclose(history["log_evidence"][-1], fit.log_evidence, rtol=1e-9)
    assert_allclose(history["noise_std"][-1] ** 2, fit.likelihood.noise_variance[0])
    assert_allclose(
        history["gamma"][-1], fit.posterior.effective_parameters.sum(), rtol=1e-8
    )
    assert np.all(np.diff(history["seconds"]) >= 0)


@pytest.mark.parametrize("factor", [1e-9, 250.0])
def test_everything_comes_back_in_the_users_units(factor):
    plain = maximise(problem(), Sequential())
    scaled = maximise(problem(factor), Sequential())
    shift = 60 * np.log(factor)

    assert_allclose(scaled.posterior.mean, factor * plain.posterior.mean, rtol=1e-8)
    assert_allclose(
        scaled.posterior.prior_precision,
        plain.posterior.prior_precision / factor**2,
        rtol=1e-8,
    )
    assert_allclose(scaled.log_evidence, plain.log_evidence - shift, rtol=1e-10)
    for name, expected in {
        "log_evidence": plain.history["log_evidence"] - shift,
        "noise_std": plain.history["noise_std"] * factor,
    }.items():
        assert_allclose(scaled.history[name], expected, rtol=1e-8)


def test_functions_come_back_in_the_dictionarys_order():
    active = maximise(problem(), Sequential()).posterior.active

    assert np.all(np.diff(active) > 0)


@pytest.mark.parametrize("maximiser", [Sequential(), Pooled(), FixedPoint(MacKay())])
@pytest.mark.parametrize("factor", [1.0, 1e3])
def test_priors_are_no_broader_than_they_may_be(maximiser, factor):
    """In the units of the targets; it costs evidence, and is no search in vain."""
    given = problem(factor)
    free = maximise(given, maximiser)
    largest = 0.3 * factor
    bound = np.full(given.design.shape[1], largest)
    held = maximise(replace(given, max_prior_std=bound), maximiser)

    assert free.posterior.prior_precision.min() < largest**-2
    assert held.posterior.prior_precision.min() == pytest.approx(largest**-2)
    assert held.log_evidence < free.log_evidence
    assert len(held.posterior.active) > 3
    assert held.status.success


def test_a_start_is_no_broader_than_it_may_be():
    given = problem()
    start = np.where(np.arange(given.design.shape[1]) < 2, 1e-6, np.inf)
    bound = np.full(given.design.shape[1], 2.0)
    fit = maximise(
        replace(given, start=start, max_prior_std=bound), Pooled(), Limits(max_iter=0)
    )

    assert_allclose(fit.posterior.prior_precision, 0.25)

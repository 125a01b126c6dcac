"""The driver: limits, clock, trace, callbacks, units."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_kernel

from relvec.blockwise import OutOfTimeError
from relvec.data import noisy_sinc
from relvec.design import DenseDesign
from relvec.evidence import (
    Deadline,
    Limits,
    MacKay,
    Problem,
    Sequential,
    Status,
    WarmStart,
    base,
    maximise,
)
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.search import BatchSearch
from relvec.likelihoods import Bernoulli, Gaussian, Softmax


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


@dataclass(frozen=True)
class Interrupted(Sequential):
    """A search that runs out of time within a step, or before the first."""

    most_steps: int = 0

    def init(self, problem):
        if self.most_steps < 0:
            raise OutOfTimeError
        return super().init(problem)

    def step(self, problem, state):
        if state.steps == self.most_steps:
            raise OutOfTimeError
        return super().step(problem, state)


def test_a_step_without_the_time_to_end_is_not_taken():
    fit = maximise(problem(), Interrupted(most_steps=3))
    expected = maximise(problem(), Sequential(), Limits(max_iter=3))

    assert fit.status is Status.MAX_SECONDS
    assert fit.n_iter == 3
    assert_allclose(fit.posterior.mean, expected.posterior.mean, rtol=1e-12)


def test_no_time_to_begin():
    """What a search would begin with is the model, or the constant."""
    found = maximise(problem(), Sequential())
    start = np.full(60, np.inf)
    start[found.posterior.active] = found.posterior.prior_precision
    known = replace(problem(), likelihood=found.likelihood, start=WarmStart(start))
    fit = maximise(known, Interrupted(most_steps=-1))

    assert fit.status is Status.MAX_SECONDS
    assert_allclose(fit.posterior.mean, found.posterior.mean, rtol=1e-6)
    assert len(maximise(problem(), Interrupted(most_steps=-1)).posterior.active) == 0


def many_rows(likelihood, seed=0):
    """More rows than a posterior is taken from where there is no time."""
    rng = np.random.default_rng(seed)
    x, centres = rng.uniform(-1, 1, (20_000, 1)), np.linspace(-1, 1, 7)[:, None]
    Phi, f = gaussian_kernel(x, centres, 0.5), np.sin(3 * x[:, 0])
    weights = rng.integers(1, 4, len(x)).astype(float)
    if likelihood == "gaussian":
        y = (f + 0.3 * rng.standard_normal(len(x)))[:, None]
        noise = Gaussian.starting(y, weights)
    elif likelihood == "bernoulli":
        y, noise = (f > rng.logistic(size=len(x))).astype(float)[:, None], Bernoulli()
    else:
        gumbel = rng.gumbel(size=(len(x), 3)) + f[:, None] * [-1, 0, 1]
        y, noise = np.eye(3)[gumbel.argmax(axis=1)], Softmax()
    design = DenseDesign.weighted(Phi, weights)
    coupled = likelihood == "softmax, coupled"
    return Problem(design, y, noise, weights, coupled=coupled)


@pytest.mark.parametrize(
    "likelihood", ["gaussian", "bernoulli", "softmax", "softmax, coupled"]
)
def test_without_time_some_rows_tell_the_posterior_of_all(likelihood, monkeypatch):
    """The weights are those of the search; variances are known to a few percent."""
    rows, times = many_rows(likelihood), [0.0]
    monkeypatch.setattr(base, "perf_counter", lambda: times[0])

    def late(news):
        times[0] = 1e3 if news.iteration == 2 else 0.0

    fit = maximise(rows, Sequential(), Limits(deadline=Deadline(10.0)), late)
    times[0] = 0.0
    expected = maximise(rows, Sequential(), Limits(max_iter=2))

    assert fit.status is Status.MAX_SECONDS
    assert fit.n_iter == 2
    assert np.array_equal(fit.posterior.active, expected.posterior.active)
    assert fit.posterior.coupled == expected.posterior.coupled
    assert_allclose(fit.posterior.mean, fit.search_mean, rtol=1e-9)
    assert_allclose(fit.posterior.mean, expected.posterior.mean, rtol=0.05)
    assert_allclose(fit.posterior.variances, expected.posterior.variances, rtol=0.2)
    assert_allclose(fit.log_evidence, expected.log_evidence, rtol=0.1)


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


@pytest.mark.parametrize(
    "maximiser", [Sequential(), BatchSearch(), FixedPoint(MacKay())]
)
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
        replace(given, start=WarmStart(start), max_prior_std=bound),
        BatchSearch(),
        Limits(max_iter=0),
    )

    assert_allclose(fit.posterior.prior_precision, 0.25)

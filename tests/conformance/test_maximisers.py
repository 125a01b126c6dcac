"""Laws of every way to maximise the evidence."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_kernel
from sklearn.datasets import make_blobs

from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import (
    EM,
    Continued,
    MacKay,
    Problem,
    Sequential,
    Status,
    Variational,
    maximise,
)
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.search import BatchSearch, SearchSettings
from relvec.evidence.sequential import model_at, proposals, with_precision
from relvec.likelihoods import Bernoulli, EPProbit, Gaussian
from relvec.likelihoods.multinomial import contrasts

SEARCHES = {
    "sequential": Sequential(tol=1e-6),
    "sequential, random": Sequential(selection="random", tol=1e-6, seed=5),
    "sequential, cyclic": Sequential(selection="cyclic", tol=1e-6),
    "batches": BatchSearch(tol=1e-6),
    "batches, random": BatchSearch(tol=1e-6, selection="random", seed=5),
    "batches, cyclic": BatchSearch(tol=1e-6, selection="cyclic"),
    "batches, small": BatchSearch(tol=1e-6, settings=SearchSettings(batch=4)),
}
FIXED_POINTS = {
    "MacKay": FixedPoint(MacKay(), tol=1e-2),
    "EM": FixedPoint(EM(), tol=1e-4),
    "variational": FixedPoint(Variational(), tol=1e-4),
}
POLISHED = {
    "MacKay, polished": Continued(FixedPoint(MacKay(), tol=1e-2), SEARCHES["batches"]),
    "EM, polished": Continued(FixedPoint(EM(), tol=1e-2), SEARCHES["batches"]),
}
MAXIMISERS = {**SEARCHES, **FIXED_POINTS, **POLISHED}


@dataclass(frozen=True)
class Drawn:
    """A dictionary and what is to be explained by it."""

    Phi: np.ndarray
    y: np.ndarray
    likelihood: object

    @property
    def problem(self):
        weights = np.ones(len(self.y))
        design = DenseDesign.weighted(self.Phi, weights)
        return Problem(design, self.y, self.likelihood, weights)

    def fitted(self, maximiser):
        return maximise(self.problem, maximiser)

    def with_dictionary(self, Phi):
        """The same targets with another dictionary."""
        return Drawn(Phi, self.y, self.likelihood)


def regression(seed=0):
    X, y = noisy_sinc(50, seed=seed)
    noise = Gaussian.starting(y[:, None], np.ones(50))
    return Drawn(gaussian_kernel(X, X, 3.0), y[:, None], noise)


def classification(seed=0):
    X, y = two_mixtures(60, seed=seed)
    return Drawn(gaussian_kernel(X, X, 0.5), y[:, None].astype(float), Bernoulli())


def matched_probit(seed=0):
    """Three classes, whose posterior is matched row by row."""
    X, labels = make_blobs(21, centers=3, cluster_std=2.5, random_state=seed + 3)
    C = contrasts(3)
    return Drawn(gaussian_kernel(X, X, 4.0), C[labels], EPProbit(C))


# How well the evidence is known: rows are matched to a tolerance.
RESOLUTION = {regression: 1e-8, classification: 1e-8, matched_probit: 1e-3}


@cache
def fit_of(make, name, seed=0):
    """What several tests look at; nothing in it changes."""
    return make(seed).fitted(MAXIMISERS[name])


@pytest.fixture(params=MAXIMISERS)
def name(request):
    return request.param


@pytest.fixture(
    params=[regression, classification, matched_probit], ids=lambda make: make.__name__
)
def make(request):
    return request.param


def test_it_converges_and_the_fit_is_finite(make, name):
    fit = fit_of(make, name)

    assert fit.status is Status.CONVERGED
    assert 0 < len(fit.posterior.active) < 15
    assert np.isfinite(fit.history["log_evidence"]).all()
    assert np.isfinite(fit.posterior.mean).all()
    assert np.isfinite(fit.posterior.covariance).all()


def falls(trace):
    """By how much the evidence falls in a step at most, beside its size."""
    return max(0.0, -np.diff(trace).min()) / np.abs(trace).max()


@pytest.mark.parametrize("name", SEARCHES)
def test_evidence_never_decreases_in_a_search(make, name):
    assert falls(fit_of(make, name).history["log_evidence"]) <= 1e-9


@pytest.mark.parametrize("name", ["EM", "variational"])
def test_what_em_and_variational_steps_maximise_never_decreases(make, name):
    """Of MacKay's steps nothing is promised."""
    assert falls(fit_of(make, name).history["log_evidence"]) <= 1e-9


@pytest.mark.parametrize("name", POLISHED)
def test_polishing_raises_the_evidence(make, name):
    """From where the fixed point is, in every step."""
    drawn, maximiser = make(), POLISHED[name]
    fixed = drawn.fitted(maximiser.fixed_point)
    fit = fit_of(make, name)
    after = fit.history["log_evidence"][len(fixed.history["log_evidence"]) - 1 :]

    assert falls(after) <= 1e-9
    assert fit.log_evidence >= fixed.log_evidence


@pytest.mark.parametrize("name", FIXED_POINTS)
def test_another_step_leaves_a_fixed_point_where_it_is(make, name):
    problem, maximiser = make().problem, FIXED_POINTS[name]
    state = maximiser.init(problem)
    while not maximiser.converged(problem, state):
        state = maximiser.step(problem, state)
    before, after = state.model, maximiser.step(problem, state).model

    assert set(after.active) <= set(before.active)
    assert_allclose(
        after.log_evidence, before.log_evidence, rtol=1e-6, atol=RESOLUTION[make]
    )


def test_the_same_twice(make, name):
    one, two = fit_of(make, name), make().fitted(MAXIMISERS[name])

    assert np.array_equal(one.posterior.mean, two.posterior.mean)


def test_a_rescaled_column_changes_nothing(make, name):
    drawn, plain = make(), fit_of(make, name)
    factors = np.geomspace(1e-6, 1e6, drawn.Phi.shape[1])
    scaled = drawn.with_dictionary(drawn.Phi * factors).fitted(MAXIMISERS[name])
    active = plain.posterior.active

    assert np.array_equal(scaled.posterior.active, active)
    slack = RESOLUTION[make]
    assert_allclose(scaled.log_evidence, plain.log_evidence, rtol=1e-9, atol=slack)
    found, mean = scaled.posterior.mean * factors[active], plain.posterior.mean
    assert_allclose(
        found, mean, rtol=0, atol=max(1e-6, 10 * slack) * np.abs(mean).max()
    )


@pytest.mark.parametrize("name", ["sequential", "batches", *FIXED_POINTS, *POLISHED])
def test_a_permuted_dictionary_gives_the_same_model(make, name, rng):
    """For those that do not depend on the order."""
    drawn, plain = make(), fit_of(make, name)
    order = rng.permutation(drawn.Phi.shape[1])
    mixed = drawn.with_dictionary(drawn.Phi[:, order]).fitted(MAXIMISERS[name])

    assert set(order[mixed.posterior.active]) == set(plain.posterior.active)
    assert_allclose(
        mixed.log_evidence, plain.log_evidence, rtol=1e-10, atol=0.01 * RESOLUTION[make]
    )


def test_a_vanishing_column_never_enters(make, name):
    drawn = make()
    wider = np.column_stack([np.zeros(len(drawn.y)), drawn.Phi])
    fit = drawn.with_dictionary(wider).fitted(MAXIMISERS[name])

    assert np.array_equal(fit.posterior.active, 1 + fit_of(make, name).posterior.active)


@pytest.mark.parametrize("name", [*SEARCHES, *POLISHED])
def test_nothing_is_left_to_gain(make, name):
    """At the end of the search every single action is worth less than the tolerance.

    For classes, an action that the refitted evidence does not confirm is none.
    """
    drawn = make(seed=2)
    fit, problem = drawn.fitted(MAXIMISERS[name]), drawn.problem
    norms = problem.design.column_norms[fit.posterior.active]
    posterior = fit.posterior.rescaled(norms)
    mode = posterior_at_mode(
        problem,
        fit.likelihood,
        posterior.active,
        posterior.prior_precision,
        posterior.mean,
    )
    model = model_at(problem, mode)
    options = proposals(problem, model)
    gains = np.where(np.isinf(options.current), options.gain, 0.0)

    slack = max(1e-6, RESOLUTION[make])
    assert_allclose(mode.log_evidence, fit.log_evidence, rtol=0, atol=slack)
    assert np.isfinite(gains).all()
    for index in np.flatnonzero(gains > 2e-6):
        precision = float(options.precision[index])
        after = with_precision(problem, model, int(index), precision)
        assert after.log_evidence < mode.log_evidence + max(1e-5, RESOLUTION[make])

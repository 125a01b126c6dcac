"""Laws of every way to maximise the evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_kernel

from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import (
    Pooled,
    Problem,
    Rounds,
    Sequential,
    Status,
    Tempered,
    maximise,
)
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.search_model import mode_after, model_at
from relvec.likelihoods import Bernoulli, Gaussian

MAXIMISERS = {
    "sequential": Sequential(tol=1e-6),
    "sequential, random": Sequential(selection="random", tol=1e-6, seed=5),
    "sequential, cyclic": Sequential(selection="cyclic", tol=1e-6),
    "pooled": Pooled(Sequential(tol=1e-6)),
    "pooled, random": Pooled(Sequential(tol=1e-6), Rounds("random", seed=5)),
    "pooled, cyclic": Pooled(Sequential(tol=1e-6), Rounds("cyclic")),
    "pooled, small": Pooled(Sequential(tol=1e-6), Rounds(width=4)),
    "tempered": Tempered(Pooled(Sequential(tol=1e-6))),
}


def regression(seed=0):
    X, y = noisy_sinc(50, seed=seed)
    return gaussian_kernel(X, X, 3.0), y, Gaussian.starting(y[:, None], np.ones(50))


def classification(seed=0):
    X, y = two_mixtures(60, seed=seed)
    return gaussian_kernel(X, X, 0.5), y.astype(float), Bernoulli()


def fitted(Phi, y, likelihood, maximiser):
    weights = np.ones(len(y))
    design = DenseDesign.weighted(Phi, weights)
    return maximise(Problem(design, y[:, None], likelihood, weights), maximiser)


@pytest.fixture(params=MAXIMISERS)
def maximiser(request):
    return MAXIMISERS[request.param]


@pytest.fixture(params=[regression, classification], ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_evidence_never_decreases_and_the_fit_is_finite(make, maximiser):
    fit = fitted(*make(), maximiser)
    trace = fit.history["log_evidence"]

    assert fit.status is Status.CONVERGED
    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()
    assert np.isfinite(fit.posterior.mean).all()
    assert np.isfinite(fit.posterior.covariance).all()


def test_the_same_twice(make, maximiser):
    one, two = fitted(*make(), maximiser), fitted(*make(), maximiser)

    assert np.array_equal(one.posterior.mean, two.posterior.mean)


def test_a_rescaled_column_changes_nothing(make, maximiser):
    Phi, y, likelihood = make()
    factors = np.geomspace(1e-6, 1e6, Phi.shape[1])
    plain = fitted(Phi, y, likelihood, maximiser)
    scaled = fitted(Phi * factors, y, likelihood, maximiser)
    active = plain.posterior.active

    assert np.array_equal(scaled.posterior.active, active)
    assert_allclose(scaled.log_evidence, plain.log_evidence, rtol=1e-9)
    assert_allclose(
        scaled.posterior.mean * factors[active], plain.posterior.mean, rtol=1e-5
    )


@pytest.mark.parametrize("name", ["sequential", "pooled", "tempered"])
def test_a_permuted_dictionary_gives_the_same_model(make, name):
    """For the rule that does not depend on the order."""
    Phi, y, likelihood = make(seed=1)
    order = np.random.default_rng(0).permutation(Phi.shape[1])
    plain = fitted(Phi, y, likelihood, MAXIMISERS[name])
    mixed = fitted(Phi[:, order], y, likelihood, MAXIMISERS[name])

    assert set(order[mixed.posterior.active]) == set(plain.posterior.active)
    assert_allclose(mixed.log_evidence, plain.log_evidence, rtol=1e-10)


def test_a_vanishing_column_never_enters(make, maximiser):
    Phi, y, likelihood = make()
    Phi = np.column_stack([np.zeros(len(y)), Phi])

    assert 0 not in fitted(Phi, y, likelihood, maximiser).posterior.active


def test_nothing_is_left_to_gain(make, maximiser):
    """At the end of the search every single action is worth less than the tolerance.

    For two classes, an action that the refitted evidence does not confirm is none.
    """
    Phi, y, likelihood = make(seed=2)
    fit = fitted(Phi, y, likelihood, maximiser)
    weights = np.ones(len(y))
    problem = Problem(
        DenseDesign.weighted(Phi, weights), y[:, None], likelihood, weights
    )
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
    gains = np.where(np.isinf(model.proposals.current), model.proposals.gain, 0.0)
    for index in np.flatnonzero(gains > 2e-6):
        precision = float(model.proposals.precision[index])
        after = mode_after(problem, model, int(index), precision)
        assert after.log_evidence < mode.log_evidence + 1e-5

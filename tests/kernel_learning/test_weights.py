"""The gradient of the evidence by the weights of kernels, against differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.kernel_learning import Mixed, better_weights
from relvec.likelihoods import MultinomialProbit, PseudoObservations


def mixed(rng, n_outputs=1, shared=False, bias=1, own=False):
    """A model of four functions, each by three kernels."""
    parts = rng.standard_normal((3, 20, 4))
    constant = np.ones((20, bias))
    outputs = 1 if shared else n_outputs
    seen = PseudoObservations(
        rng.standard_normal((20, n_outputs)),
        rng.uniform(0.5, 2, (20, outputs)),
        rng.uniform(1, 3, outputs),
    )
    shape = (n_outputs, 4 + bias) if own else 4 + bias
    return Mixed(parts, constant, rng.uniform(0.5, 2, shape), seen, 20.0)


@pytest.mark.parametrize("bias", [0, 1])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("n_outputs", "shared"), [(1, False), (3, False), (3, True)])
def test_gradients_are_differences(n_outputs, shared, own, bias, rng):
    model = mixed(rng, n_outputs, shared, bias, own)
    weights, h = np.array([0.2, 0.5, 0.3]), 1e-5
    _, gradient = model.log_evidence(weights)
    for index, step in enumerate(h * np.eye(3)):
        up, down = (model.log_evidence(weights + s)[0] for s in (step, -step))
        assert_allclose(gradient[index], (up - down) / (2 * h), rtol=1e-6)


def test_the_evidence_is_that_of_the_gaussian_model(rng):
    model, weights = mixed(rng), np.array([0.2, 0.5, 0.3])
    Phi = np.hstack([model.constant, np.tensordot(weights, model.parts, axes=1)])
    C = np.diag(1 / model.seen.precision[:, 0]) + (Phi / model.prior_precision) @ Phi.T
    exact = multivariate_normal(np.zeros(20), C).logpdf(model.seen.target[:, 0])
    # Row weights are repetitions: their part of the density is not counted.
    row_terms = 0.5 * np.sum(np.log(model.seen.row_weights))

    assert_allclose(model.log_evidence(weights)[0], exact - row_terms, rtol=1e-9)


def test_better_weights_are_on_the_simplex_and_better(rng):
    model, weights = mixed(rng, 3, shared=True), np.full(3, 1 / 3)
    better = better_weights(model, weights)

    assert_allclose(better.sum(), 1)
    assert np.all(better >= 0)
    assert model.log_evidence(better)[0] > model.log_evidence(weights)[0]


def test_priors_of_each_class_are_those_of_separate_models(rng):
    """Σ_c log N(t̂_c | 0, 1 + ΦA_c⁻¹Φᵀ), the bound of mRVM2 but for what is fixed."""
    model, weights = mixed(rng, 3, own=True), np.array([0.2, 0.5, 0.3])
    ones = PseudoObservations(model.seen.target, np.ones((20, 1)), np.ones(1))
    model = replace(model, seen=ones)
    Phi = np.hstack([model.constant, np.tensordot(weights, model.parts, axes=1)])
    slow = sum(
        multivariate_normal(np.zeros(20), np.eye(20) + (Phi / alpha) @ Phi.T).logpdf(t)
        for alpha, t in zip(model.prior_precision, ones.target.T, strict=True)
    )

    assert_allclose(model.log_evidence(weights)[0], slow, rtol=1e-9)


def test_of_a_bound_the_gradient_is_that_of_its_maximum(rng):
    """Auxiliary variables that are fixed have the gradient of those that follow."""
    model, at, h = mixed(rng, 3, own=True), np.array([0.2, 0.5, 0.3]), 1e-4
    y, probit = np.eye(3)[np.arange(20) % 3], MultinomialProbit(np.eye(3), bound=True)

    def maximum(weights):
        """Of the bound over weights and auxiliary variables, α as it is."""
        Phi = np.hstack([model.constant, np.tensordot(weights, model.parts, axes=1)])
        design = DenseDesign.weighted(Phi, np.ones(20))
        problem = Problem(design, y, probit, np.ones(20))
        alpha = model.prior_precision / design.column_norms**2
        return posterior_at_mode(problem, probit, np.arange(5), alpha, np.zeros((3, 5)))

    seen = probit.pseudo_observations(y, maximum(at).eta, np.ones(20))
    _, gradient = replace(model, seen=seen).log_evidence(at)

    for index, step in enumerate(h * np.eye(3)):
        up, down = (maximum(at + s).log_evidence for s in (step, -step))
        assert_allclose(gradient[index], (up - down) / (2 * h), rtol=1e-4)

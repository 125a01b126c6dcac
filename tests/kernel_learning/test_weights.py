"""The gradient of the evidence by the weights of kernels, against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from relvec.kernel_learning import Mixed, better_weights
from relvec.likelihoods import PseudoObservations


def mixed(rng, n_outputs=1, shared=False, bias=1):
    """A model of four functions, each by three kernels."""
    parts = rng.standard_normal((3, 20, 4))
    constant = np.ones((20, bias))
    outputs = 1 if shared else n_outputs
    seen = PseudoObservations(
        rng.standard_normal((20, n_outputs)),
        rng.uniform(0.5, 2, (20, outputs)),
        rng.uniform(1, 3, outputs),
    )
    return Mixed(parts, constant, rng.uniform(0.5, 2, 4 + bias), seen, 20.0)


@pytest.mark.parametrize("bias", [0, 1])
@pytest.mark.parametrize(("n_outputs", "shared"), [(1, False), (3, False), (3, True)])
def test_gradients_are_differences(n_outputs, shared, bias, rng):
    model, weights, h = (
        mixed(rng, n_outputs, shared, bias),
        np.array([0.2, 0.5, 0.3]),
        1e-5,
    )
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

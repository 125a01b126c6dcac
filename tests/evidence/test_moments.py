"""The evidence and posterior in Gram form beside their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import log_marginal, moments
from problems import gram_form, random_case


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_posterior_and_evidence(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    found = gram_form(case).solved(case.alpha, case.seen.noise_precision)

    expected = 0.0
    for k, (target, precision) in enumerate(case.each_output()):
        Sigma, mu = moments(case.Phi, target, precision, case.active, case.alpha)
        assert_allclose(found.mean[k], mu, rtol=1e-9, atol=1e-12)
        root = np.sqrt(case.alpha)
        scaled = root[:, None] * Sigma * root
        assert_allclose(found.shrinkage[k], scaled, rtol=1e-9, atol=1e-13)
        residual = case.Phi[:, case.active] @ mu - target
        weights = case.seen.row_weights[:, k]
        assert_allclose(found.residual[k], weights @ residual**2, rtol=1e-9)
        # Row weights are repetitions here: they do not enter the normalisation.
        normalisation = 0.5 * np.sum(np.log(weights))
        expected += log_marginal(case.Phi, target, precision, case.active, case.alpha)
        expected -= normalisation
    assert_allclose(found.log_evidence, expected, rtol=1e-10)


def test_no_columns():
    case = random_case(0, n_active=0)
    found = gram_form(case).solved(case.alpha, case.seen.noise_precision)

    assert found.mean.shape == (1, 0)
    squares = case.seen.row_weights[:, 0] @ case.seen.target[:, 0] ** 2
    assert_allclose(found.residual, squares)


def test_subset_is_that_of_fewer_columns():
    case = random_case(3)
    chosen = np.array([4, 1])
    part = gram_form(case).subset(chosen)

    assert_allclose(part.gram[0], gram_form(case).gram[0][np.ix_(chosen, chosen)])
    assert_allclose(part.target, gram_form(case).target[:, chosen])


def test_the_condition_is_the_largest_element_of_the_diagonal():
    case = random_case(0, n_outputs=2)
    form, beta = gram_form(case), case.seen.noise_precision
    found = form.solved(case.alpha, beta)
    diagonals = np.diagonal(form.gram, axis1=1, axis2=2) * beta[:, None] / case.alpha

    assert_allclose(found.condition, 1 + diagonals.max())

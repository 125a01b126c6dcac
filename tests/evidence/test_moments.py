"""The evidence and posterior in Gram form beside their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import covariance, log_marginal, moments
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


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("inside", [[], [2], [5, 0, 3], range(6)], ids=len)
@pytest.mark.parametrize("seed", range(4))
def test_overlaps_are_what_the_model_leaves(seed, inside, n_outputs):
    """T = ΦᵀC⁻¹Φ and Q = ΦᵀC⁻¹t̂ by the N×N matrix."""
    case = random_case(seed, n_outputs=n_outputs)
    form, beta = gram_form(case), case.seen.noise_precision
    inside = np.sort(np.array(inside, dtype=np.intp))
    alpha, variance = case.alpha[inside], np.zeros(len(case.alpha))
    variance[inside] = 1 / alpha
    found = form.overlaps(variance, beta, form.subset(inside).solved(alpha, beta))
    columns = case.Phi[:, case.active]

    for k, (target, precision) in enumerate(case.each_output()):
        C = covariance(columns, precision, inside, alpha)
        T = columns.T @ np.linalg.solve(C, columns)
        assert_allclose(found.overlap[k], T, rtol=1e-8, atol=1e-9)
        Q = columns.T @ np.linalg.solve(C, target)
        assert_allclose(found.quality[k], Q, rtol=1e-8, atol=1e-8)
    assert found.least_sparsity.shape == (n_outputs, len(variance))


def test_overlaps_of_some_functions():
    case = random_case(1, n_outputs=2)
    form, beta = gram_form(case), case.seen.noise_precision
    none = np.arange(0)
    empty = form.subset(none).solved(np.empty(0), beta)
    whole = form.overlaps(np.zeros(6), beta, empty)
    chosen = np.array([4, 1])
    part = whole.subset(chosen)
    of_fewer = form.subset(chosen).overlaps(np.zeros(2), beta, empty)

    assert_allclose(part.overlap, of_fewer.overlap)
    assert_allclose(part.quality, of_fewer.quality)
    assert_allclose(part.least_sparsity, of_fewer.least_sparsity)


def test_the_condition_is_the_largest_element_of_the_diagonal():
    case = random_case(0, n_outputs=2)
    form, beta = gram_form(case), case.seen.noise_precision
    found = form.solved(case.alpha, beta)
    diagonals = np.diagonal(form.gram, axis1=1, axis2=2) * beta[:, None] / case.alpha

    assert_allclose(found.condition, 1 + diagonals.max())

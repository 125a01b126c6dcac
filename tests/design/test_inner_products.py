"""Inner products of functions beside those of their columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.basis import Basis, Group
from relvec.design.expansions import LowRank, Whole
from relvec.design.inner_products import upper_factor
from relvec.kernels import Gaussian, Matern

LAWFUL = {
    "one kernel": ([Gaussian(1.0)], False),
    "with a constant": ([Gaussian(1.0)], True),
    "two kernels": ([Gaussian(1.0), Matern(0.7, nu=2.5)], True),
}


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "low rank"])
@pytest.mark.parametrize("case", LAWFUL)
def test_are_those_of_the_columns(case, whole):
    kernels, bias = LAWFUL[case]
    rng = np.random.default_rng(0)
    X, weights = rng.uniform(-3, 3, (80, 2)), rng.uniform(0.5, 2, 80)
    basis = Basis(tuple(Group(kernel, X[:60]) for kernel in kernels), bias)
    expansion = Whole(basis) if whole else LowRank.of(basis, tol=1e-9, most=200, seed=0)
    F = expansion.features(X)
    if expansion.constant:
        F = np.column_stack([np.ones(len(X)), F])
    Phi, divisors = basis(X), rng.uniform(1, 3, len(basis))
    expected = (Phi.T * weights) @ Phi / np.outer(divisors, divisors)

    found = expansion.inner_products((F.T * weights) @ F, divisors)

    some = np.array([3, 0, len(basis) - 1])
    close = {"rtol": 1e-7, "atol": 1e-7 * expected.max()}
    assert_allclose(found.squares, expected.diagonal(), **close)
    assert_allclose(found.across(some), expected[some], **close)
    assert_allclose(found.among(some), expected[np.ix_(some, some)], **close)


def test_a_singular_gram_matrix_has_a_factor():
    rng = np.random.default_rng(1)
    F = rng.standard_normal((50, 8))
    F = np.column_stack([F, F, 1e-9 * F])
    gram = F.T @ F

    R = upper_factor(gram)

    assert_allclose(R.T @ R, gram, atol=1e-12 * gram.max())
    assert np.all(np.tril(R, -1) == 0)

"""Roots of covariances that anybody can compute again, and what directions share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from relvec.likelihoods.averages import (
    COMMON_SHARE,
    common_variance,
    line_root,
    lower_root,
)


def covariances(n_rows, n_outputs, rank=None, seed=0):
    chance = np.random.default_rng(seed)
    factor = chance.standard_normal((n_rows, n_outputs, rank or n_outputs))
    return factor @ np.swapaxes(factor, 1, 2)


def of_eigenvalues(*values, seed=0):
    """A covariance with them, turned."""
    chance = np.random.default_rng(seed)
    turn = np.linalg.qr(chance.standard_normal((len(values), len(values))))[0]
    return (turn * np.array(values) @ turn.T)[None]


def multiplied(root):
    return root @ np.swapaxes(root, 1, 2)


@pytest.mark.parametrize("n_outputs", [1, 2, 3, 5, 9])
def test_a_root_is_one(n_outputs):
    covariance = covariances(20, n_outputs)
    root = lower_root(covariance)

    assert_allclose(multiplied(root), covariance, rtol=1e-10, atol=1e-10)
    assert_array_equal(root, np.tril(root))
    assert_allclose(root, np.linalg.cholesky(covariance), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("n_outputs", "rank"), [(2, 1), (3, 1), (3, 2), (4, 3), (6, 5)]
)
def test_a_semi_definite_matrix_has_one_too(n_outputs, rank):
    covariance = covariances(50, n_outputs, rank)
    size = np.abs(covariance).max()

    assert_allclose(multiplied(lower_root(covariance)), covariance, atol=1e-7 * size)


def test_nothing_has_a_root_of_nothing():
    assert_array_equal(lower_root(np.zeros((2, 3, 3))), np.zeros((2, 3, 3)))
    one = np.diag([0.0, 4.0, 0.0])[None]
    assert_array_equal(lower_root(one), np.sqrt(one))


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200])
def test_a_root_is_in_the_units_of_its_matrix(size):
    covariance = covariances(10, 4)

    assert_allclose(
        lower_root(size * covariance), np.sqrt(size) * lower_root(covariance), rtol=1e-9
    )


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_what_is_common_is_at_most_the_least_eigenvalue(seed, n_outputs):
    covariance = covariances(30, n_outputs, seed=seed)
    least = np.linalg.eigvalsh(covariance)[:, 0]
    common = common_variance(covariance)

    assert np.all(common > 0)
    assert np.all(common <= least * (1 + 1e-6) + 1e-12)


@pytest.mark.parametrize(
    "values",
    [
        (3.0,),
        (1.0, 5.0),
        (1e-6, 5.0),
        (2.0, 2.0, 2.0),
        (1.0, 7.0, 7.0, 7.0),
        (1.0, 1.0, 1.0 + 1e-9, 1.0),
    ],
)
def test_it_is_nearly_that_where_all_others_are_the_same(values):
    common = common_variance(of_eigenvalues(*values))

    assert_allclose(common, COMMON_SHARE * min(values), rtol=1e-4)


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ((1.0, 1.2, 1.3), 0.9),
        ((2.0, 2.1, 1.9, 2.05, 2.2), 0.9),
        ((1.0, 1.0, 1.0, 40.0), 0.6),
    ],
)
def test_it_is_not_much_less_where_they_are_similar_but_for_the_largest(values, share):
    common = common_variance(of_eigenvalues(*values))

    assert share * min(values) < common <= min(values)


def test_what_is_left_is_a_covariance():
    covariance = covariances(200, 4, seed=3)
    left = covariance - common_variance(covariance)[:, None, None] * np.eye(4)

    assert np.linalg.eigvalsh(left)[:, 0].min() > -1e-12


@pytest.mark.parametrize("size", [1e-250, 1e-60, 1e60, 1e150])
def test_what_is_common_is_in_the_units_of_a_matrix(size):
    covariance = covariances(10, 3)

    found = common_variance(size * covariance)
    assert_allclose(found, size * common_variance(covariance), rtol=1e-6)


def test_nothing_has_nothing_in_common():
    assert_allclose(common_variance(np.zeros((2, 3, 3))), 0.0, atol=1e-200)


def test_a_matrix_of_rank_one_is_along_a_line():
    covariance = covariances(30, 2, 1)
    root = line_root(covariance)

    assert_array_equal(root[:, :, 1], np.zeros((30, 2)))
    assert_allclose(multiplied(root), covariance, rtol=1e-7, atol=1e-12)
    assert_array_equal(line_root(np.zeros((1, 2, 2))), np.zeros((1, 2, 2)))

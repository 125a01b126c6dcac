"""The optimality system, its leave-one-out errors, evidence and error bars."""

import pickle

import numpy as np
import pytest

from relvec.basis import Group
from relvec.kernels import Checked, Gaussian, Sigmoid
from relvec.lssvm.dual import (
    CholeskyFactor,
    DualSystem,
    IndefiniteFactor,
    cholesky_factor,
)

KERNELS = [Gaussian(1.3), Checked(Sigmoid(0.7, -0.3))]


def problem(rng, n_rows=40, n_outputs=2):
    X = rng.normal(size=(n_rows, 3))
    y = np.column_stack([np.sin(X[:, 0] + k) + 5 for k in range(n_outputs)])
    return X, y + 0.2 * rng.normal(size=y.shape), rng.uniform(0.3, 4.0, n_rows)


def system(kernel, X, weight, intercept=True):
    return DualSystem(Group(kernel, X), X, weight, intercept)


def bordered(kernel, X, y, weight, C, *, intercept=True):
    """α and b by a dense solve of (7), with I/γ and weights."""
    K, n = kernel(X, X), len(X)
    A = K + np.diag(1 / (C * weight))
    if not intercept:
        return np.linalg.solve(A, y), np.zeros(y.shape[1])
    matrix = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), A]])
    right = np.vstack([np.zeros((1, y.shape[1])), y])
    found = np.linalg.solve(matrix, right)
    return found[1:], found[0]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=["gaussian", "sigmoid"])
@pytest.mark.parametrize("C", [1e-3, 0.5, 1.0, 30.0, 1e4])
def test_it_is_the_solution_of_the_bordered_system(rng, kernel, C, intercept):
    X, y, weight = problem(rng)
    found = system(kernel, X, weight, intercept).solved(y, C)
    alpha, b = bordered(kernel, X, y, weight, C, intercept=intercept)

    scale = np.abs(alpha).max()
    np.testing.assert_allclose(found.coefficients, alpha, atol=1e-10 * scale)
    np.testing.assert_allclose(found.bias, b, rtol=1e-10, atol=1e-10)
    fitted = kernel(X, X) @ alpha + b
    np.testing.assert_allclose(found.residual, y - fitted, atol=1e-9)


def test_a_kernel_that_is_not_positive_definite_is_factored_all_the_same(rng):
    X, y, weight = problem(rng)
    kinds = [
        type(system(kernel, X, weight).solved(y, 50.0).factor) for kernel in KERNELS
    ]

    assert kinds == [CholeskyFactor, IndefiniteFactor]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=["gaussian", "sigmoid"])
def test_leaving_rows_out_is_fitting_without_them(rng, kernel, intercept):
    """Of a row that counts for several one leaves, of any other all."""
    X, y, weight = problem(rng)
    left_out = system(kernel, X, weight, intercept).solved(y, 3.0).left_out
    for row in range(len(X)):
        less = weight.copy()
        less[row] = max(weight[row] - 1, 0)
        stay = less > 0
        alpha, b = bordered(
            kernel, X[stay], y[stay], less[stay], 3.0, intercept=intercept
        )
        predicted = kernel(X[row : row + 1], X[stay]) @ alpha + b
        np.testing.assert_allclose(
            left_out.errors[row], (y[row] - predicted)[0], rtol=1e-8, atol=1e-10
        )


def test_repeated_rows_are_weights(rng):
    X, y, _ = problem(rng, 25)
    times = rng.integers(1, 4, 25)
    weighted = system(KERNELS[0], X, times.astype(float)).solved(y, 2.0)
    repeated = system(
        KERNELS[0], np.repeat(X, times, axis=0), np.ones(times.sum())
    ).solved(np.repeat(y, times, axis=0), 2.0)

    np.testing.assert_allclose(weighted.bias, repeated.bias)
    each = np.repeat(weighted.left_out.errors, times, axis=0)
    np.testing.assert_allclose(repeated.left_out.errors, each, rtol=1e-8)
    assert weighted.left_out.mean_square == pytest.approx(repeated.left_out.mean_square)
    assert weighted.left_out.noise_variance == pytest.approx(
        repeated.left_out.noise_variance
    )
    assert weighted.evidence().log_density == pytest.approx(
        repeated.evidence().log_density
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.3, 20.0])
def test_the_evidence_is_that_of_a_gaussian_process(rng, C, intercept):
    """b with a prior so wide that it is flat, whose density at 0 is left out."""
    X, y, _ = problem(rng, 30, 1)
    found = system(KERNELS[0], X, np.ones(30), intercept).solved(y, C).evidence()
    K, flat = KERNELS[0](X, X), 1e6

    def log_density(scale):
        covariance = scale * (K + np.eye(30) / C) + flat * intercept
        value = -0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
        value -= 0.5 * y[:, 0] @ np.linalg.solve(covariance, y[:, 0])
        return value + intercept * 0.5 * np.log(2 * np.pi * flat)

    assert found.log_density == pytest.approx(log_density(found.scale), abs=1e-4)
    assert log_density(found.scale) > log_density(1.05 * found.scale)
    assert log_density(found.scale) > log_density(found.scale / 1.05)


def test_error_bars_are_those_of_a_gaussian_process(rng):
    X, y, weight = problem(rng, 30, 1)
    new, kernel, C, flat = rng.normal(size=(7, 3)), KERNELS[0], 4.0, 1e7
    spread = system(kernel, X, weight).solved(y, C).spread
    covariance = kernel(X, X) + np.diag(1 / (C * weight)) + flat
    across = kernel(new, X) + flat
    expected = 1 + flat - np.sum(across * np.linalg.solve(covariance, across.T).T, 1)

    np.testing.assert_allclose(spread.variance(new), expected, rtol=1e-5)


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("kernel", KERNELS, ids=["gaussian", "sigmoid"])
def test_c_may_be_as_small_or_large_as_numbers_are(rng, kernel, C):
    X, y, weight = problem(rng)
    found = system(kernel, X, weight).solved(y, C)
    mean = np.average(y, axis=0, weights=weight)
    fitted = kernel(X, X) @ found.coefficients + found.bias

    assert np.isfinite(found.left_out.errors).all()
    if C < 1:
        np.testing.assert_allclose(fitted, np.tile(mean, (len(X), 1)), rtol=1e-6)
    else:
        np.testing.assert_allclose(fitted, y, atol=1e-4)


def test_a_singular_matrix_is_solved_as_if_c_were_less(rng):
    """Two rows at one place: of large C the matrix is singular to working precision."""
    X = np.repeat(rng.normal(size=(4, 2)), 2, axis=0)
    y = rng.normal(size=(8, 1))
    found = system(Gaussian(1.0), X, np.ones(8)).solved(y, 1e300)

    assert found.error_weight < 1e300
    fitted = Gaussian(1.0)(X, X) @ found.coefficients + found.bias
    pairs = y.reshape(4, 2).mean(axis=1)
    np.testing.assert_allclose(fitted[::2, 0], pairs, atol=1e-4)


def test_large_matrices_are_factored_in_blocks(rng, monkeypatch):
    X, _, _ = problem(rng, 50)
    matrix = np.asfortranarray(Gaussian(1.0)(X, X) + np.eye(50))
    expected = np.linalg.cholesky(matrix)
    inverse = np.diag(np.linalg.inv(matrix))
    monkeypatch.setattr("relvec.lssvm.dual._MOST_ROWS", 16)
    monkeypatch.setattr("relvec.lssvm.dual._INVERTED", 7)
    found = cholesky_factor(np.asfortranarray(np.tril(matrix)))

    np.testing.assert_allclose(found.lower, expected, atol=1e-13)
    np.testing.assert_allclose(found.inverse_diagonal(), inverse, rtol=1e-12)
    assert cholesky_factor(np.asfortranarray(-np.eye(50))) is None


def test_the_last_rows_are_judged_by_a_corner_of_the_factor(rng):
    X, y, weight = problem(rng)
    found = system(KERNELS[0], X, weight).solved(y, 3.0)
    last = found.leave_last_out(15)

    np.testing.assert_allclose(last.errors, found.left_out.errors[-15:], rtol=1e-10)
    np.testing.assert_allclose(last.inflation, found.left_out.inflation[-15:])


def test_no_diagonal_at_all_is_shifted(rng):
    """Of −1 + 1/C = 0 on the diagonal, and nothing beside it."""

    def opposite(left, right):
        return -np.equal.outer(left[:, 0], right[:, 0]).astype(float)

    X, y, _ = problem(rng, 9)
    found = system(Checked(opposite), X, np.ones(9)).solved(y, 1.0)
    assert found.factor.shift > 0
    assert np.isfinite(found.coefficients).all()


def test_bars_after_a_pickle_where_the_matrix_was_singular(rng):
    X, y, weight = problem(rng, 30, 1)
    kernel = 1e10 * Gaussian(3.0)
    spread = system(kernel, X, weight).solved(y, 1e20).spread
    again = pickle.loads(pickle.dumps(spread))

    np.testing.assert_allclose(again.variance(X), spread.variance(X), rtol=1e-6)

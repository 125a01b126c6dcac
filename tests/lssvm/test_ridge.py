"""Low rank: Nyström's method and incomplete Cholesky."""

import numpy as np
import pytest

from relvec.basis import Group
from relvec.kernels import Gaussian
from relvec.lssvm.dual import DualSystem
from relvec.lssvm.ridge import (
    FeatureRows,
    Ridge,
    cholesky_pivots,
    landmark_pivots,
    uniform_pivots,
)
from relvec.modelling import in_arrays

KERNEL = Gaussian(1.5)


def problem(rng, n_rows=120):
    X = rng.normal(size=(n_rows, 2))
    y = np.column_stack([np.sin(2 * X[:, 0]) + 3, X[:, 1] ** 2])
    weight = rng.uniform(0.5, 3, n_rows)
    rows, y = in_arrays(X, y + 0.1 * rng.normal(size=y.shape), weight, n_rows, 0)
    return rows, y


def ridge_of(rows, y, count, *, kept=True, intercept=True):
    pivots = uniform_pivots(KERNEL, rows, count)
    return Ridge.of(FeatureRows(pivots, rows, kept), y, intercept=intercept)


def dual_of(rows, y, C, *, intercept=True):
    X = rows.rows.whole()
    return DualSystem(Group(KERNEL, X), X, rows.weight, intercept).solved(y, C)


def nystrom_as_printed(X, Z, y, weight, C):
    """(8) and (9) with √(M/N), and a bias by Schur's complement; fitted values."""
    N, M = len(X), len(Z)
    values, vectors = np.linalg.eigh(KERNEL(Z, Z))
    eigenvalues = N / M * values
    U = np.sqrt(M / N) * KERNEL(X, Z) @ vectors / values
    root = np.sqrt(weight)[:, None]
    U_w = root * U  # rows of weight v are v rows

    def solve(right):
        inner = np.eye(M) / C + eigenvalues[:, None] * (U_w.T @ U_w)
        return C * (
            right - U_w @ np.linalg.solve(inner, eigenvalues[:, None] * (U_w.T @ right))
        )

    ones = solve(root)
    b = (root.T @ solve(root * y)) / (root.T @ ones)
    alpha = root * solve(root * (y - b))
    return U @ (eigenvalues[:, None] * (U.T @ alpha)) + b


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_the_nystrom_method_of_the_note(rng, C):
    rows, y = problem(rng)
    ridge = ridge_of(rows, y, 12)
    coefficients, bias = ridge.coefficients(C)
    X, Z = rows.rows.whole(), ridge.features.pivots.rows
    expected = nystrom_as_printed(X, Z, y, rows.weight, C)

    np.testing.assert_allclose(KERNEL(X, Z) @ coefficients + bias, expected, rtol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_with_all_rows_it_is_exact(rng, kept, intercept):
    rows, y = problem(rng)
    ridge = ridge_of(rows, y, len(rows), kept=kept, intercept=intercept)
    new = rng.normal(size=(9, 2))
    for C in (0.1, 1.0, 20.0):
        exact = dual_of(rows, y, C, intercept=intercept)
        coefficients, bias = ridge.coefficients(C)
        expected = KERNEL(new, rows.rows.whole()) @ exact.coefficients + exact.bias
        found = KERNEL(new, ridge.features.pivots.rows) @ coefficients + bias
        np.testing.assert_allclose(found, expected, atol=1e-6)
        press = ridge.press(np.array([C]))[0]
        assert press == pytest.approx(exact.left_out.mean_square, rel=1e-6)
        left_out = ridge.left_out(C)
        np.testing.assert_allclose(left_out.errors, exact.left_out.errors, atol=1e-6)
        np.testing.assert_allclose(
            left_out.inflation, exact.left_out.inflation, rtol=1e-6
        )
        log_density = ridge.evidence(C).log_density
        assert log_density == pytest.approx(exact.evidence().log_density, abs=1e-4)
        assert ridge.evidence(C).scale == pytest.approx(exact.evidence().scale)
        np.testing.assert_allclose(
            ridge.spread(C).variance(new), exact.spread.variance(new), atol=1e-6
        )


def test_more_landmarks_come_closer(rng):
    rows, y = problem(rng)
    exact = dual_of(rows, y, 5.0)
    X, errors, bounds = rows.rows.whole(), [], []
    expected = KERNEL(X, X) @ exact.coefficients + exact.bias
    for count in (5, 20, 60):
        ridge = ridge_of(rows, y, count)
        coefficients, bias = ridge.coefficients(5.0)
        found = KERNEL(X, ridge.features.pivots.rows) @ coefficients + bias
        errors.append(np.sqrt(np.mean((found - expected) ** 2)))
        bounds.append(ridge.evidence(5.0).log_density)

    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    # Titsias' bound never exceeds the evidence, and rises to it.
    assert bounds[0] < bounds[1] < bounds[2] <= exact.evidence().log_density + 1e-6


def test_incomplete_cholesky_leaves_no_more_than_asked_for(rng):
    rows, _ = problem(rng)
    X = rows.rows.whole()
    for tol in (1e-1, 1e-3, 1e-6):
        pivots, indices = cholesky_pivots(
            KERNEL, rows, len(rows), tol=tol, noise=np.inf, most=1e9
        )
        left = pivots.residual(X, pivots.features(X))
        assert left.max() <= tol * (1 + 1e-6)
        place = {int(index): at for at, index in enumerate(rows.indices)}
        at = [place[int(index)] for index in indices]
        np.testing.assert_array_equal(X[at], pivots.rows)
    few, _ = cholesky_pivots(KERNEL, rows, 7, tol=1e-6, noise=np.inf, most=1e9)
    assert len(few) == 7


@pytest.mark.parametrize("landmarks", ["pivoted", "uniform", "kmeans"])
def test_landmarks_are_as_many_as_asked_for(rng, landmarks):
    rows, _ = problem(rng)
    pivots, indices = landmark_pivots(KERNEL, rows, landmarks, 11, None)

    assert len(pivots) == len(indices) == 11
    if landmarks == "kmeans":
        assert set(indices) == {-1}
    else:
        assert len(set(indices)) == 11
    np.testing.assert_allclose(
        pivots.factor @ pivots.factor.T, KERNEL(pivots.rows, pivots.rows), atol=1e-12
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("count", [10, 80])
def test_large_c_is_solved_with_all_digits(rng, count, intercept):
    """Beyond what inner products can tell: they are wrong where a QR is not."""
    rows, y = problem(rng, 40 if count > 40 else 120)
    ridge = ridge_of(rows, y, count, intercept=intercept)
    assert ridge.with_digits(1.0) is ridge
    precise = ridge.with_digits(1e8)
    np.testing.assert_allclose(
        precise.vectors.T @ precise.vectors, np.eye(len(precise.mean)), atol=1e-12
    )
    F = ridge.features.matrix()
    root = np.sqrt(rows.weight)[:, None]
    columns = np.hstack([np.ones((len(F), 1)), F]) if intercept else F
    prior = np.eye(columns.shape[1])[int(intercept) :] / np.sqrt(1e8)
    stacked = np.vstack([root * columns, prior])
    right = np.vstack([root * y, np.zeros((len(prior), 2))])
    w = np.linalg.lstsq(stacked, right, rcond=None)[0][int(intercept) :]

    np.testing.assert_allclose(
        precise.vectors @ precise.shrunk(1e8), w, rtol=1e-6, atol=1e-9 * np.abs(w).max()
    )

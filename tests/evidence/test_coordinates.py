"""Columns in an orthonormal basis: the same as moments, with digits they have lost."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import exact_posterior

from relvec.evidence.newton import Coordinates, Moments, ascend

NOISE = {"one output": (1, 1), "one noise": (3, 1), "each its own": (3, 3)}


def in_moments(exact):
    V, z = exact.columns, exact.target
    return Moments((V.T @ V)[None], z.T @ V, exact.target_squares, exact.count)


def random_columns(seed, n_outputs=1, n_columns=9, n_rows=25):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n_rows, n_columns))
    target = 3 * columns @ rng.standard_normal((n_columns, n_outputs))
    target += rng.standard_normal(target.shape)
    return Coordinates(columns, target, 31.5), rng


def drawn_precisions(rng, n_columns, n_noise):
    return 10 ** rng.uniform(-2, 2, n_columns), 10 ** rng.uniform(-1, 2, n_noise)


@pytest.mark.parametrize("case", NOISE)
@pytest.mark.parametrize("n_columns", [0, 1, 9])
@pytest.mark.parametrize("seed", range(3))
def test_solved_as_by_moments(seed, n_columns, case):
    n_outputs, n_noise = NOISE[case]
    exact, rng = random_columns(seed, n_outputs, n_columns)
    alpha, beta = drawn_precisions(rng, n_columns, n_noise)
    found, expected = (form.solved(alpha, beta) for form in (exact, in_moments(exact)))

    for name in ("factor", "shrinkage", "scaled_mean", "mean", "residual"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.shape == other.shape
        assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-11)
    assert_allclose(found.condition, expected.condition, rtol=1e-11)


def test_subset_is_that_of_fewer_columns():
    exact, rng = random_columns(3, 2)
    chosen = np.array([4, 1])
    alpha, beta = drawn_precisions(rng, 2, 2)
    part = exact.subset(chosen)

    assert part.count == exact.count
    assert_allclose(part.target_squares, exact.target_squares)
    expected = in_moments(exact).subset(chosen).solved(alpha, beta)
    assert_allclose(part.solved(alpha, beta).mean, expected.mean, rtol=1e-9)


def nearly_dependent(seed, n_columns=7, n_inside=4):
    """Columns of condition 1e8, known to five digits of a noise of 1e-5."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n_columns + 3, n_columns)))
    other, _ = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))
    columns = Q * np.geomspace(1, 1e-8, n_columns) @ other
    weights = rng.standard_normal(n_columns)
    target = columns @ weights + 1e-5 * rng.standard_normal(len(columns))
    exact = Coordinates(columns, target[:, None], float(len(columns)))
    return exact, np.arange(n_inside), np.full(n_inside, 1e-2), np.array([1e10])


def test_digits_that_inner_products_have_lost():
    """The evidence beside exact arithmetic; test_products has S and Q."""
    errors = {"coordinates": [], "inner products": []}
    for seed in range(4):
        exact, inside, alpha, beta = nearly_dependent(seed)
        assert np.linalg.cond(exact.columns) > 0.9e8
        evidence = exact_posterior(
            exact.columns, exact.target[:, 0], float(beta[0]), inside, alpha
        )[2]
        for name, form in zip(errors, (exact, in_moments(exact)), strict=True):
            found = form.subset(inside).solved(alpha, beta).log_evidence
            errors[name].append(abs(found - evidence))
    assert max(errors["coordinates"]) < 1e-8
    assert max(errors["inner products"]) > 1e-7


@pytest.mark.parametrize("case", NOISE)
def test_newtons_method_ends_where_it_does_in_moments(case):
    n_outputs, n_noise = NOISE[case]
    exact, rng = random_columns(1, n_outputs)
    alpha, beta = drawn_precisions(rng, 9, n_noise)
    settings = {"ceiling": np.full(n_noise, 1e12), "tol": 1e-7, "most": 200}
    found, expected = (
        ascend(form, alpha, beta, **settings) for form in (exact, in_moments(exact))
    )

    assert found.converged
    assert np.array_equal(found.chosen, expected.chosen)
    assert_allclose(found.prior_precision, expected.prior_precision, rtol=1e-5)
    assert_allclose(found.noise_precision, expected.noise_precision, rtol=1e-5)

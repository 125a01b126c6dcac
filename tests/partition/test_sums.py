"""Sums over parts are the products of all rows at once."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from partitions import Cut, three_clouds, training_set

from relvec import basis as basis_module
from relvec.basis import Basis
from relvec.kernels import Gaussian as GaussianKernel
from relvec.modelling import Regression, class_family
from relvec.partition.sums import triangles

N_ROWS, N_FUNCTIONS, N_TRIES = 60, 8, 3
LIKELIHOODS = ["Gaussian", "Bernoulli", "MultinomialProbit", "Softmax"]


def problem(name, seed=0):
    """Rows with weights, functions and some weights of these to try."""
    rng = np.random.default_rng(seed)
    X, y = three_clouds(N_ROWS, seed)
    if name == "Gaussian":
        family, y = Regression(), np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=N_ROWS)
    elif name == "Bernoulli":
        family, y = class_family("auto", np.arange(2)), (y > 0).astype(int)
    else:
        scheme = "softmax" if name == "Softmax" else "mrvm1"
        family = class_family(scheme, np.arange(3))
    data = training_set(X, y, family, rng.integers(1, 4, N_ROWS).astype(float))
    assert type(data.likelihood).__name__ == name
    basis = Basis.of(GaussianKernel(0.7), rng.normal(size=(N_FUNCTIONS - 1, 2)), True)
    tried = rng.normal(size=(N_TRIES, data.targets.shape[1], N_FUNCTIONS))
    return data, basis, tried


def dense(data, basis, tried):
    """Gram matrices, products with targets, squares and log densities, row by row."""
    Phi, y, v = basis(data.table), data.targets, data.weight
    seen = data.likelihood.pseudo_observations(y, Phi @ tried[0].T, v)
    outputs = range(y.shape[1])
    weights = np.broadcast_to(seen.row_weights, y.shape)
    gram = [Phi.T @ np.diag(weights[:, k]) @ Phi for k in outputs]
    target = [Phi.T @ (weights[:, k] * seen.target[:, k]) for k in outputs]
    squares = [np.sum(weights[:, k] * seen.target[:, k] ** 2) for k in outputs]
    densities = [
        sum(
            data.likelihood.log_density(y[[n]], Phi[[n]] @ w.T, v[[n]])
            for n in range(len(y))
        )
        for w in tried
    ]
    return np.array(gram), np.array(target), np.array(squares), np.array(densities)


once = cache(problem)


@cache
def expected_once(name):
    return dense(*once(name))


def assert_same(sums, expected, data):
    gram, target, squares, densities = expected
    found = np.stack([V.T @ V for V in sums.functions])
    assert_allclose(np.broadcast_to(found, gram.shape), gram, rtol=1e-9, atol=1e-9)
    assert_allclose(sums.target, target, rtol=1e-9, atol=1e-9)
    targets = [one[:, sums.n_functions :] for one in sums.triangles]
    found = np.concatenate([np.sum(one**2, axis=0) for one in targets])
    assert_allclose(found, squares, rtol=1e-9)
    assert_allclose(sums.log_densities, densities, rtol=1e-9)
    assert sums.weight == data.weight.sum()


@pytest.mark.parametrize("name", LIKELIHOODS)
@given(at=st.lists(st.integers(0, N_ROWS), max_size=5).map(sorted))
def test_sums_over_parts_are_products_of_all_rows(name, at):
    """Whatever the parts are; some are empty."""
    data, basis, tried = once(name)
    sums = triangles(Cut(data, at), basis, data.likelihood, tried)

    assert_same(sums, expected_once(name), data)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_part_of_many_rows_is_summed_up_block_by_block(name, monkeypatch):
    data, basis, tried = problem(name, seed=1)
    expected = dense(data, basis, tried)
    monkeypatch.setattr(basis_module, "BLOCK_ENTRIES", 7 * N_FUNCTIONS)
    sizes = [len(range(*rows.indices(N_ROWS))) for rows in _blocks()]
    assert max(sizes) == 7

    assert_same(triangles(Cut(data), basis, data.likelihood, tried), expected, data)


def _blocks():
    return basis_module.blocks(N_ROWS, N_FUNCTIONS)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_what_is_kept_does_not_grow_with_the_rows(name):
    """No more than functions and targets have, for each output that has its own."""
    data, basis, tried = problem(name)
    sums = triangles(Cut(data, (7, 8, 30)), basis, data.likelihood, tried)
    n_outputs = data.targets.shape[1]

    assert len(sums.triangles) in {1, n_outputs}
    for one in sums.triangles:
        assert len(one) <= one.shape[1] <= N_FUNCTIONS + n_outputs


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_problem_that_is_left_has_the_same_products(name):
    """And as many observations as all rows are."""
    data, basis, tried = problem(name, seed=2)
    sums = triangles(Cut(data, (20, 41)), basis, data.likelihood, tried)
    left = sums.problem(data.likelihood, 0)
    Phi, none = left.design.matrix, np.zeros_like(left.y)
    seen = left.likelihood.pseudo_observations(left.y, none, left.sample_weight)
    gram, target, squares, _ = dense(data, basis, tried)
    weights = np.broadcast_to(seen.row_weights, left.y.shape)

    assert left.bias == 0
    for k in range(left.y.shape[1]):
        w = weights[:, k]
        assert_allclose(Phi.T * w @ Phi, gram[k], rtol=1e-7, atol=1e-7)
        assert_allclose(Phi.T @ (w * left.y[:, k]), target[k], rtol=1e-7, atol=1e-7)
        assert_allclose(w @ left.y[:, k] ** 2, squares[k], rtol=1e-7)
    norms = np.sum(left.sample_weight[:, None] * Phi**2, axis=0)
    assert_allclose(left.design.column_norms**2, norms, rtol=1e-9)
    assert_allclose(left.sample_weight.sum(), data.weight.sum())


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_information_and_its_factor(name):
    """ΦᵀBΦw, and the triangle L with LLᵀ = I + A^(-1/2)ΦᵀBΦA^(-1/2)."""
    data, basis, tried = problem(name, seed=3)
    sums = triangles(Cut(data, (30,)), basis, data.likelihood, tried)
    gram, *_ = dense(data, basis, tried)
    alpha = np.random.default_rng(3).uniform(0.1, 10, N_FUNCTIONS)
    expected = np.stack([H @ w for H, w in zip(gram, tried[1], strict=True)])
    scaled = np.eye(N_FUNCTIONS) + gram / np.sqrt(np.outer(alpha, alpha))
    L = np.broadcast_to(sums.factor(alpha), gram.shape)

    assert_allclose(sums.information(tried[1]), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(L @ np.swapaxes(L, 1, 2), scaled, rtol=1e-9, atol=1e-9)
    assert_allclose(L, np.tril(L))


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_noise_and_unit_are_not_in_the_sums(name):
    """Pseudo-observations are those at the first of the weights; others are tried."""
    data, basis, tried = problem(name, seed=4)
    one = triangles(Cut(data), basis, data.likelihood, tried)
    other = triangles(Cut(data), basis, data.likelihood, tried[::-1])

    assert_allclose(one.log_densities, other.log_densities[::-1])
    same = np.allclose(one.target, other.target)
    assert same == (name == "Gaussian")

"""Kernels whose matrices are sparse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from relvec import RVR
from relvec.data import noisy_sinc
from relvec.kernels import (
    CallableKernel,
    CompactMatern,
    Gaussian,
    Linear,
    Matern,
    Polynomial,
    Product,
    RationalQuadratic,
    Taper,
)


def expected_values(kernel, X, Z, exponent):
    distances = np.linalg.norm((X[:, None] - Z) / np.asarray(kernel.support), axis=2)
    matern = Matern(kernel.length_scale, kernel.nu)(X, Z)
    return matern * np.maximum(1 - distances, 0) ** exponent


@pytest.mark.parametrize("n_features", [1, 2, 5, 9])
@pytest.mark.parametrize("support", [0.8, 2.5, 50.0])
def test_values(n_features, support, rng):
    X, Z = rng.uniform(0, 3, (70, n_features)), rng.uniform(0, 3, (40, n_features))
    kernel = CompactMatern(1.1, nu=2.5, support=support)
    matrix = kernel(X, Z)

    expected = expected_values(kernel, X, Z, (n_features + 1) / 2)
    assert_allclose(matrix.toarray(), expected, rtol=1e-11, atol=1e-15)
    assert matrix.nnz == np.count_nonzero(expected) == kernel.count(X, Z)


@pytest.mark.parametrize("n_features", [1, 2, 5, 9])
def test_the_matrix_is_in_canonical_form(n_features, rng):
    X = rng.uniform(0, 3, (70, n_features))
    matrix = CompactMatern(support=1.5)(X)
    again = csr_array((matrix.data, matrix.indices, matrix.indptr), matrix.shape)

    assert type(matrix) is csr_array
    assert again.has_canonical_format
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert matrix.data.dtype == np.float64


@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("order", [0.5, 1.5, np.inf])
@pytest.mark.parametrize("taper", ["triangular", "smooth"])
def test_positive_definite_in_any_number_of_dimensions(n_features, order, taper, rng):
    X = rng.standard_normal((120, n_features))
    support = 1.5 * np.sqrt(n_features)
    matrix = CompactMatern(5.0, order, support=support, taper=taper)(X)

    assert 0.02 < matrix.nnz / 120**2 < 0.98
    assert np.linalg.eigvalsh(matrix.toarray()).min() > -1e-12


@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_equal_rows_are_stored_and_the_edge_is_not(n_features):
    X = np.zeros((4, n_features))
    X[:, 0] = [0.0, 0.0, 2.0, 1.0]
    kernel = CompactMatern(support=2.0)
    matrix = kernel(X)

    assert matrix.nnz == kernel.count(X) == 12
    assert_allclose(matrix.diagonal(), 1.0)
    assert matrix[0, 1] == 1.0


def test_a_support_for_each_feature(rng):
    X, Z = rng.uniform(0, 3, (50, 2)), rng.uniform(0, 3, (40, 2))
    kernel = CompactMatern([0.5, 2.0], 1.5, support=[0.4, 2.0])
    expected = expected_values(kernel, X, Z, 1.5)

    assert_allclose(kernel(X, Z).toarray(), expected, rtol=1e-12, atol=1e-15)
    assert kernel.count(X, Z) == np.count_nonzero(expected)


def test_a_larger_exponent(rng):
    X = rng.uniform(0, 3, (50, 2))
    kernel = CompactMatern(1.0, 1.5, support=1.0, exponent=4)

    expected = expected_values(kernel, X, X, 4)
    assert_allclose(kernel(X).toarray(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_no_rows_have_no_neighbours(n_features):
    none, some = np.empty((0, n_features)), np.ones((3, n_features))
    kernel = CompactMatern()

    assert kernel.count(none, some) == kernel.count(some, none) == 0


def test_products_are_as_sparse_as_their_factor(rng):
    X = rng.uniform(0, 3, (60, 2))
    compact, other = CompactMatern(support=0.7), Gaussian(0.5) + Linear()
    for product in (compact * other, other * compact):
        matrix = product(X)

        assert matrix.nnz == compact.count(X)
        expected = compact(X).toarray() * other(X)
        assert_allclose(matrix.toarray(), expected, rtol=1e-12)


def test_who_is_compact():
    compact, dense = CompactMatern(), Gaussian()

    assert (2.0 * compact).compact
    assert (compact + compact).compact
    assert (compact * dense).compact
    assert (dense * compact).compact
    assert not (compact + dense).compact
    assert not (compact + 1.0).compact
    assert not dense.compact


def test_nothing_the_size_of_all_pairs(rng):
    X = np.sort(rng.uniform(0, 1, (100_000, 1)), axis=0)
    kernel = CompactMatern(support=1e-5)

    assert kernel(X).nnz == kernel.count(X) < 10 * len(X)


def test_the_smooth_taper_is_wendlands_function():
    """In one dimension φ₃,₁ restricted: (1 − u)³(1 + 3u), flat at its centre."""
    x = np.linspace(0, 3, 7)[:, None]
    u = x[:, 0] / 2
    expected = np.maximum(1 - u, 0) ** 3 * (1 + 3 * u)
    wide = CompactMatern(1e9, np.inf, support=2.0, taper="smooth")

    assert_allclose(wide(x, x[:1]).toarray()[:, 0], expected, atol=1e-15)
    near = wide(np.array([[1e-3]]), x[:1]).toarray()[0, 0]
    assert 1 - near < 1e-5


def test_tapers_are_named():
    with pytest.raises(ValueError, match="taper must be one of 'triangular', 'smooth'"):
        CompactMatern(taper="round")
    with pytest.raises(ValueError, match=r"positive definite only from 3\.5 on"):
        CompactMatern(taper="smooth", exponent=2.0)(np.zeros((3, 2)))


def tapered(values, X, Z, support, exponent):
    """Eq. 6.1.1.3.1 of the thesis, pair by pair."""
    expected = np.zeros((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            rest = 1 - np.linalg.norm((x - z) / support)
            expected[i, j] = values[i, j] * rest**exponent if rest > 0 else 0.0
    return expected


def parabola(X, Z):
    return (1 + X @ Z.T) ** 2


@pytest.mark.parametrize("n_features", [1, 2, 9])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.3),
        RationalQuadratic(0.8, alpha=0.7),
        Polynomial(3, 0.4, 1.0),
        Gaussian(1.3) + 2.0 * Linear(),
        CallableKernel(parabola),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_any_kernel_is_tapered(kernel, n_features, rng):
    X, Z = rng.uniform(0, 3, (30, n_features)), rng.uniform(0, 3, (20, n_features))
    support = 1.5 * np.sqrt(n_features)
    expected = tapered(kernel(X, Z), X, Z, support, (n_features + 1) / 2)

    for product in (kernel * Taper(support), Taper(support) * kernel):
        matrix = product(X, Z)
        assert type(matrix) is csr_array
        assert matrix.nnz == Taper(support).count(X, Z) < expected.size
        assert_allclose(matrix.toarray(), expected, rtol=1e-11, atol=1e-15)


def test_one_name_for_the_product_with_a_matern_kernel(rng):
    X, Z = rng.uniform(0, 3, (30, 2)), rng.uniform(0, 3, (20, 2))
    named = CompactMatern([0.7, 1.2], 2.5, support=1.5, exponent=2.0)
    product = Matern([0.7, 1.2], 2.5) * Taper(1.5, 2.0)

    assert_allclose(named(X, Z).toarray(), product(X, Z).toarray(), rtol=1e-14)
    assert set(named.gradients(X)) == {"length_scale", "nu", "support", "exponent"}


def test_of_the_other_factor_only_close_pairs_are_evaluated(rng):
    seen = []

    class Watched(Linear):
        def _paired(self, X, Z):
            seen.append(len(X))
            return super()._paired(X, Z)

        def _matrix(self, X, Z):
            raise AssertionError("all pairs")

    X = rng.uniform(0, 30, (400, 2))
    matrix = Product(Watched(), Taper(2.0))(X)

    assert sum(seen) == matrix.nnz < 0.05 * 400**2


@pytest.mark.parametrize("n_features", [1, 3, 8])
@pytest.mark.parametrize("taper", ["triangular", "smooth"])
def test_products_stay_positive_definite(n_features, taper, rng):
    X = rng.standard_normal((120, n_features))
    support = Taper(1.5 * np.sqrt(n_features), taper=taper)
    for kernel in (Gaussian(5.0), Polynomial(2, 1.0, 1.0)):
        values = np.linalg.eigvalsh((kernel * support)(X).toarray())
        assert values.min() > -1e-12 * values.max()


def test_cutting_off_is_not_positive_definite():
    """Which is why there is a taper at all."""
    X = np.linspace(0, 10, 60)[:, None]
    values = Gaussian(2.0)(X) * (np.abs(X - X.T) < 3.0)

    assert np.linalg.eigvalsh(values).min() < -0.1
    assert np.linalg.eigvalsh((Gaussian(2.0) * Taper(3.0))(X).toarray()).min() > 0


@pytest.mark.parametrize(
    "kernel",
    [RationalQuadratic(3.0), CallableKernel(parabola)],
    ids=lambda kernel: type(kernel).__name__,
)
def test_regression_with_a_tapered_kernel(kernel):
    X, y = noisy_sinc(100, seed=0)
    model = RVR(kernel * Taper(6.0, taper="smooth"), design="sparse").fit(X, y)

    assert model.model_.basis.compact
    assert np.mean((model.predict(X) - np.sinc(X[:, 0] / np.pi)) ** 2) < 0.05**2

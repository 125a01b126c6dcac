"""Laws of every kernel."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import (
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from relvec.kernels import Checked, Columns, Gaussian, Linear, Polynomial, Sigmoid

RNG = np.random.default_rng(11)

KERNELS = {
    "Gaussian": (Gaussian(1.3), lambda X, Z: rbf_kernel(X, Z, gamma=0.5 / 1.3**2)),
    "Linear": (Linear(), linear_kernel),
    "Polynomial": (
        Polynomial(3, 0.4, 1.0),
        lambda X, Z: polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=1.0),
    ),
    "Sigmoid": (
        Sigmoid(0.2, -0.5),
        lambda X, Z: sigmoid_kernel(X, Z, gamma=0.2, coef0=-0.5),
    ),
    "Checked": (Checked(Linear()), linear_kernel),
}
DEFINITE = ["Gaussian", "Linear", "Polynomial"]


@pytest.fixture(params=KERNELS)
def pair(request):
    return KERNELS[request.param]


@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_values_agree_with_scikit_learn(pair, n_features):
    kernel, reference = pair
    X, Z = RNG.standard_normal((8, n_features)), RNG.standard_normal((5, n_features))

    assert_allclose(kernel(X, Z), reference(X, Z), rtol=1e-10, atol=1e-13)


def test_symmetry(pair):
    kernel, _ = pair
    X = RNG.standard_normal((9, 4))

    assert_allclose(kernel(X, X), kernel(X, X).T, rtol=1e-13)


@pytest.mark.parametrize("name", DEFINITE)
def test_positive_semi_definite_where_promised(name):
    X = RNG.standard_normal((30, 3))
    values = np.linalg.eigvalsh(KERNELS[name][0](X, X))

    assert values.min() > -1e-10 * values.max()


def test_what_is_promised_to_be_definite():
    promised = [name for name in KERNELS if KERNELS[name][0].positive_definite]

    assert promised == [*DEFINITE, "Checked"]
    assert not Polynomial(3, 1.0, -1.0).positive_definite
    assert not Polynomial(1.5, 1.0, 1.0).positive_definite
    assert not Checked(linear_kernel).positive_definite
    assert not Columns().positive_definite


@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_the_diagonal_agrees_with_the_matrix(pair, n_features):
    kernel, _ = pair
    X = RNG.standard_normal((8, n_features))

    assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-12)


def test_the_diagonal_of_a_callable_is_evaluated_one_by_one():
    X = RNG.standard_normal((8, 3))

    assert_allclose(Checked(linear_kernel).diagonal(X), np.sum(X**2, axis=1))


def test_columns_are_no_kernel_of_two_rows():
    with pytest.raises(TypeError, match="no diagonal"):
        Columns().diagonal(np.eye(3))


def test_single_precision_rows(pair):
    kernel, reference = pair
    X = RNG.standard_normal((8, 3)).astype(np.float32)

    assert_allclose(kernel(X, X), reference(X, X), rtol=1e-5, atol=1e-6)


def test_no_rows(pair):
    kernel, _ = pair
    X = RNG.standard_normal((4, 20))

    assert kernel(X[:0], X).shape == (0, 4)


def test_rows_are_not_written_to(pair):
    kernel, _ = pair
    X = RNG.standard_normal((4, 20))
    X.setflags(write=False)

    assert kernel(X, X).flags.writeable


def test_pickling(pair):
    kernel, _ = pair

    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize("n_features", [2, 40])
def test_gaussian_far_from_the_origin(n_features):
    """Distances do not drown in the size of the coordinates."""
    X, Z = RNG.standard_normal((6, n_features)), RNG.standard_normal((4, n_features))
    kernel = Gaussian(2.0)

    near = kernel(X, Z)
    assert_allclose(kernel(X + 1e6, Z + 1e6), near, rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_gaussian_of_features_of_any_magnitude(scale):
    X = RNG.standard_normal((6, 3))

    assert_allclose(Gaussian(scale)(X * scale, X * scale), Gaussian(1.0)(X, X))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_length_scale_must_be_positive(bad):
    with pytest.raises(ValueError, match="length_scale must be positive"):
        Gaussian(bad)

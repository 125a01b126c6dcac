"""Callables, columns and kernels of Gaussian processes in the place of a kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only
from scipy.sparse import coo_matrix, csr_array
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics.pairwise import linear_kernel

from relvec.kernels import (
    Checked,
    Columns,
    CompactMatern,
    Gaussian,
    GaussianProcessKernel,
    Linear,
    Polynomial,
    Sigmoid,
)

X, Z = read_only(*np.random.default_rng(8).standard_normal((2, 6, 3)))


def test_the_diagonal_of_a_callable_is_evaluated_one_by_one():
    assert_allclose(Checked(linear_kernel).diagonal(X), np.sum(X**2, axis=1))


def test_columns_are_no_kernel_of_two_rows():
    assert_array_equal(Columns()(X, np.array([2, 0])), X[:, [2, 0]])
    assert not Columns().compact
    with pytest.raises(TypeError, match="no diagonal"):
        Columns().diagonal(np.eye(3))


def test_what_is_promised_to_be_definite():
    assert Polynomial(3, 1.0, 1.0).positive_definite
    assert not Polynomial(3, 1.0, -1.0).positive_definite
    assert not Polynomial(1.5, 1.0, 1.0).positive_definite
    assert not Sigmoid().positive_definite
    assert Checked(Linear()).positive_definite
    assert not Checked(linear_kernel).positive_definite
    assert not Columns().positive_definite


def test_a_checked_kernel_has_the_same_values():
    kernel = Gaussian(0.8)

    assert_array_equal(Checked(kernel)(X, Z), kernel(X, Z))
    assert_array_equal(Checked(kernel).diagonal(X), kernel.diagonal(X))


def test_a_checked_array_is_nobody_elses():
    values = np.ones((6, 6))

    def constant(X, Z):
        return values

    constant.positive_definite = True
    assert not np.shares_memory(Checked(constant)(X, Z), values)


def test_a_checked_compact_kernel():
    kernel = CompactMatern(support=1.5)
    checked = Checked(kernel)

    assert checked.compact
    assert not Checked(linear_kernel).compact
    assert_array_equal(checked(X, Z).toarray(), kernel(X, Z).toarray())


def test_a_compact_callable_may_return_any_sparse_matrix():
    def twice_one(X, Z):
        places = [0, 0, 1], [1, 1, 0]
        return coo_matrix((np.ones(3, dtype=int), places), shape=(len(X), len(Z)))

    twice_one.compact = True
    matrix = Checked(twice_one)(X, Z)

    assert type(matrix) is csr_array
    assert matrix.dtype == np.float64
    assert matrix.nnz == 2
    assert matrix[0, 1] == 2.0


def process(kernel):
    return GaussianProcessKernel(kernel)


def test_white_noise_contributes_nothing():
    noisy = process(processes.RBF() + processes.WhiteKernel(0.5))

    assert_allclose(noisy(X), process(processes.RBF())(X))
    assert_allclose(noisy.diagonal(X), 1.0)
    assert_array_equal(noisy.gradients(X)["kernel__k2__noise_level"], 0.0)


def test_fixed_parameters_have_no_gradient():
    kernel = processes.ConstantKernel(2.0, "fixed") * processes.RBF([1.0, 2.0, 3.0])
    gradients = process(kernel).gradients(X, Z)

    assert list(gradients) == ["kernel__k2__length_scale"]
    assert gradients["kernel__k2__length_scale"].shape == (6, 6, 3)


def test_gradients_are_those_of_our_own_kernel():
    found = process(processes.RBF(0.7)).gradients(X, Z)["kernel__length_scale"]

    expected = Gaussian(0.7).gradients(X, Z)["length_scale"]
    assert_allclose(found, expected, rtol=1e-10)


def test_no_gradient_by_centres():
    with pytest.raises(TypeError, match="no derivative by its centres"):
        process(processes.RBF()).centre_gradient(X, Z)


def test_parameters_of_the_inner_kernel():
    kernel = process(processes.RBF(0.7)) + Linear()
    kernel.set_params(left__kernel__length_scale=2.0)

    assert kernel == process(processes.RBF(2.0)) + Linear()


class Overlap(processes.GenericKernelMixin, processes.Kernel):
    """How many letters two words share."""

    def __init__(self, bonus=0.0):
        self.bonus = bonus

    def __call__(self, X, Y=None, eval_gradient=False):
        words = X if Y is None else Y
        values = [[len(set(x) & set(y)) for y in words] for x in X]
        return self.bonus + np.array(values, dtype=float)

    def diag(self, X):
        return self.bonus + np.array([len(set(x)) for x in X], dtype=float)

    def is_stationary(self):
        return False


def test_rows_that_are_not_numbers():
    kernel = 2.0 * process(Overlap()) + 1.0
    words = np.array(["kernel", "vector"], dtype=object)

    assert not kernel.requires_vector_input
    assert Gaussian().requires_vector_input
    assert_array_equal(kernel(words), [[11.0, 5.0], [5.0, 13.0]])
    assert_array_equal(kernel.diagonal(words), [11.0, 13.0])

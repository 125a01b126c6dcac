"""Callables, columns and kernels of Gaussian processes in the place of a kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only
from scipy.sparse import coo_matrix, csr_array
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics.pairwise import linear_kernel

from relvec.kernels import (
    CallableKernel,
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


def test_a_callable_among_kernels():
    kernel = CallableKernel(linear_kernel, columns=[0, 2]) + 2.0 * Gaussian()

    expected = X[:, [0, 2]] @ Z[:, [0, 2]].T + 2.0 * Gaussian()(X, Z)
    assert_allclose(kernel(X, Z), expected)
    with pytest.raises(TypeError, match="no derivative by its centres"):
        kernel.centre_gradient(X, Z)


def test_the_array_of_a_callable_is_not_written_to():
    values = np.ones((6, 6))
    (3.0 * CallableKernel(lambda X, Z: values))(X, Z)

    assert_array_equal(values, 1.0)


def test_what_a_callable_says_of_itself_is_believed():
    kernel = CallableKernel(CompactMatern(support=1.5))

    assert kernel.compact
    assert kernel.positive_definite
    assert kernel.requires_vector_input
    assert not CallableKernel(linear_kernel).compact
    paired = CompactMatern(support=1.5).paired(X, Z)
    assert_allclose(kernel.paired(X, Z), paired, rtol=1e-12)


def test_a_callable_may_be_of_objects():
    def shared(first, second):
        return np.array([[float(len(a & b)) for b in second] for a in first])

    words = [set("tea"), set("eat"), set("jam")]
    kernel = 2.0 * CallableKernel(shared)
    rows = np.empty(3, dtype=object)
    rows[:] = words

    assert_array_equal(kernel(rows)[0], [6.0, 6.0, 2.0])
    assert_array_equal(kernel.diagonal(rows), [6.0, 6.0, 6.0])


@pytest.mark.parametrize("function", [None, "rbf", Gaussian])
def test_only_callables_are_adapted(function):
    with pytest.raises(ValueError, match="function must be a callable of two arrays"):
        CallableKernel(function)


def test_pairs_that_come_row_by_row_are_asked_for_by_row(rng):
    asked = []

    def watched(X, Z):
        asked.append((len(X), len(Z)))
        return X @ Z.T

    rows, centres = rng.standard_normal((5, 2)), rng.standard_normal((60, 2))
    repeated = np.repeat(rows, 12, axis=0)
    values = CallableKernel(watched).paired(repeated, centres)

    assert_allclose(values, np.sum(repeated * centres, axis=1))
    assert asked == [(1, 12)] * 5
    assert CallableKernel(watched).paired(rows[:0], centres[:0]).shape == (0,)

"""What kernels refuse, and what they say then."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.gaussian_process.kernels import RBF

from relvec.kernels import (
    Checked,
    CompactMatern,
    Constant,
    Gaussian,
    GaussianProcessKernel,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
)

X = np.ones((4, 3))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [], "1", [[1]]])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Gaussian, "length_scale"),
        (Gaussian, "width"),
        (Matern, "length_scale"),
        (CompactMatern, "width"),
        (CompactMatern, "support"),
        (InverseMultiquadric, "length_scale"),
        (RationalQuadratic, "length_scale"),
        (Laplacian, "length_scale"),
        (Periodic, "length_scale"),
        (Periodic, "period"),
    ],
)
def test_scales_must_be_positive(make, name, bad):
    with pytest.raises(ValueError, match=f"{name} must be positive and finite; got"):
        make(**{name: bad})


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, -np.inf, "1", None])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Matern, "nu"),
        (InverseMultiquadric, "offset"),
        (RationalQuadratic, "alpha"),
        (Polynomial, "degree"),
        (Polynomial, "gamma"),
        (Sigmoid, "gamma"),
        (Constant, "value"),
        (Gaussian.from_gamma, "gamma"),
        (Laplacian.from_gamma, "gamma"),
    ],
)
def test_numbers_must_be_positive(make, name, bad):
    with pytest.raises(ValueError, match=f"{name} must be a positive number; got"):
        make(**{name: bad})


@pytest.mark.parametrize("make", [Polynomial, Sigmoid])
def test_an_offset_must_be_finite(make):
    with pytest.raises(ValueError, match="coef0 must be a finite number; got nan"):
        make(coef0=np.nan)


@pytest.mark.parametrize("bad", [0, -2.0, np.nan])
def test_factors_and_offsets_must_be_positive(bad):
    with pytest.raises(ValueError, match="factor must be a positive number"):
        bad * Linear()
    with pytest.raises(ValueError, match="value must be a positive number"):
        Linear() + bad


@pytest.mark.parametrize("make", [Gaussian, Matern, InverseMultiquadric])
def test_one_of_length_scale_and_width(make):
    with pytest.raises(ValueError, match="give one of them, not both"):
        make(length_scale=1.0, width=1.0)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Gaussian([1.0, 2.0]), "length_scale"),
        (Matern(width=[1.0, 2.0]), "width"),
        (Laplacian([1.0, 2.0]), "length_scale"),
        (Periodic(1.0, [1.0, 2.0]), "period"),
        (CompactMatern(support=[1.0, 2.0]), "support"),
        (Linear() * Gaussian([1.0, 2.0]), "length_scale"),
    ],
)
def test_one_scale_for_each_feature(kernel, name):
    message = (
        f"{name} has 2 entries and the kernel sees 3 features: give one number, or "
        "one for every feature"
    )
    for call in (kernel, kernel.diagonal, kernel.gradients, kernel.centre_gradient):
        with pytest.raises(ValueError, match=message):
            call(X)


@pytest.mark.parametrize("columns", [1, [], [0.5], [[0]], "ab", ["a"], [[0], [1, 2]]])
def test_columns_are_numbers_of_features(columns):
    with pytest.raises(ValueError, match="columns must be None, a slice, or a list"):
        Gaussian(columns=columns)


@pytest.mark.parametrize("columns", [[3], [-4], [True, False], [0, 7]])
def test_columns_out_of_range(columns):
    with pytest.raises(ValueError, match="does not fit 3 features"):
        Gaussian(columns=columns)(X)


@pytest.mark.parametrize("columns", [[0, 0], [0, -3], slice(3, 5), [False] * 3])
def test_columns_must_choose(columns):
    with pytest.raises(ValueError, match="of 3 features must choose at least one"):
        Gaussian(columns=columns)(X)


@pytest.mark.parametrize("rows", [np.ones(3), np.ones((2, 2, 2)), [["a"]], 1.0])
def test_rows_must_be_a_table_of_numbers(rows):
    with pytest.raises(ValueError, match="X must be a dense array of rows"):
        Gaussian()(rows, X)


def test_rows_and_centres_have_the_same_features():
    with pytest.raises(ValueError, match="X has 3 features and Z has 2"):
        Gaussian()(X, X[:, :2])


def test_unknown_parameters():
    message = (
        "Gaussian has no parameter 'gamma'; its parameters are 'columns', "
        "'length_scale', 'width'"
    )
    with pytest.raises(ValueError, match=message):
        Gaussian().set_params(gamma=1.0)
    with pytest.raises(ValueError, match=r"no parameter 'middle__nu'.*'left__nu'"):
        (Matern() + Linear()).set_params(middle__nu=1.0)
    with pytest.raises(ValueError, match="no parameter 'length_scale__nu'"):
        Gaussian(1.0).set_params(length_scale__nu=1.0)


def test_parameters_are_checked_when_they_are_set():
    kernel = Gaussian(2.0)
    with pytest.raises(ValueError, match="length_scale must be positive"):
        kernel.set_params(length_scale=-1.0)
    with pytest.raises(ValueError, match="not both"):
        kernel.set_params(width=1.0)

    assert kernel == Gaussian(2.0)


def test_too_small_an_exponent():
    kernel = CompactMatern(exponent=1.5)

    assert kernel(X[:, :2]).nnz == 16
    for call in (kernel, kernel.diagonal, kernel.gradients):
        with pytest.raises(ValueError, match="of 3 features the kernel is positive"):
            call(X)


@pytest.mark.parametrize("other", ["rbf", None, RBF(), np.ones(2)])
def test_only_kernels_are_combined(other):
    for combine in (Sum, Product):
        with pytest.raises(TypeError, match="right must be one of relvec's kernels"):
            combine(Gaussian(), other)
    with pytest.raises(TypeError, match="kernel must be one of relvec's kernels"):
        Scaled(other)


def test_operators_refuse_other_things():
    with pytest.raises(TypeError, match="GaussianProcessKernel"):
        Gaussian() + RBF()
    with pytest.raises(TypeError, match="left must be one of relvec's kernels"):
        "rbf" * Gaussian()


@pytest.mark.parametrize("kernel", ["rbf", None, Gaussian(), RBF])
def test_only_kernels_of_gaussian_processes_are_adapted(kernel):
    with pytest.raises(ValueError, match=r"a kernel of sklearn\.gaussian_process"):
        GaussianProcessKernel(kernel)


def test_values_of_an_adapted_kernel_are_looked_at():
    class Broken(RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return np.full((len(X), len(Y)), np.nan)

    with pytest.raises(ValueError, match=r"kernel Broken.* returned NaN or infinity"):
        GaussianProcessKernel(Broken())(X)


def answering(answer, *, compact):
    def kernel(X, Z):
        return answer

    kernel.compact = compact
    return Checked(kernel)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones((4, 3)), r"returned shape \(4, 3\) for inputs of 4 and 4 rows"),
        (np.full((4, 4), np.nan), "returned NaN or infinity"),
        (np.full((4, 4), 1j), "must return real numbers"),
        (
            csr_array(np.eye(4)),
            "returned a sparse matrix; give it an attribute compact",
        ),
    ],
)
def test_answers_of_a_callable(answer, message):
    with pytest.raises(ValueError, match=message):
        answering(answer, compact=False)(X, X)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (csr_array(np.eye(3)), r"returned shape \(3, 3\) for inputs of 4 and 4 rows"),
        (np.inf * csr_array(np.eye(4)), "returned NaN or infinity"),
        (csr_array(np.full((4, 4), 1j)), "must return real numbers"),
        (np.ones((4, 4)), "says that it is compact, and returned ndarray"),
    ],
)
def test_answers_of_a_compact_callable(answer, message):
    with pytest.raises(ValueError, match=message):
        answering(answer, compact=True)(X, X)

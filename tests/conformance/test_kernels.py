"""Laws of every kernel: a new one joins by a line in the list."""

import copy
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics.pairwise import rbf_kernel

from relvec import kernels
from relvec.kernels import (
    CallableKernel,
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
    RationalQuadratic,
    Sigmoid,
    Taper,
)

SCALES = np.array([0.7, 1.4, 2.0])


def spline(X, Z):
    """The linear spline kernel of Vapnik, a product over the features."""
    x, z = X[:, None], Z[None]
    least = np.minimum(x, z)
    values = 1 + x * z + x * z * least - (x + z) / 2 * least**2 + least**3 / 3
    return np.prod(values, axis=2)


KERNELS = [
    Gaussian(),
    Gaussian(1.3),
    Gaussian(SCALES),
    Gaussian(width=[0.9, 2.0, 1.1]),
    Gaussian(0.8, columns=[2, 0]),
    Matern(),
    Matern(0.9, nu=0.3),
    Matern(1.5, nu=0.5),
    Matern(width=1.5, nu=1),
    Matern(SCALES, nu=1.5),
    Matern(0.8, nu=2.5, columns=slice(1, 3)),
    Matern(1.2, nu=3),
    Matern(SCALES, nu=4.7),
    Matern(0.8, nu=30.2),
    Matern(0.8, nu=300.0),
    Matern(1.1, nu=np.inf),
    CompactMatern(1.2, support=2.0),
    CompactMatern(width=1.2, nu=0.5, support=1.5, exponent=2.5),
    CompactMatern(SCALES, nu=2, support=2.5),
    CompactMatern(1.2, nu=2.5, support=2.5, taper="smooth"),
    CompactMatern(1.2, support=[2.0, 3.0, 2.5], exponent=6.0, taper="smooth"),
    CompactMatern(0.9, nu=np.inf, support=[1.0, 3.0], columns=[True, False, True]),
    Taper(2.0),
    Taper([2.0, 3.0, 2.5], 3.0),
    Taper(2.5, 6.0, "smooth", columns=[0, 2]),
    InverseMultiquadric(0.6),
    InverseMultiquadric(0.6, width=SCALES),
    RationalQuadratic(1.2, 0.7),
    RationalQuadratic(SCALES, alpha=3.0),
    Laplacian(1.7),
    Laplacian(SCALES),
    Periodic(1.1, 2.3),
    Periodic(SCALES, [2.0, 3.0, 5.0]),
    Linear(),
    Linear(columns=[1]),
    Polynomial(3, 0.4, 1.0),
    Polynomial(2, 0.4, -0.5),
    Sigmoid(0.2, -0.5),
    Constant(0.3),
    Gaussian(1.3) + 2.0 * Linear(columns=[0, 1]) + 0.5,
    Gaussian(SCALES) * Polynomial(2, 0.3, 1.0, columns=[1]),
    CompactMatern(1.2, support=2.0) * (Linear() + 1.0),
    3.0 * CompactMatern(support=2.0) + CompactMatern(nu=0.5, support=1.5),
    CompactMatern(support=2.0) * CompactMatern(nu=0.5, support=1.5),
    CompactMatern(support=2.0) + Matern(nu=0.5),
    Gaussian(1.3) * Taper(2.0, 2.5),
    Taper(2.5, taper="smooth") * RationalQuadratic(SCALES, alpha=0.7),
    Polynomial(3, 0.4, 1.0) * Taper([2.0, 3.0, 2.5]),
    (Gaussian(1.3) + 2.0 * Linear()) * Taper(2.0, columns=[1]),
    Sigmoid(0.2, -0.5) * Taper(2.0) * Matern(nu=0.5),
    kernels.Sum(Gaussian(), Laplacian(2.0, columns=[1]), columns=[2, 0]),
    GaussianProcessKernel(processes.RBF(1.3)),
    GaussianProcessKernel(processes.RBF(SCALES) + processes.WhiteKernel(0.1)),
    GaussianProcessKernel(
        processes.ConstantKernel(2.0) * processes.Matern(nu=2.5), columns=[0, 2]
    ),
    GaussianProcessKernel(processes.RationalQuadratic(1.3, 0.8)) * Taper(2.0),
    CallableKernel(rbf_kernel, columns=slice(3)),
    CallableKernel(spline, columns=[0, 2]) * Taper(2.0),
]
DEFINITE = [kernel for kernel in KERNELS if kernel.positive_definite]
# Those of others have no derivatives by centres, and may refuse to have no rows.
THEIRS = ("GaussianProcessKernel", "CallableKernel")
OWN = [kernel for kernel in KERNELS if not any(name in repr(kernel) for name in THEIRS)]


def numbers(matrix):
    return matrix.toarray() if issparse(matrix) else matrix


def points(n_rows, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, 3))


def name(kernel):
    """Without addresses, which differ from process to process."""
    return re.sub(r" at 0x\w+", "", repr(kernel))


@pytest.fixture(params=KERNELS, ids=name)
def kernel(request):
    return copy.deepcopy(request.param)


@pytest.fixture(params=OWN, ids=name)
def own_kernel(request):
    return copy.deepcopy(request.param)


def test_the_matrix_is_what_it_is_said_to_be(kernel):
    matrix = kernel(points(6), points(4, seed=1))

    assert issparse(matrix) == kernel.compact
    assert matrix.shape == (6, 4)
    assert matrix.dtype == np.float64


def test_symmetry(kernel):
    X, Z = points(6), points(4, seed=1)

    assert_allclose(numbers(kernel(X, Z)), numbers(kernel(Z, X)).T, rtol=1e-13)


def test_one_set_of_rows_is_both(kernel):
    X = points(6)

    assert_array_equal(numbers(kernel(X)), numbers(kernel(X, X)))


@pytest.mark.parametrize("kernel", DEFINITE, ids=name)
def test_positive_semi_definite_where_promised(kernel):
    values = np.linalg.eigvalsh(numbers(kernel(points(60))))

    assert values.min() > -1e-10 * values.max()


def test_the_diagonal_agrees_with_the_matrix(kernel):
    X = points(8)

    assert_allclose(kernel.diagonal(X), numbers(kernel(X)).diagonal(), rtol=1e-12)


def test_rows_beside_each_other_agree_with_the_matrix(kernel):
    X, Z = points(8), points(8, seed=1)

    expected = numbers(kernel(X, Z)).diagonal()
    assert_allclose(kernel.paired(X, Z), expected, rtol=1e-12, atol=1e-15)


def value_of(kernel, name):
    value = kernel.get_params()[name]
    return np.array(1.0 if value is None else value, dtype=float)


def moved(kernel, name, entry, step, points):
    value = value_of(kernel, name)
    value[entry] += step
    parameter = value if value.ndim else float(value)
    return numbers(copy.deepcopy(kernel).set_params(**{name: parameter})(*points))


def test_gradients_by_parameters(kernel):
    pair = points(6), points(5, seed=1)
    gradients = kernel.gradients(*pair)

    for name, gradient in gradients.items():
        value = value_of(kernel, name)
        assert gradient.shape == (6, 5, *value.shape)
        for entry in np.ndindex(value.shape):
            step = 1e-5 * abs(value[entry])
            difference = moved(kernel, name, entry, step, pair)
            difference -= moved(kernel, name, entry, -step, pair)
            expected = difference / (2 * step)
            found = gradient[(..., *entry)]
            assert_allclose(found, expected, rtol=1e-6, atol=1e-9, err_msg=name)


def test_every_continuous_parameter_has_a_gradient(kernel):
    discrete = {"columns", "degree", "length_scale_bounds", "noise_level_bounds"}
    discrete |= {"constant_value_bounds", "alpha_bounds"}
    continuous = {
        name
        for name, value in kernel.get_params().items()
        if np.asarray(value).dtype.kind in "fi"
        and np.all(np.isfinite(value))
        and name.split("__")[-1] not in discrete
    }
    if isinstance(kernel, GaussianProcessKernel):  # scikit-learn has none by ν
        continuous = {name for name in continuous if not name.endswith("__nu")}

    assert continuous <= kernel.gradients(points(2)).keys()


def test_gradients_by_centres(own_kernel):
    X, Z = points(6), points(5, seed=1)
    gradient = own_kernel.centre_gradient(X, Z)

    assert gradient.shape == (6, 5, 3)
    for j, direction in enumerate(1e-5 * np.eye(3)):
        ahead, behind = own_kernel(X, Z + direction), own_kernel(X, Z - direction)
        expected = (numbers(ahead) - numbers(behind)) / 2e-5
        assert_allclose(gradient[..., j], expected, rtol=1e-6, atol=1e-9)


def test_gradients_are_finite_where_points_meet(own_kernel):
    X = points(4)

    assert all(np.isfinite(g).all() for g in own_kernel.gradients(X).values())
    assert np.isfinite(own_kernel.centre_gradient(X)).all()


def test_parameters_make_the_same_kernel(kernel):
    again = type(kernel)(**kernel.get_params(deep=False))

    assert again == kernel
    with pytest.raises(TypeError, match="unhashable"):
        hash(kernel)


def test_setting_parameters(kernel):
    other = copy.deepcopy(kernel)

    assert other.set_params(**kernel.get_params()) is other
    assert other == kernel


def test_cloning(kernel):
    other = clone(kernel)

    assert other == kernel
    assert other is not kernel


def test_pickling(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_the_representation_makes_the_same_kernel(own_kernel):
    assert eval(repr(own_kernel), vars(kernels) | {"inf": np.inf}) == own_kernel


def test_single_precision_rows(kernel):
    X = points(8).astype(np.float32)
    matrix = kernel(X)

    assert matrix.dtype == np.float64
    assert_allclose(numbers(matrix), numbers(kernel(X.astype(np.float64))), rtol=1e-12)


@pytest.mark.parametrize(("n_rows", "n_centres"), [(0, 4), (4, 0), (0, 0)])
def test_no_rows(own_kernel, n_rows, n_centres):
    assert own_kernel(points(n_rows), points(n_centres)).shape == (n_rows, n_centres)
    assert own_kernel.diagonal(points(n_rows)).shape == (n_rows,)


def test_rows_are_not_written_to_and_the_matrix_may_be(kernel):
    X = points(4)
    X.setflags(write=False)
    matrix = kernel(X, X)

    values = matrix.data if kernel.compact else matrix
    assert np.asarray(values).flags.writeable


def test_lists_of_rows(kernel):
    X, Z = points(4), points(3, seed=1)

    assert_array_equal(numbers(kernel(X.tolist(), Z.tolist())), numbers(kernel(X, Z)))


def test_features_that_are_not_seen_do_not_matter(kernel):
    X, Z = points(6), points(4, seed=1)
    wide = [np.insert(rows, 1, np.nan, axis=1) for rows in (X, Z)]
    narrowed = kernels.Sum(kernel, kernel, columns=[0, 2, 3])

    assert_allclose(numbers(narrowed(*wide)), 2 * numbers(kernel(X, Z)), rtol=1e-12)

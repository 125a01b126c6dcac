"""Values of kernels, compared with what others compute."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn
from scipy.special import gamma, kv
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics import pairwise

from relvec.kernels import (
    CompactMatern,
    Constant,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from relvec.kernels.stationary import squared_distances

SCALES = np.array([0.5, 1.0, 2.5])


def with_parameters(function, **parameters):
    return lambda X, Z: function(X, Z, **parameters)


REFERENCES = {
    "gamma": (
        Gaussian.from_gamma(0.2),
        with_parameters(pairwise.rbf_kernel, gamma=0.2),
    ),
    "length scale": (Gaussian(1.3), processes.RBF(1.3)),
    "Matern 1/2": (Matern(1.3, 0.5), processes.Matern(1.3, nu=0.5)),
    "Matern 3/2": (Matern(1.3, 1.5), processes.Matern(1.3, nu=1.5)),
    "Matern 5/2": (Matern(1.3, 2.5), processes.Matern(1.3, nu=2.5)),
    "Matern 3": (Matern(1.3, 3), processes.Matern(1.3, nu=3)),
    "Matern 0.8": (Matern(1.3, 0.8), processes.Matern(1.3, nu=0.8)),
    "Matern inf": (Matern(1.3, np.inf), processes.Matern(1.3, nu=np.inf)),
    "RationalQuadratic": (
        RationalQuadratic(0.9, 2.2),
        processes.RationalQuadratic(0.9, 2.2),
    ),
    "Laplacian": (
        Laplacian.from_gamma(0.4),
        with_parameters(pairwise.laplacian_kernel, gamma=0.4),
    ),
    "Linear": (Linear(), pairwise.linear_kernel),
    "Polynomial": (
        Polynomial(3, 0.4, 1.0),
        with_parameters(pairwise.polynomial_kernel, degree=3, gamma=0.4, coef0=1.0),
    ),
    "Sigmoid": (
        Sigmoid(0.2, -0.5),
        with_parameters(pairwise.sigmoid_kernel, gamma=0.2, coef0=-0.5),
    ),
    "Constant": (Constant(0.7), processes.ConstantKernel(0.7)),
}


@pytest.mark.parametrize("n_features", [1, 3, 40])
@pytest.mark.parametrize("name", REFERENCES)
def test_values_agree_with_scikit_learn(name, n_features, rng):
    kernel, reference = REFERENCES[name]
    X, Z = rng.standard_normal((8, n_features)), rng.standard_normal((5, n_features))

    assert_allclose(kernel(X, Z), reference(X, Z), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Gaussian(SCALES), processes.RBF(SCALES)),
        (Gaussian(width=np.sqrt(2) * SCALES), processes.RBF(SCALES)),
        (Matern(SCALES, 1.5), processes.Matern(SCALES, nu=1.5)),
        (Matern(SCALES, 1.2), processes.Matern(SCALES, nu=1.2)),
        (Periodic(0.8, 1.7, columns=[1]), None),
    ],
)
def test_one_scale_for_each_feature(kernel, reference, rng):
    X, Z = rng.standard_normal((8, 3)), rng.standard_normal((5, 3))
    if reference is None:
        expected = processes.ExpSineSquared(0.8, 1.7)(X[:, [1]], Z[:, [1]])
    else:
        expected = reference(X, Z)

    assert_allclose(kernel(X, Z), expected, rtol=1e-12)


X, Z = np.split(drawn(3, (13, 3)), [7])
DISTANCES = np.linalg.norm(X[:, None] - Z, axis=2)
PRODUCTS = X @ Z.T
ORDER, WIDTH = 1.7, 1.9
RATIO = np.sqrt(ORDER) / WIDTH * DISTANCES
# The inverse multiquadric without the slip of the table, which lost a square.
TABLE = {
    "radial basis function": (Gaussian.from_gamma(0.3), np.exp(-0.3 * DISTANCES**2)),
    "inverse multiquadric": (InverseMultiquadric(0.3), (DISTANCES**2 + 0.3) ** -0.5),
    "polynomial": (Polynomial(4, 0.3, 0.7), (0.3 * PRODUCTS + 0.7) ** 4),
    "sigmoidal": (Sigmoid(0.3, 0.7), np.tanh(0.3 * PRODUCTS + 0.7)),
    "linear": (Linear(), PRODUCTS),
    "Gaussian": (Gaussian(1.9), np.exp(-(DISTANCES**2) / (2 * 1.9**2))),
    "Matérn": (
        Matern(width=WIDTH, nu=ORDER),
        2 * RATIO**ORDER / gamma(ORDER) * kv(ORDER, 2 * RATIO),
    ),
    "exponential": (Matern(width=1.9, nu=0.5), np.exp(-np.sqrt(2) / 1.9 * DISTANCES)),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_kernels_in_ben_shimons_thesis(name):
    """Table 6.1.1.1, and (6.1.1.2.1) of order 1/2."""
    kernel, expected = TABLE[name]

    assert_allclose(kernel(X, Z), expected, rtol=1e-11)


def exact_matern(order, distance):
    with mpmath.workdps(40):
        nu, d = mpmath.mpf(order), mpmath.mpf(distance)
        z = mpmath.sqrt(2 * nu) * d
        return float(2 ** (1 - nu) / mpmath.gamma(nu) * z**nu * mpmath.besselk(nu, z))


@pytest.mark.parametrize(
    "order", [0.02, 0.3, 1, 1.01, 2, 3, 4.7, 7.5, 25.3, 60.5, 150, 201.0, 1e4]
)
def test_matern_of_any_order(order):
    distances = np.array([1e-9, 1e-5, 1e-2, 0.4, 1.0, 3.0, 9.0, 14.0])
    expected = [exact_matern(order, distance) for distance in distances]

    found = Matern(nu=order)(np.zeros((1, 1)), distances[:, None])[0]
    assert_allclose(found, expected, rtol=2e-13)


@pytest.mark.parametrize("order", [0.3, 0.5, 1, 1.5, 2.2, 3, 40.3, 300.5, np.inf])
def test_matern_at_the_ends(order):
    distances = np.array([[0.0], [1e-320], [1e-200], [1e4], [1e9], [1e150]])

    expected = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    found = Matern(nu=order)(np.zeros((1, 1)), distances)[0]
    assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


def test_periodic_of_several_features_is_a_product():
    kernel = Periodic(SCALES, [2.0, 3.0, 5.0])
    factors = [
        Periodic(scale, period, columns=[j])(X, Z)
        for j, (scale, period) in enumerate(zip(SCALES, [2.0, 3.0, 5.0], strict=True))
    ]

    assert_allclose(kernel(X, Z), np.prod(factors, axis=0), rtol=1e-12)


@pytest.mark.parametrize("periods", [10**3, 10**6])
def test_whole_periods_cost_periodic_no_digits(periods, rng):
    """Multiples of 1/1024 are moved by whole periods exactly."""
    rows, centres = rng.integers(-2048, 2048, (2, 7, 2)) / 1024
    kernel = Periodic(0.5, 1.0)

    moved = rows + periods
    assert_allclose(kernel(moved, centres), kernel(rows, centres), rtol=1e-13)
    assert_allclose(kernel.paired(moved, centres), kernel.paired(rows, centres), 1e-13)
    for name in ("length_scale", "period"):
        near = kernel.gradients(rows + 1, centres + 1)[name]
        far = kernel.gradients(moved, centres + periods)[name]
        assert_allclose(far, near, rtol=1e-12, atol=1e-15)
    steep = kernel.centre_gradient(rows, centres)
    assert_allclose(kernel.centre_gradient(moved, centres), steep, 1e-12, atol=1e-13)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_periodic_far_from_zero(offset, rng):
    """As mpmath has it, of a period that is no binary fraction."""
    rows, centres = (rng.standard_normal((5, 1)) + offset for _ in range(2))
    with mpmath.workdps(40):
        expected = [
            [
                float(mpmath.exp(-2 * mpmath.sin(mpmath.pi * (x - z) / 0.3) ** 2))
                for z in map(mpmath.mpf, centres[:, 0])
            ]
            for x in map(mpmath.mpf, rows[:, 0])
        ]

    assert_allclose(Periodic(1.0, 0.3)(rows, centres), expected, rtol=2e-14)


STATIONARY = [
    Gaussian,
    lambda scale: Matern(scale, nu=0.5),
    lambda scale: Matern(scale, nu=0.7),
    lambda scale: Matern(scale, nu=2.5),
    RationalQuadratic,
    lambda scale: InverseMultiquadric(length_scale=scale),
    Laplacian,
    lambda scale: Periodic(period=scale),
    lambda scale: CompactMatern(scale, support=3 * scale) + Gaussian(scale),
]


@pytest.mark.parametrize("make", STATIONARY)
@pytest.mark.parametrize("n_features", [2, 40])
def test_far_from_the_origin(make, n_features, rng):
    """Distances do not drown in the size of the coordinates."""
    rows, centres = rng.standard_normal((2, 6, n_features))
    kernel = make(2.0)

    near = kernel(rows, centres)
    assert_allclose(kernel(rows + 1e6, centres + 1e6), near, rtol=1e-7)


@pytest.mark.parametrize("make", STATIONARY)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_features_of_any_magnitude(make, scale):
    expected = make(1.0)(X, X)

    assert_allclose(make(scale)(X * scale, X * scale), expected, rtol=1e-12)


@pytest.mark.parametrize("make", STATIONARY[:-2])
@pytest.mark.parametrize("n_features", [2, 6, 20])
def test_distances_that_overflow(make, n_features):
    rows = np.zeros((2, n_features))
    rows[1] = 1e200

    assert_allclose(make(1.0)(rows), np.eye(2), atol=1e-150)


@pytest.mark.parametrize("n_features", [1, 2, 6, 20])
def test_distances_that_overflow_of_a_compact_kernel(n_features):
    rows = np.zeros((2, n_features))
    rows[1] = 1e200

    assert CompactMatern()(rows).nnz == CompactMatern().count(rows) == 2


@pytest.mark.parametrize("n_features", [4, 8, 12, 13])
@pytest.mark.parametrize("spread", [1.0, 1e3, 1e6])
def test_squares_of_distances(n_features, spread, rng):
    """Feature by feature or by a matrix product, as suits their size."""
    rows, centres = spread * rng.standard_normal((2, 40, n_features))
    expected = np.sum((rows[:, None] - centres) ** 2, axis=2)

    assert_allclose(squared_distances(rows, centres), expected, rtol=1e-12)


def test_one_row_has_all_digits(rng):
    """Of a row as of a centre, however near they are."""
    centres = 10 + rng.standard_normal((9, 60))
    row = centres[:1] + 1e-6 * rng.standard_normal((1, 60))
    expected = np.sum((row - centres) ** 2, axis=1)

    assert_allclose(squared_distances(row, centres)[0], expected, rtol=1e-14)
    assert_allclose(squared_distances(centres, row)[:, 0], expected, rtol=1e-14)


@pytest.mark.parametrize("order", [0.3, 0.5, 1.0, 1.5])
def test_rows_that_meet_among_many_features(order, rng):
    """A kink magnifies what a matrix product loses of small distances."""
    rows = 30 + rng.standard_normal((5, 60))

    assert_allclose(np.diag(Matern(nu=order)(rows, rows.copy())), 1.0, rtol=1e-12)

"""Laws of every design: each product against the dense array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import covariance

from relvec.design import DenseDesign

RNG = np.random.default_rng(7)
ENTRIES = RNG.standard_normal((17, 9))
SAMPLE_WEIGHT = RNG.uniform(0.5, 2.0, 17)


def read_only(array):
    array.setflags(write=False)
    return array


DESIGNS = {
    "dense, C order": lambda: DenseDesign.weighted(ENTRIES.copy(), SAMPLE_WEIGHT),
    "dense, Fortran order": lambda: DenseDesign.weighted(
        np.asfortranarray(ENTRIES), SAMPLE_WEIGHT
    ),
    "dense, read only": lambda: DenseDesign.weighted(
        read_only(ENTRIES.copy()), SAMPLE_WEIGHT
    ),
    "dense, strided": lambda: DenseDesign.weighted(
        np.repeat(ENTRIES, 2, axis=0)[::2], SAMPLE_WEIGHT
    ),
}
INDICES = [np.array([], dtype=int), np.array([4]), np.array([7, 0, 3]), np.arange(9)]
WEIGHTS = {
    "one output": RNG.uniform(0.1, 2, (17, 1)),
    "three outputs": RNG.uniform(0.1, 2, (17, 3)),
}


@pytest.fixture(params=DESIGNS)
def design(request):
    return DESIGNS[request.param]()


@pytest.fixture(params=WEIGHTS)
def weights(request):
    return WEIGHTS[request.param]


@pytest.fixture(params=INDICES, ids=lambda indices: f"{len(indices)} columns")
def indices(request):
    return request.param


UNIT = ENTRIES / np.sqrt(SAMPLE_WEIGHT @ ENTRIES**2)


def test_columns_have_unit_norm_under_the_sample_weights(design):
    norms = design.squared_norms(SAMPLE_WEIGHT[:, None])

    assert design.shape == (17, 9)
    assert_allclose(norms, np.ones((1, 9)), rtol=1e-13)
    assert_allclose(UNIT * design.column_norms, ENTRIES, rtol=1e-13)


def test_matvec(design, indices):
    w = np.arange(2 * len(indices), dtype=float).reshape(2, -1)

    assert_allclose(design.matvec(w, indices), UNIT[:, indices] @ w.T, atol=1e-13)


def test_rmatvec(design, indices, weights):
    assert_allclose(design.rmatvec(weights), weights.T @ UNIT, atol=1e-13)
    assert_allclose(
        design.rmatvec(weights, indices), weights.T @ UNIT[:, indices], atol=1e-13
    )


def test_cross_gram(design, indices, weights):
    expected = np.stack([(UNIT[:, indices].T * w) @ UNIT for w in weights.T])

    assert_allclose(design.cross_gram(indices, weights), expected, atol=1e-13)


def test_squared_norms(design, weights):
    assert_allclose(design.squared_norms(weights), weights.T @ UNIT**2, rtol=1e-13)


@pytest.mark.parametrize("smallest", [1.0, 1e-9], ids=["Gram", "orthogonal"])
def test_factor(design, indices, weights, smallest):
    alpha = np.geomspace(smallest, 1.0, len(indices))
    columns = UNIT[:, indices] / np.sqrt(alpha)
    factors = design.factor(indices, alpha, weights)

    for k, w in enumerate(weights.T):
        expected = np.eye(len(indices)) + columns.T * w @ columns
        assert_allclose(factors[k], np.tril(factors[k]))
        assert np.all(factors[k].diagonal() > 0)
        assert_allclose(factors[k] @ factors[k].T, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("smallest", [0.1, 1e-7], ids=["Gram", "orthogonal"])
def test_sparsity(design, indices, weights, smallest):
    alpha = np.geomspace(smallest, 10.0, len(indices))
    factor = design.factor(indices, alpha, weights)
    found = design.sparsity(indices, alpha, weights, factor)

    for k, w in enumerate(weights.T):
        C = covariance(UNIT, w, indices, alpha)
        expected = np.sum(UNIT * np.linalg.solve(C, UNIT), axis=0)
        assert_allclose(found[k], expected, rtol=1e-7)


def test_sparsity_of_a_column_in_the_span_of_the_chosen_is_zero_or_true(design):
    """A chosen column keeps φᵀC⁻¹φ = α − α²Σ, which no difference of norms can see."""
    indices, precision = np.array([2]), 1e9 * SAMPLE_WEIGHT[:, None]
    for alpha in (1e-3, 1e-6):
        only = (indices, np.array([alpha]), precision)
        found = design.sparsity(*only, design.factor(*only))[0, 2]
        exact = alpha - alpha**2 / (alpha + 1e9)

        assert_allclose(found, exact, rtol=1e-4)


def test_entries_of_any_magnitude():
    """Columns from 1e-160 to 1e300, a zero column among them."""
    factors = np.array([1e-160, 1e-40, 1.0, 0.0, 1e150, 1e300])
    matrix = ENTRIES[:, :6] * factors
    design = DenseDesign.weighted(matrix, SAMPLE_WEIGHT)
    used = np.flatnonzero(factors)
    unit = UNIT[:, used]
    w = SAMPLE_WEIGHT[:, None]

    assert design.column_norms[3] == 0
    assert_allclose(design.squared_norms(w)[0, used], 1, rtol=1e-12)
    assert_allclose(design.squared_norms(w)[0, 3], 0)
    gram = design.cross_gram(used, w)[0][:, used]
    assert_allclose(gram, unit.T @ (w * unit), atol=1e-12)

"""Laws of every design: each product against the dense array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import covariance
from problems import drawn, read_only
from scipy.sparse import csc_array

from relvec.basis import Basis, Group
from relvec.data import Block
from relvec.design import DenseDesign, Rows, Whole
from relvec.design.expansions import LowRank
from relvec.design.factored import FactoredDesign
from relvec.design.sparse import SparseDesign
from relvec.kernels import Columns, Linear

ENTRIES = drawn(7, (17, 9))
SAMPLE_WEIGHT = read_only(np.random.default_rng(8).uniform(0.5, 2.0, 17))


def in_memory():
    return Rows.of(ENTRIES)


def in_blocks():
    """Three blocks that are cut again into smaller ones."""
    blocks = [Block(part) for part in np.split(ENTRIES, [4, 11])]
    return Rows(blocks, 17, entries=20)


def some_absent():
    """Rows that do not count, a whole block of them among those."""
    present = np.ones(25, dtype=bool)
    present[[0, 7, 8, 9, 10, 15, 16, 24]] = False
    all_rows = np.full((25, 9), 1e3)
    all_rows[present] = ENTRIES
    blocks = [Block(part) for part in np.split(all_rows, [7, 11, 20])]
    return Rows(blocks, 17, present, entries=30)


NORMS = np.sqrt(SAMPLE_WEIGHT @ ENTRIES**2)


def whole(rows, keep=1e6):
    basis = Basis.of(Columns(), np.arange(9), bias=False)
    return FactoredDesign(rows, basis, Whole(basis), NORMS, keep)


def low_rank(rows, keep=1e6, groups=1):
    """Nine inner products with nine centres: of full rank, so exact."""
    parts = np.array_split(np.eye(9), groups)
    basis = Basis(tuple(Group(Linear(), part) for part in parts), bias=False)
    expansion = LowRank.of(basis, tol=1e-9, most=9, seed=0)
    return FactoredDesign(rows, basis, expansion, NORMS, keep)


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
    "whole": lambda: whole(in_memory()),
    "whole, in blocks": lambda: whole(in_blocks()),
    "whole, nothing kept": lambda: whole(in_blocks(), keep=0),
    "whole, some rows absent": lambda: whole(some_absent()),
    "low rank": lambda: low_rank(in_memory()),
    "low rank, in blocks": lambda: low_rank(in_blocks()),
    "low rank, nothing kept": lambda: low_rank(in_blocks(), keep=0),
    "low rank, some rows absent": lambda: low_rank(some_absent()),
    "low rank, two kernels": lambda: low_rank(in_blocks(), groups=2),
    "low rank, four kernels": lambda: low_rank(in_memory(), groups=4),
    "sparse": lambda: SparseDesign.weighted(csc_array(ENTRIES), SAMPLE_WEIGHT),
}
REFINABLE = [name for name in DESIGNS if name.startswith("low rank")]
UNHELD = [*REFINABLE, *(name for name in DESIGNS if name.startswith("whole"))]
HELD = [name for name in DESIGNS if name not in UNHELD]


def weights_of(n_outputs):
    return read_only(np.random.default_rng(n_outputs).uniform(0.1, 2, (17, n_outputs)))


INDICES = [np.array([], dtype=int), np.array([4]), np.array([7, 0, 3]), np.arange(9)]
WEIGHTS = {
    "one output": weights_of(1),
    "equal rows": np.full((17, 1), 1.7),
    "three outputs": weights_of(3),
}
TARGETS = drawn(9, (17, 3))


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
    norms, _ = design.project(SAMPLE_WEIGHT[:, None], np.zeros((17, 1)))

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


def test_gram(design, indices, weights):
    columns = UNIT[:, indices]
    expected = np.stack([(columns.T * w) @ columns for w in weights.T])

    assert_allclose(design.gram(indices, weights), expected, atol=1e-13)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_project_with_weights_shared_by_all_outputs(design, n_outputs):
    weights, target = WEIGHTS["one output"], TARGETS[:, :n_outputs]
    squares, products = design.project(weights, target)

    assert_allclose(squares, weights.T @ UNIT**2, rtol=1e-12)
    assert_allclose(products, (weights * target).T @ UNIT, atol=1e-12)


def test_project_with_weights_of_each_output(design):
    weights = WEIGHTS["three outputs"]
    squares, products = design.project(weights, TARGETS)

    assert_allclose(squares, weights.T @ UNIT**2, rtol=1e-12)
    assert_allclose(products, (weights * TARGETS).T @ UNIT, atol=1e-12)


def test_other_weights_than_last_time(design):
    """What is kept from one product does not leak into the next."""
    indices = np.array([6, 1])
    for weights in (*WEIGHTS.values(), WEIGHTS["one output"] * 3):
        expected = np.stack([(UNIT[:, indices].T * w) @ UNIT for w in weights.T])
        assert_allclose(design.cross_gram(indices, weights), expected, atol=1e-13)


def test_products_can_be_repeated(design, indices):
    """The second and third time features and columns may come from memory."""
    w = np.ones((1, len(indices)))
    for _ in range(3):
        assert_allclose(design.matvec(w, indices), UNIT[:, indices] @ w.T, atol=1e-13)
        assert_allclose(design.rmatvec(TARGETS), TARGETS.T @ UNIT, atol=1e-13)


@pytest.mark.parametrize("name", REFINABLE)
def test_a_refined_design_holds_the_same_dictionary(name, indices, weights):
    design = DESIGNS[name]()
    better = design.refined()
    expected = np.stack([(UNIT[:, indices].T * w) @ UNIT for w in weights.T])

    assert better.shape == design.shape
    assert_allclose(better.column_norms, design.column_norms)
    assert_allclose(better.cross_gram(indices, weights), expected, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in DESIGNS if name not in REFINABLE])
def test_exact_designs_have_nothing_to_refine(name):
    assert DESIGNS[name]().refined() is None


def test_gram_matrices_are_trusted_up_to_a_limit(design):
    assert 1e6 <= design.gram_limit <= 1e14


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


def sparsity_of_the_chosen(design, alpha):
    """φᵀC⁻¹φ of a column by itself, and what it is: α − α²Σ."""
    only = (np.array([2]), np.array([alpha]), 1e9 * SAMPLE_WEIGHT[:, None])
    found = design.sparsity(*only, design.factor(*only))[0, 2]
    return found, alpha - alpha**2 / (alpha + 1e9)


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
def test_sparsity_of_a_chosen_column_is_exact_where_columns_are_held(name, alpha):
    """No difference of norms could see it."""
    found, exact = sparsity_of_the_chosen(DESIGNS[name](), alpha)

    assert_allclose(found, exact, rtol=1e-4)


@pytest.mark.parametrize("name", UNHELD)
def test_sparsity_of_a_chosen_column_is_zero_or_true_where_none_is_held(name):
    """What is too small to be seen is said to be nothing, never noise."""
    found, exact = sparsity_of_the_chosen(DESIGNS[name](), 1e-3)
    assert_allclose(found, exact, rtol=1e-3)
    found, exact = sparsity_of_the_chosen(DESIGNS[name](), 1e-6)
    assert found == 0 or found == pytest.approx(exact, rel=1e-3)


def test_entries_of_any_magnitude():
    """Columns from 1e-160 to 1e300, a zero column among them."""
    factors = np.array([1e-160, 1e-40, 1.0, 0.0, 1e150, 1e300])
    matrix = ENTRIES[:, :6] * factors
    design = DenseDesign.weighted(matrix, SAMPLE_WEIGHT)
    used = np.flatnonzero(factors)
    unit = UNIT[:, used]
    w = SAMPLE_WEIGHT[:, None]

    assert design.column_norms[3] == 0
    for times in (1.0, 2.0):  # known from the norms, and computed
        squares = design.squared_norms(times * w)[0]
        assert_allclose(squares[used], times, rtol=1e-12)
        assert_allclose(squares[3], 0)
    gram = design.cross_gram(used, w)[0][:, used]
    assert_allclose(gram, unit.T @ (w * unit), atol=1e-12)


@pytest.mark.parametrize("rows", [in_memory, in_blocks, some_absent])
def test_columns_evaluated_piece_by_piece(monkeypatch, rows):
    """Pieces that are smaller than blocks, of rows that are not in order."""
    monkeypatch.setattr("relvec.design.exact_columns._CACHED_ENTRIES", 6)
    indices, w = np.array([7, 0, 3]), np.arange(3.0)[None]

    assert_allclose(whole(rows()).matvec(w, indices), UNIT[:, indices] @ w.T)

"""Laws of every design: each product against the dense array."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn, read_only
from scipy.sparse import csc_array

from relvec.basis import Basis, Group
from relvec.data import Block
from relvec.design import DenseDesign, Rows
from relvec.design.blocked import BlockedDesign, Room
from relvec.design.held import SparseDesign
from relvec.kernels import Columns, Gaussian, Linear

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


def blocked(rows, keep=1e6, entries=1e6):
    basis = Basis.of(Columns(), np.arange(9), bias=False)
    return BlockedDesign(rows, basis, NORMS, SAMPLE_WEIGHT, Room(entries, keep))


def of_kernels(rows, groups, keep=1e6):
    """Inner products with nine centres, which is what the columns are."""
    parts = np.array_split(np.eye(9), groups)
    basis = Basis(tuple(Group(Linear(), part) for part in parts), bias=False)
    return BlockedDesign(rows, basis, NORMS, SAMPLE_WEIGHT, Room(0, keep))


def with_known_products():
    unit = ENTRIES / NORMS
    products = (unit.T * SAMPLE_WEIGHT) @ unit
    return replace(DenseDesign.weighted(ENTRIES, SAMPLE_WEIGHT), products=products)


DESIGNS = {
    "dense, products known": with_known_products,
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
    "sparse": lambda: SparseDesign.weighted(csc_array(ENTRIES), SAMPLE_WEIGHT),
    "blocked": lambda: blocked(in_memory()),
    "blocked, in blocks": lambda: blocked(in_blocks()),
    "blocked, nothing kept": lambda: blocked(in_blocks(), keep=0),
    "blocked, views too": lambda: blocked(in_blocks(), entries=0),
    "blocked, some rows absent": lambda: blocked(some_absent()),
    "blocked, some rows absent, views too": lambda: blocked(some_absent(), entries=0),
    "blocked, one kernel": lambda: of_kernels(in_memory(), 1),
    "blocked, two kernels": lambda: of_kernels(in_blocks(), 2),
    "blocked, four kernels": lambda: of_kernels(some_absent(), 4, keep=0),
}
UNHELD = [name for name in DESIGNS if name.startswith("blocked")]
HELD = [name for name in DESIGNS if name not in UNHELD]


def weights_of(n_outputs):
    return read_only(np.random.default_rng(n_outputs).uniform(0.1, 2, (17, n_outputs)))


INDICES = [np.array([], dtype=int), np.array([4]), np.array([7, 0, 3]), np.arange(9)]
WEIGHTS = {
    "one output": weights_of(1),
    "equal rows": np.full((17, 1), 1.7),
    "those of the rows": SAMPLE_WEIGHT[:, None],
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


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("shared", [True, False], ids=["one mixing", "each its own"])
def test_beside_is_what_project_has_with_products_of_mixed_columns(
    design, indices, n_outputs, shared, rng
):
    weights, target = weights_of(n_outputs), TARGETS[:, :n_outputs]
    n_mixing = 1 if shared and n_outputs == 1 else n_outputs
    mixing = rng.uniform(-1, 1, (n_mixing, len(indices), len(indices)))
    squares, products, cross, half = design.beside(indices, mixing, weights, target)

    for k, w in enumerate(weights.T):
        mixed, weighted = UNIT[:, indices] @ mixing[k], UNIT * w[:, None]
        assert_allclose(squares[k], np.sum(weighted * UNIT, axis=0), atol=1e-13)
        assert_allclose(products[k], target[:, k] @ weighted, atol=1e-13)
        assert_allclose(cross[k], mixed.T @ weighted, atol=1e-13)
        assert_allclose(half[k], mixed.T @ (w * target[:, k]), atol=1e-13)


def test_beside_serves_outputs_that_share_weights_of_rows(design, rng):
    indices, mixing = np.array([7, 0, 3]), rng.uniform(-1, 1, (1, 3, 3))
    weights = weights_of(1)
    squares, products, cross, half = design.beside(indices, mixing, weights, TARGETS)
    mixed = UNIT[:, indices] @ mixing[0]

    assert squares.shape == (1, 9)
    assert_allclose(products, TARGETS.T @ (weights * UNIT), atol=1e-13)
    assert_allclose(cross, (mixed.T @ (weights * UNIT))[None], atol=1e-13)
    assert_allclose(half, TARGETS.T @ (weights * mixed), atol=1e-13)


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
    """The second and third time columns may come from memory."""
    w = np.ones((1, len(indices)))
    for _ in range(3):
        assert_allclose(design.matvec(w, indices), UNIT[:, indices] @ w.T, atol=1e-13)
        assert_allclose(design.rmatvec(TARGETS), TARGETS.T @ UNIT, atol=1e-13)


@pytest.mark.parametrize("name", DESIGNS)
def test_whether_products_of_all_columns_cost_little(name):
    design = DESIGNS[name]()

    assert design.held == (name in HELD)
    assert design.most_entries >= 0


def test_coordinates(design, indices, weights):
    """Inner products of W^½[Φ t], for one column of row weights after the other."""
    columns = UNIT[:, indices]
    for w in weights.T:
        V, z = design.coordinates(indices, w, TARGETS)
        assert V.shape == (len(z), len(indices))
        assert z.shape == (len(V), 3)
        assert_allclose(V.T @ V, (columns.T * w) @ columns, rtol=1e-12, atol=1e-12)
        assert_allclose(V.T @ z, (columns.T * w) @ TARGETS, rtol=1e-12, atol=1e-12)
        assert_allclose(z.T @ z, (TARGETS.T * w) @ TARGETS, rtol=1e-12, atol=1e-12)


def test_coordinates_are_few(design):
    indices = np.array([7, 0, 3])
    V, _ = design.coordinates(indices, SAMPLE_WEIGHT, TARGETS[:, :1])

    assert len(V) <= 8  # twice the columns and the target


VIEW_ROWS = {"all rows": None, "some rows": np.array([0, 3, 4, 5, 11, 16])}


@pytest.mark.parametrize("which", VIEW_ROWS)
@pytest.mark.parametrize("chosen", [[4], [0, 3, 7], range(9)], ids=len)
def test_a_view_is_the_array_restricted(design, chosen, which):
    """But for the norms of its columns, which it tells."""
    chosen, rows = np.array(chosen), VIEW_ROWS[which]
    view = design.view(chosen, rows)
    kept = np.arange(17) if rows is None else rows
    part, every = ENTRIES[np.ix_(kept, chosen)], np.arange(len(chosen))
    norms, v = view.column_norms, SAMPLE_WEIGHT[kept]
    weights, targets = WEIGHTS["three outputs"][kept], TARGETS[kept]
    gram = np.stack([(part.T * w) @ part for w in weights.T])

    assert view.shape == part.shape
    assert_allclose(view.matvec(np.diag(norms), every), part, atol=1e-13)
    assert_allclose(view.rmatvec(targets) * norms, targets.T @ part, atol=1e-12)
    outer = norms[:, None] * norms
    assert_allclose(view.gram(every, weights) * outer, gram, atol=1e-12)
    last = every[-1:]
    cross = view.cross_gram(last, weights) * norms[-1] * norms
    assert_allclose(cross, gram[:, last], atol=1e-12)
    V, z = view.coordinates(every, v, targets)
    assert_allclose(V.T @ V * outer, (part.T * v) @ part, atol=1e-12)
    assert_allclose(V.T @ z * norms[:, None], (part.T * v) @ targets, atol=1e-12)
    if view.held:
        assert_allclose(norms, np.sqrt(v @ part**2), rtol=1e-12)
    else:
        assert_allclose(norms, NORMS[chosen])


@pytest.mark.parametrize("name", UNHELD)
def test_a_view_is_held_where_there_is_room(name):
    design = DESIGNS[name]()

    assert design.view(np.arange(3)).held == (design.most_entries > 0)


def test_a_view_of_a_view(design):
    rows, chosen = np.array([0, 3, 4, 5, 11, 16]), np.array([0, 3, 7, 8])
    again = design.view(chosen, rows).view(np.array([1, 3]), np.array([2, 5]))
    expected = ENTRIES[np.ix_([4, 16], [3, 8])]

    found = again.matvec(np.diag(again.column_norms), np.arange(2))
    assert_allclose(found, expected, atol=1e-13)


POINTS = read_only(np.random.default_rng(3).uniform(-3, 3, (400, 2)))


@pytest.mark.parametrize("entries", [40, 333, 2000])
@pytest.mark.parametrize("keep", [0, 1e6])
def test_coordinates_do_not_depend_on_the_blocks(entries, keep):
    """Triangles of many blocks are merged to what one block gives, but for a turn."""
    indices, weights = np.arange(40, 0, -3), np.random.default_rng(6).uniform(1, 9, 400)
    basis = Basis.of(Gaussian(0.5), POINTS[:90], bias=True)
    norms = np.random.default_rng(5).uniform(1, 3, 91)

    def found(rows):
        design = BlockedDesign(rows, basis, norms, weights, Room(0, keep))
        design.matvec(np.ones((1, len(indices))), indices)
        return design.coordinates(indices, weights, POINTS)

    parts = [Block(part) for part in np.split(POINTS, 8)]
    V, z = found(Rows(parts, 400, entries=entries))
    whole, target = found(Rows.of(POINTS))
    assert len(V) <= 2 * (len(indices) + 2)
    assert_allclose(V.T @ V, whole.T @ whole, rtol=1e-12, atol=1e-12)
    assert_allclose(V.T @ z, whole.T @ target, rtol=1e-12, atol=1e-11)
    assert_allclose(z.T @ z, target.T @ target, rtol=1e-12, atol=1e-11)


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
    monkeypatch.setattr("relvec.design.blocked._CACHED_ENTRIES", 6)
    indices, w = np.array([7, 0, 3]), np.arange(3.0)[None]

    assert_allclose(blocked(rows()).matvec(w, indices), UNIT[:, indices] @ w.T)


@pytest.mark.parametrize("kind", [DenseDesign, SparseDesign])
def test_coordinates_of_many_rows(kind, rng):
    """They are turned block upon block, to the same inner products."""
    n_rows, n_columns = 220_000, 20
    matrix = rng.uniform(-1, 1, (n_rows, n_columns))
    target, weight = rng.uniform(-1, 1, (n_rows, 2)), rng.uniform(0.5, 2, n_rows)
    held = matrix if kind is DenseDesign else csc_array(matrix)
    design = kind.weighted(held, np.ones(n_rows))
    V, z = design.coordinates(np.arange(n_columns), weight, target)
    Phi = matrix / np.linalg.norm(matrix, axis=0)

    assert len(V) == n_columns + 2
    assert_allclose(V.T @ V, (Phi.T * weight) @ Phi, rtol=1e-9, atol=1e-12)
    assert_allclose(V.T @ z, (Phi.T * weight) @ target, rtol=1e-9, atol=1e-9)
    assert_allclose(z.T @ z, (target.T * weight) @ target, rtol=1e-9)

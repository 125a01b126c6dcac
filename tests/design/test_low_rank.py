"""Low rank: the stated accuracy holds on all rows, for work linear in their number."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.basis import Basis, Group
from relvec.data import Block
from relvec.design import Rows
from relvec.design.blocked import BlockedDesign, Room
from relvec.design.low_rank import LowRank
from relvec.design.pivots import Pivots, choose_pivots, first_batch
from relvec.kernels import Gaussian, Linear, Polynomial


@dataclass(frozen=True)
class Counting:
    """A kernel that counts the entries it was asked for."""

    kernel: object
    calls: list = field(default_factory=list)

    positive_definite = True
    compact = False

    def __call__(self, X, Z):
        self.calls.append((len(X), len(Z)))
        return self.kernel(X, Z)

    def diagonal(self, X):
        return self.kernel.diagonal(X)

    @property
    def entries(self):
        return sum(rows * columns for rows, columns in self.calls)


KERNELS = {
    "narrow": (Gaussian(1.0), 1),
    "wide": (Gaussian(8.0), 2),
    "in five dimensions": (Gaussian(30.0), 5),
    "in twenty dimensions": (Gaussian(2000.0), 20),
    "linear": (Linear(), 6),
    "polynomial": (Polynomial(3, 0.1, 1.0), 2),
}


def points(n_rows, n_features, seed=0, width=10.0):
    return np.random.default_rng(seed).uniform(-width, width, (n_rows, n_features))


def largest_error(expansion, X):
    """Of Φ ≈ FC over all entries, relative to the largest k(x, x)."""
    return error_of(expansion.combine(expansion.features(X)), expansion, X)


def error_of(functions, expansion, X):
    error = np.max(np.abs(functions - expansion.basis(X)))
    return error / expansion.parts[0].scale


def seen_functions(expansion, X):
    """Φ as a pass has it in the end: inner products with each row alone."""
    V, z = expansion.coordinates(Rows.of(X), np.ones(len(X)), np.eye(len(X)))
    return z.T @ V


def design_of(basis, X, pivots=0, entries=200_000):
    rows, norms = replace(Rows.of(X), entries=entries), np.ones(len(basis))
    return BlockedDesign(rows, basis, norms, np.ones(len(X)), Room(0, 0, pivots))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("bias", [False, True])
def test_no_entry_is_off_by_more_than_stated(name, tol, bias):
    """On all rows, centres or not, once a pass has seen them."""
    kernel, n_features = KERNELS[name]
    X = points(1500, n_features)
    basis = Basis.of(kernel, X[::3], bias)
    expansion = LowRank.of(basis, tol=tol, most=400, seed=0)
    error = error_of(seen_functions(expansion, X), expansion, X)

    assert error <= tol * (1 + 1e-6)
    assert expansion.rank < 400


@pytest.mark.parametrize("n_kernels", [1, 2])
def test_the_constant_is_a_function_among_others(n_kernels):
    X = points(60, 2)
    kernels = [Gaussian(30.0), Gaussian(60.0)][:n_kernels]
    basis = Basis(tuple(Group(kernel, X[::4]) for kernel in kernels), bias=True)
    expansion = LowRank.of(basis, tol=1e-9, most=60, seed=0)
    functions, w = basis(X), np.random.default_rng(1).uniform(0.5, 2, 60)
    V, z = expansion.coordinates(Rows.of(X), w, X)

    assert_allclose(V.T @ V, (functions.T * w) @ functions, rtol=1e-6)
    assert_allclose(V.T @ z, (functions.T * w) @ X, atol=1e-5)
    assert_allclose(z.T @ z, (X.T * w) @ X)


@pytest.mark.parametrize("entries", [40, 700, 10**6])
@pytest.mark.parametrize("n_blocks", [1, 9])
def test_coordinates_do_not_depend_on_the_blocks(entries, n_blocks):
    """Triangles of many blocks are merged to what one block gives, but for a turn."""
    X, w = points(900, 2), np.random.default_rng(1).uniform(0.2, 5, 900)
    basis = Basis.of(Gaussian(6.0), X[::5], bias=True)
    expansion = LowRank.of(basis, tol=1e-4, most=200, seed=0)
    expansion = replace(expansion, most=expansion.rank)  # no pass adds to it
    parts = [Block(part) for part in np.array_split(X, n_blocks)]
    V, z = expansion.coordinates(Rows(parts, 900, entries=entries), w, X)
    Phi = expansion.combine(expansion.features(X))

    assert len(V) <= 2 * (expansion.n_features + 2)
    assert_allclose(V.T @ V, (Phi.T * w) @ Phi, rtol=1e-10, atol=1e-9)
    assert_allclose(V.T @ z, (Phi.T * w) @ X, rtol=1e-10, atol=1e-8)
    assert_allclose(z.T @ z, (X.T * w) @ X, rtol=1e-10)


@pytest.mark.parametrize("name", ["narrow", "wide", "in five dimensions"])
def test_more_accuracy_takes_more_pivots(name):
    kernel, n_features = KERNELS[name]
    basis = Basis.of(kernel, points(600, n_features), bias=False)
    ranks = [
        LowRank.of(basis, tol=tol, most=600, seed=0).rank
        for tol in (1e-1, 1e-3, 1e-5, 1e-7)
    ]

    assert ranks == sorted(set(ranks))


def test_the_rank_of_a_linear_kernel_is_the_number_of_features():
    basis = Basis.of(Linear(), points(300, 6), bias=False)

    assert LowRank.of(basis, tol=1e-9, most=100, seed=0).rank == 6


def test_too_many_pivots_are_refused():
    basis = Basis.of(Gaussian(0.01), points(300, 2), bias=False)

    assert LowRank.of(basis, tol=1e-4, most=299, seed=0) is None
    assert LowRank.of(basis, tol=1e-4, most=300, seed=0).rank == 300
    assert LowRank.of(basis, tol=1e-4, most=0, seed=0) is None


def test_giving_up_costs_little_memory():
    """Features of all centres are not evaluated for pivots that are too many."""
    kernel = Counting(Gaussian(0.01))
    basis = Basis.of(kernel, points(20_000, 2), bias=False)

    assert LowRank.of(basis, tol=1e-4, most=50, seed=0) is None
    assert kernel.entries <= 100 * 100 + 20_000 * 50


def test_a_kernel_that_vanishes_has_no_low_rank():
    basis = Basis.of(Linear(), np.zeros((20, 2)), bias=False)

    assert LowRank.of(basis, tol=1e-4, most=10, seed=0) is None


def test_equal_centres_are_no_trouble():
    basis = Basis.of(Gaussian(1.0), np.ones((50, 2)), bias=False)
    expansion = LowRank.of(basis, tol=1e-4, most=10, seed=0)

    assert expansion.rank == 1
    assert largest_error(expansion, points(20, 2)) < 1e-12


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_far_from_the_centres_are_repaired_for(seed):
    """Centres leave out a quarter of the plane; before a pass nobody can know."""
    X = points(1200, 2, seed)
    centres = X[(X[:, 0] < 5) & (np.arange(1200) % 3 == 0)]
    basis = Basis.of(Gaussian(3.0), centres, bias=True)
    expansion = LowRank.of(basis, tol=1e-4, most=300, seed=0)

    assert largest_error(expansion, X) > 1e-4
    assert expansion.repaired(X).rank > expansion.rank
    assert error_of(seen_functions(expansion, X), expansion, X) <= 1e-4


def test_many_rows_far_from_all_centres():
    """They would need a pivot each; describing the centres better takes few."""
    X = points(2000, 2, width=100.0)
    basis = Basis.of(Gaussian(1.0), points(500, 2, seed=1, width=3.0), bias=False)
    expansion = LowRank.of(basis, tol=1e-4, most=250, seed=0)

    assert expansion.repaired(X).rank <= 250
    assert error_of(seen_functions(expansion, X), expansion, X) <= 1e-4


def test_an_expansion_that_cannot_be_repaired_ends_the_passes():
    """Where the budget allows no further pivot, rows are not read in vain."""
    kernel = Counting(Gaussian(1.0))
    X = points(1000, 2, width=100.0)
    basis = Basis.of(kernel, points(200, 2, seed=1), bias=False)
    expansion = LowRank.of(basis, tol=1e-4, most=200, seed=0)
    stuck = replace(expansion, most=expansion.rank)
    del kernel.calls[:]
    stuck.coordinates(Rows.of(X), np.ones(1000), np.ones((1000, 1)))
    passes = [call for call in kernel.calls if call[0] == 1000]

    assert 1 <= len(passes) <= 2


def test_a_lower_tolerance_is_more_accurate():
    X = points(500, 2)
    basis, tols = Basis.of(Gaussian(4.0), X, True), 10.0 ** -np.arange(2, 12, 2)
    errors = [
        largest_error(LowRank.of(basis, tol=tol, most=400, seed=0), X) for tol in tols
    ]

    assert np.all(np.array(errors) <= tols)
    assert np.all(np.diff(errors) < 0)


def test_a_lower_tolerance_has_more_of_the_inner_products():
    X, weights = points(500, 2), np.ones(500)
    basis = Basis.of(Gaussian(4.0), X[::2], bias=True)
    exact = basis(X).T @ basis(X)
    errors = []
    for tol in (1e-2, 1e-4, 1e-6):
        expansion = LowRank.of(basis, tol=tol, most=240, seed=0)
        V, _ = expansion.coordinates(Rows.of(X), weights, np.empty((500, 0)))
        errors.append(np.max(np.abs(V.T @ V - exact)))

    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.parametrize("n_targets", [0, 1, 2])
def test_inner_products_are_as_accurate_as_stated(n_targets):
    X = points(800, 2)
    basis = Basis.of(Gaussian(3.0), X[::2], bias=True)
    expansion = LowRank.of(basis, tol=1e-4, most=300, seed=0)
    weights = np.random.default_rng(1).uniform(0.5, 2, 800)
    target = np.random.default_rng(2).standard_normal((800, n_targets))
    V, z = expansion.coordinates(Rows.of(X), weights, target)
    Phi = basis(X)

    # |Δφᵀ W t| ≤ tol·Σ|Wt|, and an entry of Φ is at most 1.
    off = np.abs(V.T @ z - (Phi.T * weights) @ target)
    assert np.all(off <= 1e-4 * (weights @ np.abs(target)))
    off = np.abs(V.T @ V - (Phi.T * weights) @ Phi)
    assert off.max() <= 2.1e-4 * weights.sum()


@pytest.mark.parametrize("precision", [1e4, 1e9, 1e13])
def test_the_factor_of_columns_that_are_nearly_equal(precision):
    """Rounding leaves their Gram matrix without a Cholesky factor of its own."""
    X = points(300, 1)
    basis = Basis.of(Gaussian(300.0), X[:12], bias=True)
    design = design_of(basis, X, entries=1000)
    alpha = np.full(13, 1e-3)
    columns = basis(X) * np.sqrt(precision / alpha)
    (found,) = design.factor(np.arange(13), alpha, np.full((300, 1), precision))
    exact = np.linalg.qr(np.vstack([columns, np.eye(13)]), mode="r")

    assert_allclose(np.diag(found), np.abs(np.diag(exact)), rtol=1e-4)


def evaluations(n_rows):
    """Kernel entries that a pass, and products of a few columns, ask for."""
    kernel = Counting(Gaussian(3.0))
    X = points(n_rows, 2)
    basis = Basis.of(kernel, X[:500], bias=True)
    design = design_of(basis, X, pivots=250)
    weights = np.ones((n_rows, 1))
    assert design.low_rank(np.arange(501), None, weights, 1e-4) is not None
    design.gram(np.array([3, 8]), weights)
    design.coordinates(np.array([3, 8]), weights[:, 0], weights)
    design.factor(np.array([3, 8]), np.ones(2), weights)
    largest = max(rows * columns for rows, columns in kernel.calls)
    return kernel.entries, largest


def test_work_grows_with_the_rows_and_blocks_do_not():
    work, largest = evaluations(20_000)
    twice_the_work, still_largest = evaluations(40_000)

    assert 1.5 * work < twice_the_work <= 2.05 * work
    assert still_largest == largest <= 250_000


def test_pivots_start_from_rows_drawn_with_a_seed():
    first = first_batch(5000, 1500, seed=3)

    assert len(first) == len(set(first)) == 1000
    assert np.array_equal(first, first_batch(5000, 1500, seed=3))
    assert not np.array_equal(first, first_batch(5000, 1500, seed=4))
    assert len(first_batch(5000, 20, seed=3)) == 40
    assert np.array_equal(first_batch(30, 20, seed=3), np.arange(30))


def test_features_reproduce_the_kernel_between_pivots():
    X, kernel = points(300, 2), Gaussian(3.0)
    pivots, features = choose_pivots(Pivots.none(kernel, X), X, 1e-6, 300)
    between = pivots.features(pivots.rows)

    assert_allclose(features, pivots.features(X), atol=1e-7)
    assert_allclose(between @ between.T, kernel(pivots.rows, pivots.rows), atol=1e-9)
    assert np.all(pivots.residual(X, features) <= 1e-6)


@pytest.mark.parametrize("bias", [False, True])
def test_several_kernels_have_pivots_each(bias):
    X = points(800, 2)
    groups = (Group(Gaussian(2.0), X[::2]), Group(Linear(), X[::5]))
    basis = Basis((*groups, Group(Gaussian(8.0), X[::3])), bias)
    expansion = LowRank.of(basis, tol=1e-6, most=600, seed=0)

    assert [part.rank for part in expansion.parts][1] == 2
    assert expansion.rank == expansion.n_features - bias
    found = seen_functions(expansion, X)
    scales = [np.max(group.kernel.diagonal(X)) for group in basis.groups]
    for part, scale in zip(basis.parts, scales, strict=True):
        assert_allclose(found[:, part], basis(X)[:, part], atol=1e-6 * scale)
    assert LowRank.of(basis, tol=1e-6, most=expansion.rank - 1, seed=0) is None


def test_rows_are_repaired_for_in_the_kernels_they_are_poor_in():
    X = points(1000, 2)
    centres = X[X[:, 0] < 0]
    groups = (Group(Gaussian(2.0), centres), Group(Linear(), centres))
    expansion = LowRank.of(Basis(groups, bias=True), tol=1e-4, most=900, seed=0)
    before, after = expansion.parts, expansion.repaired(X).parts

    assert after[0].rank > before[0].rank
    assert after[1] is before[1]
    found = seen_functions(expansion, X)
    assert_allclose(found, expansion.basis(X), atol=1e-4 * 200)


@pytest.mark.parametrize("chosen", [[0], [0, 3, 4], [2, 12], [13, 14]], ids=str)
def test_some_functions_of_several_kernels(chosen):
    """None of one kernel, none but the constant."""
    X = points(50, 2)
    kernels = (Gaussian(20.0), Linear())
    whole = Basis(tuple(Group(kernel, X[:10]) for kernel in kernels), bias=True)
    basis = whole.subset(np.array(chosen))
    V, _ = LowRank.of(basis, tol=1e-9, most=20, seed=0).coordinates(
        Rows.of(X), np.ones(50), np.empty((50, 0))
    )
    expected = whole(X)[:, chosen]

    assert_allclose(V.T @ V, expected.T @ expected, rtol=1e-6, atol=1e-6)

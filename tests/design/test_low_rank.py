"""Low rank: the stated accuracy holds on all rows, for work linear in their number."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.basis import Basis, Group
from relvec.design import Rows
from relvec.design.expansions import LowRank
from relvec.design.factored import FactoredDesign
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
    approximated = expansion.combine(with_constant(expansion, X))
    error = np.max(np.abs(approximated - expansion.basis(X)))
    return error / expansion.parts[0].scale


def with_constant(expansion, X):
    features = expansion.features(X)
    if expansion.constant:
        features = np.column_stack([np.ones(len(X)), features])
    return features


def design_of(expansion, rows, keep=0.0):
    norms = np.ones(len(expansion.basis))
    return FactoredDesign(rows, expansion.basis, expansion, norms, keep)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("bias", [False, True])
def test_no_entry_is_off_by_more_than_stated(name, tol, bias):
    """On all rows, centres or not, once a pass has seen them."""
    kernel, n_features = KERNELS[name]
    X = points(1500, n_features)
    basis = Basis.of(kernel, X[::3], bias)
    expansion = LowRank.of(basis, tol=tol, most=400, seed=0)
    design = design_of(expansion, Rows.of(X))
    design.project(np.ones((1500, 1)), np.ones((1500, 1)))
    error = largest_error(design.expansion, X)

    assert error <= tol * (1 + 1e-6)
    assert expansion.rank < 400


@pytest.mark.parametrize("n_kernels", [1, 2])
def test_the_constant_is_a_function_among_others(n_kernels):
    X = points(60, 2)
    kernels = [Gaussian(30.0), Gaussian(60.0)][:n_kernels]
    basis = Basis(tuple(Group(kernel, X[::4]) for kernel in kernels), bias=True)
    expansion = LowRank.of(basis, tol=1e-9, most=60, seed=0)
    design, functions = design_of(expansion, Rows.of(X)), basis(X)
    weights = np.random.default_rng(1).uniform(0.5, 2, (60, 2))
    gram = np.stack([(functions.T * w) @ functions for w in weights.T])
    squares, target = design.project(weights, X)
    some = np.array([5, 0, 11])

    assert_allclose(squares, np.diagonal(gram, axis1=1, axis2=2), rtol=1e-6)
    assert_allclose(target, (weights * X).T @ functions, atol=1e-5)
    assert_allclose(design.cross_gram(some, weights), gram[:, some], atol=1e-5)
    assert_allclose(design.gram(some, weights), gram[:, some[:, None], some], atol=1e-5)


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
    X = points(2000, 2, seed)
    centres = X[(X[:, 0] < 5) & (np.arange(2000) % 4 == 0)]
    basis = Basis.of(Gaussian(3.0), centres, bias=True)
    expansion = LowRank.of(basis, tol=1e-4, most=300, seed=0)
    design = design_of(expansion, Rows.of(X))
    design.project(np.ones((2000, 1)), np.ones((2000, 1)))

    assert largest_error(expansion, X) > 1e-4
    assert design.expansion.rank > expansion.rank
    assert largest_error(design.expansion, X) <= 1e-4


def test_many_rows_far_from_all_centres():
    """They would need a pivot each; describing the centres better takes few."""
    X = points(3000, 2, width=100.0)
    basis = Basis.of(Gaussian(1.0), points(500, 2, seed=1, width=3.0), bias=False)
    expansion = LowRank.of(basis, tol=1e-4, most=250, seed=0)
    design = design_of(expansion, Rows.of(X))
    design.project(np.ones((3000, 1)), np.ones((3000, 1)))

    assert design.expansion.rank <= 250
    assert largest_error(design.expansion, X) <= 1e-4


def test_an_expansion_that_cannot_be_repaired_ends_the_passes():
    """Where the budget allows no further pivot, rows are not read in vain."""
    kernel = Counting(Gaussian(1.0))
    X = points(1000, 2, width=100.0)
    basis = Basis.of(kernel, points(200, 2, seed=1), bias=False)
    expansion = LowRank.of(basis, tol=1e-4, most=200, seed=0)
    stuck = replace(expansion, most=expansion.rank)
    del kernel.calls[:]
    design_of(stuck, Rows.of(X)).project(np.ones((1000, 1)), np.ones((1000, 1)))
    passes = [call for call in kernel.calls if call[0] == 1000]

    assert len(passes) <= 2


def test_a_refined_one_is_more_accurate():
    X = points(500, 2)
    coarse = LowRank.of(Basis.of(Gaussian(4.0), X, True), tol=1e-2, most=400, seed=0)
    errors = []
    while coarse is not None:
        errors.append(largest_error(coarse, X))
        coarse = coarse.refined()

    assert len(errors) == 5  # 1e-2, 1e-4, ... 1e-10
    assert_allclose(np.array(errors) <= 10.0 ** -np.arange(2, 12, 2), True)
    assert np.all(np.diff(errors) < 0)


def test_a_refined_design_is_more_accurate():
    X, weights = points(500, 2), np.ones((500, 1))
    basis = Basis.of(Gaussian(4.0), X[::2], bias=True)
    coarse = design_of(LowRank.of(basis, tol=1e-2, most=200, seed=0), Rows.of(X))
    exact = basis(X).T @ basis(X)
    every = np.arange(len(basis))
    errors = [
        np.max(np.abs(design.cross_gram(every, weights)[0] - exact))
        for design in (coarse, coarse.refined(), coarse.refined().refined())
    ]

    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_products_of_the_whole_dictionary_are_as_accurate_as_stated():
    X = points(800, 2)
    basis = Basis.of(Gaussian(3.0), X[::2], bias=True)
    design = design_of(LowRank.of(basis, tol=1e-4, most=300, seed=0), Rows.of(X))
    weights = np.random.default_rng(1).uniform(0.5, 2, (800, 2))
    target = np.random.default_rng(2).standard_normal((800, 2))
    squares, products = design.project(weights, target)
    Phi = basis(X)

    # |Δφᵀ W t| ≤ tol·Σ|Wt|, and an entry of Φ is at most 1.
    bound = 1e-4 * np.abs(weights * target).sum(axis=0)[:, None]
    assert np.all(np.abs(products - (weights * target).T @ Phi) <= bound)
    bound = 2.1e-4 * weights.sum(axis=0)[:, None]
    assert np.all(np.abs(squares - weights.T @ Phi**2) <= bound)
    chosen = np.array([5, 0, 77])
    cross = design.cross_gram(chosen, weights)
    expected = np.stack([(Phi[:, chosen].T * w) @ Phi for w in weights.T])
    assert np.all(np.abs(cross - expected) <= bound[:, None])
    expected = expected[:, :, chosen]
    assert np.all(np.abs(design.gram(chosen, weights) - expected) <= bound[:, None])


def test_products_of_chosen_columns_are_exact():
    X = points(800, 2)
    basis = Basis.of(Gaussian(3.0), X[::2], bias=True)
    expansion = LowRank.of(basis, tol=1e-1, most=200, seed=0)
    design = design_of(expansion, Rows.of(X))
    chosen, alpha = np.array([5, 0, 77]), np.array([0.1, 1.0, 10.0])
    columns = basis(X)[:, chosen]
    values = np.random.default_rng(2).standard_normal((800, 2))
    w = values[:2, :].repeat(2, axis=1)[:, :3]
    (factor,) = design.factor(chosen, alpha, np.ones((800, 1)))
    scaled = columns / np.sqrt(alpha)

    assert largest_error(expansion, X) > 1e-3  # so it shows if it is used
    assert_allclose(design.matvec(w, chosen), columns @ w.T, atol=1e-12)
    assert_allclose(design.rmatvec(values, chosen), values.T @ columns, atol=1e-11)
    assert_allclose(factor @ factor.T, np.eye(3) + scaled.T @ scaled, rtol=1e-12)


@pytest.mark.parametrize("precision", [1e4, 1e9, 1e13])
def test_the_factor_of_columns_that_are_nearly_equal(precision):
    """Rounding leaves their Gram matrix without a Cholesky factor of its own."""
    X = points(300, 1)
    basis = Basis.of(Gaussian(300.0), X[:12], bias=True)
    design = design_of(LowRank.of(basis, tol=1e-9, most=20, seed=0), Rows.of(X))
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
    expansion = LowRank.of(basis, tol=1e-4, most=250, seed=0)
    design = design_of(expansion, Rows(Rows.of(X).source, n_rows, entries=200_000))
    weights = np.ones((n_rows, 1))
    design.project(weights, weights)
    design.cross_gram(np.array([3, 8]), weights)
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
    design = design_of(expansion, Rows.of(X))
    design.project(np.ones((800, 1)), np.ones((800, 1)))

    assert [part.rank for part in expansion.parts][1] == 2
    assert expansion.rank == expansion.n_features - bias
    found = design.expansion.combine(with_constant(design.expansion, X))
    scales = [np.max(group.kernel.diagonal(X)) for group in basis.groups]
    for part, scale in zip(basis.parts, scales, strict=True):
        assert_allclose(found[:, part], basis(X)[:, part], atol=1e-6 * scale)
    assert LowRank.of(basis, tol=1e-6, most=expansion.rank - 1, seed=0) is None


def test_rows_are_repaired_for_in_the_kernels_they_are_poor_in():
    X = points(1000, 2)
    centres = X[X[:, 0] < 0]
    groups = (Group(Gaussian(2.0), centres), Group(Linear(), centres))
    expansion = LowRank.of(Basis(groups, bias=True), tol=1e-4, most=900, seed=0)
    design = design_of(expansion, Rows.of(X))
    design.project(np.ones((1000, 1)), np.ones((1000, 1)))
    before, after = expansion.parts, design.expansion.parts

    assert after[0].rank > before[0].rank
    assert after[1] is before[1]
    found = design.expansion.combine(with_constant(design.expansion, X))
    assert_allclose(found, expansion.basis(X), atol=1e-4 * 200)

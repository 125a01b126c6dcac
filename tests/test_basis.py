"""Basis functions and their subsets."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn

from relvec.basis import Basis, Group, blocks
from relvec.kernels import Columns, Gaussian, Linear, Sigmoid

X, CENTRES = np.split(drawn(0, (12, 2)), [7])


def test_the_constant_comes_first():
    functions = Basis.of(Gaussian(1.0), CENTRES, bias=True)(X)

    assert functions.shape == (7, 6)
    assert_allclose(functions[:, 0], 1)
    assert_allclose(functions[:, 1:], Gaussian(1.0)(X, CENTRES))


def test_a_subset_evaluates_to_the_chosen_columns():
    for bias in (False, True):
        basis = Basis.of(Gaussian(1.0), CENTRES, bias=bias)
        for chosen in ([0, 3], [1, 2, 4], []):
            subset = basis.subset(np.array(chosen, dtype=int))
            assert len(subset) == len(chosen)
            assert_allclose(subset(X), basis(X)[:, chosen])


def test_columns_as_functions():
    basis = Basis.of(Columns(), np.array([1, 0]), bias=False)

    assert_allclose(basis(X), X[:, [1, 0]])


def test_blocks_cover_everything_once(monkeypatch):
    monkeypatch.setattr("relvec.basis.BLOCK_ENTRIES", 10)
    for width in (1, 3, 100):
        covered = np.concatenate([np.arange(23)[part] for part in blocks(23, width)])
        assert np.array_equal(covered, np.arange(23))
    assert list(blocks(0, 5)) == []


def test_blocked_evaluation_is_the_same(monkeypatch):
    basis = Basis.of(Gaussian(1.0), CENTRES, bias=True)
    whole = basis(X)
    monkeypatch.setattr("relvec.basis.BLOCK_ENTRIES", 8)

    assert_allclose(basis(X), whole)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Sigmoid()])
def test_all_rows_as_centres(kernel, monkeypatch, rng):
    """Of a symmetric matrix little more than half is evaluated."""
    monkeypatch.setattr("relvec.basis._TURNED_ENTRIES", 1)
    monkeypatch.setattr("relvec.basis._LEAST_COLUMNS", 4)
    rows, evaluated = rng.standard_normal((40, 2)), []
    seen = partial(_counted, evaluated)
    monkeypatch.setattr("relvec.basis.evaluated", seen)

    assert_allclose(Basis.of(kernel, rows, bias=True)(rows)[:, 1:], kernel(rows, rows))
    least = 0.5 if kernel.positive_definite else 1
    assert sum(evaluated) == pytest.approx(least * 40 * 40, rel=0.1)


def _counted(sizes, kernel, rows, centres):
    sizes.append(len(rows) * len(centres))
    return kernel(rows, centres)


def test_several_kernels_one_after_the_other():
    kernels = [Gaussian(1.0), Gaussian(2.0), Linear()]
    centres = [CENTRES, CENTRES[:2], CENTRES[1:]]
    groups = tuple(Group(k, z) for k, z in zip(kernels, centres, strict=True))
    for bias in (False, True):
        basis = Basis(groups, bias)
        expected = [k(X, z) for k, z in zip(kernels, centres, strict=True)]
        if bias:
            expected.insert(0, np.ones((7, 1)))
        assert_allclose(basis(X), np.hstack(expected))
        for chosen in ([0, 3], [1, 5, 6, 10], [5], []):
            subset = basis.subset(np.array(chosen, dtype=int))
            assert len(subset) == len(chosen)
            assert_allclose(subset(X), basis(X)[:, chosen])

"""Rows that are there again and again: one counts for all, whatever is fitted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relvec import RVC, RVR
from relvec.modelling.training_rows import in_arrays


def rows_of(seed, distinct=30, total=3000):
    """Rows drawn from a few, with targets of two kinds and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((distinct, 3))
    y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    drawn = rng.integers(0, distinct, total)
    weight = rng.integers(0, 4, total).astype(float)
    return X[drawn], y[drawn], weight


@pytest.mark.parametrize("seed", range(3))
def test_rows_and_targets_are_counted_once_with_all_their_weight(seed):
    X, y, weight = rows_of(seed)
    rows, targets = in_arrays(X, y, weight, 100, 0)
    table = rows.rows.whole()

    both = {
        (*row, label)
        for row, label in zip(X[weight > 0].tolist(), y[weight > 0], strict=False)
    }
    assert len(rows) == len(targets) == len(both)
    assert_array_equal(table, X[rows.indices])
    assert_array_equal(targets, y[rows.indices])
    for row, label, count, first in zip(
        table, targets, rows.weight, rows.indices, strict=False
    ):
        equal = np.all(row == X, axis=1) & (y == label) & (weight > 0)
        assert count == weight[equal].sum()
        assert first == np.flatnonzero(equal)[0]


def test_rows_that_differ_are_all_there():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 2)), rng.standard_normal(3000)
    X[2000:] = X[:1000]
    rows, targets = in_arrays(X, y, np.ones(3000), 100, 0)

    assert sorted(rows.indices) == list(range(3000))
    assert_array_equal(targets, y[rows.indices])


def test_equal_rows_of_other_targets_are_others():
    X, y = np.repeat([[0.0], [1.0]], 1000, axis=0), np.tile([1.0, 2.0, 3.0, 4.0], 500)
    rows, targets = in_arrays(X, y, np.ones(2000), 10, 0)

    assert_array_equal(rows.weight, np.full(8, 250.0))
    assert sorted(targets.tolist()) == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]


@pytest.mark.parametrize("model", [RVR(gamma=0.5), RVC(gamma=0.5)], ids=["RVR", "RVC"])
def test_a_model_of_repeated_rows_is_that_of_rows_that_weigh_more(model):
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (80, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(80)
    y = y if isinstance(model, RVR) else np.where(y > 0, "up", "down")
    once = model.fit(X, y, sample_weight=np.full(80, 20.0))
    evidence, vectors, values = once.log_evidence_, once.relevance_, once.predict(X)
    again = model.fit(np.tile(X, (20, 1)), np.tile(y, 20))

    assert_allclose(again.log_evidence_, evidence, rtol=1e-12)
    assert_array_equal(again.relevance_, vectors)
    assert_array_equal(again.predict(X), values)

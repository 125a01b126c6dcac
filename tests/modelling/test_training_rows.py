"""An order of rows that does not depend on the one they are given in."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relvec.modelling.training_rows import by_likeness, by_values, in_arrays


@pytest.mark.parametrize("width", [1, 2, 9, 20])
def test_rows_are_compared_from_the_first_feature_to_the_last(width, rng):
    X = rng.integers(0, 2, (60, width)).astype(float)
    y = rng.integers(0, 3, 60).astype(float)
    found = by_values(X, y)
    both = [(*row, target) for row, target in zip(X.tolist(), y, strict=True)]

    assert_array_equal(
        found.indices, sorted(range(60), key=lambda place: (both[place], place))
    )
    ordered = [both[place] for place in found.indices]
    differ = [one != other for one, other in zip(ordered[1:], ordered, strict=False)]
    assert_array_equal(found.fresh, [True, *differ])


def test_units_do_not_matter(rng):
    X = rng.standard_normal((50, 2)).round(1)

    assert_array_equal(by_values(X).indices, by_values(np.exp(X) * [1e9, 1e-9]).indices)


@pytest.mark.parametrize("table", [np.empty((0, 2)), np.empty((3, 0))], ids=str)
def test_nothing_to_compare(table):
    assert_array_equal(by_values(table).indices, np.arange(len(table)))


def test_text_and_numbers_have_an_order_and_others_keep_theirs():
    items = [{1}, {0}, {2}, {1}]
    table = np.array([["b", 2, 0], ["a", 7, 0], ["b", 1.5, 0], ["a", 7, 0]], object)
    table[:, 2] = items
    found = by_values(table, np.array([0.0, 5.0, 0.0, 4.0]))

    assert_array_equal(found.indices, [3, 1, 2, 0])


def test_likeness_does_not_depend_on_rounding(rng):
    X = rng.standard_normal((40, 2))
    K = np.exp(-np.square(X[:, None] - X).sum(axis=-1))
    order, y = rng.permutation(40), np.zeros(40)
    shuffled = K[np.ix_(order, order)] * (1 + 1e-15 * rng.standard_normal((40, 40)))

    assert_array_equal(
        order[by_likeness(shuffled, y).indices], by_likeness(K, y).indices
    )


def test_rows_are_not_copied_where_there_is_no_room(rng):
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    rows, targets = in_arrays(X, y, np.ones(30), 30, 0, room=X.nbytes - 1)

    assert rows.rows.whole() is X
    assert targets is y
    assert_array_equal(rows.indices, np.arange(30))

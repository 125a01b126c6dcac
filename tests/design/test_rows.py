"""Rows in blocks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relvec.data import Block, scan
from relvec.design import Rows

X = np.arange(60.0).reshape(20, 3)


def joined(rows, width):
    parts = list(rows.blocks(width))
    numbers = np.concatenate([np.arange(20)[part] for part, _ in parts])
    return numbers, np.concatenate([block for _, block in parts])


@pytest.mark.parametrize("width", [1, 4, 1000])
@pytest.mark.parametrize("entries", [1, 17, 10**6])
def test_all_rows_come_once_and_in_order(width, entries):
    for source in ([Block(X)], [Block(X[:7]), Block(X[7:])], scan(X, block_rows=6)):
        numbers, found = joined(Rows(source, 20, entries=entries), width)

        assert_array_equal(numbers, np.arange(20))
        assert_array_equal(found, X)


def test_absent_rows_are_left_out():
    present = np.arange(20) % 3 > 0
    rows = Rows(scan(X, block_rows=6), int(present.sum()), present, entries=12)
    numbers, found = joined(rows, 3)

    assert_array_equal(numbers, np.arange(present.sum()))
    assert_array_equal(found, X[present])
    assert_array_equal(rows.whole(), X[present])


def test_blocks_without_a_row_that_counts_are_skipped():
    """A kernel never sees an empty array."""
    present = np.arange(20) >= 10
    rows = Rows(scan(X, block_rows=5), 10, present)

    assert [len(block) for _, block in rows.blocks(1)] == [5, 5]


def test_blocks_are_small_also_where_rows_are_wide():
    """Whatever is made of a row, it has to be held in double precision itself."""
    wide = np.zeros((40, 100), dtype=np.float32)
    sizes = [block.size for _, block in Rows([Block(wide)], 40, entries=500).blocks(1)]

    assert max(sizes) <= 500
    assert sum(sizes) == wide.size


def test_rows_in_memory_are_not_copied():
    assert Rows.of(X).whole() is X


@pytest.mark.parametrize("chosen", [[], [0], [5, 6, 7], [0, 4, 12], range(13)], ids=len)
@pytest.mark.parametrize("entries", [1, 12, 10**6])
def test_some_of_the_rows_that_count(chosen, entries):
    """By their numbers among those, at once or as rows by themselves."""
    chosen, present = np.array(chosen, dtype=np.intp), np.arange(20) % 3 > 0
    rows = Rows(scan(X, block_rows=6), 13, present, entries=entries)

    assert_array_equal(rows.at(chosen), X[present][chosen])
    assert rows.at(chosen).dtype == np.float64
    part = rows.subset(chosen)
    assert part.n_rows == len(chosen)
    assert_array_equal(part.whole(), X[present][chosen])
    in_memory = Rows.of(X)
    assert_array_equal(in_memory.at(chosen), X[chosen])
    assert_array_equal(in_memory.subset(chosen).whole(), X[chosen])


@pytest.mark.parametrize("again", [15, 25])
@pytest.mark.parametrize("present", [None, np.arange(20) > 0])
def test_a_source_that_changes_is_refused(again, present):
    other = np.zeros((again, 3))
    n_rows = 20 if present is None else 19
    rows = Rows([Block(other[:10]), Block(other[10:])], n_rows, present)
    with pytest.raises(ValueError, match=r"gave 20 rows at first and (only 15|more)"):
        list(rows.blocks(1))

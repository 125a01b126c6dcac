"""Refusals of arrays, data frames and iterables: block, row, column and remedy."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from relvec.data import scan

NAN, INF = np.nan, np.inf
GOOD = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_text_in_a_data_frame(make):
    with pytest.raises(ValueError, match=r"row 1 .*, column 'b': 'x' is not a number"):
        scan(make({"a": [1.0, 2.0], "b": ["x", "y"]}))


def test_text_among_objects():
    frame = pd.DataFrame({"a": pd.Series([1, 2.5, "three"], dtype=object)})
    with pytest.raises(ValueError, match=r"row 3 .*, column 'a': 'three' is not a num"):
        list(scan(frame))


def test_a_mixed_target():
    y = np.array(["a", 1, "b"], dtype=object)
    with pytest.raises(
        ValueError, match=r"row 2 .*target: 1 is not like the first, 'a'"
    ):
        list(scan(GOOD[:3], target=y))


def test_dates_as_a_target():
    y = np.array(["2020-01-01"] * 6, dtype="datetime64[D]")
    with pytest.raises(ValueError, match=r"target of type datetime64.* not understood"):
        list(scan(GOOD, target=y))


def test_columns_of_a_frame_that_are_numbered_in_another_way():
    frame = pd.DataFrame(GOOD, columns=[3, 7])
    with pytest.raises(ValueError, match=r"not all named by text.*astype.str"):
        scan(frame)


def test_errors_of_a_generator_are_left_as_they_are():
    def broken():
        yield GOOD
        raise OSError(5, "Input/output error", "tape")

    with pytest.raises(OSError, match="Input/output error: 'tape'"):
        list(scan(broken))


UNSUPPORTED = [
    (None, "NoneType is not supported as a source of rows; pass a file"),
    (3, "int is not supported"),
    ({"x": [1, 2]}, "dict is not supported"),
    (b"rows.csv", "bytes is not supported"),
    (csr_matrix(GOOD), "csr_matrix is sparse; .*toarray"),
    (pl.LazyFrame({"x": [1]}), "LazyFrame.* scan the file itself"),
    ((GOOD, GOOD[:, 0]), r"a tuple of arrays.* target=y, or \[\(X, y\)\]"),
    (lambda: 5, "must return an iterable of blocks; it returned int"),
]


@pytest.mark.parametrize(("source", "message"), UNSUPPORTED, ids=lambda _: "")
def test_types_that_are_not_supported(source, message):
    with pytest.raises(TypeError, match=message):
        scan(source)


# What an iterable may do wrong, found out while iterating.
BAD_BLOCKS = [
    ([], "no rows: the iterable yields no block"),
    ([GOOD[:0], GOOD[:0]], "no rows: the iterable yields no block"),
    ([[1.0, 2.0], [3.0, 4.0]], "block 1 is of type list; a block is X, "),
    (["row", GOOD], "block 1 is of type str"),
    ([GOOD, (GOOD,) * 4], "block 2 is a tuple of 4; a block is"),
    ([GOOD, GOOD[:, 0]], r"block 2 must be two-dimensional.* got shape \(6,\)"),
    ([GOOD, GOOD[:, :1]], "block 2 has 1 columns and block 1 has 2"),
    ([pd.DataFrame(GOOD, columns=["a", "b"]), GOOD], "only one of .* column names"),
    ([(GOOD, np.ones(5))], "block 1: y has 5 values and X has 6 rows"),
    ([(GOOD, np.ones(6), np.ones(7))], "block 1: weight has 7 values and X has 6"),
    ([(GOOD, np.ones((6, 2)))], r"one value per row.*2 dimensions.*ravel"),
    ([(GOOD, None, np.ones((6, 2)))], "weights must be one number per row"),
    ([(GOOD, np.ones(6)), GOOD], "block 2: the target is absent here and was numbers"),
    ([(GOOD, None, np.ones(6)), GOOD], "block 2: give weights with every block"),
    ([(GOOD, np.ones(6)), (GOOD, ["a"] * 6)], "block 2: the target is text here"),
    ([(GOOD, [1, 2, None, 4, 5, 6])], r"block 1, row 3 .*target: .*missing"),
    ([(GOOD, None, [1, 2, 3, -4, 5, 6])], r"row 4 .*weight: -4.0 is not a weight"),
    ([(GOOD, None, [1, 2, 3, NAN, 5, 6])], r"row 4 .*weight: nan is not a weight"),
    (
        [GOOD, np.where(GOOD == 7, NAN, GOOD)],
        r"block 2, row 4 .*column number 1: .*mis",
    ),
    (
        [GOOD, np.where(GOOD == 8, INF, GOOD)],
        r"block 2, row 5 .*column number 0: .*inf",
    ),
    ([np.array([["a", "b"]])], "block 1 must hold real numbers; got type <U1"),
]


@pytest.mark.parametrize(("blocks", "message"), BAD_BLOCKS, ids=lambda _: "")
@pytest.mark.parametrize("block_rows", [None, 2])
@pytest.mark.parametrize("made", [list, iter, lambda blocks: lambda: blocks])
def test_bad_blocks(made, block_rows, blocks, message):
    with pytest.raises(ValueError, match=message):
        list(scan(made(blocks), block_rows=block_rows))


def test_a_target_that_is_given_twice():
    with pytest.raises(ValueError, match=r"target is a column.* block 1 also comes"):
        scan([(GOOD, np.ones(6))], target=0)


def test_a_function_that_returns_the_same_iterator():
    blocks = iter([GOOD, GOOD])
    with pytest.raises(ValueError, match="returned the same iterator twice"):
        list(scan(lambda: blocks))


def test_arguments_for_columns_that_have_been_chosen():
    with pytest.raises(ValueError, match="chosen already; leave out target, features"):
        scan(scan(GOOD), target=np.ones(6))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": np.ones(5)}, "the array: target has 5 values and X has 6 rows"),
        ({"weight": np.ones(7)}, "the array: weight has 7 values and X has 6 rows"),
        ({"target": "y"}, "target is 'y', but the columns of the array have no names"),
        ({"weight": np.full(6, -1)}, r"the array, row 1 .*-1.0 is not a weight"),
        (
            {"target": np.ones((6, 2))},
            "one value per row, and this one has 2 dimensions",
        ),
        ({"target": [1, 2, 3, 4, 5, NAN]}, "the array, row 6 .* target: .* missing"),
    ],
)
@pytest.mark.parametrize("block_rows", [None, 4])
def test_arrays(arguments, message, block_rows):
    with pytest.raises(ValueError, match=message):
        list(scan(GOOD, **arguments, block_rows=block_rows))


def test_targets_of_another_length_than_the_files(tmp_path):
    np.save(tmp_path / "1.npy", GOOD)
    np.save(tmp_path / "2.npy", GOOD)
    with pytest.raises(ValueError, match="target has 6 values and X has 12 rows"):
        scan(tmp_path, target=np.ones(6))


def test_a_generator_begun_for_its_first_block_is_closed():
    closed = []

    def blocks():
        try:
            yield GOOD
            yield GOOD
        finally:
            closed.append(True)

    source = scan(blocks)

    assert closed == [True]
    assert len(list(source)) == 2


def test_dates_as_a_feature():
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(ValueError, match=r"column 'when': '2020-01-01.*not a number"):
        scan(frame)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, np.array])
def test_a_single_column(make):
    with pytest.raises(ValueError, match=r"two-dimensional.*reshape\(-1, 1\)"):
        scan(make([1.0, 2.0]))


def test_rows_of_unequal_length():
    class Ragged:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("inhomogeneous shape")

    with pytest.raises(ValueError, match="block 1 is not an array: its rows must"):
        scan([Ragged()])

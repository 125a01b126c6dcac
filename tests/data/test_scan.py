"""Laws of every source of rows: the same rows, however they are stored."""

import os
import pickle
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from problems import drawn, read_only

from relvec.data import Block, RowBlocks, scan

N_ROWS = 57
X, Y = drawn(5, (N_ROWS, 3)), drawn(6, N_ROWS)
WEIGHT = read_only(np.random.default_rng(7).uniform(0.5, 2.0, N_ROWS))
EVERYTHING = np.column_stack([X[:, 0], Y, X[:, 1], WEIGHT, X[:, 2]])
COLUMNS = {"a": X[:, 0], "y": Y, "b": X[:, 1], "w": WEIGHT, "c": X[:, 2]}
BY_NAME = {"target": "y", "weight": "w"}
BY_NUMBER = {"target": 1, "weight": 3}


def arrow_table(rows=slice(None)):
    return pa.table({name: values[rows] for name, values in COLUMNS.items()})


def parquet(folder, **settings):
    pq.write_table(arrow_table(), folder / "rows.parquet", **settings)
    return folder / "rows.parquet"


def parquet_folder(folder):
    for part, rows in enumerate([slice(0, 20), slice(20, 21), slice(21, None)]):
        pq.write_table(arrow_table(rows), folder / f"part-{part}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def csv(folder, name="rows.csv"):
    with pa.output_stream(folder / name) as file:
        pyarrow.csv.write_csv(arrow_table(), file)
    return str(folder / name)


def arrow(folder, ending, opened):
    path = folder / f"rows.{ending}"
    with opened(path, arrow_table().schema) as writer:
        for batch in arrow_table().to_batches(max_chunksize=4):
            writer.write_batch(batch)
    return path


def npy(folder):
    np.save(folder / "rows.npy", EVERYTHING)
    return folder / "rows.npy"


def npy_files(folder):
    np.save(folder / "first.npy", EVERYTHING[:30])
    np.save(folder / "second.npy", EVERYTHING[30:])
    return [folder / "first.npy", folder / "second.npy"]


def apart(folder):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", Y)
    return folder / "X.npy", {"target": str(folder / "y.npy"), "weight": WEIGHT}


def pieces(*cuts):
    bounds = [0, *cuts, N_ROWS]
    parts = [slice(*pair) for pair in pairwise(bounds)]
    return [(X[part], Y[part], WEIGHT[part]) for part in parts]


def frames(make):
    return [make({name: v[i : i + 10] for name, v in COLUMNS.items()})
            for i in range(0, N_ROWS, 10)]  # fmt: skip


class OnlySliced:
    """Like a data set of HDF5: a shape, a type, and rows when sliced."""

    shape, dtype = EVERYTHING.shape, EVERYTHING.dtype

    def __len__(self):
        return len(EVERYTHING)

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return EVERYTHING[rows]


class OnlyExported:
    """Another library's table, seen through Arrow's interface only."""

    def __arrow_c_stream__(self, requested_schema=None):
        return arrow_table().__arrow_c_stream__(requested_schema)


SOURCES = {
    "parquet": lambda folder: (parquet(folder), BY_NAME),
    "parquet, small groups": lambda f: (parquet(f, row_group_size=2), BY_NAME),
    "parquet, folder": lambda folder: (parquet_folder(folder), BY_NAME),
    "parquet, pattern": lambda f: (str(parquet_folder(f) / "*-?.parquet"), BY_NAME),
    "parquet, data set": lambda folder: (
        pyarrow.dataset.dataset(parquet(folder, row_group_size=5)),
        BY_NAME,
    ),
    "csv": lambda folder: (csv(folder), BY_NAME),
    "csv, by number": lambda folder: (csv(folder), BY_NUMBER),
    "csv, compressed": lambda folder: (csv(folder, "rows.csv.gz"), BY_NAME),
    "arrow file": lambda f: (arrow(f, "arrow", pa.ipc.new_file), BY_NAME),
    "arrow stream": lambda f: (arrow(f, "arrow", pa.ipc.new_stream), BY_NAME),
    "feather": lambda f: (arrow(f, "feather", pa.ipc.new_file), BY_NAME),
    "npy": lambda folder: (npy(folder), BY_NUMBER),
    "npy, several": lambda folder: (npy_files(folder), BY_NUMBER),
    "npy, apart": apart,
    "table": lambda _: (arrow_table(), BY_NAME),
    "record batch": lambda _: (arrow_table().to_batches()[0], BY_NAME),
    "reader": lambda _: (arrow_table().to_reader(max_chunksize=9), BY_NAME),
    "exported": lambda _: (OnlyExported(), BY_NAME),
    "pandas": lambda _: (pd.DataFrame(COLUMNS), BY_NAME),
    "pandas, without names": lambda _: (pd.DataFrame(EVERYTHING), BY_NUMBER),
    "polars": lambda _: (pl.DataFrame(COLUMNS), BY_NAME),
    "array": lambda _: (X, {"target": Y, "weight": WEIGHT}),
    "array, one": lambda _: (EVERYTHING, BY_NUMBER),
    "array, by columns": lambda _: (np.asfortranarray(EVERYTHING), BY_NUMBER),
    "sliced": lambda _: (OnlySliced(), BY_NUMBER),
    "list": lambda _: (pieces(3, 40), {}),
    "tuple": lambda _: (tuple(pieces(30)), {}),
    "list of blocks": lambda _: ([Block(*piece) for piece in pieces(11)], {}),
    "list of frames": lambda _: (frames(pd.DataFrame), BY_NAME),
    "list of tables": lambda _: (frames(pa.table), BY_NAME),
    "list of arrays": lambda _: ([EVERYTHING[:9], EVERYTHING[9:]], BY_NUMBER),
    "frame in a tuple": lambda _: (
        [(pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), Y, WEIGHT)],
        {},
    ),
    "generator": lambda _: ((piece for piece in pieces(5, 6, 50)), {}),
    "function": lambda _: (lambda: iter(pieces(20)), {}),
    "blocks": lambda _: (scan(EVERYTHING, **BY_NUMBER), {}),
}
ONE_SHOT = {"generator", "reader"}
NAMELESS = {"array", "list", "tuple", "generator", "function", "sliced", "blocks"}


@pytest.fixture(params=SOURCES)
def given(request, tmp_path):
    return request.param, *SOURCES[request.param](tmp_path)


def joined(blocks):
    parts = list(blocks)
    return [np.concatenate(column) for column in zip(*map(astuple, parts), strict=True)]


def astuple(block):
    return block.X, block.y, block.weight


@pytest.mark.parametrize("block_rows", [None, 1, 8, 57, 1000])
def test_blocks_joined_are_the_rows(given, block_rows):
    _, source, arguments = given
    rows, targets, weights = joined(scan(source, **arguments, block_rows=block_rows))

    assert_array_equal(rows, X)
    assert_array_equal(targets, Y)
    assert_array_equal(weights, WEIGHT)


def test_blocks_have_the_promised_form(given):
    _, source, arguments = given
    blocks = scan(source, **arguments, block_rows=8)

    assert isinstance(blocks, RowBlocks)
    assert blocks.n_features == 3
    for block in blocks:
        flags = block.X.flags
        assert type(block.X) is np.ndarray
        assert block.X.shape == (len(block.y), 3)
        assert block.X.dtype == block.weight.dtype == np.float64
        assert flags.c_contiguous or flags.f_contiguous
        assert 1 <= len(block.X) <= 8


def test_names_of_features(given):
    name, source, arguments = given
    names = scan(source, **arguments).feature_names

    nameless = name.split(",")[0] in {*NAMELESS, "npy", "list of arrays"}
    nameless |= name in {"pandas, without names", "list of blocks"}
    assert names == (None if nameless else ["a", "b", "c"])


def test_a_second_pass_gives_the_same_or_says_that_it_cannot(given):
    name, source, arguments = given
    blocks = scan(source, **arguments, block_rows=8)
    first = joined(blocks)

    assert blocks.repeatable == (name not in ONE_SHOT)
    if blocks.repeatable:
        for again, before in zip(joined(blocks), first, strict=True):
            assert_array_equal(again, before)
    else:
        with pytest.raises(ValueError, match=r"used up.*pass a list of blocks, a file"):
            iter(blocks)


def test_two_passes_at_once_or_a_refusal(given):
    name, source, arguments = given
    blocks = scan(source, **arguments, block_rows=8)
    if name in ONE_SHOT:
        with pytest.raises(ValueError, match="used up"):
            list(zip(blocks, blocks, strict=True))
    else:
        for one, other in zip(blocks, blocks, strict=True):
            assert_array_equal(one.X, other.X)


def test_a_pass_that_is_broken_off(given):
    """Nothing stays open that would be complained about."""
    _, source, arguments = given
    block = next(iter(scan(source, **arguments, block_rows=2)))

    assert_array_equal(block.X, X[: len(block.X)])


NAMED = [name for name, make in SOURCES.items() if name in {
    "parquet", "csv", "arrow file", "table", "pandas", "polars", "reader",
    "list of tables", "list of frames", "parquet, data set", "exported",
}]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_features_come_in_the_order_asked_for(name, tmp_path):
    source, _ = SOURCES[name](tmp_path)
    blocks = scan(source, target="w", features=["c", "a"])

    assert blocks.feature_names == ["c", "a"]
    rows = np.concatenate([block.X for block in blocks])
    assert_array_equal(rows, X[:, [2, 0]])


@pytest.mark.parametrize("name", ["npy", "array, one", "sliced", "list of arrays"])
def test_features_by_number(name, tmp_path):
    source, _ = SOURCES[name](tmp_path)
    rows = np.concatenate([block.X for block in scan(source, features=[-1, 0])])

    assert_array_equal(rows, X[:, [2, 0]])


def single_sources(folder):
    columns = {"a": X[:, 0].astype("f4"), "b": X[:, 1].astype("f4")}
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    np.save(folder / "rows.npy", np.column_stack(list(columns.values())))
    return {
        "parquet": folder / "rows.parquet",
        "npy": folder / "rows.npy",
        "table": pa.table(columns),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "array": np.load(folder / "rows.npy"),
        "list": [np.load(folder / "rows.npy")],
    }


@pytest.mark.parametrize(
    "name", ["parquet", "npy", "table", "pandas", "polars", "array", "list"]
)
def test_single_precision_stays(name, tmp_path):
    source = single_sources(tmp_path)[name]
    (block,) = scan(source)

    assert block.X.dtype == np.float32
    assert_array_equal(block.X, X[:, :2].astype("f4"))


def test_double_precision_in_one_of_the_files_is_enough(tmp_path):
    pq.write_table(pa.table({"a": X[:, 0].astype("f4")}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": X[:, 0]}), tmp_path / "2.parquet")

    assert [block.X.dtype for block in scan(tmp_path)] == [np.float64] * 2


NUMBERS = pa.table(
    {
        "whole": pa.array([1, 2, 3], pa.uint8()),
        "truth": [True, False, True],
        "decimal": [Decimal(1), Decimal(2), Decimal(3)],
    }
)
CODED = NUMBERS.append_column("coded", pa.array([2, 4, 2]).dictionary_encode())


@pytest.mark.parametrize(
    "convert",
    [lambda table: table, pa.Table.to_pandas, pl.from_arrow, pa.Table.to_reader],
    ids=["table", "pandas", "polars", "reader"],
)
def test_columns_of_other_numbers_are_converted(convert):
    (block,) = scan(convert(NUMBERS))

    assert block.X.dtype == np.float64
    assert_array_equal(block.X, [[1, 1, 1], [2, 0, 2], [3, 1, 3]])


def test_an_array_of_objects_that_are_numbers():
    (block,) = scan(np.array([[1, 2.5], [True, Decimal(3)]], dtype=object))

    assert_array_equal(block.X, [[1, 2.5], [1, 3]])


def test_columns_of_coded_numbers_are_decoded(tmp_path):
    pq.write_table(CODED, tmp_path / "rows.parquet")
    (block,) = scan(tmp_path / "rows.parquet")

    assert_array_equal(block.X, [[1, 1, 1, 2], [2, 0, 2, 4], [3, 1, 3, 2]])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["red", "blue", "red"], "U"),
        ([True, False, True], "b"),
        ([1, 0, 1], "i"),
        ([0.5, 1.0, 2.0], "f"),
        ([Decimal("0.5"), Decimal("1.5"), Decimal("2.5")], "f"),
    ],
)
@pytest.mark.parametrize(
    "store", ["csv", "parquet", "coded", "pandas", "category", "polars", "objects"]
)
def test_targets_stay_what_they_are(values, kind, store, tmp_path):
    source, target = labelled(store, values, tmp_path), "label"
    if store == "objects":
        source, target = np.ones((3, 1)), np.array(values, dtype=object)
    (block,) = scan(source, target=target)

    assert block.y.dtype.kind == kind
    assert block.y.tolist() == values


def labelled(store, values, folder):
    table = pa.table({"x": [1.0, 2.0, 3.0], "label": values})
    if store == "csv":
        pyarrow.csv.write_csv(table, folder / "rows.csv")
        return folder / "rows.csv"
    if store == "parquet":
        pq.write_table(table, folder / "rows.parquet")
        return folder / "rows.parquet"
    if store == "coded":
        return table.set_column(1, "label", pa.array(values).dictionary_encode())
    if store == "category":
        return pd.DataFrame({"x": [1.0, 2.0, 3.0], "label": pd.Categorical(values)})
    make = pl.DataFrame if store == "polars" else pd.DataFrame
    return make(table.to_pydict())


def test_a_fraction_may_come_late_in_a_target_of_a_csv_file(tmp_path):
    n_rows = 300_000  # more than the chunk from which the kind of a column is guessed
    lines = ["x,y\n", *["1.23456,1\n"] * n_rows, "1,2.5\n", "1,3\n"]
    (tmp_path / "rows.csv").write_text("".join(lines))
    first, second = scan(tmp_path / "rows.csv", target="y", block_rows=n_rows)

    assert first.y.dtype == np.int64
    assert second.y.tolist() == [2.5, 3.0]


def test_csv_with_quotes_booleans_and_empty_lines(tmp_path):
    text = 'x,"flag, true or not",label\n"1.5",true,"a\nb"\n\n 2 ,false,"c,d"\n'
    (tmp_path / "rows.csv").write_text(text)
    (block,) = scan(tmp_path / "rows.csv", target="label")

    assert_array_equal(block.X, [[1.5, 1], [2, 0]])
    assert block.y.tolist() == ["a\nb", "c,d"]


def test_csv_of_several_chunks_keeps_its_order(tmp_path):
    n_rows = 200_000
    table = pa.table({"x": np.arange(n_rows), "padding": ["." * 40] * n_rows})
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    blocks = scan(tmp_path / "rows.csv", features=["x"], block_rows=7_000)

    assert_array_equal(np.concatenate([b.X[:, 0] for b in blocks]), np.arange(n_rows))


def test_without_a_target_there_is_none():
    (block,) = scan(X)

    assert block.y is None
    assert block.weight is None


@pytest.mark.parametrize("n_features", [1, 10])
def test_a_block_has_two_million_numbers_by_default(n_features):
    rows = np.broadcast_to(np.zeros(n_features, np.float32), (2_500_000, n_features))

    assert len(next(iter(scan(rows))).X) == 2_000_000 // n_features


def test_small_row_groups_are_joined_and_large_ones_split(tmp_path):
    source = parquet(tmp_path, row_group_size=3)
    sizes = [len(block.X) for block in scan(source, **BY_NAME, block_rows=25)]

    assert sizes == [25, 25, 7]


def test_blocks_do_not_cross_files(tmp_path):
    blocks = scan(parquet_folder(tmp_path), **BY_NAME, block_rows=15)

    assert [len(block.X) for block in blocks] == [15, 5, 1, 15, 15, 6]


def test_files_are_read_in_sorted_order_and_lists_as_they_are(tmp_path):
    for name, value in [("b", 2.0), ("a", 1.0), ("c", 3.0)]:
        np.save(tmp_path / f"{name}.npy", np.full((1, 1), value))
    listed = [tmp_path / "c.npy", tmp_path / "a.npy"]

    assert [block.X[0, 0] for block in scan(tmp_path)] == [1, 2, 3]
    assert [block.X[0, 0] for block in scan(listed)] == [3, 1]


def test_another_source_of_rows_is_returned_as_it_is():
    blocks = scan(X)

    assert scan(blocks) is blocks


def test_the_blocks_of_another_source_can_be_made_smaller(tmp_path):
    blocks = scan(scan(parquet(tmp_path), **BY_NAME), block_rows=20)

    assert blocks.feature_names == ["a", "b", "c"]
    assert [len(block.X) for block in blocks] == [20, 20, 17]


@pytest.mark.parametrize("name", ["parquet", "csv", "npy", "arrow file", "array"])
def test_sources_of_files_can_be_pickled(name, tmp_path):
    source, arguments = SOURCES[name](tmp_path)
    again = pickle.loads(pickle.dumps(scan(source, **arguments)))

    assert_array_equal(joined(again)[0], X)


def test_a_pickled_map_does_not_carry_the_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((10_000, 5)))

    assert len(pickle.dumps(scan(os.fspath(tmp_path / "rows.npy")))) < 5_000

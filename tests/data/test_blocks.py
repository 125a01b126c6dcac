"""Memory: one block at a time, and of a file only what is needed."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from relvec.data import Block, RowBlocks, scan

N_ROWS = 400_000
N_COLUMNS = 5
MEGABYTE = 1 << 20  # the rows below are 16 of them


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((N_ROWS, N_COLUMNS))


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    table = pa.table({f"x{j}": rows[:, j] for j in range(N_COLUMNS)})
    pages = {"data_page_size": 1 << 16, "use_dictionary": False}
    pq.write_table(table, folder / "one group.parquet", row_group_size=N_ROWS, **pages)
    pq.write_table(table, folder / "many groups.parquet", row_group_size=1_000)
    with pa.ipc.new_file(folder / "one batch.arrow", table.schema) as writer:
        writer.write_table(table)
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    np.save(folder / "rows.npy", rows)
    return folder


@pytest.mark.parametrize(
    ("file", "most"),
    [
        ("one group.parquet", 4),
        ("many groups.parquet", 4),
        ("one batch.arrow", 1),
        ("rows.npy", 1),
    ],
)
def test_files_are_never_held_as_a_whole(folder, file, most):
    blocks = scan(folder / file, block_rows=2_000)
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    used = max(pa.total_allocated_bytes() - before for _ in blocks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert used < most * MEGABYTE
    assert peak < MEGABYTE


@pytest.mark.parametrize(
    "file", ["one group.parquet", "many groups.parquet", "one batch.arrow", "rows.csv"]
)
def test_large_files_are_read_in_order(folder, rows, file):
    blocks = scan(folder / file, features=["x3", "x0"])

    assert_array_equal(np.concatenate([b.X for b in blocks]), rows[:, [3, 0]])


def test_other_columns_of_a_parquet_file_are_not_read(tmp_path):
    """A column that is not needed may even be damaged."""
    values = np.random.default_rng(0).standard_normal(1_000)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"good": values, "bad": values + 1}), path)
    damage(path, column=1)

    (block,) = scan(path, features=["good"])
    assert_array_equal(block.X[:, 0], values)
    with pytest.raises(ValueError, match=r"rows\.parquet cannot be read.*damaged"):
        list(scan(path))


def damage(path, column):
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 200] = bytes(200)
    path.write_bytes(bytes(content))


def test_other_columns_of_a_csv_file_may_hold_anything(tmp_path):
    (tmp_path / "rows.csv").write_text("name,x\nAda,1\n,2\n")
    (block,) = scan(tmp_path / "rows.csv", features=["x"])

    assert_array_equal(block.X, [[1], [2]])


def test_a_generator_is_asked_for_one_block_at_a_time():
    asked = []

    def blocks():
        for number in range(5):
            asked.append(number)
            yield np.full((3, 2), float(number))

    for number, block in enumerate(scan(blocks())):
        assert block.X[0, 0] == number
        assert len(asked) == number + 1


def test_arrays_are_not_copied():
    X, y = np.ones((10, 2)), np.arange(10)

    for block in scan(X, target=y, block_rows=4):
        assert np.shares_memory(block.X, X)
        assert np.shares_memory(block.y, y)


def test_an_array_is_a_source_of_rows():
    X = np.random.default_rng(0).standard_normal((7, 2)).astype(np.float32)
    blocks = scan(X, target=list("aabbaab"), weight=np.ones(7), block_rows=3)

    assert isinstance(blocks, RowBlocks)
    assert blocks.n_features == 2
    assert blocks.feature_names is None
    assert blocks.repeatable
    assert_array_equal(np.concatenate([b.X for b in blocks]), X)
    assert [len(b.y) for b in blocks] == [3, 3, 1]
    assert blocks.block_rows == 3


@pytest.mark.parametrize("byte_order", ["<f8", ">f8", "<f4", ">f4", "<i2", "?", "f2"])
def test_arrays_of_other_numbers(byte_order):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(byte_order)
    (block,) = scan(X)

    single = byte_order.endswith(("f4", "f2"))
    assert block.X.dtype == (np.float32 if single else np.float64)
    assert_array_equal(block.X, X)


def test_a_block_needs_no_target():
    block = Block(np.ones((2, 1)))

    assert block.y is None
    assert block.weight is None

"""Refusals: file, row, column and remedy are named, no later than the row comes."""

import gzip
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from relvec.data import scan

NAN, INF = np.nan, np.inf
GOOD = np.arange(12.0).reshape(6, 2)


def write(folder, name, content):
    path = folder / name
    if isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif name.endswith(".parquet"):
        pq.write_table(pa.table(content), path)
    elif name.endswith(".npy"):
        np.save(path, content)
    else:
        with pa.ipc.new_file(path, content.schema) as writer:
            writer.write_table(content)
    return path


def parquet_bytes(folder):
    values = np.random.default_rng(0).standard_normal(1000)
    return write(folder, "good.parquet", {"x": values, "z": values + 1}).read_bytes()


# Columns: a, b and y, in the order of the files.
CHOICES = [
    ({"target": "Y"}, r"target: .*rows\.csv has no column 'Y'.* it has 'a', 'b', 'y'"),
    ({"features": ["aa"]}, r"has no column 'aa' \(did you mean 'a'\?\)"),
    ({"weight": "v"}, "weight: .* has no column 'v'"),
    ({"target": 3}, "has no column number 3; it has 3, numbered from 0"),
    ({"target": -4}, "has no column number -4"),
    ({"target": 1.5}, "target must be the name or the number of a column of"),
    ({"target": True}, "target must be the name or the number.* got bool"),
    ({"target": np.ones(2)}, "target must be the name or the number.*got ndarray"),
    ({"target": "y", "features": ["a", "y"]}, "'y' is both target and among the feat"),
    ({"weight": "b", "features": ["b"]}, "'b' is both weight and among the features"),
    ({"target": "y", "weight": "y"}, "target and weight are both column 'y'"),
    ({"features": []}, "has no column left to be a feature"),
    ({"features": "a"}, "features must be a list of columns; got 'a'"),
    ({"features": 0}, "features must be a list of columns; got 0"),
    ({"features": ["a", 0]}, "features names column 'a' more than once"),
    ({"block_rows": 0}, "block_rows must be a whole number of at least 1; got 0"),
]


@pytest.mark.parametrize(("arguments", "message"), CHOICES, ids=str)
def test_columns(arguments, message, tmp_path):
    path = write(tmp_path, "rows.csv", "a,b,y\n1,2,3\n4,5,6\n")
    with pytest.raises(ValueError, match=message):
        scan(path, **arguments)


def test_only_the_target_is_there(tmp_path):
    path = write(tmp_path, "rows.csv", "y\n1\n")
    with pytest.raises(ValueError, match="no column left to be a feature"):
        scan(path, target="y")


def test_of_a_wide_table_only_some_names_are_listed():
    table = pa.table({f"x{i}": [1.0] for i in range(500)})
    with pytest.raises(ValueError, match=r"'x19' and 480 more$"):
        scan(table, target="label")


@pytest.mark.parametrize(
    "source",
    [
        pa.table([[1.0], [2.0]], names=["a", "a"]),
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
    ],
    ids=["table", "frame"],
)
def test_names_that_occur_twice(source):
    with pytest.raises(ValueError, match="more than one column 'a'; rename"):
        scan(source)


def test_names_that_occur_twice_in_a_file(tmp_path):
    path = write(tmp_path, "rows.csv", "a,b,a\n1,2,3\n")
    with pytest.raises(ValueError, match=r"rows\.csv has more than one column 'a'"):
        scan(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1.5,2\n3.5,4\n", r"begins with numbers \(1\.5, 2\).* write a header"),
        (",a\n0,1.5\n1,2.5\n", "a feature without a name.*index=False"),
    ],
)
def test_headers_that_are_none(content, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        scan(write(tmp_path, "rows.csv", content))


def test_a_data_set_without_rows(tmp_path):
    write(tmp_path, "rows.parquet", {"x": pa.array([], pa.float64())})
    with pytest.raises(ValueError, match="the data set has no rows"):
        list(scan(pyarrow.dataset.dataset(tmp_path / "rows.parquet")))


EMPTY = {
    "nothing.csv": ("", "is empty .0 bytes"),
    "header.csv": ("a,b\n", "has no rows"),
    "blank.csv": ("\n\n", "cannot be read"),
    "nothing.parquet": ("", "is empty .0 bytes"),
    "none.parquet": ({"x": pa.array([], pa.float64())}, "has no rows"),
    "nothing.arrow": ("", "is empty .0 bytes"),
    "none.arrow": (pa.table({"x": pa.array([], pa.float64())}), "has no rows"),
    "nothing.npy": ("", "is empty .0 bytes"),
    "none.npy": (np.empty((0, 3)), "has no rows|empty"),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_files(name, tmp_path):
    content, message = EMPTY[name]
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=message) as caught:
        scan(path)

    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [np.empty((0, 2)), pd.DataFrame({"x": []}), pa.table({"x": pa.array([], "f8")})],
    ids=["array", "frame", "table"],
)
def test_nothing_in_memory(source):
    with pytest.raises(ValueError, match="has no rows"):
        scan(source)


BAD_CELLS = {
    "tall": r"column 'b': 'tall' is not a number; turn it into numbers.*features",
    "": "column 'b': the value is missing .null or NaN.; impute it",
    '""': "column 'b': the value is missing",
    "NA": "column 'b': the value is missing",
    "nan": "column 'b': the value is missing",
    "inf": r"column 'b': the value is infinite \(inf\); impute it",
    "-inf": r"column 'b': the value is infinite \(-inf\)",
    "1e999": "column 'b': the value is infinite",
    "1,5": "line 4: 3 fields where the header has 2; .* double quotes",
    "1_000": "column 'b': '1_000' is not a number",
}


@pytest.mark.parametrize("cell", BAD_CELLS)
@pytest.mark.parametrize(
    ("good_rows", "name"), [(2, "rows.csv"), (2, "rows.csv.gz"), (90_000, "rows.csv")]
)
def test_bad_cells_of_a_csv_file(cell, good_rows, name, tmp_path):
    content = "a,b\n" + "1.0000000000,2.0000000000\n" * good_rows
    content += f"3,{cell}\n" + "5,6\n" * 10
    message = BAD_CELLS[cell].replace("line 4", f"line {good_rows + 2}")
    if not message.startswith("line"):
        message = rf"row {good_rows + 1} \(the header not counted\), {message}"
    data = content.encode()
    path = write(tmp_path, name, gzip.compress(data, 1) if "gz" in name else data)
    with pytest.raises(ValueError, match=message) as caught:
        list(scan(path, block_rows=1000))

    assert str(path) in str(caught.value)


def test_good_rows_before_a_bad_cell_are_given(tmp_path):
    content = {"a": [1.0, 2.0, 3.0, 4.0, NAN, 6.0]}
    blocks = iter(scan(write(tmp_path, "rows.parquet", content), block_rows=2))

    assert [len(next(blocks).X) for _ in range(2)] == [2, 2]
    with pytest.raises(ValueError, match=r"row 5 .*, column 'a': .* missing"):
        next(blocks)


CSV_TARGETS = [
    ("x,y\n1,2\n2,\n", r"row 2 .*, column 'y': the value is missing.* correct the tar"),
    ("x,y\n1,red\n2,\n", "row 2 .*, column 'y': the value is missing"),
    ("x,y\n1,1.5\n2,inf\n", "row 2 .*, column 'y': the value is infinite"),
    ("x,y\n1,red\n2,red\0\n", "row 2 .*, column 'y': it has a NUL byte; correct"),
]


@pytest.mark.parametrize(("content", "message"), CSV_TARGETS)
def test_bad_targets_of_a_csv_file(content, message, tmp_path):
    path = write(tmp_path, "rows.csv", content)
    with pytest.raises(ValueError, match=message):
        list(scan(path, target="y"))


def test_a_label_among_numbers_after_the_first_chunk(tmp_path):
    content = "x,y\n" + "1.0000000000,2.0000000000\n" * 100_000 + "1,red\n"
    path = write(tmp_path, "rows.csv", content)
    with pytest.raises(ValueError, match=r"row 100001 .*'red' is not a number"):
        list(scan(path, target="y"))


@pytest.mark.parametrize("weight", ["-1", "nan", "inf", ""])
def test_bad_weights_of_a_csv_file(weight, tmp_path):
    path = write(tmp_path, "rows.csv", f"x,w\n1,2\n2,{weight}\n")
    with pytest.raises(ValueError, match=r"row 2 .*, column 'w': .* is not a weight"):
        list(scan(path, weight="w"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x,y\n1,a\n2,caf\xe9\n", r"row 2 .*, column 'y': 'caf.' is not UTF-8 text"),
        (b"x,\xe9\n1,a\n2,b\n", r"cannot be read .*comma-separated UTF-8"),
    ],
)
def test_a_csv_file_in_another_encoding(content, message, tmp_path):
    path = write(tmp_path, "rows.csv", content)
    with pytest.raises(ValueError, match=message) as caught:
        list(scan(path, target=1))

    assert "rows.csv" in str(caught.value)


def test_a_quote_that_is_never_closed(tmp_path):
    path = write(tmp_path, "rows.csv", 'x,y\n1,2\n3,"4\n' + "5,6\n" * 1000)
    with pytest.raises(ValueError, match=r"row 2 .*'4.* is not a number") as caught:
        list(scan(path))

    assert len(str(caught.value)) < 400


def test_a_csv_file_cut_short_in_its_compression(tmp_path):
    content = gzip.compress(b"x\n" + b"1.5\n" * 100_000)
    path = write(tmp_path, "rows.csv.gz", content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"rows\.csv\.gz cannot be read"):
        list(scan(path))


BAD_TABLES = {
    "null": ([1.0, None, 3.0], "row 2 .counted from 1., column 'b': .* missing"),
    "nan": ([1.0, NAN, 3.0], "row 2 .counted from 1., column 'b': .* missing"),
    "null integer": ([1, 2, None], "row 3 .counted from 1., column 'b': .* missing"),
    "null boolean": ([True, None, True], "row 2 .*, column 'b': .* missing"),
    "infinite": ([1.0, 2.0, -INF], "row 3 .*, column 'b': .* infinite .-inf."),
}


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "table", "pandas", "polars"])
def test_bad_cells_of_tables(name, kind, tmp_path):
    values, message = BAD_TABLES[name]
    table = pa.table({"a": [1.0, 2.0, 3.0], "b": values})
    source = {
        "table": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
    }
    if kind in {"parquet", "arrow"}:
        source[kind] = write(tmp_path, f"rows.{kind}", table)
        message = rf"rows\.{kind}, {message}"
    with pytest.raises(ValueError, match=message):
        list(scan(source[kind], block_rows=1))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "table"])
def test_columns_that_are_not_numbers_are_refused_at_once(kind, tmp_path):
    table = pa.table({"a": [1.0], "b": ["x"], "t": pa.array([0], pa.timestamp("s"))})
    source = table if kind == "table" else write(tmp_path, f"rows.{kind}", table)

    message = r"column 'b': its type is string, not a number; .* features"
    with pytest.raises(ValueError, match=message):
        scan(source)
    with pytest.raises(ValueError, match=r"column 'b': its type is string"):
        scan(source, weight="b", features=["a"])
    with pytest.raises(ValueError, match=r"target of type timestamp.* not understood"):
        list(scan(source, features=["a"], target="t"))


def test_damaged_files(tmp_path):
    content = parquet_bytes(tmp_path)
    cut = write(tmp_path, "cut.parquet", content[: len(content) // 2])
    other = write(tmp_path, "other.parquet", "a,b\n1,2\n" * 20)
    table = write(tmp_path, "rows.arrow", pa.table({"x": np.arange(1000.0)}))
    cut_arrow = write(tmp_path, "cut.arrow", table.read_bytes()[:3000])
    other_arrow = write(tmp_path, "other.arrow", "a,b\n1,2\n" * 20)

    with pytest.raises(ValueError, match=r"cut\.parquet cannot be read.*cut short"):
        scan(cut)
    with pytest.raises(ValueError, match=r"other\.parquet.*is not a Parquet file"):
        scan(other)
    for path in (cut_arrow, other_arrow):
        with pytest.raises(ValueError, match=r"\.arrow cannot be read.*damaged"):
            scan(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.ones(3), r"two-dimensional, rows by columns; got shape \(3,\)"),
        (np.zeros(3, [("a", "f8"), ("b", "f8")]), "is a record array; use numpy.lib"),
        (np.array([["a"]]), "must hold real numbers; got type <U1"),
        (np.array([[1j]]), "must hold real numbers; got type complex128"),
        (np.array([[None]]), "cannot be read as a NumPy array"),
        ("not an array", "cannot be read as a NumPy array"),
    ],
    ids=str,
)
def test_arrays_in_files(content, message, tmp_path):
    if isinstance(content, np.ndarray):
        np.save(tmp_path / "rows.npy", content, allow_pickle=True)
    else:
        write(tmp_path, "rows.npy", content)
    with pytest.raises(ValueError, match=message) as caught:
        scan(tmp_path / "rows.npy")

    assert "rows.npy" in str(caught.value)


def test_a_cut_array(tmp_path):
    content = write(tmp_path, "good.npy", np.ones((1000, 3))).read_bytes()
    path = write(tmp_path, "rows.npy", content[:5000])
    with pytest.raises(ValueError, match=r"rows\.npy cannot be read as a NumPy array"):
        scan(path)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a,b\n1,2\n", "a\n1\n", r"2\.csv has 1 columns and .*1\.csv has 2"),
        ("a,b\n1,2\n", "b,a\n1,2\n", r"number 0 is 'b' in .*2\.csv and 'a' in .*same"),
        ("a,b\n1,2\n", "a,c\n1,2\n", r"column number 1 is 'c' in .*2\.csv and 'b' in"),
        ("a,b\n1,2\n", "a,b\n1,x\n", r"2\.csv, row 1 .*'b': 'x' is not a number"),
    ],
)
def test_files_that_do_not_fit_together(first, second, message, tmp_path):
    write(tmp_path, "1.csv", first)
    write(tmp_path, "2.csv", second)
    with pytest.raises(ValueError, match=message):
        scan(tmp_path)


def test_targets_of_another_kind_in_the_second_file(tmp_path):
    write(tmp_path, "1.csv", "x,y\n1,2\n")
    write(tmp_path, "2.csv", "x,y\n1,red\n")
    with pytest.raises(ValueError, match=r"2\.csv: the target is text.*was numbers"):
        list(scan(tmp_path, target="y"))


def test_paths(tmp_path):
    write(tmp_path, "rows.txt", "1 2 3")
    with pytest.raises(ValueError, match=r"rows\.txt has an unsupported type; .*\.csv"):
        scan(tmp_path / "rows.txt")
    with pytest.raises(FileNotFoundError, match=r"none\.csv does not exist; check"):
        scan(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match=r"\*\.csv matches no file"):
        scan(str(tmp_path / "*.csv"))
    with pytest.raises(ValueError, match=r"s3://.* pyarrow\.dataset"):
        scan("s3://bucket/rows.parquet")
    write(tmp_path, "rows.csv", "x\n1\n")
    with pytest.raises(ValueError, match=r"rows\.txt has an unsupported type"):
        scan(tmp_path)
    (tmp_path / "rows.txt").unlink()
    write(tmp_path, "rows.npy", GOOD)
    with pytest.raises(ValueError, match=r"rows\.csv and .*rows\.npy are of different"):
        scan(tmp_path)


def test_folders(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="contains no files"):
        scan(tmp_path / "empty")
    with pytest.raises(ValueError, match="contains the folder 'empty'; pass a pattern"):
        scan(tmp_path)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.arrow"])
def test_errors_of_the_system_keep_their_type_and_name_the_file(name, tmp_path):
    table = pa.table({"x": np.arange(100.0)})
    path = write(tmp_path, name, "x\n1\n" if name.endswith("csv") else table)
    blocks = scan(path)
    path.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        list(blocks)

    assert caught.value.filename == str(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    """Arrays, blocks and data frames need no pyarrow; files say how to get it."""
    path = write(tmp_path, "rows.csv", "x,y\n1,2\n")
    for module in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(ImportError, match=r'pip install "relvec\[arrow\]"'):
        scan(path)
    assert len(list(scan(GOOD, block_rows=2))) == 3
    assert len(list(scan([(GOOD, GOOD[:, 0])]))) == 1
    assert len(list(scan(pl.DataFrame({"x": [1.0], "y": ["a"]}), target="y"))) == 1
    assert len(list(scan(pd.DataFrame({"x": [1.0], "y": ["a"]}), target="y"))) == 1

"""Predictions of files that are read and written some rows at a time."""

import gzip
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import relvec
from cli.sessions import N_ROWS, document, mixed, numbers, run, with_gaps
from relvec.cli import predicting, tables
from relvec.cli.output import Output
from relvec.cli.tables import read_table, write_table

KINDS = "csv", "parquet", "arrow"
PREDICT = "predict gaps.json t.{} --output p.{}"


@pytest.fixture
def in_blocks(monkeypatch):
    """Reads so many rows at a time."""
    return lambda size: monkeypatch.setattr(tables, "_MOST_ROWS", size)


def rich():
    """Cells of many kinds beside those that a model takes."""
    table = with_gaps()
    table["whole"] = np.arange(N_ROWS) - 7
    table["text"] = ['two\nlines, a "quote" and é', "x"] * (N_ROWS // 2)
    table["late"] = [None] * (N_ROWS - 1) + [2.5]
    table["truth"] = [True, None, False, True] * (N_ROWS // 4)
    return table


def plain(table):
    """Cells, and None where there is nothing."""
    return table.astype(object).where(table.notna(), None).to_dict("list")


@pytest.mark.parametrize(
    ("source", "target"),
    [*product(KINDS, KINDS), ("csv.gz", "csv.gz"), ("feather", "feather")],
)
def test_blocks_say_what_the_whole_says(folder, in_blocks, source, target):
    write_table(rich(), folder / f"t.{source}")
    document(PREDICT.format(source, target))
    whole = read_table(folder / f"p.{target}")

    in_blocks(7)
    document(PREDICT.format(source, target))

    found = read_table(folder / f"p.{target}")
    pd.testing.assert_frame_equal(found, whole, rtol=1e-12)
    assert plain(found[list(rich())]) == plain(rich())


def test_cells_of_text_are_kept_to_the_letter(folder, in_blocks):
    table = with_gaps().assign(code="007", price="1.50", nothing="NA")
    table.to_csv("t.csv", index=False)
    in_blocks(3)

    document(PREDICT.format("csv", "csv"))

    lines = [(folder / name).read_text().splitlines() for name in ("t.csv", "p.csv")]
    assert all(new.startswith(old) for old, new in zip(*lines, strict=True))


def test_whole_numbers_that_have_a_fraction_later(folder, in_blocks):
    """As a column to keep, and as one to predict from."""
    table = numbers()
    table["z"] = table["more"] = [*range(N_ROWS - 1), 0.5]
    text = table.to_csv(index=False).replace(".0,", ",").replace(".0\n", "\n")
    (folder / "t.csv").write_text(text)
    document("predict numbers.json t.csv --output whole.parquet")
    in_blocks(10)

    document("predict numbers.json t.csv --output p.parquet")

    found = pd.read_parquet("p.parquet")
    assert found["more"].dtype == np.float64
    pd.testing.assert_frame_equal(found, pd.read_parquet("whole.parquet"), rtol=1e-12)


def test_whole_numbers_with_gaps_in_one_block_stay_whole(folder, in_blocks):
    cells = pa.array([*range(N_ROWS - 1), None], pa.int64())
    table = pa.Table.from_pandas(numbers()).append_column("n", cells)
    parquet.write_table(table, "t.parquet")
    in_blocks(10)

    document("predict numbers.json t.parquet --output p.csv")
    document("predict numbers.json t.parquet --output p.parquet")

    text = pd.read_csv("p.csv", dtype=str)["n"]
    assert text[:-1].tolist() == [str(n) for n in range(N_ROWS - 1)]
    assert parquet.read_schema("p.parquet").field("n").type == pa.int64()


LAST = {
    "text": ("deep", "'deep' in row 80 where a number should be"),
    "nothing": ("", "no value in row 80"),
    "infinity": ("inf", "infinite in row 80"),
    "a truth value": ("True", "'True' in row 80 where"),
}


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_the_last_cell_spoils_it_all(folder, unchanged, in_blocks, name, kind):
    """One line, and the file that was there before."""
    cell, told = LAST[name]
    text = numbers()[["width", "z", "depth"]].to_csv(index=False).splitlines()
    text[-1] = text[-1].rpartition(",")[0] + "," + cell
    (folder / "t.csv").write_text("\n".join([*text, ""]))
    (folder / f"p.{kind}").write_text("old")
    in_blocks(9)
    unchanged()

    done = run(f"predict numbers.json t.csv --output p.{kind}")

    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert told in line


@pytest.mark.parametrize(("first", "last"), [("True", "1"), ("1", "true")])
@pytest.mark.parametrize("size", [1, 7, 79])
def test_truth_values_and_numbers_are_no_column(folder, in_blocks, size, first, last):
    cells = [first] * (N_ROWS - 1) + [last]
    mixed().assign(new=cells).to_csv("t.csv", index=False)
    in_blocks(size)

    done = run("predict mixed.json t.csv --output p.csv")

    assert done.exit_code == 2
    assert f"{last!r} in row 80" in done.stderr
    assert not os.path.exists("p.csv")


@pytest.mark.parametrize("text", ["", "NA", "nan", "NULL", "#N/A", "None", "<NA>"])
def test_nothing_is_what_pandas_takes_for_it(folder, in_blocks, text):
    table = with_gaps().astype({"depth": str}).fillna({"port": text})
    table["depth"] = table["depth"].replace("nan", text)
    table.to_csv("t.csv", index=False)
    in_blocks(5)

    document(PREDICT.format("csv", "csv"))
    document("predict gaps.json gaps.csv --output q.csv")

    found, expected = pd.read_csv("p.csv"), pd.read_csv("q.csv")
    assert found["probability_a"].tolist() == expected["probability_a"].tolist()


def test_categories_of_parts_are_one_dictionary_in_arrow(folder, in_blocks):
    """Which each part of a Parquet file may have of its own."""
    table = mixed().astype({"port": "category"}).sort_values("port")
    table.to_parquet("t.parquet", row_group_size=13, index=False)
    in_blocks(7)

    document("predict mixed.json t.parquet --output p.arrow")
    document("predict mixed.json p.arrow --output q.arrow --prefix again_")

    found = pd.read_feather("q.arrow")
    assert found["port"].tolist() == table["port"].tolist()
    assert isinstance(found["port"].dtype, pd.CategoricalDtype)
    assert found["again_class"].tolist() == found["class"].tolist()


def test_an_arrow_stream(folder, in_blocks):
    table = pa.Table.from_pandas(mixed(), preserve_index=False)
    with ipc.new_stream("t.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=11)
    in_blocks(4)

    document("predict mixed.json t.arrow --output p.csv")
    document("predict mixed.json mixed.csv --output q.csv")

    pd.testing.assert_frame_equal(pd.read_csv("p.csv"), pd.read_csv("q.csv"))


def test_blank_lines_and_blanks_change_nothing(folder, in_blocks):
    text = (folder / "numbers.csv").read_text().replace("\n", "\n\n").replace(",", ", ")
    (folder / "t.csv").write_text("\ufeff" + text, encoding="utf-8")
    in_blocks(3)

    document("predict numbers.json t.csv --output p.csv")
    document("predict numbers.json numbers.csv --output q.csv")

    assert (folder / "p.csv").read_text() == (folder / "q.csv").read_text()


def test_texts_that_are_new_in_any_block_are_told_once(folder, in_blocks):
    table = mixed()
    table.loc[[0, 40, 79], "port"] = ["east", "moon", "east"]
    table.to_csv("t.csv", index=False)
    in_blocks(9)

    done = run("predict mixed.json t.csv --output p.csv")

    assert done.stderr.count("note:") == 1
    assert "('east', 'moon')" in done.stderr


def test_a_file_that_ends_too_early(folder, unchanged, in_blocks):
    whole = gzip.compress((folder / "numbers.csv").read_bytes())
    (folder / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    in_blocks(2)
    unchanged()

    done = run("predict numbers.json t.csv.gz --output p.csv")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "correct it, or write it again" in done.stderr


def test_an_interrupt_between_blocks(folder, unchanged, in_blocks, monkeypatch):
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(args)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return {"mean": np.zeros(7), "std": np.zeros(7)}

    monkeypatch.setattr(predicting, "predicted", interrupted)
    in_blocks(7)
    unchanged()

    done = run("predict numbers.json numbers.csv --output p.csv")

    assert (done.exit_code, len(calls)) == (130, 5)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_disk_that_is_full_in_the_middle(folder, unchanged, kind):
    """Where files may not grow beyond some bytes, which the system sees to."""
    resource = pytest.importorskip("resource")
    unchanged()
    code = "from relvec.cli import main; main()"
    words = ["predict", "numbers.json", "numbers.csv", "--output", f"p.{kind}"]

    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)),
    )

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "File too large" in line
    assert "can be written to" in line


def test_the_share_that_is_done_is_for_whoever_watches(folder, in_blocks, monkeypatch):
    monkeypatch.setattr(Output, "lively", True)
    in_blocks(20)

    done = run("predict numbers.json numbers.csv --output p.csv --quiet")

    assert "Predicting" in done.stderr
    assert os.path.exists("p.csv")


def test_several_targets_have_columns_of_their_own(folder):
    X = numbers()[["width", "depth"]]
    model = relvec.RVR(gamma=0.3).fit(X, np.column_stack([X["width"], X["depth"]]))
    relvec.save(model, "m.json")

    found = document("predict m.json numbers.csv --output p.csv")
    mean, std = model.predict(X, return_std=True)
    assert found["added"] == ["mean_0", "mean_1", "std_0", "std_1"]
    written = pd.read_csv("p.csv")[found["added"]]
    np.testing.assert_allclose(written, np.hstack([mean, std]), rtol=1e-12)

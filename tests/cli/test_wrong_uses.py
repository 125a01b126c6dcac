"""What users get wrong: one line with the remedy, exit code 2, and no file touched."""

import os

import numpy as np
import pandas as pd
import pytest

from cli.sessions import N_ROWS, check_refused, mixed, numbers, run
from relvec.cli.commands import relvec as commands
from relvec.cli.errors import TRACEBACK

FIT = "fit {} --target price --output m.json"
PREDICT = "predict numbers.json {} --output p.csv"


def table(**columns):
    return numbers().assign(**columns)


def with_cell(column, row, value):
    found = numbers().astype({column: object})
    found.loc[row, column] = value
    return found


def as_text(frame, **replaced):
    """A CSV file, some of it written otherwise."""
    text = frame.to_csv(index=False)
    for old, new in replaced.items():
        text = text.replace(old, new, 1)
    return text


# What is in t.csv, the command, and the beginning of a remedy.
TABLES = {
    "no value of the target": (table(price=np.nan), FIT, "choose another column"),
    "a gap in the target": (with_cell("price", 4, None), FIT, "row 5: remove"),
    "a gap in a feature": (with_cell("z", 6, None), FIT, "row 7: complete or"),
    "infinity in a feature": (table(z=np.inf), FIT, "and 75 more: correct or"),
    "infinity in the target": (with_cell("price", 0, np.inf), FIT, "correct or"),
    "text among numbers": (with_cell("z", 2, "n.a. "), FIT, "'n.a. ' in row 3 where"),
    "a feature without a value": (table(z=np.nan), FIT + " --impute", "--drop 'z'"),
    "labels of every row": (
        table(z=[f"id{row}" for row in range(N_ROWS)]),
        FIT,
        "--drop 'z', or raise --max-categories",
    ),
    "one row": (numbers()[:1], FIT, "add rows, or --holdout 0"),
    "one class": (table(price="cheap"), FIT, "choose another column, or add rows"),
    "regression of text": (
        table(price=["a", "b"] * 40),
        FIT + " --task regression",
        "--task classification",
    ),
    "classes of numbers": (numbers(), FIT + " --task classification", "--task regr"),
    "a name twice": (as_text(numbers(), depth="width"), FIT, "a name of its own"),
    "a column without a name": (as_text(numbers(), depth=""), FIT, "index=False"),
    "fields without a name": ("width,price\n1,2,3\n4,5,6\n", FIT, "write a name for"),
    "lines of other lengths": ("a,price\n1,2\n3,4,5\n", FIT, "correct it, or write"),
    "no rows": ("width,price\n", FIT, "write rows to it"),
    "no bytes": ("", FIT, "write it again, or name another"),
    "not even text": (b"a,\x81\x00", FIT, "save it as UTF-8"),
    "nothing but the target": (numbers()[["price"]], FIT, "drop fewer"),
    "no target": (table().drop(columns="price"), FIT, "check names and capitals"),
    "text in a stream": (
        mixed().assign(price=1.0),
        FIT + " --stream",
        "(with --drop; a stream is numbers alone)",
    ),
    "gaps in a stream": (with_cell("z", 1, None), FIT + " --stream", "row 2"),
    "imputing a stream": (numbers(), FIT + " --stream --impute", "leave out --stream"),
    "more folds than rows": (numbers()[:3], "compare {} --target price", "--folds"),
    "predicting without a column": (
        numbers()[["width", "z"]],
        PREDICT,
        "no column 'depth'",
    ),
    "predicting text": (with_cell("depth", 1, "deep"), PREDICT, "'deep' in row 2"),
    "predicting gaps": (with_cell("depth", 1, None), PREDICT, "fit with --impute"),
    "predicting infinity": (with_cell("depth", 1, np.inf), PREDICT, "row 2: correct"),
    "predictions that are there": (table(mean=0.0), PREDICT, "--prefix, or"),
}


@pytest.mark.parametrize("name", TABLES)
def test_wrong_tables(name, folder, unchanged):
    content, words, remedy = TABLES[name]
    if isinstance(content, pd.DataFrame):
        content = content.to_csv(index=False)
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "t.csv").write_bytes(data)
    unchanged()

    check_refused(words.format("t.csv"), remedy)


WORDS = {
    "no such file": (FIT.format("none.csv"), "check its spelling"),
    "a folder": (FIT.format("."), "name a file"),
    "another kind of file": (FIT.format("numbers.json"), "files end in .csv"),
    "no such column": ("fit numbers.csv --target Price -o m.json", "capitals"),
    "no such column to drop": (FIT.format("numbers.csv") + " --drop q", "capitals"),
    "no target": ("fit numbers.csv -o m.json", "relvec fit --help"),
    "no such command": ("fitt numbers.csv", "relvec --help"),
    "no such option": (FIT.format("numbers.csv") + " --speed 9", "relvec fit --help"),
    "all held out": (FIT.format("numbers.csv") + " --holdout 1", "relvec fit --help"),
    "no such folder": ("fit numbers.csv --target price -o no/m.json", "make it first"),
    "a folder for a file": ("fit numbers.csv --target price -o .", "name of a file"),
    "a file for a folder": (
        "fit numbers.csv --target price -o numbers.csv/m.json",
        "make it first",
    ),
    "the data for the model": (
        "fit numbers.csv --target price -o numbers.csv",
        "choose another name",
    ),
    "a table for the model": (
        "fit numbers.csv --target price -o mixed.csv",
        "let its name end in .json",
    ),
    "a table for an export": (
        "export numbers.json --to onnx -o mixed.csv",
        "let its name end in",
    ),
    "a folder to report on": ("report . numbers.csv", "name a file"),
    "predictions to another kind": (
        "predict numbers.json numbers.csv -o p.xlsx",
        "files end in .csv",
    ),
    "no model": ("predict numbers.csv numbers.csv -o p.csv", "name the model"),
    "no model to inspect": ("inspect mixed.csv", "name the model"),
    "no model to verify": ("verify mixed.csv", "does not begin as a model file"),
    "encoders to elsewhere": (
        "export mixed.json --to c -o m.c",
        "which --to onnx alone can write",
    ),
    "a name in Python": (
        "export numbers.json --to python -o m.py --name f",
        "leave it out",
    ),
    "probabilities of numbers": (
        "export numbers.json --to c -o m.c --compute proba",
        "use 'mean'",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_wrong_words(name, folder, unchanged):
    unchanged()

    check_refused(*WORDS[name])


def test_a_model_of_a_later_version(folder, unchanged):
    text = (folder / "numbers.json").read_text()
    (folder / "later.json").write_text(text.replace('"version":1', '"version":9', 1))
    unchanged()

    check_refused("inspect later.json", "install a newer one")


def test_standard_deviations_of_classes(folder, unchanged):
    table = numbers()
    table["price"] = np.where(table["price"] > 5, "dear", "cheap")
    table.to_csv("t.csv", index=False)
    assert run("fit t.csv --target price --output classes.json").exit_code == 0
    unchanged()

    words = "export classes.json --to onnx --output m.onnx --compute mean+std"
    check_refused(words, "use output='proba'")


def test_an_output_that_cannot_be_written(folder, unchanged, monkeypatch):
    """Whoever may do anything is told so by the system alone, here by a stand-in."""
    unchanged()
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    check_refused(FIT.format("numbers.csv"), "cannot be written to: choose another")


def test_a_full_disk(folder, unchanged, monkeypatch):
    unchanged()

    def full(*args):
        raise OSError(28, "No space left on device", "m.json")

    monkeypatch.setattr(os, "replace", full)

    check_refused(FIT.format("numbers.csv"), "a place that can be written to")


def test_a_fault_of_ours_is_called_so(folder, unchanged, monkeypatch):
    unchanged()

    def broken(*args, **kwargs):
        raise TypeError("oh")

    monkeypatch.setattr(commands.commands["inspect"], "callback", broken)

    done = run("inspect numbers.json")

    assert done.exit_code == 70
    assert TRACEBACK in done.stderr


def test_there_are_thirty_and_more():
    assert len(TABLES) + len(WORDS) >= 30

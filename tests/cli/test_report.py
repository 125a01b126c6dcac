"""``relvec report``: what it finds out by itself, and what it refuses."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from click.shell_completion import BashComplete

import relvec
from cli.sessions import N_ROWS, check_refused, document, mixed, numbers, run
from relvec.cli.commands import relvec as commands
from relvec.report.page import is_report

REPORT = "report numbers.json {} --output r.html"
INTERRUPTED = (
    "import os, signal; from relvec.cli import main;"
    "os.replace = lambda *_: signal.raise_signal(signal.SIGINT); main()"
)


def test_rows_that_fit_held_out_are_found_again(folder):
    fitted = document("fit numbers.csv --target price --output numbers.json")
    found = document("report numbers.json numbers.csv")

    assert found["held_out"]
    assert found["target"] == "price"
    assert found["rows"] == fitted["hold_out"].pop("rows")
    assert found["scores"] == pytest.approx(fitted["hold_out"], rel=1e-12)
    assert found["report"] == "numbers.html"
    assert found["bytes"] == os.path.getsize("numbers.html")


@pytest.mark.parametrize("name", ["mixed", "gaps"])
def test_also_of_text_and_of_gaps(folder, name):
    """Of which means, medians and texts known are those of the other rows."""
    found = document(f"report {name}.json {name}.csv --output r.html")

    assert found["held_out"]
    assert found["rows"] == pytest.approx(N_ROWS / 5, abs=1)
    assert "confusion" in found["sections"]


def test_other_rows_by_what_fit_was_told(folder):
    words = "--holdout 0.3 --seed 5"
    document(f"fit numbers.csv --target price --output m.json {words}")

    found = document(f"report m.json numbers.csv {words}")
    assert (found["held_out"], found["rows"]) == (True, 24)
    assert words in (folder / "m.html").read_text()
    assert not document("report m.json numbers.csv")["held_out"]


def test_a_model_of_all_rows_is_not_flattered(folder):
    document("fit numbers.csv --target price --output m.json --refit")
    found = document("report m.json numbers.csv")

    assert (found["held_out"], found["rows"]) == (False, N_ROWS)
    assert "fitted to these very rows" in (folder / "m.html").read_text()


def test_of_other_rows_nothing_is_known(folder):
    numbers()[:30].to_csv("t.csv", index=False)
    found = document(REPORT.format("t.csv"))

    assert (found["held_out"], found["rows"]) == (False, 30)
    assert "is not known" in (folder / "r.html").read_text()


def test_vectors_have_the_numbers_of_rows_in_the_file(folder):
    """And not of those among the rows that were fitted."""
    document(REPORT.format("numbers.csv"))
    text = (folder / "r.html").read_text()
    body = text[text.index('id="vectors"') :].split("<tbody>")[1].split("</tbody>")[0]
    cells = [re.findall('data-value="([^"]*)"', row) for row in body.split("</tr>")]
    rows, _, observed = np.array([row[:3] for row in cells if row], dtype=float).T

    assert len(rows) == document("inspect numbers.json")["vectors"]
    assert list(observed) == list(numbers()["price"][rows.astype(int) - 1])


def test_a_model_without_names(folder):
    table = numbers()[["width", "price"]]
    relvec.RVR().fit(table[["width"]].to_numpy(), table["price"]).save("m.json")
    table.to_csv("t.csv", index=False)

    found = document("report m.json t.csv --target price")
    assert "function" in found["sections"]
    assert not found["held_out"]


def test_numbers_for_labels_of_text(folder):
    table = mixed()
    table["kind"] = (table["width"] > 0).map({True: "1", False: "0"})
    X = table[["width", "depth"]]
    relvec.RVC().fit(X, table["kind"]).save("m.json")
    table.drop(columns=["port", "new", "z"]).to_csv("t.csv", index=False)

    assert document("report m.json t.csv")["scores"]["error"] < 0.1


def test_names_are_text(folder):
    script = "<script>alert(1)</script>"
    table = numbers().rename(columns={"width": script})
    table["price"] = np.where(table["price"] > 5, "<b>&", "'\"")
    table.to_csv("t.csv", index=False)
    document("fit t.csv --target price --output m.json")

    document("report m.json t.csv --title <i>")
    text = (folder / "m.html").read_text()
    assert text.count("<script>") == 1
    assert "<b>" not in text
    assert "<i>" not in text


def test_other_models_beside_it(folder):
    numbers()[["width", "price"]][:40].to_csv("t.csv", index=False)
    document("fit t.csv --target price --output m.json")

    found = document("report m.json t.csv --compare")
    text = (folder / "m.html").read_text()
    assert "comparison" in found["sections"]
    assert "boosting" in text
    assert "--compare" in text


def test_models_are_compared_on_rows_of_all_classes(folder, monkeypatch):
    """Of a rare one as many as there are folds, whatever share of rows is drawn."""
    monkeypatch.setattr("relvec.cli.reporting._MOST_COMPARED", 40)
    table = numbers()
    table["price"] = np.where(np.arange(N_ROWS) < 6, "rare", "frequent")
    table.to_csv("t.csv", index=False)
    document("fit t.csv --target price --output m.json")

    document("report m.json t.csv --compare")
    text = (folder / "m.html").read_text()
    assert "42 of 80 rows: means over 5 folds" in text
    assert "compare shows the same" not in text


def test_the_target_is_completed_from_the_table(folder):
    """And not from the model, which comes before it."""
    words = ["report", "numbers.json", "numbers.csv", "--target"]
    shell = BashComplete(commands, {}, "relvec", "_RELVEC_COMPLETE")

    found = [item.value for item in shell.get_completions(words, "p")]
    assert found == ["price"]


def test_people_are_told_where_it_is(folder):
    done = run(REPORT.format("numbers.csv"))

    assert done.exit_code == 0
    assert "r.html" in done.stdout
    assert done.stderr == ""
    assert run(REPORT.format("numbers.csv") + " --quiet").output == ""


def test_a_report_is_replaced_and_nothing_else_is(folder):
    (folder / "r.html").write_text("<!doctype html><p>Mine</p>")

    check_refused(REPORT.format("numbers.csv"), "--force")
    assert "Mine" in (folder / "r.html").read_text()
    document(REPORT.format("numbers.csv") + " --force")
    document(REPORT.format("numbers.csv"))
    assert is_report(folder / "r.html")


def test_texts_that_the_model_never_saw_are_told(folder):
    mixed().assign(port="east").to_csv("t.csv", index=False)

    done = run("report mixed.json t.csv --output r.html")
    assert done.exit_code == 0
    assert "'east'" in done.stderr


def two_outputs(folder):
    X = numbers()[["width", "depth", "z"]]
    model = relvec.RVR().fit(X, np.column_stack([X["z"], X["width"]]))
    model.save(folder / "two.json")


TABLES = {
    "no target": (numbers().drop(columns="price"), REPORT, "name it with --target"),
    "which target": (numbers().assign(more=1), REPORT, "'price', 'more': name it"),
    "another target": (numbers(), REPORT + " --target cost", "check names and"),
    "a feature for a target": (numbers(), REPORT + " --target z", "a feature of"),
    "another column": (numbers().drop(columns="z"), REPORT, "no column 'z'"),
    "text in a feature": (numbers().assign(z="deep"), REPORT, "'deep' in rows 1"),
    "text in the target": (numbers().assign(price="a"), REPORT, "predicts numbers"),
    "a gap in the target": (numbers().assign(price=None), REPORT, "has no value"),
    "a gap in a feature": (numbers().assign(z=None), REPORT, "fit with --impute"),
    "no rows": (numbers()[:0], REPORT, "write rows to it"),
    "an unknown class": (
        mixed().assign(kind="d"),
        "report mixed.json {} --output r.html",
        "the model knows 'a', 'b', 'c'",
    ),
    "numbers for classes": (
        mixed().assign(kind=1.5),
        "report mixed.json {} --output r.html",
        "'1.5' in rows 1, 2",
    ),
    "a class of one row": (
        mixed()[lambda frame: ~frame["kind"].eq("a") | ~frame["kind"].duplicated()],
        "report mixed.json {} --compare --output r.html",
        "leave out --compare",
    ),
    "no such folder": (numbers(), "report numbers.json {} -o no/r.html", "make it"),
    "no file": (numbers(), "report numbers.json {} -o .", "name of a file"),
    "the model itself": (numbers(), "report numbers.json {} -o numbers.json", "is re"),
    "the table itself": (numbers(), "report numbers.json {} -o {}", "is what is read"),
    "no model": (numbers(), "report {} {} -o r.html", "name the model"),
    "no such model": (numbers(), "report none.json {} -o r.html", "spelling"),
    "no such table": (numbers(), "report numbers.json no.csv -o r.html", "spelling"),
    "several outputs": (
        numbers(),
        "report two.json {} --target price -o r.html",
        "predicts several targets",
    ),
    "an option of fit": (numbers(), REPORT + " --kernel rbf", "report --help"),
}


@pytest.mark.parametrize("name", TABLES)
def test_wrong_uses(name, folder, unchanged):
    table, words, remedy = TABLES[name]
    table.to_csv("t.csv", index=False)
    two_outputs(folder)
    unchanged()

    check_refused(words.replace("{}", "t.csv"), remedy)


@pytest.mark.parametrize("name", ["jinja2", "matplotlib"])
def test_without_the_extra(name, folder, unchanged, monkeypatch):
    unchanged()
    monkeypatch.setitem(sys.modules, name, None)

    check_refused(REPORT.format("numbers.csv"), 'pip install "relvec[report]"')


def test_an_output_that_cannot_be_written(folder, unchanged, monkeypatch):
    unchanged()
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    check_refused(REPORT.format("numbers.csv"), "cannot be written to")


def test_an_interrupt_leaves_nothing_half_written(folder, unchanged):
    unchanged()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *REPORT.format("numbers.csv").split()],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 130
    assert done.stderr == "relvec: interrupted; no file is half-written\n"

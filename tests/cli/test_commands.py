"""Predictions, and what is made and said of a model."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import relvec
from cli.sessions import document, mixed, numbers, run, with_gaps
from relvec import LSSVC, LSSVR, RVC, RVR
from relvec.cli import main
from relvec.cli.commands import relvec as commands
from relvec.cli.comparing import CONTENDERS

SCRIPTS = {"completion"}  # a shell reads what they print, and no machine else
FIT = ["fit", "numbers.csv", "--target", "price", "--output", "m.json"]
PROGRAM = [sys.executable, "-c", "from relvec.cli import main; main()"]


@pytest.mark.parametrize("command", sorted(commands.commands))
def test_every_command_has_help_with_an_example(command):
    done = run(f"{command} --help")

    assert done.exit_code == 0
    assert "Example:" in done.stdout
    assert f"relvec {command}" in done.stdout
    assert ("--json" in done.stdout) == (command not in SCRIPTS)


def test_predictions_are_the_models(folder):
    done = run("predict numbers.json numbers.csv --output p.csv")

    table, model = numbers(), relvec.load("numbers.json")
    mean, std = model.predict(table[["width", "depth", "z"]], return_std=True)
    found = pd.read_csv("p.csv")
    assert done.exit_code == 0
    assert list(found) == [*table, "mean", "std"]
    assert np.allclose(found["mean"], mean, rtol=1e-12)
    assert np.allclose(found["std"], std, rtol=1e-12)


def test_classes_come_with_their_probabilities(folder):
    document("predict mixed.json mixed.csv --output p.parquet --only")

    found = pd.read_parquet("p.parquet")
    labels = ["a", "b", "c"]
    probabilities = found[[f"probability_{label}" for label in labels]]
    assert np.allclose(probabilities.sum(axis=1), 1)
    best = np.array(labels)[probabilities.to_numpy().argmax(axis=1)]
    assert (found["class"] == best).all()
    assert np.mean(found["class"] == mixed()["kind"]) > 0.9


def test_columns_are_found_by_name(folder):
    """In another order, beside others, and without the target."""
    table = mixed()[["port", "new", "z", "depth", "width"]].assign(more="x")
    table.to_csv("t.csv", index=False)

    document("predict mixed.json t.csv --output p.csv --prefix my_")
    document("predict mixed.json mixed.csv --output q.csv")

    found, expected = pd.read_csv("p.csv"), pd.read_csv("q.csv")
    assert list(found)[:7] == [*table, "my_class"]
    assert np.allclose(found["my_probability_a"], expected["probability_a"])


def test_a_model_without_names_takes_columns_in_their_order(folder):
    X = numbers()[["width", "depth", "z"]]
    model = relvec.RVR().fit(X.to_numpy(), numbers()["price"])
    model.save("m.json")
    X.to_csv("t.csv", index=False)

    document("predict m.json t.csv --output p.csv --only")

    assert np.allclose(pd.read_csv("p.csv")["mean"], model.predict(X.to_numpy()))
    assert "without names" in run("predict m.json numbers.csv --output p.csv").stderr


def test_gaps_are_completed_by_a_model_that_was_fitted_so(folder):
    document("predict gaps.json gaps.csv --output p.csv")

    expected = relvec.load("gaps.json").predict(with_gaps())
    assert (pd.read_csv("p.csv")["class"] == expected).all()


def test_texts_that_a_model_never_saw_are_told(folder):
    mixed().assign(port="east").to_csv("t.csv", index=False)

    done = run("predict mixed.json t.csv --output p.csv")

    assert done.exit_code == 0
    assert "'east'" in done.stderr


LABELS = ["+", "++", "-1", "'quoted'", "1-2", "=HYPERLINK(1)", "@a", "\tb", "-2+c|d!A0"]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_no_label_is_a_formula_of_a_spreadsheet(folder, kind):
    table = pd.DataFrame({"x": np.arange(45.0)})
    labels = np.repeat(LABELS, 5)
    relvec.save(LSSVC(gamma=1.0, C=100.0).fit(table, labels), "m.json")
    table.to_csv("t.csv", index=False)

    found = document(f"predict m.json t.csv --output p.{kind}")

    read = pd.read_parquet if kind == "parquet" else partial(pd.read_csv, dtype=str)
    written = read(f"p.{kind}")["class"].unique().tolist()
    (*told,) = found["remarks"]
    if kind == "parquet":
        assert (written, told) == (LABELS, [])
    else:
        assert written == [*LABELS[:5], *(f"'{label}" for label in LABELS[5:])]
        assert "apostrophe" in told[0]


def test_inspect_says_what_a_file_holds(folder):
    found = document("inspect mixed.json")

    assert found["estimator"] == "RVC"
    assert found["classes"] == ["a", "b", "c"]
    assert found["written_by"]["relvec"] == relvec.__version__
    texts = [row["name"] for row in found["columns"] if row["holds"] == "text"]
    assert (len(found["columns"]), texts) == (5, ["port"])
    assert len(found["features"]) == 4 + 3
    assert found["vectors"] == len(relvec.load("mixed.json").steps[-1][1].relevance_)


def test_inspect_says_once_how_a_fit_ended(folder):
    table = numbers()
    hasty = RVR(gamma=0.5, max_iter=1)
    with pytest.warns(ConvergenceWarning) as told:
        hasty.fit(table[["width"]], table["price"])
    relvec.save(hasty, "hasty.json")

    for name in ("numbers", "mixed"):
        assert run(f"inspect {name}.json").stdout.count("converged") == 1
    assert document("inspect hasty.json")["status"] == "max_iter"
    assert document("inspect hasty.json")["meaning"] == str(told[0].message)


@pytest.mark.parametrize("outputs", ["shared", "independent"])
def test_several_outputs_are_inspected_and_predicted(folder, outputs):
    table = numbers()
    X, y = table[["width", "depth"]], table["price"].to_numpy()
    model = RVR(gamma=0.5, outputs=outputs).fit(X, np.c_[y, y**2])
    relvec.save(model, "two.json")

    found = document("inspect two.json")
    done = run("inspect two.json")
    document("predict two.json numbers.csv --output p.csv")
    predicted = pd.read_csv("p.csv")

    stds = np.sqrt(model.noise_variance_)
    assert found["noise_std"] == pytest.approx(stds.tolist())
    assert ", ".join(f"{std:.4g}" for std in stds) in done.stdout
    np.testing.assert_allclose(predicted[["mean_0", "mean_1"]], model.predict(X))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (RVR(None), "none"),
        (RVR(["rbf", "linear"]), "rbf, linear"),
        (LSSVR("linear"), "Linear"),
    ],
)
def test_inspect_names_the_kernel(folder, model, name):
    table = numbers()
    relvec.save(model.fit(table[["width", "depth"]], table["price"]), "m.json")

    assert document("inspect m.json")["kernel"] == name


def test_a_name_is_no_markup(folder):
    """Brackets in names are what they are."""
    numbers().rename(columns={"width": "[red]w"}).to_csv("t.csv", index=False)
    document("fit t.csv --target price --output m.json")

    assert "[red]w" in run("inspect m.json").stdout


@pytest.mark.parametrize("sign", ["\x1b[2J", "\x9b2J", "\u202e", "\u2028", "\n"])
def test_names_and_labels_give_no_commands_to_the_terminal(folder, sign):
    name, labels = f"wi{sign}dth", np.array(["a", f"b{sign}"])
    table = numbers()[["width", "depth"]].rename(columns={"width": name})
    kinds = labels[(table[name] > 0).astype(int)]
    relvec.save(RVC(gamma=0.5).fit(table, kinds), "m.json")
    table.to_csv("t.csv", index=False)

    inspected = run("inspect m.json")
    predicted = run("predict m.json t.csv --output p.csv")
    refused = run("predict m.json numbers.csv --output p.csv")

    for done in (inspected, predicted, refused):
        assert all(line.isprintable() for line in done.output.splitlines())
    written = sign.encode("unicode_escape").decode()
    assert f"b{written}" in inspected.stdout
    assert f"probability_b{written}" in predicted.stdout
    assert written in refused.stderr
    found = document("inspect m.json")
    assert found["classes"] == labels.tolist()
    assert found["columns"][0]["name"] == name


@pytest.mark.parametrize(
    ("model", "words", "name"),
    [
        ("numbers", "--to onnx --compute mean+std", "m.onnx"),
        ("numbers", "--to c --precision float64 --name house", "m.c"),
        ("numbers", "--to python", "m.py"),
    ],
)
def test_exports_verify(folder, model, words, name):
    found = document(f"export {model}.json {words} --output {name}")

    assert found["bytes"] == os.path.getsize(name)
    if name.endswith(".py"):
        assert subprocess.run([sys.executable, name], check=False).returncode == 0
    else:
        assert document(f"verify {name}")["error"] < 1e-5


def test_verify_fails_by_its_exit_code(folder):
    damaged = (folder / "numbers.json").read_bytes().replace(b"RVR", b"RVC", 1)
    (folder / "damaged.json").write_bytes(damaged)

    fine, strict, bad = map(
        run,
        (
            "verify numbers.json",
            "verify numbers.json --tolerance 1e-300 --json",
            "verify damaged.json",
        ),
    )

    assert fine.exit_code == 0
    assert strict.exit_code in {0, 1}  # bit by bit the same, on the same machine
    assert bad.exit_code == 1
    assert "damaged" in bad.stdout


@pytest.mark.parametrize("table", ["numbers --target price", "mixed --target new"])
def test_all_models_are_compared_on_the_same_rows(folder, table):
    name, _, options = table.partition(" ")
    found = document(f"compare {name}.csv {options} --folds 2")

    rows = {row["model"]: row for row in found["models"]}
    error = "rmse" if name == "numbers" else "error"
    assert list(rows) == [each.name for each in CONTENDERS]
    assert all(row[error] is not None and row["rows"] == 40 for row in rows.values())
    assert rows["RVM"]["vectors"] < rows["SVM"]["vectors"]
    assert rows["GP"]["vectors"] == 40
    assert all(row["kilobytes"] > 1 for row in rows.values())


def test_one_model_can_be_chosen(folder):
    found = document("compare numbers.csv --target price --models svm --folds 2")

    assert [row["model"] for row in found["models"]] == ["SVM"]


@pytest.mark.parametrize("data", ["diabetes", "wine"])
def test_the_demonstration_writes_what_it_names(folder, data):
    found = document(f"demo --output out/inner --data {data}")

    for name in ("data", "model", "predictions", "report"):
        assert os.path.exists(found[name])
    assert relvec.verify(found["model"]) < 1e-10


def test_the_program_itself(folder):
    """As another process, its summary on stdout and nothing else."""
    done = subprocess.run(
        [*PROGRAM, *FIT],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "hold out" in done.stdout
    assert done.stderr == ""


def test_an_interrupt_leaves_nothing_half_written(folder, unchanged):
    """Not even at the last moment, when a file is to be put in its place."""
    unchanged()
    code = (
        "import os, signal; from relvec.cli import main;"
        "os.replace = lambda *_: signal.raise_signal(signal.SIGINT); main()"
    )
    done = subprocess.run(
        [
            *PROGRAM[:2],
            code,
            *["fit", "numbers.csv", "--target", "price", "-o", "m.json"],
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 130
    assert done.stderr == "relvec: interrupted; no file is half-written\n"


def test_what_the_command_line_needs_is_said_in_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich_click", None)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "relvec: the command line needs rich_click, which is not installed; "
        'pip install "relvec[cli]" installs it\n'
    )

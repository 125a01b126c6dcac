"""Models of text as ONNX: the same of the same table, column by column."""

import sys

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import relvec
from cli.sessions import check_refused, document, mixed, numbers, run

runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")


def said(path, table, texts=("port",), kind=np.float32):
    """Outputs by name, of a table given column by column."""
    session = runtime.InferenceSession(path)
    rows = {
        each.name: table[each.name]
        .to_numpy()
        .astype(object if each.name in texts else kind)[:, None]
        for each in session.get_inputs()
    }
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, rows), strict=True))


def priced():
    """A number to predict from text and numbers, with names that are in the way."""
    table = mixed().drop(columns="kind").assign(price=numbers()["price"])
    return table.rename(columns={"z": "a b", "depth": "größe", "width": "variable"})


def test_classes(folder):
    document("export mixed.json --to onnx --output m.onnx")
    table = mixed()
    table.loc[5, "port"] = "never seen"

    found = said("m.onnx", table)

    model = relvec.load("mixed.json")
    assert found["label"].tolist() == model.predict(table).tolist()
    probabilities = model.predict_proba(table)
    assert np.allclose(found["probabilities"], probabilities, atol=1e-5)


@pytest.mark.parametrize(
    ("precision", "error"), [("float32", 1e-5), ("float64", 1e-10)]
)
def test_numbers_and_their_deviations(folder, precision, error):
    priced().to_csv("t.csv", index=False)
    document("fit t.csv --target price --output m.json")
    words = f"--to onnx --compute mean+std --precision {precision}"
    document(f"export m.json {words} --output m.onnx")

    found = said("m.onnx", priced(), kind=precision)

    mean, std = relvec.load("m.json").predict(priced(), return_std=True)
    assert np.allclose(found["mean"][:, 0], mean, rtol=error)
    assert np.allclose(found["std"][:, 0], std, rtol=error)
    assert document("verify m.onnx")["error"] < error


def test_missing_numbers_are_completed(folder):
    table = numbers()
    table.loc[4, "z"] = np.nan
    table.to_csv("t.csv", index=False)
    document("fit t.csv --target price --impute --output m.json")
    document("export m.json --to onnx --output m.onnx")

    found = said("m.onnx", table)

    assert list(found) == ["mean"]
    expected = relvec.load("m.json").predict(table)
    assert np.allclose(found["mean"][:, 0], expected, rtol=1e-5)


def test_a_column_called_as_an_output_is(folder):
    table = priced().rename(columns={"new": "mean"})
    table.to_csv("t.csv", index=False)
    document("fit t.csv --target price --output m.json")
    document("export m.json --to onnx --output m.onnx")

    assert list(said("m.onnx", table)) == ["mean_"]
    assert document("verify m.onnx")["passed"]


def test_a_file_that_says_something_else_fails(folder):
    import onnx

    document("export mixed.json --to onnx --output m.onnx")
    model = onnx.load("m.onnx")
    (test,) = model.metadata_props
    test.value = test.value.replace('"north"', '"south"')
    onnx.save(model, "other.onnx")

    assert run("verify other.onnx").exit_code == 1


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("gaps.json --to onnx", "without --impute"),
        ("mixed.json --to python", "--to onnx alone"),
        ("mixed.json --to onnx --compute mean", "--compute proba"),
    ],
)
def test_what_cannot_be_written(folder, unchanged, words, remedy):
    unchanged()

    check_refused(f"export {words} --output m.out", remedy)


def test_more_that_cannot_be_written(folder, unchanged):
    """Of models that were not fitted from the command line, too."""
    table = numbers()
    table.loc[4, "z"] = np.nan
    table.to_csv("t.csv", index=False)
    document("fit t.csv --target price --impute --output m.json")
    X = np.asarray(priced()[["variable", "port"]], dtype=object)
    parts = [("n", StandardScaler(), [0]), ("t", OneHotEncoder(), [1])]
    nameless = make_pipeline(ColumnTransformer(parts), relvec.RVR())
    relvec.save(nameless.fit(X, numbers()["price"]), "nameless.json")
    unchanged()

    words = "export m.json --to onnx --output m.onnx"
    check_refused(f"{words} --precision float64", "--precision float32")
    check_refused(f"{words} --compute proba", "--compute mean or mean+std")
    check_refused("export m.json --to c --output m.c", "without --impute")
    check_refused(
        "export nameless.json --to onnx --output m.onnx", "fit it to a table with names"
    )


def test_what_it_needs_is_said(folder, unchanged, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    unchanged()

    words = "export mixed.json --to onnx --output m.onnx"
    check_refused(words, "pip install skl2onnx")

"""Files of earlier versions stay readable, and say what they did.

A file here is never written again: a change that cannot read it is a new version of
the format, beside a reader of this one.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recorded.files import (
    VERSIONS,
    folder,
    outputs_of,
    read_expected,
    rows_of,
    said,
)

import relvec

FIRST = Path(__file__).parents[1] / "references" / "model_file_v1"
EXPECTED = json.loads((FIRST / "expected.json").read_text())
LATER = {
    (version, name): known
    for version in VERSIONS
    for name, known in read_expected(version).items()
}
# Averages over points in the space of correlated classes err by as much.
OF_AVERAGES = 5e-3


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_version_one(name):
    model = relvec.load(FIRST / f"{name}.json")
    rows = [
        [float("nan") if cell == "nan" else cell for cell in row]
        for row in EXPECTED[name]["rows"]
    ]
    objects = any(isinstance(cell, str) for row in rows for cell in row)
    X = np.array(rows, dtype=object if objects else np.float64)
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        X = pd.DataFrame(X, columns=model.feature_names_in_)
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    error = OF_AVERAGES if name == "rvc_full" else 1e-9
    assert_allclose(ask(X), EXPECTED[name]["predicted"], rtol=1e-6, atol=error)


@pytest.mark.parametrize(("version", "name"), LATER)
def test_files_of_later_versions(version, name):
    model = relvec.load(folder("files", version) / f"{name}.json")
    known = LATER[version, name]
    found, wanted = said(model, rows_of(known, model)), outputs_of(known)

    assert list(found) == list(wanted)
    for output, value in wanted.items():
        if output == "label":
            assert_array_equal(found[output], value)
            continue
        error = OF_AVERAGES if name in {"rvc_full", "rvc_softmax_each"} else 1e-9
        assert_allclose(found[output], value, rtol=1e-8, atol=error)


def test_every_file_is_looked_at():
    assert {path.stem for path in FIRST.glob("*.json")} == {*EXPECTED, "expected"}
    for version in VERSIONS:
        files = {path.stem for path in folder("files", version).glob("*.json")}
        assert files == {*read_expected(version), "expected"}

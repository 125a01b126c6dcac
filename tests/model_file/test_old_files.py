"""Files of earlier versions stay readable, and say what they did.

A file here is never written again: a change that cannot read it is a new version of
the format, beside a reader of this one.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import relvec

FIRST = Path(__file__).parents[1] / "references" / "model_file_v1"
EXPECTED = json.loads((FIRST / "expected.json").read_text())


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
    # Averages over points in the space of correlated classes err by as much.
    error = 5e-3 if name == "rvc_full" else 1e-9
    assert_allclose(ask(X), EXPECTED[name]["predicted"], rtol=1e-6, atol=error)


def test_every_file_is_looked_at():
    assert {path.stem for path in FIRST.glob("*.json")} == {*EXPECTED, "expected"}

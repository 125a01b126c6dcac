"""Reports to look at, each made once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVC, RVR
from relvec.report import Origin, make_report

SCRIPT = "<script>alert(1)</script>"
LABEL = """<b>&"'"""
NAMES = [SCRIPT, "$\\frac{", 'id="x" -->', "n" * 300]


def table(n_rows=60, n_features=4):
    """Features of about unit size, with names that try to be something else."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    return pd.DataFrame(X, columns=NAMES[:n_features])


@pytest.fixture(scope="session")
def numbers():
    """A model of numbers, its rows and those held out."""
    X = table(80)
    noise = 0.1 * np.random.default_rng(1).standard_normal(80)
    y = pd.Series(np.sin(X[SCRIPT]) + noise, name="</title>" + SCRIPT)
    model = make_pipeline(StandardScaler(), RVR(kernel_learning="ard"))
    return model.fit(X[:60], y[:60]), X, y, np.arange(60, 80)


@pytest.fixture(scope="session")
def classes():
    """A model of three classes over two features."""
    X = table(90, 2)
    labels = np.array([LABEL, "it's", "plain"])
    y = pd.Series(labels[(X.to_numpy() > 0).sum(axis=1)], name="kind")
    model = make_pipeline(StandardScaler(), RVC())
    return model.fit(X, y), X, y


@pytest.fixture(scope="session")
def report_of_numbers(numbers):
    model, X, y, held_out = numbers
    origin = Origin(
        facts={"table": SCRIPT},
        command=f"relvec report {SCRIPT}",
        model_bytes=1234,
        comparison=[{"model": "RVM", "rmse": 0.1}, {"model": SCRIPT, "rmse": None}],
        comparison_text=SCRIPT,
    )
    return make_report(model, X, y, held_out=held_out, title=SCRIPT, origin=origin)


@pytest.fixture(scope="session")
def report_of_classes(classes):
    return make_report(*classes)

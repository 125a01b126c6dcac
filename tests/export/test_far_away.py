"""Rows far from those a model was fitted to, where digits and nodes are scarce."""

from dataclasses import replace

import numpy as np
import pytest

from export.instances import FAR, FORMS, classes, classifier, fit, regressor
from export.measures import far_rows, rows_about, said
from export.runners import by_onnx
from relvec import RVC, RVR
from relvec.export.plan import Plan
from relvec.kernels import Gaussian, Periodic, Polynomial


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_hours_of_next_year_are_those_of_the_day(precision):
    """Whole periods are exact, in whatever precision."""
    chance = np.random.default_rng(0)
    hours = chance.integers(24 * 28 * 4, size=(200, 1)) / 4
    y = np.cos(2 * np.pi * hours[:, 0] / 24) + 0.1 * chance.standard_normal(200)
    model = fit(RVR(Periodic(1.0, 24.0)), hours, y).model
    later = hours[:50] + 24 * 365 * 10
    found = by_onnx(Plan.of(model, "mean", precision), later)["mean"]

    bar = {"float32": 1e-5, "float64": 1e-12}[precision]
    assert np.abs(found - model.predict(hours[:50])).max() < bar


@pytest.mark.parametrize("kernel", ["rbf", None])
@pytest.mark.parametrize("times", [1, 10, 100])
def test_classes_of_unequal_uncertainty(kernel, times):
    """Deviations of classes grow with distance, and grids with them."""
    X, y = classes(3)
    model = fit(RVC(kernel, gamma=0.3, multi_class="mrvm2"), X, y).model
    far = times * X
    found = by_onnx(Plan.of(model, "proba", "float64"), far)["probabilities"]

    assert np.abs(found - model.predict_proba(far)).max() < 1e-11


@pytest.mark.parametrize(
    "case",
    [
        lambda: regressor(kernel=Polynomial(3, 0.4, 1.0)),
        lambda: classifier(
            3, kernel=Polynomial(2, 0.4, 1.0), multi_class=FORMS["mrvm1 published"]
        ),
    ],
)
def test_polynomials_far_out_have_the_digits_that_are_promised(case):
    """Their terms grow and cancel, which seven digits would not outlive."""
    model, X = case().model, case().X
    rows = rows_about(X, 4000, seed=1).astype(np.float32).astype(np.float64)
    (name, expected), *_ = said(model, rows).outputs.items()
    scale = np.maximum(np.abs(expected), np.ptp(expected[~far_rows(expected)]))
    plan = Plan.of(model, "auto", "float32")
    written, single = (
        by_onnx(one, rows)[name] for one in (plan, replace(plan, arithmetic=np.float32))
    )

    assert np.max(np.abs(written - expected) / scale) <= 1e-5
    assert np.max(np.abs(single - expected) / scale) > 1e-5


def test_functions_that_vanish_have_the_digits_of_single_precision():
    """What is asked of rows far out costs others nothing."""
    model = regressor(FAR, kernel=Gaussian(1.2)).model

    assert Plan.of(model, "mean+std", "float32").arithmetic is np.float32

"""Rows far from those a model was fitted to, where digits and nodes are scarce."""

import numpy as np
import pytest

from export.instances import classes, fit
from export.runners import by_onnx
from relvec import RVC, RVR
from relvec.export.plan import Plan
from relvec.kernels import Periodic


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

"""Exports of models with several outputs have a column for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from export.instances import regression
from export.runners import by_c, by_onnx, by_python, missing
from relvec import RVR
from relvec.export.expressions import evaluate
from relvec.export.plan import Plan


@pytest.fixture(scope="module", params=["shared", "independent", "one column"])
def model(request):
    X, y = regression()
    if request.param == "one column":
        return RVR(gamma=0.5).fit(X, y[:, None])
    several = np.column_stack([y, 1e3 * X[:, 0] + y, y**2])
    return RVR(gamma=0.5, outputs=request.param).fit(X, several)


@pytest.mark.parametrize("output", ["mean", "mean+std"])
def test_every_rendering_is_the_model(model, output):
    X = np.random.default_rng(1).standard_normal((20, 3))
    names = output.split("+")
    known = dict(zip(names, model.predict(X, return_std=True), strict=False))
    plan = Plan.of(model, output, "float64")
    found = [evaluate(plan.program, X), by_python(plan, X), by_onnx(plan, X)]
    if not missing("gcc"):
        found += by_c([plan], [X], "gcc")
    for each in found:
        for name in names:
            scale = np.abs(known[name]).max(axis=0)
            assert each[name].shape == known[name].shape
            assert_allclose(each[name] / scale, known[name] / scale, atol=1e-9)

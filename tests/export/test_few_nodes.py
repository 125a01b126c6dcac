"""What runtimes know by a name: as much as the formula says, in a few operators."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from export.instances import classes, classifier, fit
from export.runners import by_onnx
from relvec import LSSVC, RVC
from relvec.export.expressions import evaluate
from relvec.export.onnx_graph import onnx_model
from relvec.export.plan import Plan
from relvec.modelling.families import ClassPriorMixing

# Operators of a row: each takes a third of a microsecond, and ``predict`` 140 of them.
MOST = {
    (2, RVC): 20,
    (3, RVC): 34,
    (5, RVC): 34,
    (2, LSSVC): 12,
    (3, LSSVC): 12,
}


@pytest.mark.parametrize(("n_classes", "make"), MOST)
def test_single_precision_takes_few(n_classes, make):
    plain = {"uncertainty": "plain"} if make is RVC else {}
    model = classifier(n_classes, gamma=0.3, make=make, **plain).model
    plan = Plan.of(model, "proba", "float32")

    assert plan.arithmetic is np.float32
    assert len(onnx_model(plan).graph.node) <= MOST[n_classes, make]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("make", [RVC, LSSVC])
def test_it_is_what_is_written_out(n_classes, make):
    case = classifier(n_classes, gamma=0.3, make=make)
    rows = np.vstack([case.X, 3 * case.X, 1e3 * case.X]).astype(np.float32)
    plan = Plan.of(case.model, "proba", "float32")
    expected = evaluate(plan.program, rows.astype(np.float64))["probabilities"]

    found = by_onnx(plan, rows)["probabilities"]
    assert not any(one.op == "named" for one in plan.program.written_out)
    assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_doubt_is_part_of_it(n_classes):
    case = classifier(n_classes, gamma=0.3)
    own = case.model.model_
    doubt = ClassPriorMixing(
        0.3, np.arange(1.0, n_classes + 1) / np.sum(np.arange(n_classes + 1))
    )
    model = case.model.restored(replace(own, family=replace(own.family, doubt=doubt)))
    found = by_onnx(Plan.of(model, "proba", "float32"), case.X)["probabilities"]

    assert_allclose(found, model.predict_proba(case.X), atol=1e-5)


def test_no_model_against_the_rest_has_a_chain_of_its_own():
    X, y = classes(5)
    plain = RVC(gamma=0.3, multi_class="ovr", uncertainty="plain")
    sizes = [
        len(onnx_model(Plan.of(fit(plain, X, of).model, "proba", "float32")).graph.node)
        for of in (y, np.minimum(y, 3.0))
    ]

    assert sizes[0] - sizes[1] < 20

"""Every export of every model says what the model says."""

import pytest

from export.instances import INSTANCES
from export.measures import known, plan
from export.runners import by_c, by_onnx, by_python, missing
from relvec.export.expressions import evaluate

PRECISIONS = ["float64", "float32"]


@pytest.fixture(params=INSTANCES)
def name(request):
    return request.param


@pytest.mark.parametrize("precision", PRECISIONS)
def test_onnx_is_the_model(name, precision):
    expected = known(name, precision)
    found = by_onnx(plan(name, precision), expected.rows)

    expected.check(found, precision)
    if expected.labels is not None:
        expected.check_labels(found["label"], precision)
        assert found["label"].dtype.kind == expected.labels.dtype.kind.replace("U", "O")


def test_numpy_is_the_model(name):
    """The program itself, and the Python that is written of it."""
    expected = known(name)

    expected.check(evaluate(plan(name).program, expected.rows), "float64")
    expected.check(by_python(plan(name), expected.rows), "float64")


@pytest.mark.parametrize(
    ("compiler", "precision"),
    [("gcc", "float64"), ("gcc", "float32"), ("clang", "float32")],
)
def test_c_is_the_model(compiler, precision):
    """All instances are one program, which is compiled once."""
    if missing(compiler):
        pytest.skip(missing(compiler))
    plans = [plan(name, precision) for name in INSTANCES]
    each = [known(name, precision) for name in INSTANCES]
    found = by_c(plans, [one.rows for one in each], compiler, ("-O0",))
    wrong = {}
    for name, expected, one, said in zip(INSTANCES, each, found, plans, strict=True):
        try:
            expected.check(one, precision)
            if expected.labels is not None:
                labels = said.program.labels[one["place"]]
                expected.check_labels(labels, precision)
        except AssertionError as error:
            wrong[name] = str(error)

    assert wrong == {}

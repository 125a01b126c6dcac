"""Every export of every model says what the model says."""

from functools import cache

import pytest

from export.instances import INSTANCES
from export.measures import known, plan
from export.runners import by_c, by_onnx, by_python, missing
from relvec.export.evaluation import evaluated

PRECISIONS = ["float64", "float32"]


@pytest.fixture(params=INSTANCES)
def name(request):
    return request.param


@cache
def of_c(compiler, precision):
    """What all instances say in C."""
    plans = [plan(name, precision) for name in INSTANCES]
    rows = [known(name, precision).rows for name in INSTANCES]
    return dict(zip(INSTANCES, by_c(plans, rows, compiler), strict=True))


def test_the_program_is_the_model(name):
    expected = known(name)

    expected.check(evaluated(plan(name).program, expected.rows), "float64")


@pytest.mark.parametrize("precision", PRECISIONS)
def test_onnx_is_the_model(name, precision):
    expected = known(name, precision)
    found = by_onnx(plan(name, precision), expected.rows)

    expected.check(found, precision)
    if expected.labels is not None:
        expected.check_labels(found["label"], precision)
        assert found["label"].dtype.kind == expected.labels.dtype.kind.replace("U", "O")


def test_python_is_the_model(name):
    expected = known(name)

    expected.check(by_python(plan(name), expected.rows), "float64")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_is_the_model(name, compiler, precision):
    if missing(compiler):
        pytest.skip(missing(compiler))
    expected = known(name, precision)
    found = of_c(compiler, precision)[name]

    expected.check(found, precision)
    if expected.labels is not None:
        labels = plan(name, precision).program.labels
        expected.check_labels(labels[found["place"]], precision)

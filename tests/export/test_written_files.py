"""Digits that single precision does not have, and names that could break a file."""

import json
import re

import numpy as np
import onnx
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from export.instances import cancelling, classes, fit, fitted, regression
from export.measures import rows_about, said
from export.runners import by_c, by_onnx, compiled, loaded, missing, ran
from relvec import LSSVR, RVC, RVR, Softmax
from relvec.export import to_c, to_onnx, to_python
from relvec.export.expressions import evaluate
from relvec.export.plan import Plan
from relvec.kernels import Laplacian, Polynomial

ODD = [
    "*/ int main;",
    "/* // \\",
    '\'"""',
    "line\nbreak\r\n",
    "naïve ✓ \u202e",
    "a ??/",
    "\\n%s{}",
]
COMPILERS = ["gcc", "clang"]


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_weights_that_cancel_are_added_up_in_double_precision(offset):
    case = cancelling(offset)
    rows = rows_about(case.X).astype(np.float32).astype(np.float64)[:12]
    expected, plan = said(case.model, rows), Plan.of(case.model, "mean", "float32")
    size = expected.scales["mean"].max() / np.ptp(expected.outputs["mean"])

    assert size > 1e4, "or there is nothing to test"
    assert plan.arithmetic is np.float64
    known = expected.outputs["mean"]
    atol = 1e-5 * np.ptp(known)
    assert by_onnx(plan, rows)["mean"].dtype == np.float32
    assert_allclose(by_onnx(plan, rows)["mean"], known, atol=atol)
    for compiler in COMPILERS:
        if not missing(compiler):
            (found,) = by_c([plan], [rows], compiler)
            assert_allclose(found["mean"], known, atol=atol)


def test_weights_that_do_not_cancel_are_added_up_in_single_precision():
    for name in ("rvr Gaussian(length_scale=1.3) at 1000", "rvc 3 mrvm1 Gaussian at 0"):
        assert Plan.of(fitted(name).model, "auto", "float32").arithmetic is np.float32


def test_linear_models_far_from_zero_need_no_more_digits():
    X, y = regression(offset=1e3)
    for kernel in ("linear", None):
        case = fit(RVR(kernel=kernel), X, y)
        plan = Plan.of(case.model, "mean", "float32")
        rows = X.astype(np.float32).astype(np.float64)

        assert plan.arithmetic is np.float32
        known = case.model.predict(rows)
        assert_allclose(by_onnx(plan, rows)["mean"], known, atol=1e-5 * np.ptp(y))


def test_a_polynomial_far_from_zero_keeps_its_promise():
    X, y = regression(offset=1e3)
    case = fit(RVR(kernel=Polynomial(2, 1e-3, 1.0)), X, y)
    rows = X.astype(np.float32).astype(np.float64)
    expected = said(case.model, rows)

    expected.check(by_onnx(Plan.of(case.model, "mean+std", "float32"), rows), "float32")


def test_variances_too_small_for_single_precision_are_none():
    X, y = classes(3, 1e3)
    kernel = Laplacian([0.7, 1.4, 2.0])
    scheme = Softmax(priors="each")
    case = fit(RVC(kernel=kernel, multi_class=scheme, uncertainty="plain"), X, y)
    steps = np.linspace(0.5, 1.5, 400)[:, None]
    rows = X.mean(axis=0) + steps * np.array([-12.2, -34.8, 21.0])
    rows = rows.astype(np.float32).astype(np.float64)
    plan = Plan.of(case.model, "auto", "float32")
    assert plan.arithmetic is np.float32

    _, covariance = case.model.model_.latent(rows)
    assert (covariance[:, 0, 0] < 1e-45).any(), "or there is nothing to test"
    expected = case.model.predict_proba(rows)
    found = evaluate(plan.program, rows, np.float32)["probabilities"]
    assert_allclose(found, expected, atol=1e-5)
    assert_allclose(by_onnx(plan, rows)["probabilities"], expected, atol=1e-5)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_names_do_no_harm_in_c(compiler, tmp_path):
    if missing(compiler):
        pytest.skip(missing(compiler))
    X, _ = classes(3)
    columns = [ODD[0], ODD[1], ODD[4]]
    labels = np.array(ODD, dtype=object)[np.arange(len(X)) % len(ODD)]
    model = fit(RVC(gamma=0.3), pd.DataFrame(X, columns=columns), labels).model
    to_c(model, tmp_path / "odd.c")
    flags = ("-O1", "-DRELVEC_SELF_TEST")

    compiled(tmp_path / "odd.c", tmp_path / "odd.exe", compiler, flags)
    text = (tmp_path / "odd.c").read_text(encoding="utf-8")
    assert text.count("*/") == text.count("/*") == 2  # one is in the self-test
    assert "naïve ✓" in text


@pytest.mark.parametrize("place", range(len(ODD)))
def test_names_come_back_as_they_were_from_python(place, tmp_path):
    X, y = classes(3)
    columns = [ODD[place], "b", ODD[place - 1]]
    labels = np.array([ODD[place], ODD[place - 2], "c"])
    y = labels[np.arange(len(X)) % 3]
    model = fit(RVC(gamma=0.3), pd.DataFrame(X, columns=columns), y).model
    to_python(model, tmp_path / "odd.py")
    names = loaded((tmp_path / "odd.py").read_text(encoding="utf-8"))

    assert names["FEATURES"] == columns
    assert_array_equal(names["LABELS"], model.classes_)
    assert names["self_test"]() < 1e-10


def test_names_come_back_as_they_were_from_onnx(tmp_path):
    X, _ = classes(3)
    labels = np.array(ODD, dtype=object)[np.arange(len(X)) % len(ODD)]
    model = fit(RVC(gamma=0.3), pd.DataFrame(X, columns=ODD[:3]), labels).model
    to_onnx(model, tmp_path / "odd.onnx", precision="float64")
    found = ran(tmp_path / "odd.onnx", X)

    assert_array_equal(found["label"], model.predict(pd.DataFrame(X, columns=ODD[:3])))
    said_beside = onnx.load(tmp_path / "odd.onnx").metadata_props
    (names,) = [each.value for each in said_beside if each.key == "feature_names"]
    assert json.loads(names) == ODD[:3]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([-(2**40), 2**40]),
        np.array([0.0, 3.0]),
        np.array([3, 7], dtype=np.uint8),
        np.array(["no", "yes"], dtype=object),
    ],
)
def test_labels_come_back_as_they_were(labels, tmp_path):
    X, y = classes(2)
    model = fit(RVC(gamma=0.3), X, labels[y.astype(int)]).model
    to_python(model, tmp_path / "model.py")
    to_onnx(model, tmp_path / "model.onnx")
    names = loaded((tmp_path / "model.py").read_text(encoding="utf-8"))
    place = np.argmax(names["predict"](X), axis=1)

    assert_array_equal(names["LABELS"][place], model.predict(X))
    assert_array_equal(ran(tmp_path / "model.onnx", X)["label"], model.predict(X))


def test_names_of_c_begin_as_they_are_told(tmp_path):
    model = fitted("rvc 3 mrvm1 Gaussian at 0").model
    for name in ("number", "out", "int", "b1"):
        to_c(model, tmp_path / f"{name}.c", name=name)
        text = (tmp_path / f"{name}.c").read_text(encoding="utf-8")
        assert f"int {name}_predict(const {name}_number x[3], " in text
        tables = re.findall(r"^static const \w+ (\w+)\[", text, re.MULTILINE)
        assert all(table.startswith(f"{name}_") for table in tables)
        if not missing("gcc"):
            flags = ("-O1", "-DRELVEC_SELF_TEST")
            compiled(tmp_path / f"{name}.c", tmp_path / name, "gcc", flags)


def test_the_same_model_is_the_same_file(tmp_path):
    model = fitted("rvc 3 softmax full CompactMatern at 1000").model
    for write in (to_onnx, to_c, to_python):
        write(model, tmp_path / "one")
        write(model, tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("name", ["rvr constant", "rvc constant", "rvr several at 0"])
def test_no_rows_have_no_answers(name, tmp_path):
    model = fitted(name).model
    to_python(model, tmp_path / "model.py")
    to_onnx(model, tmp_path / "model.onnx")
    none = np.empty((0, 3))
    width = (3,) if name.startswith("rvc") else ()

    names = loaded((tmp_path / "model.py").read_text(encoding="utf-8"))
    assert names["predict"](none).shape == (0, *width)
    *_, found = ran(tmp_path / "model.onnx", none).values()
    assert found.shape == (0, *width)


def test_python_takes_many_rows_and_one(tmp_path):
    case = fitted("rvr Gaussian(length_scale=1.3) at 1000")
    to_python(case.model, tmp_path / "model.py", output="mean+std")
    predict = loaded((tmp_path / "model.py").read_text(encoding="utf-8"))["predict"]
    many = np.tile(case.X, (70, 1))
    mean, std = predict(many)

    assert mean.shape == std.shape == (len(many),)
    assert_allclose(mean, case.model.predict(many), rtol=1e-9)
    assert_allclose(predict(case.X[0])[0], mean[:1], rtol=1e-13)
    assert_allclose(
        predict(case.X.tolist(), block=7)[1], std[: len(case.X)], rtol=1e-13
    )


def test_a_pruned_model_of_least_squares_is_small(tmp_path):
    X, y = regression()
    all_rows = fit(LSSVR(gamma=0.3), X, y).model
    few = fit(LSSVR(gamma=0.3, n_support=5), X, y).model
    sizes = []
    for model in (all_rows, few):
        to_c(model, tmp_path / "model.c", output="mean")
        text = (tmp_path / "model.c").read_text(encoding="utf-8")
        sizes.append(int(re.findall(r"Constants: (\d+) bytes", text)[0]))

    # A centre and a weight each; perhaps an origin.
    assert sizes[0] == 36 * 4 * 4
    assert 5 * 4 * 4 <= sizes[1] <= 6 * 4 * 4

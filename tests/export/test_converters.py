"""Pipelines that skl2onnx converts, with estimators of relvec among them."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from export.instances import LABELS, cancelling, classes, fit, fitted, regression
from export.runners import ran, session
from relvec import LSSVC, LSSVR, RVC, RVR, OneAgainstOne
from relvec.export import ExportError, register_converters

skl2onnx = pytest.importorskip("skl2onnx")
from skl2onnx import to_onnx  # noqa: E402
from skl2onnx.common.data_types import (  # noqa: E402
    FloatTensorType,
    StringTensorType,
)


@pytest.fixture(autouse=True)
def registered():
    register_converters()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("make", [RVR, LSSVR])
def test_a_regression(make, kind):
    X, y = regression()
    model = fit(make(gamma=0.3), X, y).model
    rows = X.astype(kind)
    converted = to_onnx(model, rows[:1], options={make: {"return_std": True}})
    found = ran(converted, rows)
    mean, std = model.predict(rows.astype(np.float64), return_std=True)

    assert list(found) == ["variable", "std"]
    bar = 1e-5 if kind is np.float32 else 1e-12
    assert_allclose(found["variable"][:, 0], mean, atol=bar * np.ptp(y))
    assert_allclose(found["std"][:, 0], std, atol=bar * np.ptp(y))
    assert list(ran(to_onnx(model, rows[:1]), rows)) == ["variable"]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("make", [RVC, LSSVC])
def test_classes(make, n_classes):
    X, y = classes(n_classes)
    model = fit(make(gamma=0.3), X, y).model
    options = {id(model): {"zipmap": False}}
    found = ran(to_onnx(model, X[:1].astype(np.float32), options=options), X)
    label, probabilities = found.values()

    assert_array_equal(label, model.predict(X))
    assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_zipmap_is_a_dictionary_for_every_row(n_classes):
    X, y = classes(n_classes)
    model = fit(RVC(gamma=0.3), X, y).model
    running = session(to_onnx(model, X[:1].astype(np.float32)))
    label, each = running.run(None, {"X": X.astype(np.float32)})

    assert_array_equal(label, model.predict(X))
    assert [*map(str, each[0])] == [
        str(one) if n_classes == 3 else str(int(one)) for one in LABELS[n_classes]
    ]
    found = [list(row.values()) for row in each]
    assert_allclose(found, model.predict_proba(X), atol=1e-5)


def test_a_zipmap_of_columns_is_an_output_for_every_class():
    X, y = classes(3)
    model = fit(RVC(gamma=0.3), X, y).model
    options = {id(model): {"zipmap": "columns"}}
    _, *columns = ran(
        to_onnx(model, X[:1].astype(np.float32), options=options), X
    ).values()

    assert_allclose(np.transpose(columns), model.predict_proba(X), atol=1e-5)


def test_without_labels_places_are_told():
    X, y = classes(3)
    model = fit(RVC(gamma=0.3), X, y).model
    options = {id(model): {"nocl": True, "zipmap": False}}
    label, _ = ran(
        to_onnx(model, X[:1].astype(np.float32), options=options), X
    ).values()

    assert_array_equal(model.classes_[label], model.predict(X))


def test_votes_are_scores():
    X, y = classes(4)
    model = fit(RVC(gamma=0.3, multi_class=OneAgainstOne("votes")), X, y).model
    options = {id(model): {"zipmap": False}}
    label, votes = ran(to_onnx(model, X[:1], options=options), X).values()

    assert_array_equal(label, model.predict(X))
    assert_allclose(votes, model.decision_function(X), atol=1e-10)


def test_a_model_that_needs_them_has_more_digits_inside():
    case = cancelling()
    rows = case.X.astype(np.float32)
    converted = to_onnx(case.model, rows[:1])
    found = ran(converted, rows)["variable"][:, 0]

    assert "Cast" in {node.op_type for node in converted.graph.node}
    assert_allclose(found, case.model.predict(rows.astype(np.float64)), atol=2e-5)


def test_words_and_numbers():
    chance = np.random.default_rng(0)
    X, y = regression()
    table = pd.DataFrame(X, columns=["width", "height", "depth"])
    table["colour"] = chance.choice(["red", "green", "blue"], len(X))
    y = y + (table["colour"] == "red")
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["width", "height", "depth"]),
            ("words", OneHotEncoder(sparse_output=False), ["colour"]),
        ]
    )
    model = fit(make_pipeline(columns, RVR(gamma=0.2)), table, y).model
    numbers = ["width", "height", "depth"]
    types = [(name, FloatTensorType([None, 1])) for name in numbers]
    types.append(("colour", StringTensorType([None, 1])))
    running = session(to_onnx(model, initial_types=types))
    given = {name: table[[name]].to_numpy(np.float32) for name in numbers}
    given["colour"] = table[["colour"]].to_numpy(object)

    (found,) = running.run(None, given)
    assert_allclose(found[:, 0], model.predict(table), atol=1e-5 * np.ptp(y))


def test_two_models_in_one_graph_have_names_of_their_own():
    X, y = regression()
    stack = StackingRegressor([("a", RVR(gamma=0.3)), ("b", LSSVR(gamma=0.1))], cv=2)
    model = fit(make_pipeline(PolynomialFeatures(2), stack), X, y).model
    rows = X.astype(np.float32)
    found = ran(to_onnx(model, rows[:1]), rows)["variable"][:, 0]

    assert_allclose(found, model.predict(rows), atol=1e-5 * np.ptp(y))


def test_models_of_many_nodes_have_names_of_their_own_too():
    X, y = classes(4)
    each = [
        ("a", RVC(gamma=0.3, multi_class="softmax")),
        ("b", RVC(gamma=0.2)),
        ("c", LSSVC(gamma=0.2)),
    ]
    vote = VotingClassifier(each, voting="soft", flatten_transform=False)
    model = fit(vote, X, y).model
    options = {id(model): {"zipmap": False}}
    converted = to_onnx(model, X[:1].astype(np.float32), options=options)
    _, probabilities = ran(converted, X).values()

    assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("make", [RVR, LSSVR, RVC, LSSVC])
def test_rows_of_integers_are_taken_as_well(make):
    X = np.random.default_rng(0).integers(0, 9, (40, 3))
    y = np.sin(X[:, 0]) if make in {RVR, LSSVR} else X[:, 0] > 4
    model = fit(make(gamma=0.1), X, y).model
    running = session(to_onnx(model, X[:1]))
    found, *_ = running.run(None, {"X": X})

    assert_allclose(np.ravel(found), model.predict(X), atol=1e-5)


@pytest.mark.parametrize("make", [RVR, LSSVR])
def test_features_in_several_inputs_are_refused(make):
    model = fit(make(gamma=0.1), *regression()).model
    types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 2]))]

    with pytest.raises(ExportError, match=r"one input.*ColumnTransformer"):
        to_onnx(model, initial_types=types)


def test_an_opset_before_2023_is_refused():
    X, y = regression()
    with pytest.raises(ExportError, match="target_opset=18 or later"):
        to_onnx(fit(RVR(gamma=0.3), X, y).model, X[:1], target_opset=15)


def test_without_skl2onnx_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)

    with pytest.raises(ImportError, match=r"pip install .*relvec\[onnx\]"):
        register_converters()


def test_without_onnx_the_message_says_how_to_get_it(monkeypatch, tmp_path):
    from relvec import export

    monkeypatch.setitem(sys.modules, "onnx", None)
    model = fitted("rvr constant").model
    with pytest.raises(ImportError, match=r"pip install .*relvec\[onnx\]"):
        export.to_onnx(model, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()

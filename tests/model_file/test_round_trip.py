"""What was saved and loaded is what it was."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import relvec
from model_file.instances import INSTANCES, fitted, frame, regression, rows_for
from relvec.persistence import self_test_error
from relvec.persistence.files import _CODEC, as_file, of_file

UNEQUAL = ("model_", "estimators_", "accumulated_")


def same(one, other):
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert_array_equal(one, other)
    elif isinstance(one, float):
        assert_array_equal(one, other)
    else:
        assert one == other


def same_attributes(one, other):
    names = {name for name in vars(one) if name.endswith("_")} - {"accumulated_"}
    assert names == {name for name in vars(other) if name.endswith("_")}
    for name in names - set(UNEQUAL):
        same(getattr(one, name), getattr(other, name))
    for mine, theirs in zip(
        getattr(one, "estimators_", []), getattr(other, "estimators_", []), strict=True
    ):
        same_attributes(mine, theirs)


def same_predictions(one, other, rows):
    for method in ("predict", "decision_function", "predict_proba", "predict_interval"):
        if hasattr(one, method) and (method != "predict_interval" or has_bars(one)):
            assert_array_equal(getattr(one, method)(rows), getattr(other, method)(rows))
    if hasattr(one, "predict_interval") and has_bars(one):
        bars = one.predict(rows, return_std=True), other.predict(rows, return_std=True)
        assert_array_equal(*bars)


def has_bars(model):
    return getattr(model.model_, "spread", "") is not None


@pytest.mark.parametrize("name", INSTANCES)
def test_all_that_is_known_of_a_model_comes_back(name):
    model = fitted(name)
    again = of_file(as_file(model))

    if hasattr(model, "steps"):
        assert [name for name, _ in again.steps] == [name for name, _ in model.steps]
        rows = rows_for(model)
        assert_array_equal(again[:-1].transform(rows), model[:-1].transform(rows))
        assert_array_equal(
            again[:-1].get_feature_names_out(), model[:-1].get_feature_names_out()
        )
        rows = again[:-1].transform(rows).astype(np.float64)
        model, again = model[-1], again[-1]
    else:
        rows = rows_for(model)
    assert type(again) is type(model)
    assert repr(again) == repr(model)
    same_attributes(model, again)
    if getattr(model, "feature_names_in_", None) is not None:
        model, again = model.model_, again.model_
        assert again.features == model.features
        return
    same_predictions(model, again, rows)


@pytest.mark.parametrize("name", ["rvr", "rvc ovo", "lssvr cg", "pipeline columns"])
def test_a_file_is_the_same_every_time(name):
    model = fitted(name)
    text = as_file(model)

    assert as_file(model) == text
    assert as_file(of_file(text)) == text


def test_by_method_and_by_function(tmp_path):
    model = fitted("rvr")
    model.save(tmp_path / "one.json")
    relvec.save(model, str(tmp_path / "two.json"))

    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "one.json",
        "two.json",
    ]
    loaded = relvec.load(tmp_path / "one.json")
    assert_array_equal(loaded.predict([[0.0, 1.0]]), model.predict([[0.0, 1.0]]))


def test_columns_of_a_frame_are_found_by_name():
    model, (X, _) = fitted("pipeline of frames"), frame()
    again = of_file(as_file(model))
    turned = X[X.columns[::-1]].drop(columns="height")

    assert_array_equal(again.predict(turned), model.predict(X))
    assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    with pytest.raises(ValueError, match="colour"):
        again.predict(X.drop(columns="colour"))


def test_a_loaded_model_can_be_fitted_again_and_cloned():
    X, y = regression()
    for name in ("rvr mackay", "rvr several", "rvr adaptive", "lssvr"):
        model, again = fitted(name), of_file(as_file(fitted(name)))
        assert_array_equal(clone(again).fit(X, y).predict(X), model.predict(X))


def test_a_warm_start_goes_on_as_it_would_have():
    X, y = regression()
    model = fitted("rvr warm")
    again = of_file(as_file(model))
    assert again.model_.pruned.keys == model.model_.pruned.keys
    expected = clone(model).fit(X, y).fit(X[:30], y[:30])

    assert_array_equal(again.fit(X[:30], y[:30]).predict(X), expected.predict(X))


def test_the_error_of_a_file_on_its_own_rows(tmp_path):
    fitted("rvc two").save(tmp_path / "model")
    assert self_test_error(tmp_path / "model") == 0.0


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "name",
    ["pipeline of frames", "pipeline of slices", "pipeline without remainder"],
)
def test_columns_of_a_transformer_are_as_they_were_given(name):
    model, (X, _) = fitted(name), frame()
    again = of_file(as_file(model))

    found, was = (
        [(part, columns) for part, _, columns in one[0].transformers_]
        for one in (again, model)
    )
    assert found == was
    assert again[0].n_jobs is None
    told = []
    for one in (model, again):
        try:
            told.append(one.predict(X.to_numpy()).tolist())
        except ValueError as error:
            told.append(str(error))
    assert told[0] == told[1]
    assert not any("relvec" in each for _, step in again.steps for each in vars(step))


@pytest.mark.parametrize("fill", [0, -1.5, None])
def test_constants_for_numbers_stay_numbers(fill):
    X, y = regression()
    imputer = SimpleImputer(strategy="constant", fill_value=fill)
    model = make_pipeline(imputer, relvec.RVR(gamma=0.5)).fit(X, y)
    again, rows = of_file(as_file(model)), np.array([[np.nan, 1.0], [2.0, np.nan]])

    same(again[0].transform(rows), model[0].transform(rows))
    same(again[0].statistics_, model[0].statistics_)
    words = np.array([["a"], [np.nan]], dtype=object)
    imputer = SimpleImputer(strategy="constant", fill_value="none").fit(words)
    kind = _CODEC.by_name["sklearn.SimpleImputer"]
    same(kind.make(**kind.take(imputer)).transform(words), imputer.transform(words))


LOADING = """
import sys, threading, warnings
import relvec
relvec.load(sys.argv[1])
before = list(warnings.filters)
sys.setswitchinterval(1e-6)
many = lambda: [relvec.load(sys.argv[1]) for _ in range(5)]
threads = [threading.Thread(target=many) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(warnings.filters == before)
"""


def test_threads_that_load_leave_warnings_as_they_were(tmp_path):
    relvec.save(fitted("pipeline of frames"), tmp_path / "model")
    command = [sys.executable, "-W", "error", "-c", LOADING, str(tmp_path / "model")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)

    assert found.stdout.strip() == "True", found.stderr


def test_partial_fit_after_loading_says_that_it_begins_anew():
    X, y = regression()
    again = of_file(as_file(fitted("rvr partial")))
    with pytest.warns(relvec.FitWarning, match="begins anew"):
        again.partial_fit(X[:20], y[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.partial_fit(X[20:], y[20:])
        of_file(as_file(fitted("rvr"))).fit(X, y).partial_fit(X, y)
    assert_array_equal(again.predict(X), fitted("rvr partial").predict(X))

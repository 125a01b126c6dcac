"""Refusals: the parameter, its value and the remedy are named."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from problems import read_only
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from relvec import LSSVC, LSSVR, RVC, RVR, BottomUp, sparse_bayes
from relvec.data import noisy_sinc, scan, two_mixtures
from relvec.estimators import FitWarning, validation
from relvec.kernels import Gaussian

X, Y = read_only(*noisy_sinc(30, seed=0))
POINTS, LABELS = two_mixtures(30, seed=0)

PARAMETERS = [
    (
        {"kernel": "rfb"},
        r"kernel must be one of 'rbf'.* a callable, a list of these or None; got 'rfb'",
    ),
    ({"kernel": 3}, "kernel must be one of"),
    ({"gamma": "skale"}, "'learn', 'scale', 'auto' or positive; got 'skale'"),
    ({"gamma": -1.0}, "gamma must be a positive number; got -1.0"),
    ({"gamma": 0}, "gamma must be a positive number; got 0"),
    ({"degree": 2.5}, "degree must be a whole number of at least 1; got 2.5"),
    ({"coef0": np.nan}, "coef0 must be a finite number; got nan"),
    (
        {"solver": "sequentiel"},
        "solver must be one of 'sequential', 'mackay', 'em', 'variational', a BottomUp "
        "or a TopDown; got 'sequentiel'",
    ),
    (
        {"design": "spares"},
        "design must be one of 'auto', 'dense', 'sparse', 'streamed'; got",
    ),
    ({"design": None}, "design must be one of .*; got None"),
    ({"candidates": "some"}, "'auto', 'all', a number of rows or an array .*'some'"),
    ({"candidates": 0}, "candidates must be a whole number of at least 1; got 0"),
    ({"candidates": 2.5}, "candidates must be a whole number of at least 1; got 2.5"),
    ({"candidates": True}, "candidates must be a whole number of at least 1; got True"),
    ({"candidates": None}, "candidates must be a whole number of at least 1; got None"),
    ({"candidates": np.zeros((5, 3))}, r"shape \(5, 3\): .* features of X"),
    ({"candidates": np.zeros((0, 1))}, "candidates has shape .* at least one centre"),
    ({"candidates": np.zeros(5)}, r"candidates must have 2 dimension.* shape \(5,\)"),
    ({"candidates": np.full((5, 1), np.nan)}, "candidates contains NaN or infinity"),
    ({"candidates": [["a"], ["b"]]}, "candidates must be a dense array of real"),
    ({"candidates": [[1.0], [1.0, 2.0]]}, "candidates must be a dense array of real"),
    ({"candidates": csr_matrix(np.eye(3))}, "candidates must be a dense array of real"),
    ({"memory_budget": "2 bananas"}, "number of bytes or words like '2GB'.*bananas"),
    ({"memory_budget": "GB"}, "memory_budget must be .*; got 'GB'"),
    ({"memory_budget": "-2GB"}, "memory_budget must be .*; got '-2GB'"),
    ({"memory_budget": "0MB"}, "memory_budget must be .*; got '0MB'"),
    ({"memory_budget": 0}, "memory_budget must be .*; got 0"),
    ({"memory_budget": -1}, "memory_budget must be .*; got -1"),
    ({"memory_budget": np.nan}, "memory_budget must be .*; got nan"),
    ({"memory_budget": np.inf}, "memory_budget must be .*; got inf"),
    ({"memory_budget": None}, "memory_budget must be .*; got None"),
    ({"memory_budget": True}, "memory_budget must be .*; got True"),
    ({"memory_budget": 1}, "memory_budget of 1 bytes, which allows 0 candidates"),
    ({"solver": BottomUp}, "a BottomUp or a TopDown; got <class"),
    (
        {"solver": BottomUp(init="bias"), "fit_intercept": False},
        "set fit_intercept=True or its init",
    ),
    ({"tol": 0}, "tol must be a positive number; got 0"),
    ({"tol": "small"}, "tol must be a positive number; got 'small'"),
    ({"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
    ({"max_iter": 1.5}, "max_iter must be a whole number"),
    ({"max_seconds": 0}, "max_seconds must be a positive number; got 0"),
    ({"fit_intercept": "no"}, "fit_intercept must be True or False; got 'no'"),
    ({"verbose": "yes"}, "verbose must be a whole number of at least 0; got 'yes'"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS, ids=str)
@pytest.mark.parametrize(
    ("model", "rows", "targets"), [(RVR, X, Y), (RVC, POINTS, LABELS)]
)
def test_parameters_of_both(model, rows, targets, parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(rows, targets)


@pytest.mark.parametrize("bad", ["guess", 0.0, -1.0, np.inf, None])
def test_noise_variance(bad):
    message = "noise_variance must be 'estimate' or a positive number"
    with pytest.raises(ValueError, match=message):
        RVR(noise_variance=bad).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(30), "zero for every row"),
        (np.r_[-1.0, np.ones(29)], "must not be negative; got -1.0.*weight of zero"),
        (np.r_[np.nan, np.ones(29)], "sample_weight contains NaN or infinity"),
        (np.ones(29), "one number per row, 30 in all; got 29"),
        (np.ones((30, 1)), r"got shape \(30, 1\)"),
        ("balanced", "sample_weight must be a dense array of real numbers; got str"),
        (np.ones(30) * 1j, "real numbers"),
        (np.full(30, 1e300), "must lie between 1e-50 and 1e"),
    ],
)
@pytest.mark.parametrize(
    ("model", "rows", "targets"), [(RVR(), X, Y), (RVC(), POINTS, LABELS)]
)
def test_sample_weight(model, rows, targets, weights, message):
    with pytest.raises(ValueError, match=message):
        model.fit(rows, targets, sample_weight=weights)


DATA = [
    (np.where(X > 9, np.nan, X), Y, "contains NaN"),
    (np.where(X > 9, np.inf, X), Y, "contains infinity"),
    (X, np.where(Y > 0.5, np.nan, Y), "contains NaN"),
    (X[:20], Y, "inconsistent numbers of samples"),
    (X[:0], Y[:0], "0 sample"),
    (X[:, :0], Y, "0 feature"),
    (X[:, 0], Y, "Expected 2D array"),
    (
        pd.DataFrame({"name": ["a"] * 30}),
        Y,
        r"X or y holds text .*'a'.*encode it as numbers",
    ),
    (X, np.full(30, "a"), "y must be a dense array of real numbers"),
]


@pytest.mark.parametrize(("rows", "targets", "message"), DATA)
def test_data_of_a_regression(rows, targets, message):
    with pytest.raises(ValueError, match=message):
        RVR().fit(rows, targets)


def test_classes():
    with pytest.raises(ValueError, match=r"one class only, \[1\].* needs rows of at"):
        RVC().fit(POINTS, np.ones(30, dtype=int))
    with pytest.raises(ValueError, match="one class only"):
        RVC().fit(POINTS, LABELS, sample_weight=LABELS)
    with pytest.raises(ValueError, match="multi_class must be one of 'auto', 'mrvm1'"):
        RVC(multi_class="crammer_singer").fit(POINTS, LABELS)
    with pytest.raises(ValueError, match="Unknown label type"):
        RVC().fit(POINTS, np.linspace(0, 1, 30))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            lambda A, B: np.ones(len(A)),
            r"returned shape \(30,\).*must return \(30, 30\)",
        ),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "returned NaN or infinity"),
        (lambda A, B: np.ones((len(A), len(B))) * 1j, "must return real numbers"),
        (lambda A, B: np.full((len(A), len(B)), "x"), "must return real numbers"),
    ],
)
def test_kernels_that_misbehave(kernel, message):
    with pytest.raises(ValueError, match=message):
        RVR(kernel=kernel).fit(X, Y)


def test_values_beyond_floating_point():
    with pytest.raises(ValueError, match=r"X reaches 1e\+201.*scale the features"):
        RVR().fit(X * 1e200, Y)
    with pytest.raises(ValueError, match="noise_variance=1e-30 is too small"):
        RVR(noise_variance=1e-30).fit(X, Y)
    with pytest.raises(ValueError, match=r"kernel .* returned NaN or infinity"):
        RVR(kernel="poly", degree=9, gamma=1.0).fit(X * 1e30, Y)
    with pytest.raises(ValueError, match=r"order of 1e\+160.*change its unit"):
        RVR().fit(X, np.where(Y > 0, 1e160, -1e160))
    for target in (1e300, 1e-200):
        with pytest.raises(ValueError, match=r"order of 1e.*change its unit"):
            RVR().fit(X, np.full(len(X), target))


@pytest.mark.parametrize("size", [1e-155, 1e-170, 1e-300])
@pytest.mark.parametrize(
    "model",
    [
        RVR(),
        RVR(kernel=None),
        RVR(kernel="laplacian"),
        RVR(kernel_learning="adaptive"),
        RVR(design="streamed"),
        RVC(),
        LSSVR(),
        LSSVC(),
    ],
)
def test_features_whose_squares_vanish(model, size):
    targets = Y if is_regressor(model) else Y > 0
    with pytest.raises(ValueError, match=r"X differ by .*scale the features"):
        model.fit(X * size, targets)


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("size", [1e-90, 1e-120, 1e-150])
def test_kernel_values_whose_squares_vanish(kernel, size):
    rows = np.c_[X, Y] * size
    with pytest.raises(
        ValueError, match=r"functions of the model are so small.*scale the features"
    ):
        RVR(kernel=kernel).fit(rows, Y)
    with pytest.raises(
        ValueError, match=r"functions of the model are so small.*scale the features"
    ):
        RVC(kernel=kernel).fit(rows, Y > 0)


@pytest.mark.parametrize("value", [0.0, 1e-200])
def test_constant_features_of_any_size_are_accepted(value):
    with pytest.warns(FitWarning):
        model = RVR().fit(np.full((30, 2), value), Y)
    assert np.isfinite(model.predict(np.full((1, 2), value), return_std=True)).all()


def test_precomputed_shapes():
    with pytest.raises(ValueError, match=r"needs a square matrix.*got X of shape"):
        RVR(kernel="precomputed").fit(np.ones((30, 4)), Y)
    model = RVR(kernel="precomputed").fit(Gaussian(2.0)(X, X), Y)
    with pytest.raises(ValueError, match="4 features, but RVR is expecting 30"):
        model.predict(np.ones((2, 4)))


def test_before_fitting():
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(RVC(), method)(POINTS)
    with pytest.raises(NotFittedError):
        RVR().predict(X)


def test_other_features_at_prediction():
    frame = pd.DataFrame(POINTS, columns=["width", "height"])
    model = RVC().fit(frame, LABELS)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"width": "breadth"}))


def test_limits_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = RVR(max_iter=2).fit(X, Y)
    assert model.n_iter_ == 2
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        RVC(max_seconds=1e-9).fit(POINTS, LABELS)


DICTIONARY = np.column_stack([np.ones(30), X, X**2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"Phi": DICTIONARY[:, 0]},
            r"Phi must have 2 dimension\(s\); got shape \(30,\)",
        ),
        ({"Phi": DICTIONARY[:0]}, "at least one row and one column"),
        ({"Phi": DICTIONARY[:9]}, "Phi has 9 rows and y 30 entries"),
        ({"Phi": DICTIONARY * np.inf}, "Phi contains NaN or infinity"),
        ({"y": Y[:, None]}, r"y must have 1 dimension\(s\)"),
        ({"y": Y * np.nan}, "y contains NaN"),
        (
            {"likelihood": "poisson"},
            "likelihood must be one of 'gaussian', 'bernoulli'",
        ),
        ({"likelihood": "bernoulli"}, "y must hold 0 and 1, both of them"),
        ({"likelihood": "bernoulli", "y": np.ones(30)}, "both of them"),
        ({"likelihood": "bernoulli", "noise_variance": 1.0}, "has no meaning"),
        ({"Phi": DICTIONARY * 1j}, "Phi must be a dense array of real numbers"),
        ({"Phi": [["a", "b"]] * 30}, "Phi must be a dense array of real numbers"),
        ({"Phi": [[1.0], [1.0, 2.0]]}, "Phi must be a dense array"),
        ({"Phi": csr_matrix(DICTIONARY)}, "dense array of real numbers; got csr_"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"callback": 3}, "callback must be a function"),
        ({"noise_variance": -1}, "noise_variance must be"),
        (
            {"Phi": DICTIONARY[:, 1:], "solver": BottomUp(init="bias")},
            "add a column of ones",
        ),
        ({"sample_weight": np.zeros(30)}, "zero for every row"),
    ],
)
def test_sparse_bayes(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparse_bayes(**{"Phi": DICTIONARY, "y": Y, **arguments})


def test_predictions_of_sparse_bayes_want_the_whole_dictionary():
    found = sparse_bayes(DICTIONARY, Y)
    with pytest.raises(ValueError, match="Phi has 2 columns and the dictionary 3"):
        found.predict(DICTIONARY[:, :2])
    with pytest.raises(ValueError, match="Phi contains NaN"):
        found.predict(DICTIONARY * np.nan)


def test_text_columns_at_prediction():
    model = RVC().fit(POINTS, LABELS)
    with pytest.raises(ValueError, match=r"holds text .*OneHotEncoder"):
        model.predict([["red", "blue"]])


PLAIN = [
    (POINTS, Y[:, None]),
    (POINTS, np.arange(30)),
    (POINTS, np.arange(30).astype(object)),
    (POINTS, 1j * np.arange(30)),
    (POINTS, np.arange(31.0)),
    (POINTS, np.full(30, np.inf)),
    (POINTS[:0], np.arange(0.0)),
    (POINTS[:, :0], np.arange(30.0)),
    (POINTS[0], np.arange(2.0)),
    (POINTS.astype(np.float16), np.arange(30.0)),
    (POINTS.astype(np.longdouble), np.arange(30.0)),
    (POINTS.astype(">f8"), np.arange(30.0)),
    (np.ma.masked_array(POINTS), np.arange(30.0)),
    (np.asfortranarray(POINTS), np.arange(30.0)),
    (np.where(POINTS > 1, np.nan, POINTS), np.arange(30.0)),
]


@pytest.mark.parametrize("data", PLAIN, ids=range(len(PLAIN)))
def test_arrays_that_are_taken_as_they_are(monkeypatch, data):
    """Are those that scikit-learn would take so; others it refuses or turns."""

    def outcome():
        model = RVR()
        try:
            X, y = validation.validated(model, *data, y_numeric=True)
        except ValueError as error:
            return str(error)
        return X.dtype, y.dtype, X.tolist(), y.tolist(), model.n_features_in_

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quick = outcome()
        monkeypatch.setattr(validation, "_is_plain", lambda array, ndim: False)
        assert outcome() == quick


class LazyRows:
    """What a lazy data frame of polars looks like."""

    def collect(self):
        return X

    def lazy(self):
        return self


@pytest.mark.parametrize("lazy", [LazyRows(), pl.DataFrame({"a": X[:, 0]}).lazy()])
def test_lazy_frames(lazy):
    with pytest.raises(TypeError, match=r"X is a Lazy.* not computed yet: give X.coll"):
        RVR().fit(lazy, Y)
    with pytest.raises(TypeError, match=r"y is a Lazy.*: give y.collect\(\)"):
        LSSVR().fit(X, lazy)
    with pytest.raises(TypeError, match=r"X is a Lazy.*: give X.collect\(\)"):
        RVR(gamma=0.1).fit(X, Y).predict(lazy)


TIMES = {
    "datetime": pd.date_range("2020-01-01", periods=30),
    "with a zone": pd.date_range("2020-01-01", periods=30, tz="UTC"),
    "duration": pd.to_timedelta(np.arange(30), "s"),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("alone", [True, False])
def test_columns_of_dates(kind, alone):
    rows = pd.DataFrame({"a": X[:, 0], "when": TIMES[kind]})
    rows = rows[["when"]] if alone else rows
    with pytest.raises(ValueError, match=r"column 'when' of X holds dates.*numbers"):
        RVR().fit(rows, Y)


def test_dates_of_other_libraries():
    dates = TIMES["datetime"]
    with pytest.raises(ValueError, match=r"column 'when' of X holds dates"):
        RVC().fit(pl.DataFrame({"when": dates.to_pydatetime().tolist()}), Y > 0)
    with pytest.raises(ValueError, match=r"X holds dates or times \(datetime64"):
        RVR().fit(dates.to_numpy()[:, None], Y)


def test_masked_arrays():
    mask = np.arange(30) == 4
    rows, targets = np.ma.masked_array(X, mask[:, None]), np.ma.masked_array(Y, mask)
    with pytest.raises(ValueError, match=r"X has 1 masked value.*X.filled.*leave out"):
        RVR().fit(rows, Y)
    with pytest.raises(ValueError, match=r"y has 1 masked value"):
        RVR().fit(X, targets)
    with pytest.raises(ValueError, match=r"sample_weight has 1 masked value"):
        RVR().fit(X, Y, sample_weight=np.ma.masked_array(np.ones(30), mask))
    with pytest.raises(ValueError, match=r"source has 1 masked value"):
        scan(rows)
    model = RVR(gamma=0.1).fit(np.ma.masked_array(X), Y)
    with pytest.raises(ValueError, match=r"X has 1 masked value"):
        model.predict(rows)


@pytest.mark.parametrize("model", [RVC(gamma=1.0), LSSVC()])
@pytest.mark.parametrize("kind", ["Int64", "UInt8", "boolean"])
def test_labels_of_types_that_allow_missing_values_stay_what_they_are(model, kind):
    labels = pd.Series(LABELS, dtype=kind)
    for given in (labels, labels.array):
        found = clone(model).fit(POINTS, given)
        assert found.classes_.dtype == labels.dtype.numpy_dtype
    missing = labels.copy()
    missing[0] = pd.NA
    with pytest.raises(ValueError, match="y contains NaN"):
        clone(model).fit(POINTS, missing)

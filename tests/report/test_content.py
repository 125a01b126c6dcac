"""What a report says is so."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, log_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV

from relvec import LSSVC, LSSVR, RVC, RVR, FitWarning, OneAgainstOne
from relvec.data import noisy_sinc
from relvec.report import make_report
from relvec.report.page import Table, plain, shown


def section(report, name):
    found = [each for each in report.sections if each.name == name]
    return found[0] if found else None


def blocks(report, name, kind):
    return [each for each in section(report, name).blocks if each.kind == kind]


def column(table, name):
    return [row[table.columns.index(name)] for row in table.rows]


def test_scores_are_of_rows_held_out(numbers, report_of_numbers):
    model, X, y, out = numbers
    error = mean_squared_error(y[out], model.predict(X.iloc[out])) ** 0.5
    guess = np.sqrt(np.mean((y[out] - y[:60].mean()) ** 2))

    assert report_of_numbers.scores["rmse"] == pytest.approx(error, rel=1e-12)
    assert report_of_numbers.n_rows == len(out)
    table = blocks(report_of_numbers, "summary", "table")[0]
    assert table.rows[0][1:3] == pytest.approx((error, guess), rel=1e-12)


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
def test_a_feature_may_be_called_weight():
    """And like whatever else a table of vectors has: its cells replace nothing."""
    names = ["weight", "row", "observed y"]
    X = pd.DataFrame(np.random.default_rng(3).normal(size=(40, 3)), columns=names)
    y = pd.Series(np.sin(X["weight"]), name="y")
    model = RVR(noise_variance=0.01, gamma=0.3).fit(X, y)
    table = blocks(make_report(model, X, y), "vectors", "table")[0]
    heaviest = np.argmax(np.abs(model.dual_coef_))
    row = model.relevance_[heaviest]

    assert table.columns == ("row", "weight", "observed y", *names)
    expected = [row + 1, model.dual_coef_[heaviest], y[row], *X.iloc[row]]
    assert table.rows[0] == pytest.approx(tuple(expected), rel=1e-12)


def test_rows_that_were_drawn_are_said_to_be(monkeypatch):
    monkeypatch.setattr("relvec.report.case._MOST_ROWS", 20)
    X, y = noisy_sinc(50)
    model = RVR(gamma=0.1).fit(X, y)

    assert "20 of them, drawn" in section(make_report(model, X, y), "summary").text
    few = make_report(model, X, y, held_out=range(20))
    assert "drawn" not in section(few, "summary").text


def test_very_many_classes_have_no_matrix():
    X = (
        np.repeat(np.arange(31.0), 4)[:, None]
        + 0.01 * np.tile(np.arange(4), 31)[:, None]
    )
    y = np.repeat(np.arange(31), 4)
    found = make_report(LSSVC(gamma=1.0).fit(X, y), X, y)

    assert section(found, "confusion").title == "Classes"
    assert blocks(found, "confusion", "matrix") == []


def test_coverage_is_counted(numbers, report_of_numbers):
    model, X, y, out = numbers
    seen = model[:-1].transform(X.iloc[out])
    lower, upper = model[-1].predict_interval(seen, 0.8)
    table = blocks(report_of_numbers, "coverage", "table")[0]
    row = next(row for row in table.rows if row[0] == 0.8)

    assert row[1] == np.mean((lower <= y[out]) & (y[out] <= upper))
    assert row[3] == pytest.approx(np.mean(upper - lower))


def test_the_worst_rows_are_counted_from_one(numbers, report_of_numbers):
    model, X, y, out = numbers
    mean, std = model.predict(X.iloc[out], return_std=True)
    worst = out[np.argmax(np.abs(y[out] - mean) / std)]
    table = blocks(report_of_numbers, "residuals", "table")[0]

    assert table.rows[0][:2] == (worst + 1, y[worst])


def test_vectors_are_rows_of_the_table(numbers, report_of_numbers):
    model, X, y, _ = numbers
    last = model.steps[-1][1]
    table = blocks(report_of_numbers, "vectors", "table")[0]
    numbers = np.array(column(table, "row")) - 1

    assert sorted(numbers) == sorted(last.relevance_)
    assert sorted(column(table, "weight")) == sorted(last.dual_coef_)
    assert column(table, f"observed {y.name}") == list(y[numbers])
    assert column(table, X.columns[0]) == list(X.iloc[numbers, 0])


def test_vectors_are_found_among_rows_in_another_order(numbers):
    model, X, y, _ = numbers
    order = np.random.default_rng(3).permutation(len(X))
    report = make_report(model, X.iloc[order], y.iloc[order])
    found = np.array(column(blocks(report, "vectors", "table")[0], "row")) - 1

    assert sorted(order[found]) == sorted(model.steps[-1][1].relevance_)


def test_vectors_elsewhere_have_no_row(numbers):
    model, X, y, out = numbers
    report = make_report(model, X.iloc[out], y.iloc[out])

    assert set(column(blocks(report, "vectors", "table")[0], "row")) == {None}
    assert "0 of the vectors are rows" in section(report, "vectors").text


def test_features_are_in_the_order_of_their_relevance(numbers, report_of_numbers):
    model, X, *_ = numbers
    table = blocks(report_of_numbers, "features", "table")[0]
    relevance = model.steps[-1][1].feature_relevance_

    assert column(table, "relevance") == sorted(relevance, reverse=True)
    assert column(table, "feature")[0] == X.columns[0]


def test_classes_are_counted(classes, report_of_classes):
    model, X, y = classes
    proba, predicted = model.predict_proba(X), model.predict(X)
    matrix = blocks(report_of_classes, "confusion", "matrix")[0]
    reliability = blocks(report_of_classes, "calibration", "table")[0]

    assert np.array_equal(matrix.counts, confusion_matrix(y, predicted))
    assert report_of_classes.scores["log_loss"] == pytest.approx(log_loss(y, proba))
    assert sum(column(reliability, "rows")) == len(y)
    right = np.dot(column(reliability, "rows"), column(reliability, "came true"))
    assert right == pytest.approx(np.sum(predicted == y))


def test_two_classes_are_told_by_the_second():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=80) > 0
    model = RVC().fit(X, y)
    table = blocks(make_report(model, X, y), "calibration", "table")[0]
    means = np.dot(column(table, "rows"), column(table, "mean"))

    assert means == pytest.approx(model.predict_proba(X)[:, 1].sum())


def test_what_does_not_apply_is_left_out(report_of_numbers, report_of_classes):
    names = [
        [each.name for each in r.sections]
        for r in (report_of_numbers, report_of_classes)
    ]

    assert names[0] == [
        *("summary", "predictions", "coverage", "residuals", "features", "vectors"),
        *("evidence", "comparison", "exports", "provenance"),
    ]
    assert names[1] == [
        *("summary", "confusion", "calibration", "map", "features", "vectors"),
        *("evidence", "exports", "provenance"),
    ]


def test_a_constant_has_neither_vectors_nor_a_trace():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.ones(20)
    with pytest.warns(FitWarning):
        model = RVR().fit(X, y)
    names = {each.name for each in make_report(model, X, y).sections}

    assert not names & {"vectors", "evidence"}


def test_without_a_kernel_features_are_weighed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    y = X["b"] + 0.1 * rng.normal(size=30)
    table = blocks(make_report(RVR(kernel=None).fit(X, y), X, y), "vectors", "table")[0]

    assert table.columns == ("feature", "weight")
    assert column(table, "feature")[0] == "b"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (RVR(), "function"),
        (LSSVR(), "vectors"),
        (RVR(noise="student-t"), "coverage"),
        (GridSearchCV(RVR(), {"gamma": [0.1, 1.0]}, cv=2), "evidence"),
    ],
)
def test_models_of_numbers(model, name):
    X, y = noisy_sinc(60, seed=0)
    report = make_report(model.fit(X, y), X.tolist(), y)

    assert section(report, name) is not None
    assert report.scores["rmse"] < 1
    report.html()


@pytest.mark.parametrize("model", [LSSVC(), RVC(multi_class=OneAgainstOne())])
def test_models_of_classes(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    report = make_report(model.fit(X, y), X, y)

    assert section(report, "vectors") is not None
    assert report.scores["error"] < 0.3
    report.html()


def test_a_model_that_went_on(numbers):
    X, y = noisy_sinc(100, seed=0)
    model = RVR().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])

    assert make_report(model, X, y).scores["rmse"] < 0.2


def test_a_single_row():
    X, y = noisy_sinc(40, seed=0)
    report = make_report(RVR().fit(X, y), X, y, held_out=[3])

    assert report.scores["r2"] is None
    assert "R²" not in [row[0] for row in blocks(report, "summary", "table")[0].rows]
    report.html()


def test_styles_of_the_user_change_nothing(classes, report_of_classes):
    with mpl.rc_context({"text.color": "red", "svg.fonttype": "path"}):
        again = make_report(*classes)
        assert mpl.rcParams["text.color"] == "red"

    assert again.html() == report_of_classes.html()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": np.ones((10, 2))}, "of one target"),
        ({"y": np.ones(9)}, "10 rows and y has 9"),
        ({"y": np.full(10, np.nan)}, "without a finite number"),
        ({"X": np.ones(10)}, "rows in a table"),
        ({"held_out": [10]}, "from 0 to 9"),
        ({"held_out": []}, "at least one"),
        ({"model": "a model"}, "models of relvec"),
        ({"model": RVR()}, "not fitted"),
    ],
)
def test_wrong_uses(changed, message):
    X = np.arange(10.0)[:, None]
    given = {"model": RVR().fit(X, X[:, 0] ** 2), "X": X, "y": X[:, 0] ** 2, **changed}

    with pytest.raises((ValueError, AttributeError), match=message):
        make_report(**given)


def test_several_outputs_are_refused():
    X = np.arange(20.0)[:, None]
    model = RVR().fit(X, np.column_stack([np.sin(X), np.cos(X)]))

    with pytest.raises(ValueError, match="predicts several"):
        make_report(model, X, X[:, 0])


def test_unknown_classes_are_refused(classes):
    model, X, y = classes

    with pytest.raises(ValueError, match="'other', which the model does not know"):
        make_report(model, X, y.where(y != "plain", "other"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(-0.00012345), "−0.0001234"),
        (123456.7, "123,457"),
        (np.int64(-1200), "−1,200"),
        (True, "yes"),
        (np.nan, "–"),
        ("-1", "-1"),
        (pd.Timestamp("2020-01-01"), "2020-01-01 00:00:00"),
    ],
)
def test_cells_are_as_people_read_them(value, text):
    assert shown(plain(value)) == text


def test_columns_of_text_are_no_numbers():
    table = Table("t", ("a", "b", "c"), ((1, "x", None), (None, 2, None)))

    assert [table.is_number(k) for k in range(3)] == [True, False, False]

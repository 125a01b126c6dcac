"""Predictions and intervals: what is drawn is what the model predicts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import LSSVR, RVC, RVR
from relvec.data import noisy_sinc, two_mixtures
from relvec.plots import PredictiveIntervalDisplay

X, Y = noisy_sinc(60, seed=0)
MODEL = RVR(gamma=0.1).fit(X, Y)
WIDE = np.random.default_rng(0).uniform(-2, 2, size=(50, 3))
TARGETS = np.sin(2 * WIDE[:, 0]) + 0.1 * WIDE[:, 1]
SEVERAL = RVR(gamma=0.3).fit(WIDE, TARGETS)
draw = PredictiveIntervalDisplay.from_estimator


def ordered(points):
    return np.array(sorted(map(tuple, points)))


def band(display):
    """Lower and upper bounds by place, from the corners of the band."""
    corners = display.band_.get_paths()[0].vertices
    return [
        [pick(corners[corners[:, 0] == x, 1]) for x in display.x] for pick in (min, max)
    ]


def test_a_line_with_its_band(ax):
    display = draw(MODEL, X, Y, coverage=0.8, grid_resolution=30, margin=0.1, ax=ax)
    line = np.linspace(X.min() - 0.1 * np.ptp(X), X.max() + 0.1 * np.ptp(X), 30)[
        :, None
    ]

    assert display.kind == "line"
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert np.allclose(display.line_.get_xdata(), line[:, 0])
    assert np.array_equal(display.line_.get_ydata(), MODEL.predict(display.x[:, None]))
    assert np.allclose(band(display), MODEL.predict_interval(line, 0.8))
    assert np.array_equal(display.points_.get_offsets(), np.c_[X, Y])
    assert "80 % interval" in [text.get_text() for text in ax.get_legend().texts]


@pytest.mark.parametrize("uncertainty", ["plain", "augmented"])
def test_circles_are_about_the_relevance_vectors(uncertainty):
    model = RVR(gamma=0.1, uncertainty=uncertainty).fit(X, Y)
    display = draw(model, X, Y)
    rows = model.relevance_

    circles = ordered(display.vectors_.get_offsets())
    assert np.array_equal(circles, ordered(np.c_[X[rows], Y[rows]]))
    assert not len(display.vectors_.get_facecolors())


def test_vectors_that_are_not_shown_are_circled_where_they_are_predicted():
    others = np.setdiff1d(np.arange(len(X)), MODEL.relevance_)
    display = draw(MODEL, X[others], Y[others])
    vectors = MODEL.relevance_vectors_
    predicted = np.c_[vectors, MODEL.predict(vectors)]

    assert np.allclose(ordered(display.vectors_.get_offsets()), ordered(predicted))


def test_of_equal_rows_the_one_of_the_fit_is_circled():
    rows, targets = np.repeat(X, 2, axis=0), np.repeat(Y, 2)
    targets[::2] += 0.05
    model = RVR(gamma=0.1).fit(rows, targets)
    display = draw(model, rows, targets)
    own = np.c_[rows, targets][model.relevance_]

    assert np.array_equal(ordered(display.vectors), ordered(own))


def test_without_targets_there_are_no_dots():
    display = draw(MODEL, X)

    assert len(display.points_.get_offsets()) == 0
    assert "observations" not in [
        text.get_text() for text in display.ax_.get_legend().texts
    ]
    assert np.allclose(
        display.vectors[:, 1], MODEL.predict(display.vectors[:, :1]), atol=1e-12
    )


def test_calibrated_bounds():
    display = draw(MODEL, X, Y, calibration="loo", grid_resolution=9)
    bounds = MODEL.predict_interval(display.x[:, None], 0.9, calibration="loo")

    assert np.array_equal([display.lower, display.upper], bounds)


def test_predictions_against_observations():
    display = draw(SEVERAL, WIDE, TARGETS)
    mean, bounds = SEVERAL.predict(WIDE), SEVERAL.predict_interval(WIDE)
    bars = np.array(display.band_.get_segments())

    assert display.kind == "scatter"
    assert np.array_equal(display.points_.get_offsets(), np.c_[TARGETS, mean])
    assert np.allclose(bars[:, :, 0], TARGETS[:, None])
    assert np.allclose(bars[:, :, 1], np.transpose(bounds))
    circles = ordered(display.vectors_.get_offsets())
    rows = SEVERAL.relevance_
    assert np.array_equal(circles, ordered(np.c_[TARGETS, mean][rows]))
    assert np.array_equal(display.line_.get_xdata(), display.line_.get_ydata())


def test_rows_by_their_prediction():
    display = draw(SEVERAL, WIDE, TARGETS, kind="sorted")
    order = np.argsort(SEVERAL.predict(WIDE))

    assert np.array_equal(display.line_.get_ydata(), SEVERAL.predict(WIDE)[order])
    by_place = display.points_.get_offsets()[order]
    assert np.array_equal(by_place, np.c_[np.arange(50), TARGETS[order]])
    lower, upper = SEVERAL.predict_interval(WIDE[order])
    assert np.allclose(band(display), [lower, upper])
    assert set(map(tuple, display.vectors)) == {
        tuple(display.points[row]) for row in SEVERAL.relevance_
    }


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_columns_become_labels(frame):
    rows = frame({"temperature": X[:, 0]})
    model = RVR(gamma=0.1).fit(rows, Y)
    display = draw(model, rows, pd.Series(Y, name="load"), grid_resolution=20)

    assert display.ax_.get_xlabel() == "temperature"
    assert display.ax_.get_ylabel() == "load"
    assert len(display.vectors) == len(model.relevance_)


def test_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), RVR(gamma=2.0))
    search = GridSearchCV(pipeline, {"rvr__gamma": [2.0]}, cv=2).fit(X, Y)
    display = draw(search, X, Y, grid_resolution=20)
    rows = search.best_estimator_[-1].relevance_

    assert np.array_equal(display.prediction, search.predict(display.x[:, None]))
    assert np.array_equal(ordered(display.vectors), ordered(np.c_[X, Y][rows]))


def test_all_rows_of_a_dense_model_are_not_circled():
    dense = draw(LSSVR(gamma=0.1).fit(X, Y), X, Y)
    pruned = draw(LSSVR(gamma=0.1, n_support=10).fit(X, Y), X, Y)

    assert len(dense.vectors_.get_offsets()) == 0
    assert len(pruned.vectors_.get_offsets()) == 10
    assert "support vectors" in [
        text.get_text() for text in pruned.ax_.get_legend().texts
    ]


def test_kernels_without_places():
    matrix = X @ X.T
    columns = draw(RVR(None).fit(WIDE, TARGETS), WIDE, TARGETS)
    known = draw(RVR("precomputed").fit(matrix, Y + X[:, 0]), matrix, Y + X[:, 0])

    assert len(columns.vectors) == len(known.vectors) == 0


def test_styles_go_to_the_artists():
    display = draw(
        MODEL,
        X,
        Y,
        line_kwargs={"lw": 5, "c": "black"},
        band_kwargs={"alpha": 0.7},
        scatter_kwargs={"c": Y, "s": 3},
        vector_kwargs={"ec": "red", "s": 200},
    )

    assert display.line_.get_linewidth() == 5
    assert display.line_.get_color() == "black"
    assert display.band_.get_alpha() == 0.7
    assert np.array_equal(display.points_.get_array(), Y)
    assert display.vectors_.get_sizes() == [200]
    assert tuple(display.vectors_.get_edgecolors()[0]) == (1, 0, 0, 1)


def test_a_display_is_drawn_again(ax):
    display = draw(MODEL, X, Y, grid_resolution=20)
    before = display.ax_

    assert display.plot(ax) is display
    assert display.ax_ is ax is not before


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        ((SEVERAL, WIDE, TARGETS), {"kind": "line"}, r"draws 1 feature\(s\); got X of"),
        ((SEVERAL, WIDE), {}, "kind='scatter' compares .*: give y, too"),
        ((MODEL, X, Y), {"kind": "bars"}, "kind must be one of 'auto'"),
        ((MODEL, X, Y), {"grid_resolution": 0}, "grid_resolution must be a whole"),
        ((MODEL, X, Y), {"coverage": 1.5}, "coverage must be a number between"),
        (
            (RVC(gamma=4.0).fit(*two_mixtures(40)), *two_mixtures(40)),
            {},
            "this RVC has no predict_interval: classes have probabilities",
        ),
    ],
)
def test_what_cannot_be_drawn(arguments, given, message):
    with pytest.raises(ValueError, match=message):
        draw(*arguments, **given)

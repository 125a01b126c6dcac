"""A map of two features shows the model's predictions and its vectors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import LSSVC, RVC, RVR, OneAgainstOne
from relvec.data import two_mixtures
from relvec.plots import RelevanceDisplay

X, Y = two_mixtures(60, seed=1)
THREE = np.where(X[:, 0] > 0.2, "c", np.where(Y == 1, "b", "a"))
TWO = RVC(gamma=4.0).fit(X, Y)


def draw(*arguments, **given):
    return RelevanceDisplay.from_estimator(*arguments, grid_resolution=12, **given)


def ordered(points):
    return np.array(sorted(map(tuple, points)))


def grid(display):
    return np.c_[display.xx0.ravel(), display.xx1.ravel()]


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().texts]


@pytest.mark.parametrize("uncertainty", ["plain", "augmented"])
def test_probabilities_of_two_classes(ax, uncertainty):
    model = RVC(gamma=4.0, uncertainty=uncertainty).fit(X, Y)
    display = draw(model, X, Y, ax=ax)
    known = model.predict_proba(grid(display))[:, 1]

    assert display.ax_ is ax
    assert np.array_equal(display.response.ravel(), known)
    assert list(display.boundary_[0].levels) == [0.25, 0.5, 0.75]
    for number, points in enumerate(display.points_):
        assert np.array_equal(points.get_offsets(), X[number == Y])
    assert texts(display) == ["0", "1", "relevance vectors"]
    assert display.colorbar_.ax.get_ylabel() == "probability of 1"


def test_circles_are_about_the_relevance_vectors():
    display = draw(TWO, X, Y)

    circles = ordered(display.vectors_.get_offsets())
    assert np.array_equal(circles, ordered(TWO.relevance_vectors_))
    elsewhere = draw(TWO, X[::2], Y[::2]).vectors_.get_offsets()
    assert np.array_equal(ordered(elsewhere), circles)


@pytest.mark.parametrize("steps", [[StandardScaler()], [StandardScaler(), PCA()]])
def test_vectors_behind_other_steps_are_found_among_the_rows(steps):
    model = make_pipeline(*steps, RVC(gamma=1.0)).fit(X, Y)
    display = draw(model, X, Y)
    shown = X[model[-1].relevance_]

    assert np.array_equal(ordered(display.vectors), ordered(shown))
    known = model.predict_proba(grid(display))[:, 1]
    assert np.array_equal(display.response.ravel(), known)


def test_given_centres_are_circled_where_they_are():
    centres = np.array([[-0.5, 0.2], [0.1, 0.8], [0.4, 0.3]])
    model = RVC(gamma=4.0, candidates=centres).fit(X, Y)
    display = draw(model, X)

    assert np.array_equal(ordered(display.vectors), ordered(model.relevance_vectors_))


@pytest.mark.parametrize("make", [RVC, LSSVC])
def test_regions_of_several_classes(make):
    model = make(gamma=4.0).fit(X, THREE)
    display = draw(model, X, THREE)
    regions = display.surface_.get_array()
    winners = np.argmax(display.response, axis=-1)

    known = model.predict_proba(grid(display)).reshape(12, 12, 3)
    assert np.array_equal(display.response, known)
    assert np.array_equal(model.classes_[winners.ravel()], model.predict(grid(display)))
    assert regions.shape == (12, 12, 3)
    assert display.colorbar_ is None
    assert texts(display)[:3] == ["a", "b", "c"]
    markers = {len(points.get_paths()[0].vertices) for points in display.points_}
    assert len(markers) == 3  # told apart without colours, too
    assert len(display.boundary_) == 3


def test_votes_are_all_or_nothing():
    model = RVC(gamma=4.0, multi_class=OneAgainstOne("votes")).fit(X, THREE)
    display = draw(model, X, THREE)

    winners = model.classes_[np.argmax(display.response, axis=-1).ravel()]
    assert np.array_equal(winners, model.predict(grid(display)))
    assert set(np.unique(display.response)) == {0.0, 1.0}


def test_many_classes_have_colours_of_their_own():
    labels = np.argsort(np.argsort(X[:, 0])) * 9 // 60
    display = draw(LSSVC(gamma=4.0).fit(X, labels), X, labels)
    colours = {tuple(points.get_facecolors()[0]) for points in display.points_}

    assert len(colours) == 9


def test_no_class_is_left_out_of_the_legend():
    """Matplotlib has no entry for what begins with an underscore."""
    labels = np.where(Y == 1, "_b", "a")
    display = draw(RVC(gamma=4.0).fit(X, labels), X, labels)

    assert texts(display)[:2] == [" _b", "a"]


def test_means_of_a_regression():
    targets = X[:, 0] + X[:, 1] ** 2
    model = RVR(gamma=1.0).fit(X, targets)
    display = draw(model, X, pd.Series(targets, name="height"))

    assert np.array_equal(display.response.ravel(), model.predict(grid(display)))
    assert np.array_equal(display.points_[0].get_array(), targets)
    assert display.points_[0].norm is display.surface_.norm
    assert display.boundary_ == []
    assert display.colorbar_.ax.get_ylabel() == "predicted height"


def test_a_plain_map():
    frame = pd.DataFrame(X, columns=["length", "width"])
    model = RVC(gamma=4.0).fit(frame, Y)
    display = draw(model, frame, colorbar=False, surface_kwargs={"cmap": "Greys"})

    assert display.colorbar_ is None
    assert display.surface_.cmap.name == "Greys"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    assert np.array_equal(display.points_[0].get_offsets(), X)
    assert texts(display) == ["relevance vectors"]


def test_two_features_are_needed():
    rows = np.c_[X, X[:, 0]]
    message = r"draws 2 feature\(s\); got X of shape \(60, 3\): fit the model to two"

    with pytest.raises(ValueError, match=message):
        draw(RVC(gamma=4.0).fit(rows, Y), rows, Y)

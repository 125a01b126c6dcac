"""Traces, length scales, relevance of features and stability of vectors."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from relvec import RVC, RVR
from relvec.data import noisy_sinc, two_mixtures
from relvec.inspection import RelevanceStability, relevance_stability
from relvec.plots import (
    EvidenceTraceDisplay,
    FeatureRelevanceDisplay,
    LengthScalesDisplay,
    PredictiveIntervalDisplay,
    RelevanceDisplay,
    StabilityDisplay,
)

X, Y = noisy_sinc(60, seed=0)
WIDE = np.random.default_rng(0).uniform(-2, 2, size=(60, 3))
TARGETS = np.sin(2 * WIDE[:, 1])
FRAME = pd.DataFrame(WIDE, columns=["a", "b", "c"])
PLAIN = RVR(gamma=0.1).fit(X, Y)
ARD = RVR(kernel_learning="ard", noise_variance=0.01).fit(FRAME, TARGETS)


def ticks(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("x", ["iteration", "seconds"])
def test_a_trace_is_the_history(x):
    display = EvidenceTraceDisplay.from_estimator(PLAIN, x=x)

    assert list(display.lines_) == ["log_evidence", "n_vectors", "noise_std"]
    for name, (line,) in display.lines_.items():
        assert np.array_equal(line.get_xdata(), PLAIN.history_[x])
        assert np.array_equal(line.get_ydata(), PLAIN.history_[name])
    assert len(display.axes_) == 3
    assert display.figure_ is display.axes_[0].figure


def test_classes_have_no_noise_and_classifiers_lines_of_their_own():
    rows, labels = two_mixtures(60, seed=1)
    labels = np.where(rows[:, 0] > 0.2, 2, labels)
    model = RVC(gamma=4.0, multi_class="ovr").fit(rows, labels)
    display = EvidenceTraceDisplay.from_estimator(model, name="ovr")

    assert list(display.lines_) == ["log_evidence", "n_vectors"]
    own = model.history_["classifier"] == 1
    drawn = display.lines_["log_evidence"][1]
    assert np.array_equal(drawn.get_ydata(), model.history_["log_evidence"][own])
    assert drawn.get_label() == "ovr, classifier 1"


def test_fits_are_compared_in_the_same_axes():
    one = EvidenceTraceDisplay.from_estimator(PLAIN, name="one")
    two = EvidenceTraceDisplay.from_estimator(PLAIN, name="two", ax=one.axes_)
    lines = one.axes_[0].lines

    assert two.axes_[0] is one.axes_[0]
    assert [line.get_label() for line in lines] == ["one", "two"]
    assert lines[0].get_color() != lines[1].get_color()


def test_some_quantities(ax):
    display = EvidenceTraceDisplay.from_estimator(PLAIN, quantities="gamma", ax=ax)

    assert display.axes_[0] is ax
    assert ax.get_ylabel() == "effective parameters"
    with pytest.raises(ValueError, match="quantities must be one of 'log_evidence'"):
        display.plot(quantities=["loss"])
    with pytest.raises(ValueError, match=r"ax must hold 3 axes, .* got 1"):
        display.plot(ax)


def test_a_fit_without_steps_has_no_trace():
    display = EvidenceTraceDisplay(history={"iteration": np.empty(0)})

    with pytest.raises(ValueError, match=r"history_ is empty, .* see status_"):
        display.plot()


def test_length_scales_by_feature(ax):
    display = LengthScalesDisplay.from_estimator(ARD, ax=ax)
    scales = ARD.length_scales_[0]

    assert display.ax_ is ax
    assert ticks(ax) == ["a", "b", "c"]
    expected = np.c_[scales, np.arange(3)]
    assert np.array_equal(display.points_.get_offsets(), expected)
    assert display.medians_ is None


def test_length_scales_of_each_vector_and_feature():
    learned = np.array([[1.0, 10.0], [2.0, 40.0], [np.nan, np.nan], [5.0, 20.0]])
    display = LengthScalesDisplay(length_scales=learned, feature_names=["p", "q"])
    display.plot()

    places = [[1, 0], [10, 1], [2, 0], [40, 1], [5, 0], [20, 1]]
    assert np.array_equal(display.points_.get_offsets(), places)
    assert np.array_equal(display.medians_.get_offsets(), [[2, 0], [20, 1]])
    assert display.ax_.get_xscale() == "log"


def test_length_scales_of_each_vector():
    learned = RVR(kernel_learning="adaptive").fit(X, Y)
    display = LengthScalesDisplay.from_estimator(learned)

    expected = np.c_[learned.relevance_vectors_, learned.length_scales_]
    assert np.array_equal(display.points_.get_offsets(), expected)
    sorted_ones = LengthScalesDisplay(
        length_scales=np.array([3.0, 1.0, 2.0]), feature_names=["all features"]
    ).plot()
    assert np.array_equal(sorted_ones.points_.get_offsets(), [[1, 1], [2, 2], [3, 3]])
    assert sorted_ones.ax_.get_yscale() == "linear"


def test_one_length_scale_for_all_features():
    learned = RVR(kernel_learning="width").fit(WIDE, TARGETS)
    display = LengthScalesDisplay.from_estimator(learned)

    assert ticks(display.ax_) == ["all features"]
    assert display.points_.get_offsets()[0, 0] == learned.kernel_.length_scale


def test_no_vector_with_a_length_scale():
    display = LengthScalesDisplay(length_scales=np.empty(0), feature_names=["x"])

    with pytest.raises(ValueError, match="no vector with a length scale"):
        display.plot()


def test_relevance_of_features_from_the_top():
    display = FeatureRelevanceDisplay.from_estimator(ARD)
    order = np.argsort(-ARD.feature_relevance_)

    assert ticks(display.ax_) == list(np.array(["a", "b", "c"])[order])
    widths = [bar.get_width() for bar in display.bars_]
    assert np.array_equal(widths, ARD.feature_relevance_[order])
    bottom, top = display.ax_.get_ylim()
    assert bottom > top


def test_some_of_many_features(ax):
    display = FeatureRelevanceDisplay.from_estimator(
        ARD, feature_names="pqr", ax=ax, max_features=1, color="black"
    )

    assert ticks(ax) == ["q"]
    assert ax.get_ylabel() == "1 of 3 features"
    assert display.bars_[0].get_facecolor() == (0, 0, 0, 1)


def test_features_behind_other_steps_have_their_names():
    steps = PolynomialFeatures(2, include_bias=False), StandardScaler()
    learned = RVR(kernel_learning="ard", noise_variance=0.01)
    model = make_pipeline(*steps, learned).fit(FRAME[["a", "b"]], TARGETS)

    for display in (FeatureRelevanceDisplay, LengthScalesDisplay):
        shown = display.from_estimator(model)
        assert set(ticks(shown.ax_)) == {"a", "b", "a^2", "a b", "b^2"}


def test_stability_has_a_bar_per_row_and_lines_between_classes(ax):
    counts, labels = np.array([3, 0, 1, 2]), np.array(["b", "a", "b", "a"])
    found = RelevanceStability(counts, np.full(4, 4), labels)
    display = StabilityDisplay(stability=found).plot(ax)

    assert display.ax_ is ax
    heights = [bar[1, 1] for bar in display.bars_.get_segments()]
    assert heights == [0, 2, 3, 1]
    assert [list(line.get_xdata()) for line in display.borders_] == [[1.5, 1.5]]
    assert "of 4" in ax.get_ylabel()
    assert "classes" in ax.get_xlabel()


def test_stability_of_an_estimator():
    rows, labels = two_mixtures(40, seed=1)
    display = StabilityDisplay.from_estimator(
        RVC(gamma=4.0), rows, labels, cv=3, n_repeats=1, lw=3
    )
    found = relevance_stability(RVC(gamma=4.0), rows, labels, cv=3, n_repeats=1)

    assert np.array_equal(display.stability.counts, found.counts)
    assert display.bars_.get_linewidth() == [3]
    regression = RelevanceStability(np.array([1, 0]), np.array([2, 2]))
    drawn = StabilityDisplay(stability=regression).plot()
    assert drawn.borders_ == []
    assert drawn.ax_.get_xlabel() == "row"


def test_without_axes_there_is_a_new_figure():
    before = plt.figure()

    assert FeatureRelevanceDisplay.from_estimator(ARD).figure_ is not before


DISPLAYS = {
    "intervals": lambda: PredictiveIntervalDisplay.from_estimator(PLAIN, X, Y),
    "map": lambda: RelevanceDisplay.from_estimator(
        RVR(gamma=1.0, noise_variance=0.01).fit(WIDE[:, :2], TARGETS), WIDE[:, :2]
    ),
    "trace": lambda: EvidenceTraceDisplay.from_estimator(PLAIN),
    "scales": lambda: LengthScalesDisplay.from_estimator(ARD),
    "features": lambda: FeatureRelevanceDisplay.from_estimator(ARD),
    "stability": lambda: StabilityDisplay(
        stability=relevance_stability(RVR(gamma=0.1), X, Y, n_repeats=2)
    ),
}


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_is_shown_in_a_line_or_two(name):
    display = DISPLAYS[name]()

    text = repr(display)
    assert text.startswith(f"{type(display).__name__}(")
    assert len(text) < 500
    assert "\n" not in text
    assert "array([" not in text

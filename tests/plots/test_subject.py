"""What can be drawn at all, and what is said of the rest."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import LSSVR, RVC, RVR
from relvec.data import noisy_sinc, two_mixtures
from relvec.plots import (
    EvidenceTraceDisplay,
    FeatureRelevanceDisplay,
    LengthScalesDisplay,
    PredictiveIntervalDisplay,
    RelevanceDisplay,
)

X, Y = noisy_sinc(30, seed=0)
WITH_ROWS = [PredictiveIntervalDisplay, RelevanceDisplay]
OF_FIT = [EvidenceTraceDisplay, FeatureRelevanceDisplay, LengthScalesDisplay]


def draw(display, estimator):
    given = (X, Y) if display in WITH_ROWS else ()
    return display.from_estimator(estimator, *given)


@pytest.mark.parametrize("display", WITH_ROWS + OF_FIT)
@pytest.mark.parametrize(
    "estimator", [RVR(), make_pipeline(StandardScaler(), RVR())], ids=["alone", "last"]
)
def test_what_is_not_fitted_is_refused(display, estimator):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        draw(display, estimator)


@pytest.mark.parametrize("display", WITH_ROWS + OF_FIT)
def test_other_models_are_refused(display):
    message = f"{display.__name__} draws models of relvec; got LinearRegression: give"

    with pytest.raises(ValueError, match=message):
        draw(display, LinearRegression().fit(X, Y))


@pytest.mark.parametrize(
    ("display", "estimator", "message"),
    [
        (EvidenceTraceDisplay, LSSVR(), "this LSSVR has no history_: .* RVR and RVC"),
        (LengthScalesDisplay, RVR(gamma=0.1), "no length_scales_: .* gamma='learn'"),
        (FeatureRelevanceDisplay, RVR(gamma=0.1), "no feature_relevance_: no kernel"),
        (FeatureRelevanceDisplay, LSSVR(), "this LSSVR has no feature_relevance_"),
    ],
)
def test_what_was_not_learned_is_told(display, estimator, message):
    with pytest.raises(ValueError, match=message):
        draw(display, estimator.fit(X, Y))


@pytest.mark.parametrize("display", [FeatureRelevanceDisplay, LengthScalesDisplay])
def test_as_many_names_as_features(display):
    with pytest.raises(ValueError, match=r"feature_names must hold 1 names, .* got 2"):
        display.from_estimator(RVR().fit(X, Y), feature_names=["p", "q"])


def test_scikit_learns_calibration_takes_a_classifier():
    rows, labels = two_mixtures(100, seed=1)
    model = RVC(gamma=4.0).fit(rows, labels)
    display = CalibrationDisplay.from_estimator(model, rows, labels, n_bins=4)

    assert np.array_equal(display.y_prob, model.predict_proba(rows)[:, 1])


def test_matplotlib_is_imported_with_the_first_picture():
    code = "import relvec.plots, sys; raise SystemExit('matplotlib' in sys.modules)"

    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_way_to_get_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "relvec\[plots\]"'):
        draw(PredictiveIntervalDisplay, RVR(gamma=0.1).fit(X, Y))

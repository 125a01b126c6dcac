"""Displays of fitted models with matplotlib, in the manner of scikit-learn.

A display keeps what is drawn as attributes: make it by its ``from_estimator``, draw it
again by ``plot``, and find axes, figure and artists as ``ax_``, ``figure_`` and others.
"""

from relvec.plots.learned import FeatureRelevanceDisplay, LengthScalesDisplay
from relvec.plots.predictions import PredictiveIntervalDisplay, RelevanceDisplay
from relvec.plots.search import EvidenceTraceDisplay, StabilityDisplay

__all__ = [
    "EvidenceTraceDisplay",
    "FeatureRelevanceDisplay",
    "LengthScalesDisplay",
    "PredictiveIntervalDisplay",
    "RelevanceDisplay",
    "StabilityDisplay",
]

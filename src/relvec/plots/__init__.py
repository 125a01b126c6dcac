"""Pictures of fitted models, with matplotlib and in the manner of scikit-learn.

A display keeps what is drawn as attributes: make it by its ``from_estimator``, draw it
again by ``plot``, and find axes, figure and artists as ``ax_``, ``figure_`` and others.
"""

from relvec.plots.evidence_trace import EvidenceTraceDisplay
from relvec.plots.feature_relevance import FeatureRelevanceDisplay
from relvec.plots.intervals import PredictiveIntervalDisplay
from relvec.plots.length_scales import LengthScalesDisplay
from relvec.plots.relevance_map import RelevanceDisplay
from relvec.plots.stability import StabilityDisplay

__all__ = [
    "EvidenceTraceDisplay",
    "FeatureRelevanceDisplay",
    "LengthScalesDisplay",
    "PredictiveIntervalDisplay",
    "RelevanceDisplay",
    "StabilityDisplay",
]

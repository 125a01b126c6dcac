"""Estimators in the manner of scikit-learn."""

from relvec.estimators.classification import RVC
from relvec.estimators.outcomes import FitWarning
from relvec.estimators.regression import RVR

__all__ = ["RVC", "RVR", "FitWarning"]

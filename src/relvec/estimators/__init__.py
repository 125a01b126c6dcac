"""scikit-learn estimators over the engine."""

from relvec.estimators.base import FitWarning
from relvec.estimators.classification import RVC
from relvec.estimators.regression import RVR

__all__ = ["RVC", "RVR", "FitWarning"]

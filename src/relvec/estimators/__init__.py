"""scikit-learn estimators over the engine."""

from relvec.estimators.classification import RVC
from relvec.estimators.learning import Adaptive
from relvec.estimators.outcomes import FitWarning
from relvec.estimators.regression import RVR

__all__ = ["RVC", "RVR", "Adaptive", "FitWarning"]

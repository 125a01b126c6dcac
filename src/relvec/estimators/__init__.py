"""scikit-learn estimators over the engine."""

from relvec.estimators.classification import RVC
from relvec.estimators.learning import Adaptive
from relvec.estimators.outcomes import FitWarning
from relvec.estimators.regression import RVR
from relvec.estimators.schemes import Mrvm1

__all__ = ["RVC", "RVR", "Adaptive", "FitWarning", "Mrvm1"]

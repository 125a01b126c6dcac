"""Estimators in the manner of scikit-learn."""

from relvec.estimators.classification import RVC
from relvec.estimators.lssvc import LSSVC
from relvec.estimators.lssvr import LSSVR
from relvec.estimators.outcomes import FitWarning
from relvec.estimators.regression import RVR

__all__ = ["LSSVC", "LSSVR", "RVC", "RVR", "FitWarning"]

"""Estimators in the manner of scikit-learn."""

from relvec.estimators.classification import RVC
from relvec.estimators.kernel_model import FitWarning
from relvec.estimators.least_squares import LSSVC, LSSVR
from relvec.estimators.regression import RVR

__all__ = ["LSSVC", "LSSVR", "RVC", "RVR", "FitWarning"]

"""Least-squares support vector machines: dense relatives of relevance vectors."""

from relvec.lssvm.families import RealTargets, SignedClasses
from relvec.lssvm.fit import fit_least_squares
from relvec.lssvm.landmarks import LANDMARKS, n_drawn
from relvec.lssvm.model import LeastSquaresModel
from relvec.lssvm.settings import METHODS, Tuning, as_tuning
from relvec.lssvm.specification import MOST_RANK, LeastSquares

__all__ = [
    "LANDMARKS",
    "METHODS",
    "MOST_RANK",
    "LeastSquares",
    "LeastSquaresModel",
    "RealTargets",
    "SignedClasses",
    "Tuning",
    "as_tuning",
    "fit_least_squares",
    "n_drawn",
]

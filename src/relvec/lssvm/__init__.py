"""Least-squares support vector machines: dense relatives of relevance vectors."""

from relvec.lssvm.fit import fit_least_squares
from relvec.lssvm.model import LeastSquaresModel, RealTargets, SignedClasses
from relvec.lssvm.ridge import LANDMARKS, n_drawn
from relvec.lssvm.specification import (
    METHODS,
    MOST_RANK,
    LeastSquares,
    Tuning,
    as_tuning,
)

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

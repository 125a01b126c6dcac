"""From targets to a likelihood, and from latent values to a predictive distribution."""

from relvec.modelling.families.base import Family, LeftOut
from relvec.modelling.families.classes import ClassFamily
from relvec.modelling.families.regression import Regression
from relvec.modelling.families.schemes import (
    SINGLE_MODELS,
    Mrvm1,
    Scheme,
    Softmax,
    class_family,
    own_solver,
)

__all__ = [
    "SINGLE_MODELS",
    "ClassFamily",
    "Family",
    "LeftOut",
    "Mrvm1",
    "Regression",
    "Scheme",
    "Softmax",
    "class_family",
    "own_solver",
]

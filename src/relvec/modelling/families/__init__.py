"""From targets to a likelihood, and from latent values to a predictive distribution."""

from relvec.modelling.families.base import Family, LeftOut
from relvec.modelling.families.classes import (
    SINGLE_MODELS,
    ClassFamily,
    Mrvm1,
    class_family,
)
from relvec.modelling.families.regression import Regression

__all__ = [
    "SINGLE_MODELS",
    "ClassFamily",
    "Family",
    "LeftOut",
    "Mrvm1",
    "Regression",
    "class_family",
]

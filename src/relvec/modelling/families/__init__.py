"""From targets to a likelihood, and from latent values to a predictive distribution."""

from relvec.modelling.families.base import Family, LeftOut, OneTarget
from relvec.modelling.families.classes import (
    SINGLE_MODELS,
    ClassFamily,
    ClassPriorMixing,
    ClassWiseProbit,
    Logit,
    Mrvm1,
    PlugInProbit,
    Probit,
    Scheme,
    Softmax,
    TwoClasses,
    class_family,
    own_solver,
)
from relvec.modelling.families.noises import (
    NOISES,
    Counts,
    NoiseLevels,
    RobustRegression,
    StudentT,
    check_noise,
    regression_family,
)
from relvec.modelling.families.regression import Regression, SeveralOutputs

__all__ = [
    "NOISES",
    "SINGLE_MODELS",
    "ClassFamily",
    "ClassPriorMixing",
    "ClassWiseProbit",
    "Counts",
    "Family",
    "LeftOut",
    "Logit",
    "Mrvm1",
    "NoiseLevels",
    "OneTarget",
    "PlugInProbit",
    "Probit",
    "Regression",
    "RobustRegression",
    "Scheme",
    "SeveralOutputs",
    "Softmax",
    "StudentT",
    "TwoClasses",
    "check_noise",
    "class_family",
    "own_solver",
    "regression_family",
]

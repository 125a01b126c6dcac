"""From targets to a likelihood, and from latent values to a predictive distribution."""

from relvec.modelling.families.base import Family, LeftOut
from relvec.modelling.families.classes import (
    ClassFamily,
    ClassWiseProbit,
    Logit,
    PluggedIn,
    Probit,
    TwoClasses,
)
from relvec.modelling.families.noises import (
    NOISES,
    StudentT,
    check_noise,
    regression_family,
)
from relvec.modelling.families.probabilities import Doubt
from relvec.modelling.families.regression import Regression
from relvec.modelling.families.robust import RobustRegression
from relvec.modelling.families.schemes import (
    SINGLE_MODELS,
    Mrvm1,
    Scheme,
    Softmax,
    class_family,
    own_solver,
)

__all__ = [
    "NOISES",
    "SINGLE_MODELS",
    "ClassFamily",
    "ClassWiseProbit",
    "Doubt",
    "Family",
    "LeftOut",
    "Logit",
    "Mrvm1",
    "PluggedIn",
    "Probit",
    "Regression",
    "RobustRegression",
    "Scheme",
    "Softmax",
    "StudentT",
    "TwoClasses",
    "check_noise",
    "class_family",
    "own_solver",
    "regression_family",
]

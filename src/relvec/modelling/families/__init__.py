"""From targets to a likelihood, and from latent values to a predictive distribution."""

from relvec.modelling.families.base import Family, LeftOut, OneTarget
from relvec.modelling.families.classes import (
    ClassFamily,
    ClassWiseProbit,
    Logit,
    PluggedIn,
    Probit,
    TwoClasses,
)
from relvec.modelling.families.counts import Counts
from relvec.modelling.families.noise_levels import NoiseLevels
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
from relvec.modelling.families.several_outputs import SeveralOutputs

__all__ = [
    "NOISES",
    "SINGLE_MODELS",
    "ClassFamily",
    "ClassWiseProbit",
    "Counts",
    "Doubt",
    "Family",
    "LeftOut",
    "Logit",
    "Mrvm1",
    "NoiseLevels",
    "OneTarget",
    "PluggedIn",
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

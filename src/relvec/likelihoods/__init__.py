"""How the data are seen: Gaussian pseudo-observations of Φw."""

from relvec.likelihoods.base import (
    EP,
    ClassLikelihood,
    HeldObservations,
    Likelihood,
    PseudoObservations,
    at_ceiling,
    re_estimated,
    refitted,
)
from relvec.likelihoods.bernoulli import Bernoulli
from relvec.likelihoods.gaussian import (
    Gaussian,
    SharedGaussian,
    gaussian_noise,
    root_mean_square,
)
from relvec.likelihoods.log_linear import LogPrecision, Poisson
from relvec.likelihoods.multinomial import EPProbit, MultinomialProbit, Softmax
from relvec.likelihoods.student_t import StudentT, weighted_median

__all__ = [
    "EP",
    "Bernoulli",
    "ClassLikelihood",
    "EPProbit",
    "Gaussian",
    "HeldObservations",
    "Likelihood",
    "LogPrecision",
    "MultinomialProbit",
    "Poisson",
    "PseudoObservations",
    "SharedGaussian",
    "Softmax",
    "StudentT",
    "at_ceiling",
    "gaussian_noise",
    "re_estimated",
    "refitted",
    "root_mean_square",
    "weighted_median",
]

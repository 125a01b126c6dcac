"""How the data are seen: Gaussian pseudo-observations of Φw."""

from relvec.likelihoods.base import (
    Likelihood,
    Matching,
    PseudoObservations,
    at_ceiling,
    re_estimated,
    refitted,
)
from relvec.likelihoods.bernoulli import Bernoulli
from relvec.likelihoods.gaussian import Gaussian, gaussian_noise, root_mean_square
from relvec.likelihoods.held_observations import HeldObservations
from relvec.likelihoods.log_precision import LogPrecision
from relvec.likelihoods.matched_probit import MatchedProbit
from relvec.likelihoods.multinomial_probit import MultinomialProbit
from relvec.likelihoods.poisson import Poisson
from relvec.likelihoods.shared_gaussian import SharedGaussian
from relvec.likelihoods.softmax import Softmax
from relvec.likelihoods.student_t import StudentT, weighted_median

__all__ = [
    "Bernoulli",
    "Gaussian",
    "HeldObservations",
    "Likelihood",
    "LogPrecision",
    "MatchedProbit",
    "Matching",
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

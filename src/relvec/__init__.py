"""Relevance vector machines: sparse kernel models with error bars and probabilities."""

from relvec.dictionary import SparseBayes, sparse_bayes
from relvec.estimators import RVC, RVR, FitWarning
from relvec.evidence import BottomUp, Hyperprior, Mrvm2, Status, TopDown
from relvec.kernel_search import Adaptive, LengthScales
from relvec.modelling import FittedModel, Mrvm1, OneAgainstOne, Softmax

__version__ = "0.1.0"

__all__ = [
    "RVC",
    "RVR",
    "Adaptive",
    "BottomUp",
    "FitWarning",
    "FittedModel",
    "Hyperprior",
    "LengthScales",
    "Mrvm1",
    "Mrvm2",
    "OneAgainstOne",
    "Softmax",
    "SparseBayes",
    "Status",
    "TopDown",
    "__version__",
    "sparse_bayes",
]

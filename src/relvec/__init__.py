"""Relevance vector machines: sparse kernel models with error bars and probabilities."""

from relvec.blockwise import parallel
from relvec.dictionary import SparseBayes, sparse_bayes
from relvec.estimators import LSSVC, LSSVR, RVC, RVR, FitWarning
from relvec.evidence import BottomUp, Hyperprior, Mrvm2, Status, TopDown
from relvec.kernel_search import Adaptive, LengthScales
from relvec.lssvm import LeastSquaresModel, Tuning
from relvec.modelling import FittedModel, Mrvm1, OneAgainstOne, Softmax
from relvec.partition import Incremental, SplitMerge, WorkingSet

__version__ = "0.1.0"

__all__ = [
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "Adaptive",
    "BottomUp",
    "FitWarning",
    "FittedModel",
    "Hyperprior",
    "Incremental",
    "LeastSquaresModel",
    "LengthScales",
    "Mrvm1",
    "Mrvm2",
    "OneAgainstOne",
    "Softmax",
    "SparseBayes",
    "SplitMerge",
    "Status",
    "TopDown",
    "Tuning",
    "WorkingSet",
    "__version__",
    "parallel",
    "sparse_bayes",
]

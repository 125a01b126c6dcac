"""Relevance vector machines: sparse kernel models with error bars and probabilities."""

from relvec.dictionary import SparseBayes, sparse_bayes
from relvec.estimators import RVC, RVR, Adaptive, FitWarning, Mrvm1
from relvec.evidence import Hyperprior, Mrvm2, Status, TopDown

__version__ = "0.1.0"

__all__ = [
    "RVC",
    "RVR",
    "Adaptive",
    "FitWarning",
    "Hyperprior",
    "Mrvm1",
    "Mrvm2",
    "SparseBayes",
    "Status",
    "TopDown",
    "__version__",
    "sparse_bayes",
]

"""Relevance vector machines: sparse kernel models with error bars and probabilities."""

from importlib import import_module
from typing import Any

from relvec.blockwise import parallel
from relvec.dictionary import SparseBayes, sparse_bayes
from relvec.estimators import LSSVC, LSSVR, RVC, RVR, FitWarning
from relvec.evidence import BottomUp, Hyperprior, Mrvm2, Status, TopDown
from relvec.kernel_search import Adaptive, LengthScales
from relvec.lssvm import LeastSquaresModel, Tuning
from relvec.model_file import ModelFileError
from relvec.modelling import FittedModel, Mrvm1, OneAgainstOne, Softmax, StudentT
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
    "ModelFileError",
    "Mrvm1",
    "Mrvm2",
    "OneAgainstOne",
    "Softmax",
    "SparseBayes",
    "SplitMerge",
    "Status",
    "StudentT",
    "TopDown",
    "Tuning",
    "WorkingSet",
    "__version__",
    "load",
    "parallel",
    "save",
    "sparse_bayes",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Files of models need scikit-learn's transformers, which take a while to import.

    So that comes with the first look at a function, and not with a call of it.
    """
    rooms = {"load": "persistence", "save": "persistence", "verify": "verification"}
    if name not in rooms:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"relvec.{rooms[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

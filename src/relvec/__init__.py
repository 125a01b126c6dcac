"""Relevance vector machines: sparse kernel models with error bars and probabilities."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relvec.blockwise import parallel
    from relvec.dictionary import SparseBayes, sparse_bayes
    from relvec.estimators import LSSVC, LSSVR, RVC, RVR, FitWarning
    from relvec.evidence import BottomUp, Hyperprior, Mrvm2, Status, TopDown
    from relvec.kernel_search import Adaptive, LengthScales
    from relvec.lssvm import LeastSquaresModel, Tuning
    from relvec.model_file import ModelFileError
    from relvec.modelling import (
        Calibration,
        FittedModel,
        Mrvm1,
        OneAgainstOne,
        Softmax,
        StudentT,
    )
    from relvec.partition import Incremental, SplitMerge, WorkingSet
    from relvec.persistence import load, save
    from relvec.verification import verify

__version__ = "0.2.0"

__all__ = [
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "Adaptive",
    "BottomUp",
    "Calibration",
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

_ROOMS = {
    "blockwise": ("parallel",),
    "dictionary": ("SparseBayes", "sparse_bayes"),
    "estimators": ("LSSVC", "LSSVR", "RVC", "RVR", "FitWarning"),
    "evidence": ("BottomUp", "Hyperprior", "Mrvm2", "Status", "TopDown"),
    "kernel_search": ("Adaptive", "LengthScales"),
    "lssvm": ("LeastSquaresModel", "Tuning"),
    "model_file": ("ModelFileError",),
    "modelling": (
        "Calibration",
        "FittedModel",
        "Mrvm1",
        "OneAgainstOne",
        "Softmax",
        "StudentT",
    ),
    "partition": ("Incremental", "SplitMerge", "WorkingSet"),
    "persistence": ("load", "save"),
    "verification": ("verify",),
}


# What the reference has besides the names of __all__.
_MODULES = (
    "data",
    "export",
    "inspection",
    "kernels",
    "metrics",
    "plots",
    "report",
    "wavelets",
)


def __getattr__(name: str) -> Any:
    """What comes with the first look at it, since scikit-learn takes a second.

    The command line is to show its help and complete words at once.
    """
    for room, names in _ROOMS.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"relvec.{room}"), name)
            return found
    if not name.startswith("_") and find_spec(f"relvec.{name}"):
        return import_module(f"relvec.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])

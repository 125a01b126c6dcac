"""Estimators as a model file has them: parameters and the fitted model."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from relvec.estimators import LSSVC, LSSVR, RVC, RVR
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.model_file import (
    Kind,
    ModelFileError,
    checked_fitted,
    checked_least_squares,
    checked_pairwise,
)
from relvec.modelling import FittedModel, PairwiseModel
from relvec.persistence.params import check_names

_CENTRES = ("candidates", "landmarks")  # parameters that may be tables


def _sparse(model: Any, *, classes: bool) -> Any:
    if classes and type(model) is PairwiseModel:
        return checked_pairwise(model)
    if type(model) is not FittedModel:
        raise ModelFileError("the model is of another kind than its estimator")
    found = checked_fitted(model)
    if (found.family.labels is None) == classes:
        raise ModelFileError("the model is of other targets than its estimator")
    return found


def _least_squares(model: Any, family: type) -> Any:
    if type(model) is not LeastSquaresModel or type(model.family) is not family:
        raise ModelFileError("the model is of another kind than its estimator")
    return checked_least_squares(model)


_CHECKS: dict[Any, Callable[[Any], Any]] = {
    RVR: lambda model: _sparse(model, classes=False),
    RVC: lambda model: _sparse(model, classes=True),
    LSSVR: lambda model: _least_squares(model, RealTargets),
    LSSVC: lambda model: _least_squares(model, SignedClasses),
}


def estimator_kinds() -> list[Kind]:
    """Of all of relvec's."""
    return [_kind(cls, checked) for cls, checked in _CHECKS.items()]


def is_estimator(value: Any) -> bool:
    """Whether it is one of relvec's own, and no class derived from it."""
    return type(value) in _CHECKS


def _kind(cls: Any, checked: Callable[[Any], Any]) -> Kind:
    def make(params: Any, model: Any) -> Any:
        check_names(cls.__name__, params, cls().get_params(deep=False))
        found = checked(model)
        _check_seed(params["random_state"])
        for name in _CENTRES:
            if name in params:
                _check_centres(name, params[name], _n_features(found))
        return cls(**params).restored(found)

    name = f"estimator.{cls.__name__}"
    return Kind(name, cls, ("params", "model"), frozenset(), _taken, make)


def _n_features(model: Any) -> int:
    return int(model.features.number)


def _check_seed(value: Any) -> None:
    known = value is None or isinstance(value, int)
    if not known or not 0 <= (value or 0) < 2**32:
        raise ModelFileError("random_state must be a whole number below 2**32, or none")


def _check_centres(name: str, value: Any, n_features: int) -> None:
    """A rule by name or number, or a table of numbers."""
    if type(value) in (str, int):
        return  # as the estimator will see
    table = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    if not table or value.ndim != 2 or len(value) == 0 or value.shape[1] != n_features:
        raise ModelFileError(
            f"{name} must be a rule or a table of {n_features} columns"
        )
    if not np.isfinite(value).all():
        raise ModelFileError(f"{name} must be without NaN and infinity")


def _taken(estimator: Any) -> Mapping[str, Any]:
    check_is_fitted(estimator)
    params = estimator.get_params(deep=False)
    return {
        "params": {name: _kept(name, value) for name, value in params.items()},
        "model": estimator.model_,
    }


def _kept(name: str, value: Any) -> Any:
    """A parameter; of a generator of random numbers nothing is kept."""
    if name == "random_state" and (hasattr(value, "normal") or value is np.random):
        return None
    if name in _CENTRES and hasattr(value, "__len__") and not isinstance(value, str):
        return np.asarray(value)
    return value

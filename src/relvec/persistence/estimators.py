"""Estimators and scikit-learn kernels in a model file."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as processes
from sklearn.utils.validation import check_is_fitted

from relvec.estimators import LSSVC, LSSVR, RVC, RVR
from relvec.estimators.kernels import Pairwise
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.model_file import (
    Kind,
    ModelFileError,
    checked_fitted,
    checked_independent,
    checked_least_squares,
    checked_pairwise,
)
from relvec.modelling import FittedModel, IndependentModel, PairwiseModel
from relvec.persistence.transformers import check_names

_LEAVES: tuple[Any, ...] = (
    processes.RBF,
    processes.Matern,
    processes.RationalQuadratic,
    processes.ExpSineSquared,
    processes.DotProduct,
    processes.ConstantKernel,
    processes.WhiteKernel,
)
_NODES: tuple[Any, ...] = (
    processes.Sum,
    processes.Product,
    processes.Exponentiation,
)


def _of_process(cls: Any) -> Kind:
    """Save a kernel of Gaussian processes by its parameters."""
    names = {
        processes.Sum: ["k1", "k2"],
        processes.Product: ["k1", "k2"],
        processes.Exponentiation: ["kernel", "exponent"],
    }.get(cls) or cls().get_params()

    def make(**given: Any) -> Any:
        for name, value in given.items():
            _check(name, value)
        return cls(**given)

    name = f"sklearn.{cls.__name__}"
    return Kind.of_attributes(name, cls, names, make=make, kernel=True)


def _check(name: str, value: Any) -> None:
    """Require a kernel, bounds, or non-negative numbers."""
    if name in {"kernel", "k1", "k2"}:
        fits = type(value) in (*_LEAVES, *_NODES)
    elif name.endswith("_bounds"):
        fits = (
            value == "fixed" if isinstance(value, str) else np.shape(value)[-1:] == (2,)
        )
    else:
        numbers = np.asarray(value)
        fits = numbers.dtype.kind in "fi" and numbers.ndim <= 1
        # Only the constant of a linear kernel may be zero.
        fits = fits and bool(np.all(numbers >= 0)) and numbers.size > 0
    if not fits:
        raise ModelFileError(f"{name} of a kernel is not as it should be")


def _pairwise(name: Any, gamma: Any) -> Pairwise:
    if name not in ("chi2", "additive_chi2", "cosine") or not gamma > 0:
        raise ModelFileError("a pairwise kernel is not as it should be")
    return Pairwise(name, float(gamma))


def kernel_kinds() -> list[Kind]:
    """Kinds of all kernels that are scikit-learn's."""
    fields = ("name", "gamma")
    pairwise = Kind.of_attributes("kernel.Pairwise", Pairwise, fields, make=_pairwise)
    return [pairwise, *(_of_process(cls) for cls in (*_LEAVES, *_NODES))]


_CENTRES = ("candidates", "landmarks")  # parameters that may be tables
# Parameters that old files lack, with the values they had implicitly.
_LATER: dict[str, Any] = {
    "uncertainty": "plain",
    "class_weight": None,
    "outputs": "shared",
    "noise": "gaussian",
}


def _sparse(model: Any, *, classes: bool) -> Any:
    if classes and type(model) is PairwiseModel:
        return checked_pairwise(model)
    if not classes and type(model) is IndependentModel:
        return checked_independent(model)
    if type(model) is not FittedModel:
        raise ModelFileError("the model is of another kind than its estimator")
    found = checked_fitted(model)
    if (found.labels is not None) != classes:
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
    """Kinds of all estimators of relvec."""
    return [_kind(cls, checked) for cls, checked in _CHECKS.items()]


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator of relvec, not of a derived class."""
    return type(value) in _CHECKS


def _kind(cls: Any, checked: Callable[[Any], Any]) -> Kind:
    def make(params: Any, model: Any) -> Any:
        wanted = cls().get_params(deep=False)
        later = {name: value for name, value in _LATER.items() if name in wanted}
        check_names(cls.__name__, params, wanted, frozenset(later))
        params, found = {**later, **params}, checked(model)
        _check_seed(params["random_state"])
        for name in _CENTRES:
            if name in params:
                _check_centres(name, params[name], int(found.features.number))
        return cls(**params).restored(found)

    name = f"estimator.{cls.__name__}"
    return Kind(name, cls, ("params", "model"), _taken, make)


def _check_seed(value: Any) -> None:
    known = value is None or isinstance(value, int)
    if not known or not 0 <= (value or 0) < 2**32:
        raise ModelFileError("random_state must be a whole number below 2**32, or none")


def _check_centres(name: str, value: Any, n_features: int) -> None:
    """Require a rule by name or number, or a table of numbers."""
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
    """Return a parameter; random generators are not saved."""
    if name == "random_state" and (hasattr(value, "normal") or value is np.random):
        return None
    if name in _CENTRES and hasattr(value, "__len__") and not isinstance(value, str):
        return np.asarray(value)
    return value

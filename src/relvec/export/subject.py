"""What is exported: a fitted model, and what is done to features before."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from relvec.estimators import LSSVC, LSSVR, RVC, RVR
from relvec.export.errors import ExportError
from relvec.export.pairs import Scaling
from relvec.export.trials import tried_rows
from relvec.typing import AnyArray, Array

# Not what is derived from them, which may predict in a way of its own.
_OURS = (RVR, RVC, LSSVR, LSSVC)


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator, perhaps at the end of a pipeline, and its model."""

    whole: Any  # the pipeline, or the estimator itself
    estimator: Any
    scaling: Scaling

    @property
    def model(self) -> Any:
        """All that predicting needs."""
        return self.estimator.model_

    @property
    def name(self) -> str:
        """Of the estimator."""
        return type(self.estimator).__name__

    @property
    def title(self) -> str:
        """One line about it."""
        vectors = _counted(len(self.model.indices), "vector")
        features = _counted(self.model.features.number, "feature")
        return f"{self.name}: {vectors}, {features}. Written by relvec."

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Of the columns of X, if they have any."""
        names = getattr(self.whole, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def one_target(self) -> bool:
        """Whether a row has one, and not a table of them."""
        return np.ndim(self.model.intercept) == 0

    @property
    def has_probabilities(self) -> bool:
        """Whether its classes have any."""
        return hasattr(self.estimator, "predict_proba")

    def raw_rows(self, count: int = 8, further: float = 1.0) -> Array:
        """Some rows to try it on, before they are scaled; or others further out."""
        return self.scaling.undone(tried_rows(self.model, count, further))

    def said_of(self, X: Array, names: tuple[str, ...]) -> dict[str, Array]:
        """What the estimator itself says of rows, by the name of an output."""
        seen = (X - self.scaling.shift) / self.scaling.scale
        if names == ("mean",):
            # Without error bars, for which an LS-SVM of many rows would take a while.
            return {"mean": self.model.predicted(seen)}
        found = self.model.predictive(seen)
        said = {
            "mean": lambda: found.mean,
            "std": lambda: found.std,
            "probabilities": lambda: found.probabilities,
            "votes": lambda: found.decision,
        }
        return {name: np.asarray(said[name](), dtype=np.float64) for name in names}


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def subject_of(model: Any) -> Subject:
    """An estimator of relvec, or a pipeline of scalers before one."""
    if not isinstance(model, Pipeline):
        _check_ours(model)
        return Subject(model, model, Scaling.none(model.model_.features.number))
    *scalers, estimator = [step for _, step in model.steps] or [None]
    _check_ours(estimator)
    steps = [step for step in scalers if step not in (None, "passthrough")]
    for step in steps:
        check_is_fitted(step)
    number = estimator.model_.features.number
    each = [scaling_of(step, number) for step in steps]
    before = reduce(lambda first, then: then.after(first), each, Scaling.none(number))
    return Subject(model, estimator, before)


def _check_ours(model: Any) -> None:
    if type(model) not in _OURS:
        raise ExportError(
            f"{type(model).__name__} is not an estimator of relvec, nor a pipeline "
            "that ends with one: RVR, RVC, LSSVR and LSSVC can be exported"
        )
    check_is_fitted(model)
    _check_text(getattr(model, "feature_names_in_", ()))
    if model.model_.labels is not None:
        _check_labels(model.model_.labels)


def _check_labels(labels: AnyArray) -> None:
    """Text, truth values, and numbers that 64 bits with a sign can hold."""
    kind, words = labels.dtype.kind, all(isinstance(each, str) for each in labels)
    large = kind == "u" and int(labels.max()) > np.iinfo(np.int64).max
    if large or not (kind in "biuf" or words):
        raise ExportError(
            f"labels such as {labels[-1]!r} cannot be written down: use text, numbers "
            "or truth values for classes"
        )
    _check_text(labels if words else ())


def _check_text(words: Any) -> None:
    for word in words:
        try:
            str(word).encode()
        except UnicodeEncodeError:
            msg = f"{word!r} is no text that can be written to a file"
            raise ExportError(msg) from None


def scaling_of(step: Any, n_features: int) -> Scaling:
    """What a scaler does; others are refused."""
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    if type(step) is StandardScaler:
        mean = step.mean_ if step.with_mean else None
        return Scaling(_or(mean, zeros), _or(step.scale_, ones))
    if type(step) is RobustScaler:
        centre = step.center_ if step.with_centering else None
        return Scaling(_or(centre, zeros), _or(step.scale_, ones))
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return Scaling(zeros, step.scale_)
    if type(step) is MinMaxScaler and not step.clip:
        return Scaling(-step.min_ / step.scale_, 1 / step.scale_)
    raise ExportError(
        f"{type(step).__name__} cannot be made one with the model, as StandardScaler, "
        "RobustScaler, MaxAbsScaler and MinMaxScaler can: export the estimator alone, "
        "or convert the pipeline by skl2onnx after relvec.export.register_converters()"
    )


def _or(value: Any, other: Array) -> Array:
    return other if value is None else np.asarray(value, dtype=np.float64)

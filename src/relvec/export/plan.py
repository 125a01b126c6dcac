"""The plan of an export: a program, its precision and a self-test."""

from dataclasses import dataclass, field
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
from relvec.export.expressions import ExportError, Program, evaluate, input_row
from relvec.export.kernels import FeatureScaling, KernelInputs, origin_near
from relvec.export.model import outputs, rows_to_try
from relvec.parameters import check_choice
from relvec.typing import AnyArray, Array

# A derived class may predict differently.
_ESTIMATORS = (RVR, RVC, LSSVR, LSSVC)


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A fitted estimator, and the scalers of its pipeline."""

    whole: Any  # the pipeline, or the estimator itself
    estimator: Any
    scaling: FeatureScaling

    @property
    def model(self) -> Any:
        """The fitted model."""
        return self.estimator.model_

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return type(self.estimator).__name__

    @property
    def title(self) -> str:
        """One line that describes the model."""
        vectors = _counted(len(self.model.indices), "vector")
        features = _counted(self.model.features.number, "feature")
        return f"{self.name}: {vectors}, {features}. Written by relvec."

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns of X, if known."""
        names = getattr(self.whole, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def one_target(self) -> bool:
        """Whether the target is a vector rather than a table."""
        return np.ndim(self.model.intercept) == 0

    @property
    def has_probabilities(self) -> bool:
        """Whether the classifier has probabilities."""
        return hasattr(self.estimator, "predict_proba")

    def trial_rows_before_scaling(self, count: int = 8, further: float = 1.0) -> Array:
        """Rows to try the export on, near the data or further out."""
        return self.scaling.inverse(rows_to_try(self.model, count, further))

    def predictions(self, X: Array, names: tuple[str, ...]) -> dict[str, Array]:
        """What the estimator itself predicts, by name of the output."""
        seen = (X - self.scaling.shift) / self.scaling.scale
        if names == ("mean",):
            # The error bars of an LS-SVM with many rows would be slow.
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


def exported_model(model: Any) -> ExportedModel:
    """Accept a relvec estimator, or a pipeline of scalers that ends with one."""
    if not isinstance(model, Pipeline):
        _check_estimator(model)
        return ExportedModel(
            model, model, FeatureScaling.none(model.model_.features.number)
        )
    *scalers, estimator = [step for _, step in model.steps] or [None]
    _check_estimator(estimator)
    steps = [step for step in scalers if step not in (None, "passthrough")]
    for step in steps:
        check_is_fitted(step)
    number = estimator.model_.features.number
    each = [scaling_by(step, number) for step in steps]
    before = reduce(
        lambda first, then: then.after(first), each, FeatureScaling.none(number)
    )
    return ExportedModel(model, estimator, before)


def _check_estimator(model: Any) -> None:
    if type(model) not in _ESTIMATORS:
        raise ExportError(
            f"{type(model).__name__} is not an estimator of relvec, nor a pipeline "
            "that ends with one: RVR, RVC, LSSVR and LSSVC can be exported"
        )
    check_is_fitted(model)
    _check_text(getattr(model, "feature_names_in_", ()))
    if model.model_.labels is not None:
        _check_labels(model.model_.labels)


def _check_labels(labels: AnyArray) -> None:
    """Accept text, booleans, and numbers that a signed 64-bit type can hold."""
    kind, words = labels.dtype.kind, all(isinstance(each, str) for each in labels)
    large = kind == "u" and int(labels.max()) > np.iinfo(np.int64).max
    if large or not (kind in "biuf" or words):
        raise ExportError(
            f"labels such as {labels[-1]!r} cannot be written to a file: use text, "
            "numbers or booleans for classes"
        )
    _check_text(labels if words else ())


def _check_text(words: Any) -> None:
    for word in words:
        try:
            str(word).encode()
        except UnicodeEncodeError:
            msg = f"{word!r} cannot be written to a file as text"
            raise ExportError(msg) from None


def scaling_by(step: Any, n_features: int) -> FeatureScaling:
    """The scaling of a scaler; other transformers are refused."""
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    if type(step) is StandardScaler:
        mean = step.mean_ if step.with_mean else None
        return FeatureScaling(_or_default(mean, zeros), _or_default(step.scale_, ones))
    if type(step) is RobustScaler:
        centre = step.center_ if step.with_centering else None
        return FeatureScaling(
            _or_default(centre, zeros), _or_default(step.scale_, ones)
        )
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return FeatureScaling(zeros, step.scale_)
    if type(step) is MinMaxScaler and not step.clip:
        return FeatureScaling(-step.min_ / step.scale_, 1 / step.scale_)
    raise ExportError(
        f"{type(step).__name__} cannot be merged into the model; StandardScaler, "
        "RobustScaler, MaxAbsScaler and MinMaxScaler can. Export the estimator alone, "
        "or convert the pipeline by skl2onnx after relvec.export.register_converters()"
    )


def _or_default(value: Any, other: Array) -> Array:
    return other if value is None else np.asarray(value, dtype=np.float64)


OUTPUTS = ("auto", "mean", "mean+std", "proba")
PRECISIONS = ("float32", "float64")
# Rows on which single precision is tried, and its tolerance: a third of the promised
# 1e-5 of an output's range, or two units in the last place.
_TRIED, _PROMISED, _LAST_PLACES = 200, 1e-5 / 3, 2
# Distance at which growing functions cancel; there the error is relative to the output.
_FURTHER = 30.0
_TINY = float(np.finfo(np.float64).tiny)
_TOLERANCES = {"float32": 1e-5, "float64": 1e-10}


@dataclass(frozen=True, eq=False)
class SelfTest:
    """Rows, and what the model itself predicts for them."""

    rows: Array  # (n, n_features), numbers of the precision asked for
    expected: dict[str, Array]  # by output

    @property
    def together(self) -> Array:
        """All outputs side by side, (n, outputs)."""
        each = [one.reshape(len(self.rows), -1) for one in self.expected.values()]
        return np.hstack(each)

    @property
    def scale(self) -> Array:
        """The size of each output that errors are relative to."""
        sizes = [np.abs(one).max(initial=_TINY) for one in self.expected.values()]
        widths = [one[0].size for one in self.expected.values()]
        return np.repeat(sizes, widths)


@dataclass(frozen=True, eq=False)
class Plan:
    """What all languages need: a program, its precision, a self-test and a title."""

    program: Program
    precision: str  # of rows and outputs
    arithmetic: type  # in between
    self_test: SelfTest
    title: str
    feature_names: tuple[str, ...] | None = None
    kind: type = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", np.dtype(self.precision).type)

    @property
    def tolerance(self) -> float:
        """Relative error above which a self-test fails."""
        return _TOLERANCES[self.precision]

    @classmethod
    def of(cls, model: Any, output: str, precision: str) -> "Plan":
        """Plan the export of an estimator, or of a pipeline that ends with one."""
        check_choice("output", output, OUTPUTS)
        check_choice("precision", precision, PRECISIONS)
        subject = exported_model(model)
        program = program_of(subject, output)
        kind = np.dtype(precision).type
        return cls(
            program=program,
            precision=precision,
            arithmetic=_arithmetic(program, subject, kind),
            self_test=_self_test(program, subject, kind),
            title=subject.title,
            feature_names=subject.feature_names,
        )


def program_of(subject: ExportedModel, output: str) -> Program:
    """The program that computes an output of a model."""
    _check_output(subject, output)
    model, scaling = subject.model, subject.scaling
    n_features = len(scaling.shift)
    row = input_row(n_features)
    origin = origin_near(scaling.inverse(_centres(model, n_features)))
    pairs = KernelInputs(row, row - origin, origin, scaling, None)
    named = outputs(model, pairs, std=output == "mean+std")
    shaped = {
        name: one.sum() if subject.one_target and name in {"mean", "std"} else one
        for name, one in named.items()
    }
    return Program.of(row, shaped, model.labels)


def _check_output(subject: ExportedModel, output: str) -> None:
    classes = subject.model.labels is not None
    if classes and output in {"mean", "mean+std"}:
        raise ExportError(
            f"output={output!r} is for regression, and {subject.name} tells classes "
            "apart: use output='proba'"
        )
    if not classes and output == "proba":
        raise ExportError(
            f"output='proba' is for classes, and {subject.name} is a regression: use "
            "'mean' or 'mean+std'"
        )
    if output == "proba" and not subject.has_probabilities:
        raise ExportError(
            "votes are not probabilities: use output='auto' for the votes, or fit with "
            "multi_class='ovo'"
        )


def _centres(model: Any, n_features: int) -> Array:
    """Centres (n, n_features); none if the functions are columns."""
    centres = model.centres
    if centres.dtype == object or centres.shape[1:] != (n_features,):
        return np.empty((0, n_features))
    return np.asarray(centres, dtype=np.float64)


def _arithmetic(program: Program, subject: ExportedModel, kind: type) -> type:
    """Single precision if requested and accurate enough, else double."""
    if kind is np.float64:
        return np.float64
    centres = _centres(subject.model, program.n_features)[:_TRIED]
    near = np.concatenate(
        [subject.trial_rows_before_scaling(_TRIED), subject.scaling.inverse(centres)]
    )
    tried = np.concatenate([near, subject.trial_rows_before_scaling(_TRIED, _FURTHER)])
    X = tried.astype(kind).astype(np.float64)
    exact, single = evaluate(program, X), evaluate(program, X, np.float32)
    for name, values in exact.items():
        about = values[: len(near)]
        error = np.abs(single[name].astype(np.float64) - values)
        rounding = _LAST_PLACES * float(np.finfo(np.float32).eps)
        least = rounding * np.abs(about).max(initial=0.0)
        size = np.abs(values)
        size[: len(near)] = 0.0
        spread = np.ptp(about) if about.size else 0.0
        allowed = np.maximum(_PROMISED * np.maximum(size, spread), least)
        if not np.all(error <= allowed):
            return np.float64
    return np.float32


def _self_test(program: Program, subject: ExportedModel, kind: type) -> SelfTest:
    X = subject.trial_rows_before_scaling().astype(kind).astype(np.float64)
    return SelfTest(X, subject.predictions(X, tuple(program.outputs)))

"""What is to be written, whatever the language: a program, its precision, its test."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relvec.export.errors import ExportError
from relvec.export.evaluation import evaluated
from relvec.export.expressions import rows
from relvec.export.outputs import outputs
from relvec.export.pairs import Pairs, origin_of
from relvec.export.program import Program
from relvec.export.subject import Subject, subject_of
from relvec.parameters import check_choice
from relvec.typing import Array

OUTPUTS = ("auto", "mean", "mean+std", "proba")
PRECISIONS = ("float32", "float64")
# Rows at which single precision is tried, and what it may err by: a third of what is
# promised, 1e-5 of the spread of an output, or two units in its last place.
_TRIED, _PROMISED, _LAST_PLACES = 200, 1e-5 / 3, 2
# Functions that grow cancel further out, where as much is promised of an output itself.
_FURTHER = 30.0
_TINY = float(np.finfo(np.float64).tiny)
_TOLERANCES = {"float32": 1e-5, "float64": 1e-10}


@dataclass(frozen=True, eq=False)
class SelfTest:
    """Rows, and what the model itself says of them."""

    rows: Array  # (n, n_features), numbers of the precision asked for
    expected: dict[str, Array]  # by output

    @property
    def together(self) -> Array:
        """(n, all outputs)."""
        each = [one.reshape(len(self.rows), -1) for one in self.expected.values()]
        return np.hstack(each)

    @property
    def scale(self) -> Array:
        """Sizes (all outputs,) that errors are relative to: of each output as one."""
        sizes = [np.abs(one).max(initial=_TINY) for one in self.expected.values()]
        widths = [one[0].size for one in self.expected.values()]
        return np.repeat(sizes, widths)


@dataclass(frozen=True, eq=False)
class Plan:
    """A program with all that is written beside it."""

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
        """Error of an output beyond which a self-test has failed, by its size."""
        return _TOLERANCES[self.precision]

    @classmethod
    def of(cls, model: Any, output: str, precision: str) -> "Plan":
        """For an estimator, or a pipeline that ends with one."""
        check_choice("output", output, OUTPUTS)
        check_choice("precision", precision, PRECISIONS)
        subject = subject_of(model)
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


def program_of(subject: Subject, output: str) -> Program:
    """What the model computes for a row."""
    _check_output(subject, output)
    model, scaling = subject.model, subject.scaling
    n_features = len(scaling.shift)
    row = rows(n_features)
    origin = origin_of(scaling.undone(_centres(model, n_features)))
    pairs = Pairs(row, row - origin, origin, scaling, None)
    named = outputs(model, pairs, std=output == "mean+std")
    shaped = {
        name: one.sum() if subject.one_target and name in {"mean", "std"} else one
        for name, one in named.items()
    }
    return Program.of(row, shaped, model.labels)


def _check_output(subject: Subject, output: str) -> None:
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
            "votes are no probabilities: use output='auto' for the votes, or fit with "
            "multi_class='ovo'"
        )


def _centres(model: Any, n_features: int) -> Array:
    """(n, n_features), none of a model of columns."""
    centres = model.centres
    if centres.dtype == object or centres.shape[1:] != (n_features,):
        return np.empty((0, n_features))
    return np.asarray(centres, dtype=np.float64)


def _arithmetic(program: Program, subject: Subject, kind: type) -> type:
    """Single precision, if it is asked for and has the digits that are promised."""
    if kind is np.float64:
        return np.float64
    centres = _centres(subject.model, program.n_features)[:_TRIED]
    near = np.concatenate([subject.raw_rows(_TRIED), subject.scaling.undone(centres)])
    tried = np.concatenate([near, subject.raw_rows(_TRIED, _FURTHER)])
    X = tried.astype(kind).astype(np.float64)
    exact, single = evaluated(program, X), evaluated(program, X, np.float32)
    for name, values in exact.items():
        about = values[: len(near)]
        error = np.abs(single[name].astype(np.float64) - values)
        rounding = _LAST_PLACES * float(np.finfo(np.float32).eps)
        least = rounding * np.abs(about).max(initial=0.0)
        size = np.where(_after(len(near), values), np.abs(values), 0.0)
        spread = np.ptp(about) if about.size else 0.0
        allowed = np.maximum(_PROMISED * np.maximum(size, spread), least)
        if not np.all(error <= allowed):
            return np.float64
    return np.float32


def _after(count: int, values: Array) -> Array:
    """Whether a row comes after so many, for every number of an output."""
    places = np.arange(len(values)).reshape(-1, *(1,) * (values.ndim - 1))
    return np.broadcast_to(places >= count, values.shape)


def _self_test(program: Program, subject: Subject, kind: type) -> SelfTest:
    X = subject.raw_rows().astype(kind).astype(np.float64)
    return SelfTest(X, subject.said_of(X, tuple(program.outputs)))

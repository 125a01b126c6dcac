"""The case of a report: a model, rows, its predictions and their scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.stats import binom
from sklearn.metrics import log_loss

from relvec.chance import generator
from relvec.plots.drawing import Subject
from relvec.typing import AnyArray, Array, Indices

_DEVIATIONS, _NOMINAL_COVERAGE = (
    1.96,
    0.95,
)  # deviations, and the share of rows within them
_CHANCE_LEVEL = 0.99  # probability that correct error bars pass
_MOST_ROWS = 20_000  # rows to predict, which give shares to half a percent
_ROWS_AT_ONCE = 10_000  # rows
_MOST_DOTS = 500  # dots of a figure; more would hide each other


def predicted(model: Any, X: Any, *, classes: bool) -> dict[str, AnyArray]:
    """Predict rows: means and deviations, or classes and probabilities."""
    if not classes:
        try:
            mean, std = model.predict(X, return_std=True)
        except TypeError:  # not a model of relvec
            return {"mean": np.asarray(model.predict(X))}
        return {"mean": mean, "std": std}
    found = {"class": np.asarray(model.predict(X))}
    if hasattr(model, "predict_proba"):
        found["proba"] = np.asarray(model.predict_proba(X))
    return found


def guess_scores(known: AnyArray, y: AnyArray, *, classes: bool) -> dict[str, float]:
    """Score the mean, or the most frequent class, as the prediction of every row."""
    if not classes:
        return {"rmse": float(np.sqrt(np.mean((y - known.mean()) ** 2)))}
    labels, counts = np.unique(known, return_counts=True)
    return {"error": float(np.mean(y != labels[counts.argmax()]))}


def number_scores(y: Array, mean: Array, std: Array | None) -> dict[str, float | None]:
    """Score predictions of numbers and their error bars."""
    error = mean - y
    spread = float(np.var(y))
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
        "r2": 1 - float(np.mean(error**2)) / spread if spread > 0 else None,
        "nlpd": None if std is None else _nlpd(error, std),
        "within_95": None
        if std is None
        else float(np.mean(np.abs(error) <= _DEVIATIONS * std)),
    }


def bars_in_words(within: float, number: int) -> str:
    """Say whether error bars are too narrow or too wide, beyond chance.

    ``within`` is the share of ``number`` rows within 1.96 standard deviations.
    """
    least, most = binom.interval(_CHANCE_LEVEL, number, _NOMINAL_COVERAGE)
    word = "neither too narrow nor too wide"
    if round(within * number) < least:
        word = "too narrow"
    elif round(within * number) > most:
        word = "too wide"
    chance = f"{least / number:.3g} to {most / number:.3g} by chance"
    return f"{word}: {within:.3g} of rows within, {chance}"


def class_scores(
    y: AnyArray, predicted: AnyArray, probabilities: Array | None, labels: AnyArray
) -> dict[str, float | None]:
    """Score predicted classes and probabilities."""
    return {
        "error": float(np.mean(predicted != y)),
        "log_loss": None
        if probabilities is None
        else float(log_loss(y, probabilities, labels=labels)),
    }


def _nlpd(error: Array, std: Array) -> float:
    """Mean negative log predictive density under normal distributions."""
    return float(np.mean(0.5 * np.log(2 * np.pi * std**2) + 0.5 * (error / std) ** 2))


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted model, and rows to test it on."""

    subject: Subject
    X: Any  # all rows, as the model takes them
    y: AnyArray
    tried: Indices  # of them, in order
    held_out: Indices | None  # rows that the model has not seen, if that is known
    target: str

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, held_out: Any, kind: type) -> Self:
        """Check that model, rows and targets belong together."""
        subject = Subject.of(model, kind)
        X = X if hasattr(X, "shape") else np.asarray(X)
        observed = np.asarray(y)
        _check_rows(X, observed)
        if held_out is not None:
            held_out = _row_numbers(held_out, len(observed))
        tried = np.arange(len(observed)) if held_out is None else held_out
        tried = tried[drawn(tried, _MOST_ROWS)]
        observed = _checked_targets(subject, observed)
        target = str(getattr(y, "name", None) or "target")
        return cls(subject, X, observed, tried, held_out, target)

    @property
    def labels(self) -> AnyArray | None:
        """Labels of a classifier, or None."""
        return getattr(self.subject.model, "classes_", None)

    @property
    def fitted(self) -> Indices:
        """Rows that were not held out."""
        every = np.arange(len(self.y))
        return every if self.held_out is None else np.setdiff1d(every, self.held_out)

    @property
    def observed(self) -> AnyArray:
        """Targets of the test rows."""
        return self.y[self.tried]

    @property
    def names(self) -> list[str]:
        """Names of the columns of X."""
        return self.subject.feature_names(self.X, int(np.shape(self.X)[1]))

    @property
    def numeric(self) -> bool:
        """Whether all features are finite numbers, so that they can be drawn."""
        table = np.asarray(self.X)
        return table.dtype.kind in "iufb" and bool(np.isfinite(table).all())

    def rows(self, numbers: Indices) -> Any:
        """Select rows of X."""
        return taken(self.X, numbers)

    def predicted(self) -> dict[str, AnyArray]:
        """Predict the test rows."""
        model, classes = self.subject.model, self.labels is not None
        parts = [
            predicted(model, seen, classes=classes) for seen in self._model_inputs()
        ]
        return {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds of predictive intervals of the test rows."""
        interval = self.subject.model.predict_interval
        parts = [interval(seen, coverage) for seen in self._model_inputs()]
        lower, upper = zip(*parts, strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def _model_inputs(self) -> Iterator[Any]:
        """Transform the test rows for the model, some at a time."""
        for start in range(0, len(self.tried), _ROWS_AT_ONCE):
            yield self.subject.rows(
                self.rows(self.tried[start : start + _ROWS_AT_ONCE])
            )


def taken(X: Any, numbers: Indices) -> Any:
    """Select rows of a table or an array."""
    return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]


def drawn(numbers: Indices, most: int = _MOST_DOTS) -> Indices:
    """Indices of at most ``most`` of the numbers, drawn at random and sorted."""
    if len(numbers) <= most:
        return np.arange(len(numbers))
    return np.sort(generator(0).choice(len(numbers), most, replace=False))


def _check_rows(X: Any, y: AnyArray) -> None:
    if len(X.shape) != 2 or issparse(X):
        raise ValueError(
            "a report is of rows in a table: X must be an array or a data frame of "
            "shape (n_samples, n_features)"
        )
    if y.ndim != 1:
        raise ValueError(
            f"a report is of one target, and y has shape {y.shape}: fit a model for "
            "each, and write a report for each"
        )
    if X.shape[0] != len(y) or not len(y):
        raise ValueError(
            f"X has {X.shape[0]} rows and y has {len(y)}: give one target for each "
            "row, and at least one row"
        )


def _row_numbers(held_out: Any, n_rows: int) -> Indices:
    numbers = np.unique(np.asarray(held_out, dtype=np.intp))
    if not len(numbers) or numbers[0] < 0 or numbers[-1] >= n_rows:
        raise ValueError(
            f"held_out must hold numbers of rows, at least one, from 0 to {n_rows - 1}"
        )
    return numbers


def _checked_targets(subject: Subject, y: AnyArray) -> AnyArray:
    """Check that targets are numbers, or labels known to the model."""
    labels = getattr(subject.model, "classes_", None)
    if labels is None:
        if np.ndim(subject.model.intercept_) or subject.model.dual_coef_.ndim > 1:
            raise ValueError(
                "a report is of one target, and this model predicts several: fit a "
                "model for each, and write a report for each"
            )
        numbers: Array = y.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("y has rows without a finite number: leave them out")
        return numbers
    unknown = [label for label in np.unique(y) if label not in labels]
    if unknown:
        raise ValueError(
            f"y has the class {unknown[0]!r}, which the model does not know; it knows "
            f"{', '.join(map(repr, labels.tolist()[:5]))}"
        )
    return y

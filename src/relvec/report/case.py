"""What a report is about: a model, rows, what was observed and what is predicted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from relvec.chance import generator
from relvec.plots.subject import Subject
from relvec.report.scores import predicted
from relvec.typing import AnyArray, Array, Indices

_MOST = 20_000  # rows that are predicted: shares are known to half a percent by then
_AT_ONCE = 10_000  # rows
_DRAWN = 500  # dots of a figure, beyond which they hide each other


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted model, and rows that it is tried on."""

    subject: Subject
    X: Any  # all rows, as the model takes them
    y: AnyArray
    tried: Indices  # of them, in order
    held_out: Indices | None  # rows that the model has not seen, if that is known
    target: str

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, held_out: Any, kind: type) -> Self:
        """Or refuse what does not belong together."""
        subject = Subject.of(model, kind)
        X = X if hasattr(X, "shape") else np.asarray(X)
        observed = np.asarray(y)
        _check_rows(X, observed)
        if held_out is not None:
            held_out = _numbers(held_out, len(observed))
        tried = np.arange(len(observed)) if held_out is None else held_out
        tried = tried[drawn(tried, _MOST)]
        observed = _as_targets(subject, observed)
        target = str(getattr(y, "name", None) or "target")
        return cls(subject, X, observed, tried, held_out, target)

    @property
    def labels(self) -> AnyArray | None:
        """Of classes, if it tells them apart."""
        return getattr(self.subject.model, "classes_", None)

    @property
    def fitted(self) -> Indices:
        """All other rows; all of them if none was held out."""
        every = np.arange(len(self.y))
        return every if self.held_out is None else np.setdiff1d(every, self.held_out)

    @property
    def observed(self) -> AnyArray:
        """Of the rows that the model is tried on."""
        return self.y[self.tried]

    @property
    def names(self) -> list[str]:
        """Of the columns of X."""
        return self.subject.feature_names(self.X, int(np.shape(self.X)[1]))

    @property
    def numeric(self) -> bool:
        """Whether features are numbers, all of them there: those can be drawn."""
        table = np.asarray(self.X)
        return table.dtype.kind in "iufb" and bool(np.isfinite(table).all())

    def rows(self, numbers: Indices) -> Any:
        """Some of X."""
        return taken(self.X, numbers)

    def predicted(self) -> dict[str, AnyArray]:
        """What the model says of the rows that it is tried on, by name."""
        model, classes = self.subject.model, self.labels is not None
        parts = [predicted(model, seen, classes=classes) for seen in self._seen()]
        return {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Ends of predictive intervals of the same rows."""
        interval = self.subject.model.predict_interval
        parts = [interval(seen, coverage) for seen in self._seen()]
        lower, upper = zip(*parts, strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def _seen(self) -> Iterator[Any]:
        """The same rows as the model sees them, some at a time."""
        for start in range(0, len(self.tried), _AT_ONCE):
            yield self.subject.rows(self.rows(self.tried[start : start + _AT_ONCE]))


def taken(X: Any, numbers: Indices) -> Any:
    """Rows of a table or an array."""
    return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]


def drawn(numbers: Indices, most: int = _DRAWN) -> Indices:
    """Places of some of them, in order, drawn by chance if there are too many."""
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


def _numbers(held_out: Any, n_rows: int) -> Indices:
    numbers = np.unique(np.asarray(held_out, dtype=np.intp))
    if not len(numbers) or numbers[0] < 0 or numbers[-1] >= n_rows:
        raise ValueError(
            f"held_out must hold numbers of rows, at least one, from 0 to {n_rows - 1}"
        )
    return numbers


def _as_targets(subject: Subject, y: AnyArray) -> AnyArray:
    """Numbers, or labels that the model knows."""
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

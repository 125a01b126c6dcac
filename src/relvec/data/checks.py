"""Checks of cells, with messages that say where the cell is and what to do."""

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from relvec.typing import AnyArray, Array

_LONGEST_CELL = 60  # characters of it that a message shows
_MISSING = "the value is missing (null or NaN)"
_NOT_NUMBERS = (
    "turn it into numbers first, or leave the column out by naming the others in "
    "features"
)
_KINDS = {"f": "numbers", "i": "numbers", "u": "numbers", "b": "booleans", "U": "text"}


@dataclass(frozen=True)
class Place:
    """Where a stretch of rows comes from: what a message about one of them says."""

    where: str
    first_row: int = 0  # rows of the same source that came before
    counted: str = "counted from 1"

    def row(self, row: int) -> str:
        return f"{self.where}, row {self.first_row + row + 1} ({self.counted})"


def as_numbers(values: AnyArray, place: Place, label: str) -> AnyArray:
    """Numbers as they are, objects as float64; missing ones are NaN."""
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind != "O":
        cell = repr(str(values[0])) if len(values) else f"type {values.dtype}"
        raise not_a_number(place, 0, label, cell)
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        if not isinstance(value, Real | Decimal | np.bool_) and not _is_missing(value):
            raise not_a_number(place, row, label, repr(value))
        numbers[row] = np.nan if _is_missing(value) else value
    return numbers


def not_a_number(place: Place, row: int, label: str, cell: str) -> ValueError:
    """The refusal of one cell among the features."""
    shown = cell if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]}..."
    return ValueError(
        f"{place.row(row)}, {label}: {shown} is not a number; {_NOT_NUMBERS}"
    )


def not_numeric(where: str, label: str, kind: Any) -> ValueError:
    """The refusal of a whole column, known from its type."""
    return ValueError(
        f"{where}, {label}: its type is {kind}, not a number; {_NOT_NUMBERS}"
    )


def check_finite(X: AnyArray, place: Place, labels: list[str]) -> None:
    """Neither missing nor infinite cells, or the first of them by row."""
    finite = np.isfinite(X)
    if finite.all():
        return
    row = int(np.argmin(finite.all(axis=1)))
    column = int(np.argmin(finite[row]))
    raise not_finite(place, row, labels[column], X[row, column])


def not_finite(place: Place, row: int, label: str, value: Any) -> ValueError:
    """The refusal of one cell that is missing or infinite."""
    return ValueError(
        f"{place.row(row)}, {label}: {_missing_or_infinite(value)}; impute it, for "
        "example with the column's mean, or leave the row out"
    )


def _missing_or_infinite(value: Any) -> str:
    if np.isnan(value):
        return _MISSING
    return f"the value is infinite ({value})"


def checked_target(values: AnyArray, place: Place, label: str) -> AnyArray:
    """Numbers, booleans or text, none missing; text as numpy's own strings."""
    if values.ndim != 1:
        raise ValueError(
            f"{place.where}, {label}: a target has one value per row, and this one "
            f"has {values.ndim} dimensions; for a single column pass y.ravel()"
        )
    if values.dtype.kind in "OT":  # T: numpy's strings of any length
        values = _unboxed(values, place, label)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise _bad_target(place, row, label, _missing_or_infinite(values[row]))
    if values.dtype.kind not in _KINDS:
        raise ValueError(
            f"{place.where}, {label}: a target of type {values.dtype} is not "
            "understood; turn it into numbers, booleans or text"
        )
    return values


def _unboxed(values: AnyArray, place: Place, label: str) -> AnyArray:
    """An array of Python objects as an array of what they all are."""
    for row, value in enumerate(values):
        if _is_missing(value):
            raise _bad_target(place, row, label, _MISSING)
    kinds = [_kind_of(value) for value in values]
    for row, kind in enumerate(kinds):
        if kind != kinds[0]:
            problem = f"{values[row]!r} is not like the first, {values[0]!r}"
            raise _bad_target(place, row, label, problem)
    if kinds and kinds[0] == "decimal":
        return values.astype(np.float64)
    return np.array(values.tolist()) if kinds else np.empty(0)


def _kind_of(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, Decimal):
        return "decimal"
    return "number" if isinstance(value, Real) else type(value).__name__


def _bad_target(place: Place, row: int, label: str, problem: str) -> ValueError:
    return ValueError(
        f"{place.row(row)}, {label}: {problem}; correct the target or leave the row out"
    )


def checked_weight(values: AnyArray, place: Place, label: str) -> Array:
    """Finite weights of at least zero, as float64."""
    weight = as_numbers(values, place, label).astype(np.float64, copy=False)
    if weight.ndim != 1:
        raise ValueError(f"{place.where}, {label}: weights must be one number per row")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{place.row(row)}, {label}: {weight[row]} is not a weight; weights are "
            "finite and not negative, zero for rows to leave out"
        )
    return weight


def check_length(name: str, values: AnyArray | None, n_rows: int, where: str) -> None:
    """As many values as there are rows, if there are any."""
    if values is not None and len(np.atleast_1d(values)) != n_rows:
        raise ValueError(
            f"{where}: {name} has {len(np.atleast_1d(values))} values and X has "
            f"{n_rows} rows; pass one value per row, in the same order"
        )


def same_kind(before: str | None, y: AnyArray | None, where: str) -> str:
    """What a target consists of, which must not change from block to block."""
    now = "absent" if y is None else _KINDS[y.dtype.kind]
    if before not in (None, now):
        raise ValueError(
            f"{where}: the target is {now} here and was {before} before; make it one "
            "kind throughout"
        )
    return now


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))

"""Columns of a table: their roles, and checks of their cells.

Messages say where a bad cell is and what to do about it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from relvec.typing import AnyArray, Array

_MOST_LISTED = 20  # names of a wide table in a message
_MOST_CHARACTERS = 60  # of a cell in a message
_MISSING_VALUE = "the value is missing (null or NaN)"
_NOT_NUMBERS = (
    "turn it into numbers first, or leave the column out by naming the others in "
    "features"
)
_KIND_NAMES = {
    "f": "numbers",
    "i": "numbers",
    "u": "numbers",
    "b": "booleans",
    "U": "text",
}


@dataclass(frozen=True)
class Header:
    """Columns of a source; columns without names go by their number."""

    where: str
    names: tuple[str, ...] | None
    n_columns: int

    def label(self, position: int) -> str:
        if self.names is None:
            return f"column number {position}"
        return f"column {self.names[position]!r}"

    def position(self, role: str, column: Any) -> int:
        """Return the number of a column given by name or number."""
        if isinstance(column, Integral) and not isinstance(column, bool):
            return self._checked_number(role, int(column))
        if not isinstance(column, str):
            raise ValueError(
                f"{role} must be the name or the number of a column of {self.where}; "
                f"got {type(column).__name__}"
            )
        if self.names is None:
            raise ValueError(
                f"{role} is {column!r}, but the columns of {self.where} have no names; "
                "give the column's number"
            )
        if column not in self.names:
            raise ValueError(self._missing_message(role, column, self.names))
        return self.names.index(column)

    def _checked_number(self, role: str, number: int) -> int:
        if not -self.n_columns <= number < self.n_columns:
            raise ValueError(
                f"{role}: {self.where} has no column number {number}; it has "
                f"{self.n_columns}, numbered from 0"
            )
        return number % self.n_columns

    def _missing_message(self, role: str, column: str, names: tuple[str, ...]) -> str:
        close = get_close_matches(column, names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return (
            f"{role}: {self.where} has no column {column!r}{hint}; it has "
            f"{_names_listed(names)}"
        )

    def check_unique(self) -> None:
        """Refuse a name that occurs twice."""
        twice = [name for name, n in Counter(self.names or ()).items() if n > 1]
        if twice:
            raise ValueError(
                f"{self.where} has more than one column {twice[0]!r}; rename them so "
                "that every name occurs once"
            )

    def check_matches(self, first: "Header") -> None:
        """Refuse columns other than those of the first file or block."""
        if self.n_columns != first.n_columns:
            raise ValueError(
                f"{self.where} has {self.n_columns} columns and {first.where} has "
                f"{first.n_columns}; every part must have the same columns"
            )
        if self.names == first.names:
            return
        if self.names is None or first.names is None:
            msg = f"only one of {first.where} and {self.where} has column names"
            raise ValueError(msg)
        pairs = zip(self.names, first.names, strict=True)
        number = next(i for i, (name, other) in enumerate(pairs) if name != other)
        raise ValueError(
            f"column number {number} is {self.names[number]!r} in {self.where} and "
            f"{first.names[number]!r} in {first.where}; every part must have the same "
            "columns in the same order"
        )


@dataclass(frozen=True)
class ColumnChoice:
    """Columns that the user chose, or arrays given instead of columns."""

    target: Any = None
    features: Any = None
    weight: Any = None


@dataclass(frozen=True)
class Roles:
    """Column numbers of the features, the target and the weight."""

    header: Header
    features: tuple[int, ...]
    target: int | None
    weight: int | None

    @property
    def feature_names(self) -> list[str] | None:
        names = self.header.names
        return None if names is None else [names[i] for i in self.features]

    @property
    def feature_labels(self) -> list[str]:
        return [self.header.label(position) for position in self.features]

    @property
    def columns(self) -> tuple[int, ...]:
        """Numbers of all columns to read."""
        every = (*self.features, self.target, self.weight)
        return tuple(sorted({i for i in every if i is not None}))


def assign_roles(header: Header, choice: ColumnChoice) -> Roles:
    """Find the chosen columns; by default all others are features."""
    header.check_unique()
    target, weight = (
        None if column is None else header.position(role, column)
        for role, column in (("target", choice.target), ("weight", choice.weight))
    )
    taken = {target: "target", weight: "weight"}
    if target is not None and target == weight:
        msg = f"target and weight are both {header.label(target)} of {header.where}"
        raise ValueError(msg)
    if choice.features is None:
        features = tuple(i for i in range(header.n_columns) if i not in taken)
    else:
        features = _feature_positions(header, choice.features)
    for position in features:
        if position in taken:
            raise ValueError(
                f"{header.label(position)} is both {taken[position]} and among the "
                "features; take it out of one of them"
            )
    if not features:
        msg = f"{header.where} has no column left to be a feature; name at least one"
        raise ValueError(msg)
    return Roles(header, features, target, weight)


def _feature_positions(header: Header, features: Any) -> tuple[int, ...]:
    if isinstance(features, str | bytes) or not hasattr(features, "__iter__"):
        raise ValueError(f"features must be a list of columns; got {features!r}")
    positions = tuple(header.position("features", column) for column in features)
    twice = [i for i, n in Counter(positions).items() if n > 1]
    if twice:
        msg = f"features names {header.label(twice[0])} more than once; name it once"
        raise ValueError(msg)
    return positions


def _names_listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_LISTED])
    rest = len(names) - _MOST_LISTED
    return f"{shown} and {rest} more" if rest > 0 else shown


@dataclass(frozen=True)
class Location:
    """Where rows come from, for messages about one of them."""

    where: str
    first_row: int = 0  # rows before these in the same source
    counted: str = "counted from 1"

    def row(self, row: int) -> str:
        return f"{self.where}, row {self.first_row + row + 1} ({self.counted})"


def as_numbers(values: AnyArray, place: Location, label: str) -> AnyArray:
    """Return numbers unchanged and objects as float64, NaN if missing."""
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


def not_a_number(place: Location, row: int, label: str, cell: str) -> ValueError:
    """Error for one cell of a feature."""
    shown = cell if len(cell) <= _MOST_CHARACTERS else f"{cell[:_MOST_CHARACTERS]}..."
    return ValueError(
        f"{place.row(row)}, {label}: {shown} is not a number; {_NOT_NUMBERS}"
    )


def not_numeric(where: str, label: str, kind: Any) -> ValueError:
    """Error for a column whose type is not numeric."""
    return ValueError(
        f"{where}, {label}: its type is {kind}, not a number; {_NOT_NUMBERS}"
    )


def check_finite(X: AnyArray, place: Location, labels: list[str]) -> None:
    """Refuse missing and infinite cells."""
    finite = np.isfinite(X)
    if finite.all():
        return
    row = int(np.argmin(finite.all(axis=1)))
    column = int(np.argmin(finite[row]))
    raise not_finite(place, row, labels[column], X[row, column])


def not_finite(place: Location, row: int, label: str, value: Any) -> ValueError:
    """Error for a missing or infinite cell."""
    return ValueError(
        f"{place.row(row)}, {label}: {_missing_or_infinite(value)}; impute it, for "
        "example with the column's mean, or leave the row out"
    )


def _missing_or_infinite(value: Any) -> str:
    if np.isnan(value):
        return _MISSING_VALUE
    return f"the value is infinite ({value})"


def checked_target(values: AnyArray, place: Location, label: str) -> AnyArray:
    """Refuse missing targets and other types than numbers, booleans and text."""
    if values.ndim != 1:
        raise ValueError(
            f"{place.where}, {label}: a target has one value per row, and this one "
            f"has {values.ndim} dimensions; for a single column pass y.ravel()"
        )
    if values.dtype.kind in "OT":  # T: numpy's strings of any length
        values = _from_objects(values, place, label)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise _target_error(place, row, label, _missing_or_infinite(values[row]))
    if values.dtype.kind not in _KIND_NAMES:
        raise ValueError(
            f"{place.where}, {label}: a target of type {values.dtype} is not "
            "understood; turn it into numbers, booleans or text"
        )
    return values


def _from_objects(values: AnyArray, place: Location, label: str) -> AnyArray:
    """Convert an array of Python objects to their common type."""
    for row, value in enumerate(values):
        if _is_missing(value):
            raise _target_error(place, row, label, _MISSING_VALUE)
    kinds = [_type_name(value) for value in values]
    for row, kind in enumerate(kinds):
        if kind != kinds[0]:
            problem = f"{values[row]!r} is not like the first, {values[0]!r}"
            raise _target_error(place, row, label, problem)
    if kinds and kinds[0] == "decimal":
        return values.astype(np.float64)
    return np.array(values.tolist()) if kinds else np.empty(0)


def _type_name(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, Decimal):
        return "decimal"
    return "number" if isinstance(value, Real) else type(value).__name__


def _target_error(place: Location, row: int, label: str, problem: str) -> ValueError:
    return ValueError(
        f"{place.row(row)}, {label}: {problem}; correct the target or leave the row out"
    )


def checked_weight(values: AnyArray, place: Location, label: str) -> Array:
    """Return weights as float64; refuse those that are negative or not finite."""
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
    """Refuse targets or weights of another length than X."""
    if values is not None and len(np.atleast_1d(values)) != n_rows:
        raise ValueError(
            f"{where}: {name} has {len(np.atleast_1d(values))} values and X has "
            f"{n_rows} rows; pass one value per row, in the same order"
        )


def same_kind(before: str | None, y: AnyArray | None, where: str) -> str:
    """Return the kind of a target; refuse one that differs from earlier blocks."""
    now = "absent" if y is None else _KIND_NAMES[y.dtype.kind]
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

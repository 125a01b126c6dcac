"""Stretches of rows in memory: what every kind of table is turned into first.

Arrays and data frames are here; Arrow's tables, which need pyarrow, in ``arrow.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from relvec.data.checks import Place, as_numbers
from relvec.data.roles import Heading, Roles
from relvec.typing import AnyArray


class TableRows(Protocol):
    """Consecutive rows of a table."""

    def __len__(self) -> int: ...

    def heading(self, where: str) -> Heading:
        """The columns there are."""

    def column(self, position: int) -> AnyArray:
        """One column; missing values are NaN or None."""

    def matrix(self, roles: Roles, place: Place) -> AnyArray:
        """The features as float32 or float64, missing ones as NaN."""

    def part(self, start: int, stop: int) -> "TableRows":
        """Some of the rows, not copied."""


def stacked(column: Callable[[int], AnyArray], roles: Roles, place: Place) -> AnyArray:
    """Feature columns side by side; float32 if all of them are."""
    columns = [
        as_numbers(column(position), place, label)
        for position, label in zip(roles.features, roles.feature_labels, strict=True)
    ]
    X = np.empty((len(columns[0]), len(columns)), float_type(columns), order="F")
    for j, values in enumerate(columns):
        X[:, j] = values
    return X


def float_type(columns: Sequence[AnyArray]) -> np.dtype[Any]:
    """float32 for columns that it holds exactly, else float64."""
    single = all(
        column.dtype.kind == "f" and column.itemsize <= 4 for column in columns
    )
    return np.dtype(np.float32 if single else np.float64)


def contiguous(X: AnyArray) -> AnyArray:
    """Itself if rows or columns are contiguous, else a copy in which rows are."""
    if X.flags.c_contiguous or X.flags.f_contiguous:
        return X
    return np.ascontiguousarray(X)


@dataclass(frozen=True)
class ArrayRows:
    """Rows of a two-dimensional array."""

    array: AnyArray

    def __len__(self) -> int:
        return len(self.array)

    def heading(self, where: str) -> Heading:
        return Heading(where, None, self.array.shape[1])

    def column(self, position: int) -> AnyArray:
        return self.array[:, position]

    def matrix(self, roles: Roles, place: Place) -> AnyArray:
        if self.array.dtype.kind not in "fiub":
            return stacked(self.column, roles, place)
        every = roles.features == tuple(range(self.array.shape[1]))
        X = self.array if every else self.array[:, list(roles.features)]
        return contiguous(X.astype(float_type([X]), copy=False))

    def part(self, start: int, stop: int) -> "ArrayRows":
        return ArrayRows(self.array[start:stop])


@dataclass(frozen=True)
class FrameRows:
    """Rows of a pandas or polars data frame, neither of which is imported."""

    frame: Any

    def __len__(self) -> int:
        return len(self.frame)

    def heading(self, where: str) -> Heading:
        names = list(self.frame.columns)
        if all(isinstance(name, str) for name in names):
            return Heading(where, tuple(names), len(names))
        if names == list(range(len(names))):
            return Heading(where, None, len(names))
        raise ValueError(
            f"the columns of {where} are not all named by text, so that a number could "
            "mean a name or a place; frame.columns.astype(str) makes them text"
        )

    def column(self, position: int) -> AnyArray:
        if hasattr(self.frame, "iloc"):
            series = self.frame.iloc[:, position]
        else:
            series = self.frame.to_series(position)
        return np.asarray(series.to_numpy())

    def matrix(self, roles: Roles, place: Place) -> AnyArray:
        return stacked(self.column, roles, place)

    def part(self, start: int, stop: int) -> "FrameRows":
        if hasattr(self.frame, "iloc"):
            return FrameRows(self.frame.iloc[start:stop])
        return FrameRows(self.frame.slice(start, stop - start))


def is_frame(source: Any) -> bool:
    """Whether it is a data frame of pandas or polars."""
    pandas = hasattr(source, "iloc") and hasattr(source, "columns")
    return pandas or (hasattr(source, "get_columns") and hasattr(source, "to_series"))


def array_rows(source: Any, where: str) -> ArrayRows:
    """An array of rows and columns, or the reason why it is none."""
    try:
        array = np.asarray(source)
    except ValueError as error:
        msg = f"{where} is not an array: its rows must all have the same length"
        raise ValueError(msg) from error
    check_array(array.shape, array.dtype, where)
    return ArrayRows(array)


def check_array(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> None:
    """Rows and columns of numbers, as far as shape and type tell."""
    if dtype.names is not None:
        raise ValueError(
            f"{where} is a record array; use numpy.lib.recfunctions."
            "structured_to_unstructured to make it an array of rows and columns"
        )
    if len(shape) != 2:
        raise ValueError(
            f"{where} must be two-dimensional, rows by columns; got shape {shape}; "
            "X.reshape(-1, 1) makes a single feature of it"
        )
    if dtype.kind not in "fiubO":
        msg = f"{where} must hold real numbers; got type {dtype}: convert it first"
        raise ValueError(msg)

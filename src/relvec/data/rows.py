"""Rows in memory: arrays, data frames and Arrow tables, behind one interface.

pyarrow is imported when it is first needed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from relvec.data.columns import Header, Location, Roles, as_numbers, not_numeric
from relvec.parameters import optional_module
from relvec.typing import AnyArray


class TableRows(Protocol):
    """Consecutive rows of a table."""

    def __len__(self) -> int: ...

    def header(self, where: str) -> Header:
        """The columns of the rows."""

    def column(self, position: int) -> AnyArray:
        """Return one column; missing values are NaN or None."""

    def matrix(self, roles: Roles, place: Location) -> AnyArray:
        """Return the features as float32 or float64; missing values are NaN."""

    def part(self, start: int, stop: int) -> "TableRows":
        """Slice rows without a copy."""


def stack_columns(
    column: Callable[[int], AnyArray], roles: Roles, place: Location
) -> AnyArray:
    """Stack feature columns; float32 if all of them are."""
    columns = [
        as_numbers(column(position), place, label)
        for position, label in zip(roles.features, roles.feature_labels, strict=True)
    ]
    X = np.empty((len(columns[0]), len(columns)), float_type(columns), order="F")
    for j, values in enumerate(columns):
        X[:, j] = values
    return X


def float_type(columns: Sequence[AnyArray]) -> np.dtype[Any]:
    """Return float32 if it holds all columns exactly, else float64."""
    single = all(
        column.dtype.kind == "f" and column.itemsize <= 4 for column in columns
    )
    return np.dtype(np.float32 if single else np.float64)


def contiguous(X: AnyArray) -> AnyArray:
    """Copy an array unless its rows or columns are contiguous."""
    if X.flags.c_contiguous or X.flags.f_contiguous:
        return X
    return np.ascontiguousarray(X)


@dataclass(frozen=True)
class ArrayRows:
    """Rows of a two-dimensional array."""

    array: AnyArray

    def __len__(self) -> int:
        return len(self.array)

    def header(self, where: str) -> Header:
        return Header(where, None, self.array.shape[1])

    def column(self, position: int) -> AnyArray:
        return self.array[:, position]

    def matrix(self, roles: Roles, place: Location) -> AnyArray:
        if self.array.dtype.kind not in "fiub":
            return stack_columns(self.column, roles, place)
        every = roles.features == tuple(range(self.array.shape[1]))
        X = self.array if every else self.array[:, list(roles.features)]
        return contiguous(X.astype(float_type([X]), copy=False))

    def part(self, start: int, stop: int) -> "ArrayRows":
        return ArrayRows(self.array[start:stop])


@dataclass(frozen=True)
class FrameRows:
    """Rows of a pandas or polars data frame; neither library is imported."""

    frame: Any

    def __len__(self) -> int:
        return len(self.frame)

    def header(self, where: str) -> Header:
        names = list(self.frame.columns)
        if all(isinstance(name, str) for name in names):
            return Header(where, tuple(names), len(names))
        if names == list(range(len(names))):
            return Header(where, None, len(names))
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

    def matrix(self, roles: Roles, place: Location) -> AnyArray:
        return stack_columns(self.column, roles, place)

    def part(self, start: int, stop: int) -> "FrameRows":
        if hasattr(self.frame, "iloc"):
            return FrameRows(self.frame.iloc[start:stop])
        return FrameRows(self.frame.slice(start, stop - start))


def is_frame(source: Any) -> bool:
    """Whether a source is a data frame of pandas or polars."""
    pandas = hasattr(source, "iloc") and hasattr(source, "columns")
    return pandas or (hasattr(source, "get_columns") and hasattr(source, "to_series"))


def array_rows(source: Any, where: str) -> ArrayRows:
    """Convert to an array of rows and columns; refuse other shapes."""
    try:
        array = np.asarray(source)
    except ValueError as error:
        msg = f"{where} is not an array: its rows must all have the same length"
        raise ValueError(msg) from error
    check_array(array.shape, array.dtype, where)
    return ArrayRows(array)


def check_array(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> None:
    """Refuse shapes and types that are not rows and columns of numbers."""
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


def pyarrow_module(module: str = "pyarrow") -> Any:
    """Import pyarrow or one of its modules."""
    use = "Parquet, CSV and Arrow data are read with pyarrow"
    return optional_module(module, use, "arrow")


@dataclass(frozen=True)
class ArrowRows:
    """Rows of an Arrow table, perhaps with only some of its columns."""

    table: Any
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def header(self, where: str) -> Header:
        return Header(where, self.names, len(self.names))

    def column(self, position: int) -> AnyArray:
        return _as_array(self.table.column(self.names[position]))

    def matrix(self, roles: Roles, place: Location) -> AnyArray:
        check_types(self.table.schema, roles, place.where)
        return stack_columns(self.column, roles, place)

    def part(self, start: int, stop: int) -> "ArrowRows":
        return ArrowRows(self.table.slice(start, stop - start), self.names)


def arrow_rows(source: Any) -> ArrowRows:
    """Wrap a table, a record batch or another library's equivalent."""
    table = pyarrow_module().table(source)
    return ArrowRows(table, tuple(table.schema.names))


def is_arrow(source: Any) -> bool:
    """Whether a source offers Arrow's C data interface."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _as_array(column: Any) -> AnyArray:
    """Convert a column to numpy; dictionary columns are decoded."""
    pa = pyarrow_module()
    types = pa.types
    kind = _value_type(column.type)
    if types.is_decimal(kind) or types.is_null(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    values = column if kind == column.type else column.cast(kind)
    if _is_text(kind) and values.null_count == 0:
        return np.asarray(values.to_numpy(), dtype=np.str_)
    return np.asarray(values.to_numpy())


def _value_type(kind: Any) -> Any:
    return kind.value_type if pyarrow_module().types.is_dictionary(kind) else kind


def check_types(schema: Any, roles: Roles, where: str) -> None:
    """Refuse features and weights that are not numeric, and other types of targets."""
    names = roles.header.names or ()
    weight = () if roles.weight is None else (roles.weight,)
    for position in (*roles.features, *weight):
        kind = schema.field(names[position]).type
        if not _is_numeric(kind):
            raise not_numeric(where, roles.header.label(position), kind)
    if roles.target is None:
        return
    kind = schema.field(names[roles.target]).type
    if not _is_numeric(kind) and not _is_text(kind):
        raise ValueError(
            f"{where}, {roles.header.label(roles.target)}: a target of type {kind} is "
            "not understood; turn it into numbers, booleans or text"
        )


def _is_numeric(kind: Any) -> bool:
    types, value = pyarrow_module().types, _value_type(kind)
    tests = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    return any(test(value) for test in tests)


def _is_text(kind: Any) -> bool:
    pa = pyarrow_module()
    return _value_type(kind) in (pa.string(), pa.large_string(), pa.string_view())


def schema_float_type(schema: Any, roles: Roles) -> np.dtype[Any]:
    """Return float32 if all features are, else float64."""
    names, empty = roles.header.names or (), pyarrow_module().chunked_array
    kinds = (schema.field(names[position]).type for position in roles.features)
    return float_type([_as_array(empty([], type=kind)) for kind in kinds])


def regroup_batches(
    batches: Iterable[Any], names: Sequence[str], n_rows: int
) -> Iterator[ArrowRows]:
    """Cut and join record batches to the given number of rows, without a copy."""
    pa, waiting, count = pyarrow_module(), [], 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, n_rows - count)
            waiting.append(part)
            start += part.num_rows
            count += part.num_rows
            if count == n_rows:
                yield ArrowRows(pa.Table.from_batches(waiting), tuple(names))
                waiting, count = [], 0
    if waiting:
        yield ArrowRows(pa.Table.from_batches(waiting), tuple(names))


@contextmanager
def read_errors(path: str, remedy: str) -> Iterator[None]:
    """Add the file's name to errors; other errors than the system's are ValueErrors."""
    try:
        yield
    except (OSError, pyarrow_module().ArrowException, UnicodeDecodeError) as error:
        # Arrow reports damaged data as an OSError without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, path) from error
        one_line = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{path} cannot be read ({one_line}); {remedy}") from error

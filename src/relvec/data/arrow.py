"""Arrow's tables as rows; pyarrow is loaded when one of these functions is called."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.data.checks import Place, not_numeric
from relvec.data.roles import Heading, Roles
from relvec.data.rows import float_type, stacked
from relvec.parameters import optional_module
from relvec.typing import AnyArray


def load(module: str = "pyarrow") -> Any:
    """pyarrow or one of its modules, or the way to get it."""
    use = "Parquet, CSV and Arrow data are read with pyarrow"
    return optional_module(module, use, "arrow")


@dataclass(frozen=True)
class ArrowRows:
    """Rows of an Arrow table, which may hold only some of the columns."""

    table: Any
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def heading(self, where: str) -> Heading:
        return Heading(where, self.names, len(self.names))

    def column(self, position: int) -> AnyArray:
        return _as_array(self.table.column(self.names[position]))

    def matrix(self, roles: Roles, place: Place) -> AnyArray:
        check_types(self.table.schema, roles, place.where)
        return stacked(self.column, roles, place)

    def part(self, start: int, stop: int) -> "ArrowRows":
        return ArrowRows(self.table.slice(start, stop - start), self.names)


def arrow_rows(source: Any) -> ArrowRows:
    """Rows of a table, a record batch or another library's equivalent."""
    table = load().table(source)
    return ArrowRows(table, tuple(table.schema.names))


def is_arrow(source: Any) -> bool:
    """Whether it gives its columns by Arrow's interface for exchanging data."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _as_array(column: Any) -> AnyArray:
    """A column as numpy holds it, decoded if it is a dictionary of values."""
    pa = load()
    types = pa.types
    kind = _value_type(column.type)
    if types.is_decimal(kind) or types.is_null(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    values = column if kind == column.type else column.cast(kind)
    if _is_text(kind) and values.null_count == 0:
        return np.asarray(values.to_numpy(), dtype=np.str_)
    return np.asarray(values.to_numpy())


def _value_type(kind: Any) -> Any:
    return kind.value_type if load().types.is_dictionary(kind) else kind


def check_types(schema: Any, roles: Roles, where: str) -> None:
    """Feature columns and weight of numbers, a target of numbers, booleans or text."""
    names = roles.heading.names or ()
    weight = () if roles.weight is None else (roles.weight,)
    for position in (*roles.features, *weight):
        kind = schema.field(names[position]).type
        if not _is_numeric(kind):
            raise not_numeric(where, roles.heading.label(position), kind)
    if roles.target is None:
        return
    kind = schema.field(names[roles.target]).type
    if not _is_numeric(kind) and not _is_text(kind):
        raise ValueError(
            f"{where}, {roles.heading.label(roles.target)}: a target of type {kind} is "
            "not understood; turn it into numbers, booleans or text"
        )


def _is_numeric(kind: Any) -> bool:
    types, value = load().types, _value_type(kind)
    tests = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    return any(test(value) for test in tests)


def _is_text(kind: Any) -> bool:
    pa = load()
    return _value_type(kind) in (pa.string(), pa.large_string(), pa.string_view())


def schema_float_type(schema: Any, roles: Roles) -> np.dtype[Any]:
    """float32 if all features are, else float64."""
    names, empty = roles.heading.names or (), load().chunked_array
    kinds = (schema.field(names[position]).type for position in roles.features)
    return float_type([_as_array(empty([], type=kind)) for kind in kinds])


def regrouped(
    batches: Iterable[Any], names: Sequence[str], n_rows: int
) -> Iterator[ArrowRows]:
    """Record batches cut and joined to the given number of rows, without a copy."""
    pa, waiting, count = load(), [], 0
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
def reading(path: str, remedy: str) -> Iterator[None]:
    """Errors with the file's name: of the system as they are, others as ValueError."""
    try:
        yield
    except (OSError, load().ArrowException, UnicodeDecodeError) as error:
        # Arrow reports damaged data as an error of input and output without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, path) from error
        one_line = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{path} cannot be read ({one_line}); {remedy}") from error

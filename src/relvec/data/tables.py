"""Tables read in chunks: Parquet, Arrow, CSV and NumPy files, data sets, memory.

Arrow parses CSV files quickly but does not report line numbers. If it fails, Python's
own parser reads the file once more to find the bad line.
"""

import csv
import gzip
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TextIO, cast

import numpy as np

from relvec.data.blocks import Block, make_block, rows_per_block, slice_optional
from relvec.data.columns import (
    ColumnChoice,
    Header,
    Location,
    Roles,
    assign_roles,
    not_a_number,
    not_finite,
    not_numeric,
    same_kind,
)
from relvec.data.rows import (
    ArrayRows,
    ArrowRows,
    TableRows,
    check_array,
    check_types,
    float_type,
    pyarrow_module,
    read_errors,
    regroup_batches,
    schema_float_type,
)
from relvec.typing import AnyArray

# Bytes of a Parquet column to read at once, so that no row group is held whole.
_PARQUET_BUFFER = 1 << 16
_DAMAGED_REMEDY = "the file is damaged or cut short: write or copy it again"
# Bytes of a CSV file to parse at once; every line must fit.
_CSV_CHUNK = 2 << 20
_CSV_REMEDY = "correct the file, or write it again as comma-separated UTF-8 text"
_NUMBER, _BOOLEAN, _WHOLE, _TEXT = "double", "bool", "int64", "string"
_UNDECODED, _NUL = "\N{REPLACEMENT CHARACTER}", "\0"
_TRUTHS = {"0", "1", "true", "false", "True", "False", "TRUE", "FALSE"}


@dataclass(frozen=True)
class Table(ABC):
    """A file or a table in memory: its header at once, its rows in chunks."""

    where: str  # its name for messages

    @property
    @abstractmethod
    def header(self) -> Header:
        """The columns of the table."""

    @abstractmethod
    def float_type(self, roles: Roles) -> np.dtype[Any]:
        """Float type of the features; an error if they are not numbers."""

    @abstractmethod
    def row_chunks(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        """Read the columns with a role, in order, at most ``n_rows`` rows at a time."""

    def place(self, row: int) -> Location:
        """Location of a row, for messages."""
        return Location(self.where, row)


@dataclass(frozen=True)
class TableBlocks:
    """Rows of one or more tables with the same columns, one table after another."""

    tables: Sequence[Table]
    roles: Roles
    float_type: np.dtype[Any]
    block_rows: int
    y: AnyArray | None = None  # targets and weights that are not columns
    weight: AnyArray | None = None
    repeatable: bool = True

    @property
    def n_features(self) -> int:
        return len(self.roles.features)

    @property
    def feature_names(self) -> list[str] | None:
        return self.roles.feature_names

    def __iter__(self) -> Iterator[Block]:
        kind: str | None = None
        before = 0
        for table in self.tables:
            row = 0
            for rows in table.row_chunks(self.roles, self.block_rows):
                block = self._block(rows, table.place(row), before + row)
                kind = same_kind(kind, block.y, table.where)
                yield block
                row += len(rows)
            if row == 0:
                raise no_rows_error(table.where)
            before += row

    def _block(self, rows: TableRows, place: Location, start: int) -> Block:
        part = slice(start, start + len(rows))
        y, weight = slice_optional(self.y, part), slice_optional(self.weight, part)
        block = make_block(rows, self.roles, place, y=y, weight=weight)
        # All files get one type, though the columns of some may need less.
        return replace(block, X=block.X.astype(self.float_type, copy=False))


def table_blocks(
    tables: Sequence[Table], choice: ColumnChoice, block_rows: Any
) -> TableBlocks:
    """Assign the chosen columns in all tables, and check their headers and types."""
    first = tables[0].header
    roles = assign_roles(first, choice)
    for table in tables[1:]:
        table.header.check_matches(first)
    types = [table.float_type(roles) for table in tables]
    size = rows_per_block(block_rows, len(roles.features))
    return TableBlocks(tables, roles, np.result_type(*types), size)


def no_rows_error(
    where: str, remedy: str = "leave it out, or write it again with rows"
) -> ValueError:
    """Error for a table without rows."""
    return ValueError(f"{where} has no rows; {remedy}")


@dataclass(frozen=True)
class MemoryTable(Table):
    """A data frame or an Arrow table, sliced without a copy."""

    rows: TableRows

    @property
    def header(self) -> Header:
        return self.rows.header(self.where)

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        if len(self.rows) == 0:
            raise no_rows_error(self.where)
        return self.rows.part(0, 1).matrix(roles, self.place(0)).dtype

    def row_chunks(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        del roles  # slicing all columns costs nothing
        for start in range(0, len(self.rows), n_rows):
            yield self.rows.part(start, min(len(self.rows), start + n_rows))


@dataclass(frozen=True)
class ArrayTable(Table):
    """An array, or anything sliced like one; a NumPy file is mapped in each pass."""

    source: Any  # the array, or the path of its file
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def header(self) -> Header:
        return Header(self.where, None, self.shape[1])

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        del roles  # all columns have the same type
        return float_type([np.empty(0, self.dtype)])

    def row_chunks(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        del roles  # rows are contiguous, so all columns are read
        array = map_npy(self.source) if isinstance(self.source, str) else self.source
        for start in range(0, len(array), n_rows):
            yield ArrayRows(np.asarray(array[start : start + n_rows]))


def array_table(source: Any) -> ArrayTable:
    """Make a table of a two-dimensional array, or of the path of a NumPy file."""
    where, array, remedy = "the array", source, {"remedy": "pass at least one"}
    if isinstance(source, str):
        where, array, remedy = source, map_npy(source), {}
    shape = tuple(array.shape)
    # The types of other libraries are known once some rows are a NumPy array.
    dtype = np.asarray(array[:1]).dtype if shape else np.dtype(float)
    check_array(shape, dtype, where)
    if shape[0] == 0:
        raise no_rows_error(where, **remedy)
    return ArrayTable(where, source, shape, dtype)


def map_npy(path: str) -> AnyArray:
    """Map the array of a NumPy file into memory."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} cannot be read as a NumPy array ({error}); write it again with "
            "numpy.save, as numbers"
        ) from error


@dataclass(frozen=True)
class SchemaTable(Table):
    """A table with an Arrow schema, read in record batches."""

    schema: Any
    read_batches: Callable[[list[str], int], Iterator[Any]]  # of columns, of rows
    remedy: str  # if data are damaged

    @property
    def header(self) -> Header:
        return Header(self.where, tuple(self.schema.names), len(self.schema.names))

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        check_types(self.schema, roles, self.where)
        return schema_float_type(self.schema, roles)

    def row_chunks(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        names = [self.schema.names[position] for position in roles.columns]
        with read_errors(self.where, self.remedy):
            batches = self.read_batches(names, n_rows)
            yield from regroup_batches(batches, self.schema.names, n_rows)


def dataset_table(dataset: Any) -> SchemaTable:
    """Make a table of a pyarrow data set."""
    batches = partial(_dataset_batches, dataset)
    remedy = "write or copy the damaged file again"
    return SchemaTable("the data set", dataset.schema, batches, remedy)


def _dataset_batches(dataset: Any, names: list[str], n_rows: int) -> Iterator[Any]:
    # Read little ahead, since all that is read ahead is held in memory.
    return cast(
        "Iterator[Any]",
        dataset.to_batches(
            columns=names, batch_size=n_rows, batch_readahead=1, fragment_readahead=1
        ),
    )


def parquet_table(path: str) -> SchemaTable:
    """Open a Parquet file that has rows."""
    with open(path, "rb") as file:
        begins_well = file.read(4) == b"PAR1"
    remedy = (
        _DAMAGED_REMEDY if begins_well else "this is not a Parquet file: check its name"
    )
    with read_errors(path, remedy), open_parquet(path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    if n_rows == 0:
        raise no_rows_error(path)
    return SchemaTable(path, schema, partial(_parquet_batches, path), _DAMAGED_REMEDY)


def _parquet_batches(path: str, names: list[str], n_rows: int) -> Iterator[Any]:
    with open_parquet(path) as file:
        yield from file.iter_batches(batch_size=n_rows, columns=names)


def open_parquet(path: Any) -> Any:
    """Open a Parquet file to read a few rows at a time."""
    parquet = pyarrow_module("pyarrow.parquet")
    return parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER, pre_buffer=False)


def arrow_table(path: str) -> SchemaTable:
    """Open an Arrow file that has rows."""
    with read_errors(path, _DAMAGED_REMEDY), open_arrow(path) as (_, reader):
        schema = reader.schema
        has_rows = any(batch.num_rows for batch in record_batches(reader))
    if not has_rows:
        raise no_rows_error(path)
    return SchemaTable(path, schema, partial(_arrow_batches, path), _DAMAGED_REMEDY)


def _arrow_batches(path: str, names: list[str], n_rows: int) -> Iterator[Any]:
    del names, n_rows  # to select columns, Arrow would copy all of them
    with open_arrow(path) as (_, reader):
        yield from record_batches(reader)


@contextmanager
def open_arrow(path: Any) -> Iterator[tuple[Any, Any]]:
    """Map an Arrow file, or a stream of record batches, into memory with its reader."""
    ipc = pyarrow_module("pyarrow.ipc")
    with pyarrow_module().memory_map(str(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        yield file, ipc.open_file(file) if is_file else ipc.open_stream(file)


def record_batches(reader: Any) -> Iterator[Any]:
    """Iterate over the record batches of a file or a stream."""
    if not hasattr(reader, "get_batch"):
        return iter(reader)
    return (reader.get_batch(i) for i in range(reader.num_record_batches))


@dataclass(frozen=True)
class CsvTable(Table):
    """A CSV file with a header, of which only the needed columns are converted."""

    names: tuple[str, ...]
    types: tuple[str, ...]  # what the first chunk looks like

    @property
    def header(self) -> Header:
        return Header(self.where, self.names, len(self.names))

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        _check_header(self.where, [self.names[i] for i in roles.features])
        weight = () if roles.weight is None else (roles.weight,)
        for position in (*roles.features, *weight):
            if self._column_kind(position) == _TEXT:
                raise_bad_line(self.where, {position: _NUMBER})
                kind = self.types[position]
                raise not_numeric(self.where, roles.header.label(position), kind)
        return np.dtype(np.float64)

    def row_chunks(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        kinds = {position: self._column_kind(position) for position in roles.columns}
        conversion = self._convert_options(kinds)
        with (
            _naming_bad_lines(self.where, kinds),
            _open_csv(self.where, conversion) as batches,
        ):
            for rows in regroup_batches(batches, self.names, n_rows):
                self._check_target(rows, roles.target)
                yield self._with_whole_target(rows, roles.target)

    def place(self, row: int) -> Location:
        return _csv_location(self.where, row)

    def _column_kind(self, position: int) -> str:
        kind = self.types[position]
        if kind == _BOOLEAN:
            return _BOOLEAN
        return _NUMBER if kind in {_NUMBER, _WHOLE, "null"} else _TEXT

    def _convert_options(self, kinds: Mapping[int, str]) -> dict[str, Any]:
        pa = pyarrow_module()
        types = {_NUMBER: pa.float64(), _BOOLEAN: pa.bool_(), _TEXT: pa.string()}
        chosen = {self.names[i]: types[kind] for i, kind in kinds.items()}
        return {"include_columns": list(chosen), "column_types": chosen}

    def _check_target(self, rows: ArrowRows, target: int | None) -> None:
        """Refuse NUL bytes in text, which numpy would leave out of labels."""
        if target is not None and self._column_kind(target) == _TEXT:
            cells = rows.table.column(self.names[target])
            compute = pyarrow_module("pyarrow.compute")
            if compute.any(compute.match_substring(cells, _NUL)).as_py():
                raise_bad_line(self.where, {target: _TEXT})

    def _with_whole_target(self, rows: ArrowRows, target: int | None) -> ArrowRows:
        """Make labels such as 0 and 1 integers, though fractions may follow."""
        if target is None or self.types[target] != _WHOLE:
            return rows
        pa, table, name = pyarrow_module(), rows.table, self.names[target]
        try:
            whole = table.column(name).cast(pa.int64())
        except pa.ArrowInvalid:
            return rows
        place = table.schema.get_field_index(name)
        return ArrowRows(table.set_column(place, name, whole), rows.names)


def csv_table(path: str) -> CsvTable:
    """Open a CSV file that has rows, and parse its first chunk."""
    with _naming_bad_lines(path, {}), _open_csv(path, {}) as batches:
        names = tuple(batches.schema.names)
        types = tuple(str(kind) for kind in batches.schema.types)
        has_rows = any(batch.num_rows for batch in batches)
    if not has_rows:
        raise no_rows_error(path)
    return CsvTable(path, names, types)


def _check_header(path: str, features: list[str]) -> None:
    """Refuse a row of numbers as header, and features without a name."""
    if all(_is_number(name) for name in features) and not "".join(features).isdigit():
        raise ValueError(
            f"{path} begins with numbers ({', '.join(features[:5])}) where the names "
            "of the columns should be; write a header as its first line"
        )
    if any(not name.strip() for name in features):
        raise ValueError(
            f"{path} has a feature without a name, perhaps the numbers of the rows; "
            "write it without them (index=False in pandas), or leave the column out by "
            "naming the others in features"
        )


def _open_csv(path: str, conversion: Mapping[str, Any]) -> Any:
    """Open a reader of record batches."""
    arrow_csv = pyarrow_module("pyarrow.csv")
    return arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=_CSV_CHUNK),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False, **conversion
        ),
    )


@contextmanager
def _naming_bad_lines(path: str, kinds: Mapping[int, str]) -> Iterator[None]:
    """Add the file's name to errors, and the line if it can be found."""
    try:
        with read_errors(path, _CSV_REMEDY):
            yield
        return
    except ValueError as error:
        failure = error
    if isinstance(failure.__cause__, pyarrow_module().ArrowInvalid):
        raise_bad_line(path, kinds)
    raise failure


def raise_bad_line(path: str, kinds: Mapping[int, str]) -> None:
    """Raise for the first line that does not fit the header or the kinds of columns."""
    unreadable = (StopIteration, EOFError, OSError, zlib.error)
    with _open_text(path) as file, suppress(*unreadable):
        lines = csv.reader(file)
        try:
            _check_csv_lines(path, lines, kinds)
        except csv.Error as error:
            msg = f"{path}, line {lines.line_num}: {error}; {_CSV_REMEDY}"
            raise ValueError(msg) from error


def _check_csv_lines(path: str, lines: Any, kinds: Mapping[int, str]) -> None:
    numbers, booleans, texts = (
        [position for position, kind in kinds.items() if kind == wanted]
        for wanted in (_NUMBER, _BOOLEAN, _TEXT)
    )
    names = next(lines)
    for row, cells in enumerate(cells for cells in lines if cells):
        if len(cells) != len(names):
            raise ValueError(
                f"{path}, line {lines.line_num}: {len(cells)} fields where the "
                f"header has {len(names)}; correct the line, and put fields that "
                "contain a comma in double quotes"
            )
        bad = [i for i in numbers if not _is_number(cells[i])]
        bad += [i for i in booleans if cells[i].strip() not in _TRUTHS]
        bad += [i for i in texts if _UNDECODED in cells[i] or _NUL in cells[i]]
        if bad:
            label = f"column {names[bad[0]]!r}"
            raise _cell_error(cells[bad[0]], _csv_location(path, row), label)


def _cell_error(cell: str, place: Location, label: str) -> ValueError:
    if _NUL in cell:
        return ValueError(f"{place.row(0)}, {label}: it has a NUL byte; {_CSV_REMEDY}")
    if _UNDECODED in cell:
        return ValueError(
            f"{place.row(0)}, {label}: {cell!r} is not UTF-8 text; {_CSV_REMEDY}"
        )
    if cell.strip() in pyarrow_module("pyarrow.csv").ConvertOptions().null_values:
        return not_finite(place, 0, label, np.nan)
    return not_a_number(place, 0, label, repr(cell))


def _is_number(text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return not math.isnan(number) and "_" not in text


def _open_text(path: str) -> TextIO:
    # Replace bytes that are not UTF-8, so that the line is found.
    how: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    if path.lower().endswith(".gz"):
        return cast("TextIO", gzip.open(path, "rt", **how))
    return cast("TextIO", open(path, **how))


def _csv_location(path: str, row: int) -> Location:
    return Location(path, row, "the header not counted")

"""Tables in files: read whole or in blocks of rows, and written."""

import gzip
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, ipc, parquet

from relvec.cli.errors import CliError, listed
from relvec.cli.paths import (
    ARROW,
    CSV,
    CSV_GZ,
    FEATHER,
    PARQUET,
    PARSE_ERRORS,
    column_names,
    damaged_file_error,
    encoding_error,
    file_type,
    nul_byte_error,
)
from relvec.data.tables import open_arrow, open_parquet, record_batches
from relvec.model_file import whole_file
from relvec.typing import AnyArray

# Options of pandas for CSV files, whose rows have as many cells as names.
CSV_OPTIONS: dict[str, Any] = {
    "encoding": "utf-8-sig",
    "index_col": False,
    "skipinitialspace": True,
}
_READ_ERRORS = (pa.ArrowInvalid, pd.errors.ParserError, *PARSE_ERRORS)
# Most cells and rows in a block, which then takes a few tens of megabytes.
_MOST_CELLS, _MOST_ROWS = 1_000_000, 30_000
TEXT = pa.large_string()
# The documented na_values of pandas.read_csv.
_MISSING = pa.array(
    [
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
        "",
    ]
)
_TRUE = pa.array(["True", "TRUE", "true"])
_BOOLEANS = pa.array([*_TRUE.to_pylist(), "False", "FALSE", "false"])
Write = Callable[[pa.Table], None]
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # first characters of a formula


def read_table(path: Path) -> pd.DataFrame:
    """Read all rows of a file; its column names are text and unique."""
    names = column_names(path)
    with file_errors(path):
        frame = _WHOLE_READERS[file_type(path)](path)
    frame.columns = pd.Index(names)
    if len(frame) == 0:
        raise no_rows_error(path)
    if file_type(path) in {CSV, CSV_GZ}:
        for name in frame.select_dtypes(exclude=["number", "bool"]):
            check_text(path, name, frame[name].map(_has_nul).to_numpy())
    return frame


def check_text(path: Path, name: str, nuls: AnyArray, first: int = 0) -> None:
    """Refuse a column of text in which ``nuls`` marks cells with a NUL byte."""
    if nuls.any():
        raise nul_byte_error(path, f"{in_rows(nuls, first)} of column {name!r}")


def _has_nul(cell: Any) -> bool:
    return isinstance(cell, str) and "\0" in cell


def no_rows_error(path: Path) -> CliError:
    """Error for a file without rows."""
    return CliError(f"{path} has names of columns and no rows: write rows to it")


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors about damaged files into CliErrors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            yield
        except UnicodeDecodeError as error:
            raise encoding_error(path, error) from error
        except _READ_ERRORS as error:
            raise damaged_file_error(path, error) from error
        except pd.errors.ParserWarning as error:
            raise CliError(
                f"{path} has more fields in a row than names in its first line: write "
                "a name for every column"
            ) from error


def in_rows(mask: AnyArray, first: int = 0) -> str:
    """Name marked rows, counted from 1 without the header."""
    numbers = np.flatnonzero(mask) + first + 1
    return f"row{'s' * (len(numbers) > 1)} {listed(numbers)}"


def to_frame(rows: pa.Table) -> pd.DataFrame:
    """Convert to pandas; integers with missing values stay integers."""
    return rows.to_pandas(types_mapper=_NULLABLE_INTEGERS.get, ignore_metadata=True)


def _whole_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, low_memory=False, **CSV_OPTIONS)


def _whole_parquet(path: Path) -> pd.DataFrame:
    return parquet.read_table(path).to_pandas(ignore_metadata=True)


def _whole_arrow(path: Path) -> pd.DataFrame:
    with open_arrow(path) as (_, reader):
        return reader.read_all().to_pandas(ignore_metadata=True)


_NULLABLE_INTEGERS = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
_WHOLE_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    CSV_GZ: _whole_csv,
    CSV: _whole_csv,
    PARQUET: _whole_parquet,
    ARROW: _whole_arrow,
    FEATHER: _whole_arrow,
}


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows of a file."""

    kept: pa.Table
    first: int
    done: float  # share of the file that has been read


@dataclass(frozen=True)
class TableFile:
    """A file of rows; each iteration reads it again."""

    path: Path
    names: list[str]

    @property
    def is_text(self) -> bool:
        """Whether the file stores cells as text."""
        return file_type(self.path) in {CSV, CSV_GZ}

    def rows(self) -> Iterator[RowBlock]:
        """Read the rows in blocks, in order."""
        first = 0
        with file_errors(self.path):
            parts = _BLOCK_READERS[file_type(self.path)](self.path, self._block_rows)
            for table, done in parts:
                if len(table):
                    rows = RowBlock(table.rename_columns(self.names), first, done)
                    if self.is_text:
                        self._check_text(rows)
                    yield rows
                    first += len(table)

    def _check_text(self, rows: RowBlock) -> None:
        for name in self.names:
            nuls = compute.match_substring(rows.kept[name], "\0").to_numpy()
            check_text(self.path, name, nuls, rows.first)

    def frames(self, numbers: Collection[str]) -> Callable[[RowBlock], pd.DataFrame]:
        """Return a function from rows to a data frame; ``numbers`` are parsed."""
        if self.is_text:
            cells = Cells()
            return lambda rows: cells.frame(rows.kept, numbers, rows.first)
        return _numbered_frame

    def kinds(self, update: Callable[[float], None]) -> dict[str, pa.DataType]:
        """Read a text file to find the types of its columns, reporting progress."""
        with _open_csv(self.path) as (file, done), file_errors(self.path):
            parts = pd.read_csv(
                file, chunksize=self._block_rows, low_memory=False, **CSV_OPTIONS
            )

            def frames() -> Iterator[pd.DataFrame]:
                for part in parts:
                    yield part.set_axis(self.names, axis=1)
                    update(done())

            return column_types(frames())

    @property
    def _block_rows(self) -> int:
        """Rows."""
        return max(1, min(_MOST_ROWS, _MOST_CELLS // len(self.names)))


def open_table(path: Path) -> TableFile:
    """Open a file and check the names of its columns."""
    return TableFile(path, column_names(path))


def cast_columns(rows: pa.Table, kinds: dict[str, pa.DataType]) -> pa.Table:
    """Convert columns of text to the given types."""
    return pa.table(
        {name: as_type(mark_missing(rows[name]), kind) for name, kind in kinds.items()}
    )


def _numbered_frame(rows: RowBlock) -> pd.DataFrame:
    index = pd.RangeIndex(rows.first, rows.first + len(rows.kept))
    return to_frame(rows.kept).set_axis(index)


@contextmanager
def _open_csv(path: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """Open a CSV file; also return a function for the share read so far."""
    total = max(1, path.stat().st_size)
    with path.open("rb") as raw:
        file: Any = gzip.GzipFile(fileobj=raw) if file_type(path) == CSV_GZ else raw
        yield file, lambda: raw.tell() / total


def _csv_blocks(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    """Read cells as text, unchanged."""
    with _open_csv(path) as (file, done):
        parts = pd.read_csv(
            file, chunksize=size, dtype=str, na_filter=False, **CSV_OPTIONS
        )
        for part in parts:
            text = {name: pa.array(part[name], TEXT) for name in part}
            yield pa.table(text), done()


def _parquet_blocks(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    with open_parquet(path) as file:
        total, count = file.metadata.num_rows, 0
        for batch in file.iter_batches(size):
            count += len(batch)
            yield pa.Table.from_batches([batch]), count / total


def _arrow_blocks(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    total = path.stat().st_size
    with open_arrow(path) as (file, reader):
        count = getattr(reader, "num_record_batches", None)
        for number, batch in enumerate(record_batches(reader), 1):
            done = number / count if count else file.tell() / total
            for start in range(0, len(batch), size):
                yield pa.Table.from_batches([batch.slice(start, size)]), done


_BLOCK_READERS: dict[str, Callable[[Path, int], Iterator[tuple[pa.Table, float]]]] = {
    CSV_GZ: _csv_blocks,
    CSV: _csv_blocks,
    PARQUET: _parquet_blocks,
    ARROW: _arrow_blocks,
    FEATHER: _arrow_blocks,
}


class Cells:
    """Converts CSV cells to numbers; remembers which columns hold booleans."""

    def __init__(self) -> None:
        self._boolean_columns: dict[str, bool] = {}

    def frame(
        self, rows: pa.Table, numbers: Collection[str], first: int
    ) -> pd.DataFrame:
        """Convert a block of rows; ``first`` is the number of its first row."""
        made = {}
        for name in rows.column_names:
            cells = mark_missing(rows[name])
            made[name] = self._values(cells, name, first) if name in numbers else cells
        index = pd.RangeIndex(first, first + len(rows))
        return pa.table(made).to_pandas(ignore_metadata=True).set_axis(index)

    def _values(self, cells: Any, name: str, first: int) -> Any:
        known = cells.drop_null()
        if not len(known):
            return cells.cast(pa.float64())
        truths = compute.is_in(known, _BOOLEANS.cast(cells.type))
        only = bool(compute.all(truths).as_py())
        if self._boolean_columns.setdefault(name, only):
            _check_booleans(cells, name, first)
            return as_type(cells, pa.bool_())
        try:
            return as_type(cells, pa.float64())
        except (pa.ArrowInvalid, ValueError):
            return cells  # the check of features reports the rows


def _check_booleans(cells: Any, name: str, first: int) -> None:
    """Refuse other cells in a column that held only booleans so far."""
    frame = cells.to_pandas()
    others = (frame.notna() & ~frame.isin(_BOOLEANS.to_pylist())).to_numpy()
    if others.any():
        raise CliError(
            f"column {name!r} has {frame[others].iloc[0]!r} in "
            f"{in_rows(others, first)}, and True or False above: correct it"
        )


def mark_missing(cells: Any) -> Any:
    """Replace cells that mean a missing value by null."""
    nothing = compute.is_in(cells, _MISSING.cast(cells.type))
    return compute.if_else(nothing, pa.scalar(None, cells.type), cells)


def as_type(cells: Any, kind: pa.DataType) -> Any:
    """Convert cells of text to a type."""
    if pa.types.is_boolean(kind):
        truths = compute.is_in(cells, _TRUE.cast(cells.type))
        return compute.if_else(cells.is_null(), pa.scalar(None, kind), truths)
    if kind == TEXT:
        return cells
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:  # pandas reads blanks about numbers and kinds before them
        found = pd.to_numeric(cells.to_pandas())
        return pa.chunked_array([pa.Array.from_pandas(found).cast(kind)])


def column_types(frames: Iterable[pd.DataFrame]) -> dict[str, pa.DataType]:
    """Find the types pandas would give whole columns, from those of their parts."""
    found: dict[str, set[str]] = {}
    for frame in frames:
        for name, column in frame.items():
            found.setdefault(str(name), set()).update(_value_kinds(column))
    return {name: _arrow_type(kinds) for name, kinds in found.items()}


def _value_kinds(column: pd.Series) -> Iterator[str]:
    """Name the kind of the values, and "gap" if some are missing."""
    known = column.dropna()
    if len(known) < len(column):
        yield "gap"
    if not len(known):
        return
    if pd.api.types.is_bool_dtype(known.dtype):
        yield "truth"
    elif pd.api.types.is_signed_integer_dtype(known.dtype):
        yield "whole"
    elif pd.api.types.is_numeric_dtype(known.dtype):
        yield "float"
    else:
        truths = known.map(lambda cell: isinstance(cell, bool)).all()
        yield "truth" if truths else "text"


def _arrow_type(kinds: set[str]) -> pa.DataType:
    if kinds == {"whole"}:
        return pa.int64()
    if kinds <= {"whole", "float", "gap"}:
        return pa.float64()
    return pa.bool_() if kinds <= {"truth", "gap"} else TEXT


def unify_categories(
    table: TableFile, update: Callable[[float], None]
) -> Callable[[RowBlock], pa.Table]:
    """Return a function that gives categorical columns one dictionary for all rows.

    Parts of a file may have different dictionaries, so the file is read twice;
    ``update`` receives the share read so far.
    """
    known = _all_categories(table, update)

    def made(rows: RowBlock) -> pa.Table:
        kept = rows.kept
        for name, values in known.items():
            place = kept.schema.get_field_index(name)
            kept = kept.set_column(place, name, _as_dictionary(kept[name], values))
        return kept

    return made if known else lambda rows: rows.kept


def _all_categories(
    table: TableFile, update: Callable[[float], None]
) -> dict[str, pa.Array]:
    """Collect all categories; those of later parts go to the end."""
    found: dict[str, pa.Array] = {}
    for rows in table.rows():
        for name in rows.kept.column_names:
            column = rows.kept[name]
            if not pa.types.is_dictionary(column.type):
                continue
            parts = [chunk.dictionary for chunk in column.chunks]
            earlier = [found[name]] if name in found else []
            found[name] = pa.concat_arrays([*earlier, *parts]).unique()
        if not found:
            break  # no column is categorical
        update(rows.done)
    return found


def _as_dictionary(column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    plain = column.cast(column.type.value_type).combine_chunks()
    places = compute.index_in(plain, values)
    nothing = pa.scalar(None, places.type)
    places = compute.if_else(plain.is_null(), nothing, places)
    return pa.DictionaryArray.from_arrays(places, values, ordered=column.type.ordered)


@contextmanager
def open_writer(path: Path) -> Iterator[Write]:
    """Return a function to write rows; the file appears once it is complete."""
    with whole_file(path) as file, _WRITERS[file_type(path)](file) as write:
        yield write


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table; the file appears once it is complete."""
    with open_writer(path) as write:
        write(pa.Table.from_pandas(frame, preserve_index=False))


def escape_formula(label: Any) -> Any:
    """Escape a label that a spreadsheet would read as a formula in a CSV file.

    Text that begins like a formula gets an apostrophe before it, as OWASP advises.
    Numbers stay as they are, and labels of signs only, such as ``+`` and ``--``, too.
    """
    if not isinstance(label, str) or not label.startswith(_FORMULAS):
        return label
    signs = not label.strip("+-")
    return label if signs or _is_number(label) else f"'{label}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def _csv_writer(file: BinaryIO) -> Iterator[Write]:
    begun = False

    def write(rows: pa.Table) -> None:
        nonlocal begun
        text = _csv_frame(rows).to_csv(index=False, header=not begun)
        file.write(text.encode())
        begun = True

    yield write


@contextmanager
def _gzip_csv_writer(file: BinaryIO) -> Iterator[Write]:
    # Without a name and a time, the same rows are the same bytes.
    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    with packed, _csv_writer(cast("BinaryIO", packed)) as write:
        yield write


@contextmanager
def _parquet_writer(file: BinaryIO) -> Iterator[Write]:
    with _with_first_schema(
        lambda schema: parquet.ParquetWriter(file, schema)
    ) as write:
        yield write


@contextmanager
def _arrow_writer(file: BinaryIO) -> Iterator[Write]:
    packing = "lz4" if pa.Codec.is_available("lz4") else None  # as Feather has it
    options = ipc.IpcWriteOptions(compression=packing)

    def opened(schema: pa.Schema) -> Any:
        return ipc.new_file(file, schema, options=options)

    with _with_first_schema(opened) as write:
        yield write


@contextmanager
def _with_first_schema(opened: Callable[[pa.Schema], Any]) -> Iterator[Write]:
    """Create the writer with the schema of the first rows."""
    writer: Any = None

    def write(rows: pa.Table) -> None:
        nonlocal writer
        if writer is None:
            writer = opened(rows.schema)
        writer.write_table(rows)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _csv_frame(rows: pa.Table) -> pd.DataFrame:
    """Convert rows so that a cell is written alike in every block.

    Otherwise integers with missing values became floats, and midnight times dates.
    """
    for place, field in enumerate(rows.schema):
        if pa.types.is_temporal(field.type):
            rows = rows.set_column(place, field.name, rows[place].cast(pa.string()))
    return to_frame(rows)


_WRITERS: dict[str, Callable[[BinaryIO], AbstractContextManager[Write]]] = {
    CSV_GZ: _gzip_csv_writer,
    CSV: _csv_writer,
    PARQUET: _parquet_writer,
    ARROW: _arrow_writer,
    FEATHER: _arrow_writer,
}

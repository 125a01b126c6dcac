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
    ending,
    nul_byte_error,
)
from relvec.model_file import whole_file
from relvec.typing import AnyArray

# What pandas is told of every CSV file, of which each row has as many cells as names.
CSV_OPTIONS: dict[str, Any] = {
    "encoding": "utf-8-sig",
    "index_col": False,
    "skipinitialspace": True,
}
_READ_ERRORS = (pa.ArrowInvalid, pd.errors.ParserError, *PARSE_ERRORS)
# Cells that are held at a time, and most rows, for a few ten megabytes.
_MOST_CELLS, _MOST_ROWS = 1_000_000, 30_000
_PARQUET_BUFFER = 1 << 20  # bytes of a column of Parquet that are read at a time
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
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what they begin with


def read_table(path: Path) -> pd.DataFrame:
    """All rows of a file, with names that are text and each there once."""
    names = column_names(path)
    with reading(path):
        frame = _WHOLE_READERS[ending(path)](path)
    frame.columns = pd.Index(names)
    if len(frame) == 0:
        raise no_rows_error(path)
    if ending(path) in {CSV, CSV_GZ}:
        for name in frame.select_dtypes(exclude=["number", "bool"]):
            check_text(path, name, frame[name].map(_has_nul).to_numpy())
    return frame


def check_text(path: Path, name: str, nuls: AnyArray, first: int = 0) -> None:
    """Refuse a column of text with NUL bytes, given which of its cells have one."""
    if nuls.any():
        raise nul_byte_error(path, f"{in_rows(nuls, first)} of column {name!r}")


def _has_nul(cell: Any) -> bool:
    return isinstance(cell, str) and "\0" in cell


def no_rows_error(path: Path) -> CliError:
    """What to say of a file that is a header alone."""
    return CliError(f"{path} has names of columns and no rows: write rows to it")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What libraries say of a damaged_file_error file, as a problem."""
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
    """Numbers of rows, counted from 1 without a header; of a part that begins later."""
    numbers = np.flatnonzero(mask) + first + 1
    return f"row{'s' * (len(numbers) > 1)} {listed(numbers)}"


def to_frame(rows: pa.Table) -> pd.DataFrame:
    """In which whole numbers beside gaps are no floats."""
    return rows.to_pandas(types_mapper=_NULLABLE_INTEGERS.get, ignore_metadata=True)


def arrow_reader(file: Any) -> Any:
    """Of either of the two forms that Arrow files have."""
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return ipc.open_file(file) if is_file else ipc.open_stream(file)


def _whole_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, low_memory=False, **CSV_OPTIONS)


def _whole_parquet(path: Path) -> pd.DataFrame:
    return parquet.read_table(path).to_pandas(ignore_metadata=True)


def _whole_arrow(path: Path) -> pd.DataFrame:
    with pa.memory_map(str(path)) as file:
        return arrow_reader(file).read_all().to_pandas(ignore_metadata=True)


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
class Rows:
    """Some of them, from a row of the file on that is counted from 0."""

    kept: pa.Table
    first: int
    done: float  # share of the file that has been read


@dataclass(frozen=True)
class TableFile:
    """A file of rows; each look at them reads it anew."""

    path: Path
    names: list[str]

    @property
    def is_text(self) -> bool:
        """Whether cells have no kind but what they look like."""
        return ending(self.path) in {CSV, CSV_GZ}

    def rows(self) -> Iterator[Rows]:
        """In their order."""
        first = 0
        with reading(self.path):
            parts = _BLOCK_READERS[ending(self.path)](self.path, self._block_rows)
            for table, done in parts:
                if len(table):
                    rows = Rows(table.rename_columns(self.names), first, done)
                    if self.is_text:
                        self._check_text(rows)
                    yield rows
                    first += len(table)

    def _check_text(self, rows: Rows) -> None:
        for name in self.names:
            nuls = compute.match_substring(rows.kept[name], "\0").to_numpy()
            check_text(self.path, name, nuls, rows.first)

    def frames(self, numbers: Collection[str]) -> Callable[[Rows], pd.DataFrame]:
        """What makes values of rows, where the given columns are to be numbers."""
        if self.is_text:
            cells = Cells()
            return lambda rows: cells.frame(rows.kept, numbers, rows.first)
        return _numbered_frame

    def kinds(self, tell: Callable[[float], None]) -> dict[str, pa.DataType]:
        """Of columns of text, which is read for that; it tells which share has been."""
        with _open_csv(self.path) as (file, done), reading(self.path):
            parts = pd.read_csv(
                file, chunksize=self._block_rows, low_memory=False, **CSV_OPTIONS
            )

            def frames() -> Iterator[pd.DataFrame]:
                for part in parts:
                    yield part.set_axis(self.names, axis=1)
                    tell(done())

            return column_types(frames())

    @property
    def _block_rows(self) -> int:
        """Rows."""
        return max(1, min(_MOST_ROWS, _MOST_CELLS // len(self.names)))


def open_table(path: Path) -> TableFile:
    """A file whose names have been looked at."""
    return TableFile(path, column_names(path))


def typed(rows: pa.Table, kinds: dict[str, pa.DataType]) -> pa.Table:
    """Text as what whole columns of it are."""
    return pa.table(
        {name: as_type(present(rows[name]), kind) for name, kind in kinds.items()}
    )


def _numbered_frame(rows: Rows) -> pd.DataFrame:
    index = pd.RangeIndex(rows.first, rows.first + len(rows.kept))
    return to_frame(rows.kept).set_axis(index)


@contextmanager
def _open_csv(path: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """The bytes of a CSV file, and how far they have been read."""
    total = max(1, path.stat().st_size)
    with path.open("rb") as raw:
        file: Any = gzip.GzipFile(fileobj=raw) if ending(path) == CSV_GZ else raw
        yield file, lambda: raw.tell() / total


def _csv_blocks(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    """As text, of which every sign is kept."""
    with _open_csv(path) as (file, done):
        parts = pd.read_csv(
            file, chunksize=size, dtype=str, na_filter=False, **CSV_OPTIONS
        )
        for part in parts:
            text = {name: pa.array(part[name], TEXT) for name in part}
            yield pa.table(text), done()


def _parquet_blocks(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    # Buffers of all that is to come would be the whole file.
    with parquet.ParquetFile(
        path, buffer_size=_PARQUET_BUFFER, pre_buffer=False
    ) as file:
        total, count = file.metadata.num_rows, 0
        for batch in file.iter_batches(size):
            count += len(batch)
            yield pa.Table.from_batches([batch]), count / total


def _arrow_blocks(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    total = path.stat().st_size
    with pa.memory_map(str(path)) as file:
        opened = arrow_reader(file)
        count = getattr(opened, "num_record_batches", None)
        batches = opened if count is None else map(opened.get_batch, range(count))
        for number, batch in enumerate(batches, 1):
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
    """Makes numbers and text of cells; remembers what columns of numbers hold."""

    def __init__(self) -> None:
        self._boolean_columns: dict[str, bool] = {}

    def frame(
        self, rows: pa.Table, numbers: Collection[str], first: int
    ) -> pd.DataFrame:
        """Values of the rows from the given one on; text where no number is found."""
        made = {}
        for name in rows.column_names:
            cells = present(rows[name])
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
            return cells  # whoever needs numbers names the rows


def _check_booleans(cells: Any, name: str, first: int) -> None:
    """Refuse a number, or any text, where all above it were truth values."""
    frame = cells.to_pandas()
    others = (frame.notna() & ~frame.isin(_BOOLEANS.to_pylist())).to_numpy()
    if others.any():
        raise CliError(
            f"column {name!r} has {frame[others].iloc[0]!r} in "
            f"{in_rows(others, first)}, and True or False above: correct it"
        )


def present(cells: Any) -> Any:
    """Cells, and nothing where there is none."""
    nothing = compute.is_in(cells, _MISSING.cast(cells.type))
    return compute.if_else(nothing, pa.scalar(None, cells.type), cells)


def as_type(cells: Any, kind: pa.DataType) -> Any:
    """Values of text and of nothing."""
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
    """What pandas would find in whole columns, from what it finds in parts of them."""
    found: dict[str, set[str]] = {}
    for frame in frames:
        for name, column in frame.items():
            found.setdefault(str(name), set()).update(_value_kinds(column))
    return {name: _arrow_type(kinds) for name, kinds in found.items()}


def _value_kinds(column: pd.Series) -> Iterator[str]:
    """A letter for the values, and another for gaps."""
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
    table: TableFile, tell: Callable[[float], None]
) -> Callable[[Rows], pa.Table]:
    """Rows whose columns of categories share those of the whole file.

    Parts of a file may have dictionaries of their own; they are read for that, and it
    is told which share has been.
    """
    known = _all_categories(table, tell)

    def made(rows: Rows) -> pa.Table:
        kept = rows.kept
        for name, values in known.items():
            place = kept.schema.get_field_index(name)
            kept = kept.set_column(place, name, _as_dictionary(kept[name], values))
        return kept

    return made if known else lambda rows: rows.kept


def _all_categories(
    table: TableFile, tell: Callable[[float], None]
) -> dict[str, pa.Array]:
    """In the order of their dictionaries, those of later parts at the end."""
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
            break  # all rows are of the same kinds
        tell(rows.done)
    return found


def _as_dictionary(column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    plain = column.cast(column.type.value_type).combine_chunks()
    places = compute.index_in(plain, values)
    nothing = pa.scalar(None, places.type)
    places = compute.if_else(plain.is_null(), nothing, places)
    return pa.DictionaryArray.from_arrays(places, values, ordered=column.type.ordered)


@contextmanager
def writing(path: Path) -> Iterator[Write]:
    """What to call with rows; the file is there once all of it went well."""
    with whole_file(path) as file, _WRITERS[ending(path)](file) as write:
        yield write


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """The whole file, or none of it."""
    with writing(path) as write:
        write(pa.Table.from_pandas(frame, preserve_index=False))


def escape_formula(label: Any) -> Any:
    """A label that no spreadsheet takes for a formula when it opens a CSV file.

    Text that begins as a formula does gets an apostrophe before it, as OWASP advises.
    Numbers stay as they are, and so do labels of signs alone, such as ``+`` and ``--``.
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
    # Without a name and a time, so that the same rows are the same bytes.
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
    """The first rows say what all are like."""
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
    """So that cells are written alike, whatever the others of some rows are.

    Whole numbers beside gaps would become floats, and times at midnight dates.
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

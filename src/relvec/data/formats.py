"""Parquet, Arrow and NumPy files as tables, and arrays in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.data.arrow import load, reading, regrouped
from relvec.data.roles import Heading, Roles
from relvec.data.rows import ArrayRows, TableRows, check_array, float_type
from relvec.data.tables import SchemaTable, Table, no_rows
from relvec.typing import AnyArray

# Bytes read at once of a column, so that a row group need not be held as a whole.
_BUFFER = 1 << 16
_DAMAGED = "the file is damaged or cut short: write or copy it again"


@dataclass(frozen=True)
class ParquetTable(SchemaTable):
    """A Parquet file, of which only the needed columns are read."""

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        with reading(self.where, _DAMAGED), _parquet_file(self.where) as file:
            needed = self.needed(roles)
            batches = file.iter_batches(batch_size=n_rows, columns=needed)
            yield from regrouped(batches, self.schema.names, n_rows)


def parquet_table(path: str) -> ParquetTable:
    """A Parquet file that has rows."""
    with open(path, "rb") as file:
        begins_well = file.read(4) == b"PAR1"
    remedy = _DAMAGED if begins_well else "this is not a Parquet file: check its name"
    with reading(path, remedy), _parquet_file(path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    if n_rows == 0:
        raise no_rows(path)
    return ParquetTable(path, schema)


def _parquet_file(path: str) -> Any:
    parquet = load("pyarrow.parquet")
    return parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)


@dataclass(frozen=True)
class ArrowTable(SchemaTable):
    """An Arrow file, or the stream of record batches in one, mapped into memory."""

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        del roles  # asking for some columns would make Arrow copy all of them
        with reading(self.where, _DAMAGED), load().memory_map(self.where) as file:
            batches = _batches(_arrow_reader(file))
            yield from regrouped(batches, self.schema.names, n_rows)


def arrow_table(path: str) -> ArrowTable:
    """An Arrow file that has rows."""
    with reading(path, _DAMAGED), load().memory_map(path) as file:
        reader = _arrow_reader(file)
        schema = reader.schema
        has_rows = any(batch.num_rows for batch in _batches(reader))
    if not has_rows:
        raise no_rows(path)
    return ArrowTable(path, schema)


def _arrow_reader(file: Any) -> Any:
    ipc = load("pyarrow.ipc")
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return ipc.open_file(file) if is_file else ipc.open_stream(file)


def _batches(reader: Any) -> Iterator[Any]:
    if not hasattr(reader, "get_batch"):
        return iter(reader)
    return (reader.get_batch(i) for i in range(reader.num_record_batches))


@dataclass(frozen=True)
class ArrayTable(Table):
    """An array, or anything sliced like one, or a NumPy file, mapped for each pass."""

    source: Any  # the array, or the path of its file
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def heading(self) -> Heading:
        return Heading(self.where, None, self.shape[1])

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        del roles  # all columns have the same type
        return float_type([np.empty(0, self.dtype)])

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        del roles  # rows are contiguous: they are read as a whole
        array = mapped(self.source) if isinstance(self.source, str) else self.source
        for start in range(0, len(array), n_rows):
            yield ArrayRows(np.asarray(array[start : start + n_rows]))


def npy_table(path: str) -> ArrayTable:
    """A file of a two-dimensional array that has rows."""
    array = mapped(path)
    check_array(array.shape, array.dtype, path)
    if len(array) == 0:
        raise no_rows(path)
    return ArrayTable(path, path, array.shape, array.dtype)


def array_table(array: Any) -> ArrayTable:
    """A two-dimensional array that has rows."""
    where, shape = "the array", tuple(array.shape)
    # The types of other libraries are known once some rows are an array.
    dtype = np.asarray(array[:1]).dtype if shape else np.dtype(float)
    check_array(shape, dtype, where)
    if shape[0] == 0:
        raise no_rows(where, "pass at least one")
    return ArrayTable(where, array, shape, dtype)


def mapped(path: str) -> AnyArray:
    """The array of a NumPy file, not read yet."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} cannot be read as a NumPy array ({error}); write it again with "
            "numpy.save, as numbers"
        ) from error

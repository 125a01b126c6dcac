"""Tables to files, some rows after others; a file appears when it is complete."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet

from relvec.cli.places import ARROW, CSV, FEATHER, PACKED, PARQUET, ending
from relvec.cli.tables import as_frame
from relvec.model_file import whole_file

Write = Callable[[pa.Table], None]
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what they begin with


@contextmanager
def writing(path: Path) -> Iterator[Write]:
    """What to call with rows; the file is there once all of it went well."""
    with whole_file(path) as file, _WRITERS[ending(path)](file) as write:
        yield write


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """The whole file, or none of it."""
    with writing(path) as write:
        write(pa.Table.from_pandas(frame, preserve_index=False))


def harmless(label: Any) -> Any:
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
def _csv(file: BinaryIO) -> Iterator[Write]:
    begun = False

    def write(rows: pa.Table) -> None:
        nonlocal begun
        text = _for_text(rows).to_csv(index=False, header=not begun)
        file.write(text.encode())
        begun = True

    yield write


@contextmanager
def _packed_csv(file: BinaryIO) -> Iterator[Write]:
    # Without a name and a time, so that the same rows are the same bytes.
    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    with packed, _csv(cast("BinaryIO", packed)) as write:
        yield write


@contextmanager
def _parquet(file: BinaryIO) -> Iterator[Write]:
    with _opened_by_first(lambda schema: parquet.ParquetWriter(file, schema)) as write:
        yield write


@contextmanager
def _arrow(file: BinaryIO) -> Iterator[Write]:
    packing = "lz4" if pa.Codec.is_available("lz4") else None  # as Feather has it
    options = ipc.IpcWriteOptions(compression=packing)

    def opened(schema: pa.Schema) -> Any:
        return ipc.new_file(file, schema, options=options)

    with _opened_by_first(opened) as write:
        yield write


@contextmanager
def _opened_by_first(opened: Callable[[pa.Schema], Any]) -> Iterator[Write]:
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


def _for_text(rows: pa.Table) -> pd.DataFrame:
    """So that cells are written alike, whatever the others of some rows are.

    Whole numbers beside gaps would become floats, and times at midnight dates.
    """
    for place, field in enumerate(rows.schema):
        if pa.types.is_temporal(field.type):
            rows = rows.set_column(place, field.name, rows[place].cast(pa.string()))
    return as_frame(rows)


_WRITERS: dict[str, Callable[[BinaryIO], AbstractContextManager[Write]]] = {
    PACKED: _packed_csv,
    CSV: _csv,
    PARQUET: _parquet,
    ARROW: _arrow,
    FEATHER: _arrow,
}

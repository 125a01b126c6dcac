"""Tables from files, whole."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet

from relvec.cli.exits import Problem, listed
from relvec.cli.headers import DAMAGED, column_names, damaged, not_utf8, nul_found
from relvec.cli.places import ARROW, CSV, FEATHER, PACKED, PARQUET, ending
from relvec.typing import AnyArray

# What pandas is told of every CSV file, of which each row has as many cells as names.
CSV_RULES: dict[str, Any] = {
    "encoding": "utf-8-sig",
    "index_col": False,
    "skipinitialspace": True,
}
_DAMAGED = (pa.ArrowInvalid, pd.errors.ParserError, *DAMAGED)


def read_table(path: Path) -> pd.DataFrame:
    """All rows of a file, with names that are text and each there once."""
    names = column_names(path)
    with reading(path):
        frame = _READERS[ending(path)](path)
    frame.columns = pd.Index(names)
    if len(frame) == 0:
        raise no_rows(path)
    if ending(path) in {CSV, PACKED}:
        for name in frame.select_dtypes(exclude=["number", "bool"]):
            check_text(path, name, frame[name].map(_has_nul).to_numpy())
    return frame


def check_text(path: Path, name: str, nuls: AnyArray, first: int = 0) -> None:
    """Refuse a column of text with NUL bytes, given which of its cells have one."""
    if nuls.any():
        raise nul_found(path, f"{rows_named(nuls, first)} of column {name!r}")


def _has_nul(cell: Any) -> bool:
    return isinstance(cell, str) and "\0" in cell


def no_rows(path: Path) -> Problem:
    """What to say of a file that is a header alone."""
    return Problem(f"{path} has names of columns and no rows: write rows to it")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What libraries say of a damaged file, as a problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            yield
        except UnicodeDecodeError as error:
            raise not_utf8(path, error) from error
        except _DAMAGED as error:
            raise damaged(path, error) from error
        except pd.errors.ParserWarning as error:
            raise Problem(
                f"{path} has more fields in a row than names in its first line: write "
                "a name for every column"
            ) from error


def rows_named(mask: AnyArray, first: int = 0) -> str:
    """Numbers of rows, counted from 1 without a header; of a part that begins later."""
    numbers = np.flatnonzero(mask) + first + 1
    return f"row{'s' * (len(numbers) > 1)} {listed(numbers)}"


def as_frame(rows: pa.Table) -> pd.DataFrame:
    """In which whole numbers beside gaps are no floats."""
    return rows.to_pandas(types_mapper=_WITH_GAPS.get, ignore_metadata=True)


def arrow_reader(file: Any) -> Any:
    """Of either of the two forms that Arrow files have."""
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return ipc.open_file(file) if is_file else ipc.open_stream(file)


def _from_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, low_memory=False, **CSV_RULES)


def _from_parquet(path: Path) -> pd.DataFrame:
    return parquet.read_table(path).to_pandas(ignore_metadata=True)


def _from_arrow(path: Path) -> pd.DataFrame:
    with pa.memory_map(str(path)) as file:
        return arrow_reader(file).read_all().to_pandas(ignore_metadata=True)


_WITH_GAPS = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    PACKED: _from_csv,
    CSV: _from_csv,
    PARQUET: _from_parquet,
    ARROW: _from_arrow,
    FEATHER: _from_arrow,
}

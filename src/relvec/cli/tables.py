"""Tables from files and to files, by the end of a name."""

import csv
import gzip
import io
import os
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, ipc, parquet

from relvec.cli.exits import Problem
from relvec.model_file import write_whole
from relvec.typing import AnyArray

_NAMED = 5  # rows, names or values that a message lists
_KNOWN = ".csv, .csv.gz, .parquet, .arrow and .feather"


def read_table(path: Path) -> pd.DataFrame:
    """All rows of a file, with names that are text and each there once."""
    check_readable(path)
    reader = _READERS[ending(path)]
    try:
        frame = reader(path)
    except (pa.ArrowInvalid, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise Problem(
            f"{path} cannot be read ({error}): correct it, or write it again"
        ) from error
    except pd.errors.ParserWarning as error:
        raise Problem(
            f"{path} has more fields in a row than names in its first line: write a "
            "name for every column"
        ) from error
    if len(frame) == 0:
        raise Problem(f"{path} has names of columns and no rows: write rows to it")
    return frame


def column_names(path: Path) -> list[str]:
    """Names of the columns of a file, without its rows."""
    check_readable(path)
    return _NAMES[ending(path)](path)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """The whole file, or none of it."""
    write_whole(path, _WRITERS[ending(path)](frame))


def ending(path: Path) -> str:
    """What says how a file is read and written."""
    name = path.name.lower()
    for known in _READERS:
        if name.endswith(known):
            return known
    raise Problem(f"{path} is of no known kind: files end in {_KNOWN}")


def check_readable(path: Path) -> None:
    """Refuse what is not there, no file, or empty."""
    if not path.exists():
        raise Problem(
            f"there is no file {path}: check its spelling and the folder, {os.getcwd()}"
        )
    if not path.is_file():
        raise Problem(f"{path} is a folder or a device: name a file")
    if path.stat().st_size == 0:
        raise Problem(f"{path} is empty: write it again, or name another file")


def check_writable(path: Path, *sources: Path) -> None:
    """Refuse a place where nothing can be written, before the work begins."""
    folder = path.parent
    if path.is_dir():
        raise Problem(f"the output {path} is a folder: add the name of a file")
    if not folder.is_dir():
        raise Problem(f"there is no folder {folder} for the output: make it first")
    if not os.access(folder, os.W_OK):
        raise Problem(f"the folder {folder} cannot be written to: choose another")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise Problem(f"the output {path} is what is read: choose another name")


def listed(values: Any) -> str:
    """The first of them, and how many more there are."""
    values = list(values)
    shown = ", ".join(str(value) for value in values[:_NAMED])
    more = len(values) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def rows_named(mask: AnyArray) -> str:
    """Numbers of rows, counted from 1 without a header."""
    numbers = np.flatnonzero(mask) + 1
    return f"row{'s' * (len(numbers) > 1)} {listed(numbers)}"


def _checked_names(path: Path, names: list[str]) -> list[str]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise Problem(
            f"{path} has more than one column named {listed(map(repr, twice))}: give "
            "each a name of its own"
        )
    if any(not name.strip() for name in names):
        raise Problem(
            f"{path} has a column without a name, perhaps the numbers of the rows: "
            "write it without them (index=False in pandas), or give it a name"
        )
    return names


def _names_of_csv(path: Path) -> list[str]:
    packed = ending(path) == ".csv.gz"
    opened = cast("Callable[..., Any]", gzip.open if packed else open)
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        first = next(csv.reader(file), [""])
    return _checked_names(path, [name.strip() for name in first])


def _from_csv(path: Path) -> pd.DataFrame:
    _names_of_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            path,
            encoding="utf-8-sig",
            index_col=False,
            low_memory=False,
            skipinitialspace=True,
        ).rename(columns=lambda name: str(name).strip())


def _names_of_parquet(path: Path) -> list[str]:
    return _checked_names(path, parquet.read_schema(path).names)


def _from_parquet(path: Path) -> pd.DataFrame:
    _names_of_parquet(path)
    return _as_frame(parquet.read_table(path))


def _names_of_arrow(path: Path) -> list[str]:
    with pa.memory_map(str(path)) as file:
        return _checked_names(path, _arrow_reader(file).schema.names)


def _from_arrow(path: Path) -> pd.DataFrame:
    _names_of_arrow(path)
    with pa.memory_map(str(path)) as file:
        return _as_frame(_arrow_reader(file).read_all())


def _arrow_reader(file: Any) -> Any:
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return ipc.open_file(file) if is_file else ipc.open_stream(file)


def _as_frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(ignore_metadata=True)


_NAMES: dict[str, Callable[[Path], list[str]]] = {
    ".csv.gz": _names_of_csv,
    ".csv": _names_of_csv,
    ".parquet": _names_of_parquet,
    ".arrow": _names_of_arrow,
    ".feather": _names_of_arrow,
}
_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv.gz": _from_csv,
    ".csv": _from_csv,
    ".parquet": _from_parquet,
    ".arrow": _from_arrow,
    ".feather": _from_arrow,
}


def _as_csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def _as_packed_csv(frame: pd.DataFrame) -> bytes:
    return gzip.compress(_as_csv(frame), mtime=0)


def _as_parquet(frame: pd.DataFrame) -> bytes:
    return _in_memory(frame, parquet.write_table)


def _as_feather(frame: pd.DataFrame) -> bytes:
    return _in_memory(frame, feather.write_feather)


def _in_memory(frame: pd.DataFrame, write: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    write(pa.Table.from_pandas(frame, preserve_index=False), buffer)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    ".csv.gz": _as_packed_csv,
    ".csv": _as_csv,
    ".parquet": _as_parquet,
    ".arrow": _as_feather,
    ".feather": _as_feather,
}

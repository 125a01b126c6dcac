"""Names of the columns of a file, read without its rows, and without pandas.

Tab completion asks for them while somebody waits.
"""

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from relvec.cli.exits import Problem, listed
from relvec.cli.places import ARROW, CSV, FEATHER, PACKED, PARQUET, check_table

# What is raised by the libraries that read CSV and unpack it.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, csv.Error)
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def column_names(path: Path) -> list[str]:
    """Those of a file, each there once."""
    kind = check_table(path)
    try:
        names = _NAMES[kind](path)
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
    except (ValueError, *DAMAGED) as error:  # pyarrow raises ValueError
        raise damaged(path, error) from error
    if names == [""]:
        raise Problem(f"{path} is blank: write names of columns, and rows below them")
    _check_separator(path, names)
    _check_different(path, names)
    if any("\0" in name for name in names):
        raise nul_found(path, "the names of its columns")
    return names


def damaged(path: Path, error: Any) -> Problem:
    """What to say of a file that cannot be read."""
    return Problem(f"{path} cannot be read ({error}): correct it, or write it again")


def nul_found(path: Path, where: str) -> Problem:
    """What to say of a byte that no text has."""
    return Problem(
        f"{path} has a NUL byte in {where}: it is damaged, or no text; write it again "
        "as UTF-8 text"
    )


def not_utf8(path: Path, error: UnicodeDecodeError) -> Problem:
    """What to say of text in another encoding."""
    byte = error.object[error.start]
    return Problem(
        f"{path} is not UTF-8 text (byte 0x{byte:02x}): save it as UTF-8, as in "
        "iconv -f latin1 -t utf8"
    )


def _check_separator(path: Path, names: list[str]) -> None:
    for sign, word in _OTHER_SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            raise Problem(
                f"{path} is separated by {word}: write it again with commas between "
                "cells, and with points in numbers"
            )


def _check_different(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if any(not name.strip() for name in names):
        raise Problem(
            f"{path} has a column without a name, perhaps the numbers of the rows: "
            "write it without them (index=False in pandas), or give it a name"
        )
    if twice:
        raise Problem(
            f"{path} has more than one column named {listed(map(repr, twice))}: give "
            "each a name of its own"
        )


def _of_csv(path: Path) -> list[str]:
    packed = path.name.lower().endswith(PACKED)
    opened = cast("Callable[..., Any]", gzip.open if packed else open)
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        # As pandas has it, lines without anything do not count.
        first = next((line for line in csv.reader(file) if line), [""])
    return [name.strip() for name in first]


def _of_parquet(path: Path) -> list[str]:
    from pyarrow import parquet  # noqa: PLC0415 - a CSV file is not to wait for it

    return list(parquet.read_schema(path).names)


def _of_arrow(path: Path) -> list[str]:
    import pyarrow as pa  # noqa: PLC0415 - a CSV file is not to wait for it

    with pa.memory_map(str(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        opened = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        return list(opened.schema.names)


_NAMES: dict[str, Callable[[Path], list[str]]] = {
    PACKED: _of_csv,
    CSV: _of_csv,
    PARQUET: _of_parquet,
    ARROW: _of_arrow,
    FEATHER: _of_arrow,
}

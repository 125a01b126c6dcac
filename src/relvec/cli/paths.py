"""Input and output files: their types, checks, and the names of their columns."""

import csv
import gzip
import os
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from relvec.cli.errors import CliError, listed

CSV, CSV_GZ, PARQUET, ARROW, FEATHER = (
    ".csv",
    ".csv.gz",
    ".parquet",
    ".arrow",
    ".feather",
)
_TABLE_TYPES = CSV_GZ, CSV, PARQUET, ARROW, FEATHER
_TABLE_TYPE_NAMES = ".csv, .csv.gz, .parquet, .arrow and .feather"
_MAGIC_BYTES = 8  # bytes of a magic number
# Magic numbers of other types: what the file is, and the remedy.
_OTHER_TYPES = {
    b"\x1f\x8b": ("compressed", "let its name end in .csv.gz"),
    b"PAR1": ("a Parquet file", "let its name end in .parquet"),
    b"ARROW1": ("an Arrow file", "let its name end in .arrow"),
    b"PK\x03\x04": ("a spreadsheet or a zip archive", "save the table as CSV"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}
# Errors of the libraries that parse and unpack CSV files.
PARSE_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, csv.Error)
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def file_type(path: Path) -> str:
    """Find the type of a table file by its name."""
    name = path.name.lower()
    for known in _TABLE_TYPES:
        if name.endswith(known):
            return known
    raise CliError(f"{path} has an unsupported type: files end in {_TABLE_TYPE_NAMES}")


def is_table(path: Path) -> bool:
    """Whether a file is a table by its name."""
    return path.name.lower().endswith(_TABLE_TYPES)


def check_readable(path: Path) -> None:
    """Refuse a file that is missing, empty or not a regular file."""
    _check_no_pipe(path)
    if not path.exists():
        raise CliError(
            f"there is no file {path}: check its spelling and the folder, {os.getcwd()}"
        )
    if not path.is_file():
        raise CliError(f"{path} is a folder or a device: name a file")
    if path.stat().st_size == 0:
        raise CliError(f"{path} is empty: write it again, or name another file")


def check_table(path: Path) -> str:
    """Return the type of a table file; refuse contents that contradict its name."""
    check_readable(path)
    kind = file_type(path)
    with path.open("rb") as file:
        start = file.read(_MAGIC_BYTES)
    if kind == CSV:
        for magic, (what, remedy) in _OTHER_TYPES.items():
            if start.startswith(magic):
                raise CliError(f"{path} is {what} and no CSV text: {remedy}")
    if kind == CSV_GZ and not start.startswith(b"\x1f\x8b"):
        raise CliError(f"{path} is not compressed by gzip: let its name end in .csv")
    return kind


def check_writable(path: Path, *sources: Path) -> None:
    """Refuse a path that cannot be written, before the work begins."""
    _check_no_pipe(path)
    folder = path.parent
    if path.is_dir():
        raise CliError(f"the output {path} is a folder: add the name of a file")
    if not folder.is_dir():
        raise CliError(f"there is no folder {folder} for the output: make it first")
    if path.exists() and not path.is_file():
        raise CliError(
            f"the output {path} is a device or a pipe, and a file is to take its "
            "place whole: name a file"
        )
    if not os.access(folder, os.W_OK):
        raise CliError(f"the folder {folder} cannot be written to: choose another")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise CliError(f"the output {path} is what is read: choose another name")


def check_not_table_name(path: Path) -> None:
    """Refuse to write a model to a path that is named like a table."""
    if is_table(path):
        raise CliError(
            f"the output {path} has the name of a table, and what is written is a "
            "model: let its name end in .json, or what the language asks for"
        )


def _check_no_pipe(path: Path) -> None:
    if str(path) == "-":
        raise CliError(
            "'-' is no file, and there is no reading from a pipe or writing to one: "
            "name a file"
        )


def column_names(path: Path) -> list[str]:
    """Read the column names of a file; refuse duplicates."""
    kind = check_table(path)
    try:
        names = _NAME_READERS[kind](path)
    except UnicodeDecodeError as error:
        raise encoding_error(path, error) from error
    except (ValueError, *PARSE_ERRORS) as error:  # pyarrow raises ValueError
        raise damaged_file_error(path, error) from error
    if names == [""]:
        raise CliError(f"{path} is blank: write names of columns, and rows below them")
    _check_separator(path, names)
    _check_unique(path, names)
    if any("\0" in name for name in names):
        raise nul_byte_error(path, "the names of its columns")
    return names


def damaged_file_error(path: Path, error: Any) -> CliError:
    """Error for a file that cannot be parsed."""
    return CliError(f"{path} cannot be read ({error}): correct it, or write it again")


def nul_byte_error(path: Path, where: str) -> CliError:
    """Error for a NUL byte in text."""
    return CliError(
        f"{path} has a NUL byte in {where}: it is damaged, or no text; write it again "
        "as UTF-8 text"
    )


def encoding_error(path: Path, error: UnicodeDecodeError) -> CliError:
    """Error for text that is not UTF-8."""
    byte = error.object[error.start]
    return CliError(
        f"{path} is not UTF-8 text (byte 0x{byte:02x}): save it as UTF-8, as in "
        "iconv -f latin1 -t utf8"
    )


def _check_separator(path: Path, names: list[str]) -> None:
    for sign, word in _OTHER_SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            raise CliError(
                f"{path} is separated by {word}: write it again with commas between "
                "cells, and with points in numbers"
            )


def _check_unique(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if any(not name.strip() for name in names):
        raise CliError(
            f"{path} has a column without a name, perhaps the numbers of the rows: "
            "write it without them (index=False in pandas), or give it a name"
        )
    if twice:
        raise CliError(
            f"{path} has more than one column named {listed(map(repr, twice))}: give "
            "each a name of its own"
        )


def _csv_names(path: Path) -> list[str]:
    packed = path.name.lower().endswith(CSV_GZ)
    opened = cast("Callable[..., Any]", gzip.open if packed else open)
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        # Like pandas, skip empty lines.
        first = next((line for line in csv.reader(file) if line), [""])
    return [name.strip() for name in first]


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import parquet  # noqa: PLC0415 - slow, and CSV files need none

    return list(parquet.read_schema(path).names)


def _arrow_names(path: Path) -> list[str]:
    from relvec.data.tables import open_arrow  # noqa: PLC0415 - slow, as above

    with open_arrow(path) as (_, reader):
        return list(reader.schema.names)


_NAME_READERS: dict[str, Callable[[Path], list[str]]] = {
    CSV_GZ: _csv_names,
    CSV: _csv_names,
    PARQUET: _parquet_names,
    ARROW: _arrow_names,
    FEATHER: _arrow_names,
}

"""Files by their names: of which kind they are, and whether they can be used."""

import os
from pathlib import Path

from relvec.cli.exits import Problem

CSV, PACKED, PARQUET, ARROW, FEATHER = (
    ".csv",
    ".csv.gz",
    ".parquet",
    ".arrow",
    ".feather",
)
_KINDS = PACKED, CSV, PARQUET, ARROW, FEATHER
_KNOWN = ".csv, .csv.gz, .parquet, .arrow and .feather"
_LONGEST = 8  # bytes of a magic number
# What files begin with that are named as something else: what they are, the remedy.
_DISGUISED = {
    b"\x1f\x8b": ("compressed", "let its name end in .csv.gz"),
    b"PAR1": ("a Parquet file", "let its name end in .parquet"),
    b"ARROW1": ("an Arrow file", "let its name end in .arrow"),
    b"PK\x03\x04": ("a spreadsheet or a zip archive", "save the table as CSV"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}


def ending(path: Path) -> str:
    """What says how a file is read and written."""
    name = path.name.lower()
    for known in _KINDS:
        if name.endswith(known):
            return known
    raise Problem(f"{path} is of no known kind: files end in {_KNOWN}")


def is_table(path: Path) -> bool:
    """Whether it is one by its name."""
    return path.name.lower().endswith(_KINDS)


def check_readable(path: Path) -> None:
    """Refuse what is not there, no file, or empty."""
    _check_no_pipe(path)
    if not path.exists():
        raise Problem(
            f"there is no file {path}: check its spelling and the folder, {os.getcwd()}"
        )
    if not path.is_file():
        raise Problem(f"{path} is a folder or a device: name a file")
    if path.stat().st_size == 0:
        raise Problem(f"{path} is empty: write it again, or name another file")


def check_table(path: Path) -> str:
    """Refuse a file that is no table, or not what its name says; its ending."""
    check_readable(path)
    kind = ending(path)
    with path.open("rb") as file:
        start = file.read(_LONGEST)
    if kind == CSV:
        for magic, (what, remedy) in _DISGUISED.items():
            if start.startswith(magic):
                raise Problem(f"{path} is {what} and no CSV text: {remedy}")
    if kind == PACKED and not start.startswith(b"\x1f\x8b"):
        raise Problem(f"{path} is not compressed by gzip: let its name end in .csv")
    return kind


def check_writable(path: Path, *sources: Path) -> None:
    """Refuse a place where nothing can be written, before the work begins."""
    _check_no_pipe(path)
    folder = path.parent
    if path.is_dir():
        raise Problem(f"the output {path} is a folder: add the name of a file")
    if not folder.is_dir():
        raise Problem(f"there is no folder {folder} for the output: make it first")
    if path.exists() and not path.is_file():
        raise Problem(
            f"the output {path} is a device or a pipe, and a file is to take its "
            "place whole: name a file"
        )
    if not os.access(folder, os.W_OK):
        raise Problem(f"the folder {folder} cannot be written to: choose another")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise Problem(f"the output {path} is what is read: choose another name")


def check_no_table(path: Path) -> None:
    """Refuse to write something else to what looks like somebody's data."""
    if is_table(path):
        raise Problem(
            f"the output {path} has the name of a table, and what is written is a "
            "model: let its name end in .json, or what the language asks for"
        )


def _check_no_pipe(path: Path) -> None:
    if str(path) == "-":
        raise Problem(
            "'-' is no file, and there is no reading from a pipe or writing to one: "
            "name a file"
        )

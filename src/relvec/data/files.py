"""Which files a path stands for, and of what kind they are."""

import os
from glob import glob, has_magic
from pathlib import Path
from typing import Any

KINDS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
}


def is_path(source: Any) -> bool:
    """Whether it names a file."""
    return isinstance(source, str | os.PathLike)


def is_path_list(source: Any) -> bool:
    """Whether it is a list of names of files."""
    listed = isinstance(source, list | tuple) and len(source) > 0
    return listed and all(is_path(path) for path in source)


def found_files(source: Any) -> list[str]:
    """The files of a path, a folder or a pattern in sorted order, or those listed."""
    paths = [source] if is_path(source) else source
    files = [file for path in paths for file in _expanded(os.fspath(path))]
    for file in files:
        if kind_of(file) != kind_of(files[0]):
            raise ValueError(
                f"{files[0]} and {file} are of different kinds; pass files of one "
                "kind, for example by a pattern such as '*.parquet'"
            )
    for file in files:
        if os.path.getsize(file) == 0:
            msg = f"{file} is empty (0 bytes); write it again or leave it out"
            raise ValueError(msg)
    return files


def kind_of(file: str) -> str:
    """How a file is read, by the end of its name."""
    name = file.lower()
    for ending, kind in KINDS.items():
        if name.endswith(ending):
            return kind
    raise ValueError(
        f"{file} is not of a known kind; the name must end in {', '.join(KINDS)}. "
        "Rename the file, convert it, or pass its rows as blocks"
    )


def _expanded(path: str) -> list[str]:
    if "://" in path:
        raise ValueError(
            f"{path} is not a local file; open it with pyarrow.dataset.dataset(...) "
            "and pass that"
        )
    if os.path.isdir(path):
        return _folder(Path(path))
    if os.path.exists(path):
        return [path]
    matches = sorted(glob(path, recursive=True)) if has_magic(path) else []
    files = [match for match in matches if os.path.isfile(match)]
    if not files:
        what = "matches no file" if has_magic(path) else "does not exist"
        msg = f"{path} {what}; check its spelling and the working folder, {os.getcwd()}"
        raise FileNotFoundError(msg)
    return files


def _folder(folder: Path) -> list[str]:
    """The files of a folder, without those that are hidden or begin with _."""
    entries = sorted(p for p in folder.iterdir() if not p.name.startswith((".", "_")))
    inner = [entry for entry in entries if entry.is_dir()]
    if inner:
        raise ValueError(
            f"{folder} contains the folder {inner[0].name!r}; pass a pattern such as "
            f"{folder / '**' / '*.parquet'}, or a pyarrow.dataset"
        )
    if not entries:
        msg = f"{folder} contains no files; check the name of the folder"
        raise FileNotFoundError(msg)
    return [str(entry) for entry in entries]

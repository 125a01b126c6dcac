"""``scan``: rows of files, tables, arrays and iterables as blocks."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np

from relvec.data.blocks import ResizedBlocks, RowBlocks, iterable_blocks, rows_per_block
from relvec.data.columns import ColumnChoice, check_length
from relvec.data.rows import FrameRows, arrow_rows, is_arrow, is_frame, pyarrow_module
from relvec.data.tables import (
    ArrayTable,
    MemoryTable,
    Table,
    array_table,
    arrow_table,
    csv_table,
    dataset_table,
    map_npy,
    parquet_table,
    table_blocks,
)
from relvec.parameters import check_unmasked
from relvec.typing import AnyArray

_FILE_KINDS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
}
_READERS: dict[str, Callable[[str], Table]] = {
    "parquet": parquet_table,
    "csv": csv_table,
    "arrow": arrow_table,
}
_SUPPORTED = (
    "a file (.parquet, .csv, .csv.gz, .arrow, .feather, .npy), a list or folder of "
    "files, a pandas or polars data frame, an Arrow table, reader or data set, a "
    "two-dimensional array, an iterable of blocks such as (X, y), or a function that "
    "returns one"
)


def scan(
    source: Any,
    *,
    target: Any = None,
    features: Any = None,
    weight: Any = None,
    block_rows: int | None = None,
) -> RowBlocks:
    """Read rows of files, tables, arrays or iterables in blocks, in order.

    At most a few blocks are in memory at a time, and only the columns needed are read.
    Names and types of columns are checked at once, cells when they are read. Messages
    count rows from 1, without a file's header.

    Parameters
    ----------
    source : path, table, array, iterable or callable
        One of

        - a file of the kind its name ends in: ``.parquet``, ``.csv`` or ``.csv.gz``
          (comma-separated, with a header), ``.arrow`` or ``.feather``, ``.npy`` (a
          two-dimensional array, mapped into memory); a list of files of one kind, or
          a folder or pattern (``"part-*.csv"``), read in sorted order;
        - a data frame of pandas or polars; a table, record batch, reader or data set
          of pyarrow, or anything else with Arrow's C stream interface;
        - a two-dimensional array or memory map, or something sliced like one;
        - an iterable of blocks, each of them ``X``, ``(X,)``, ``(X, y)``, ``(X, y,
          weight)``, a :class:`~relvec.data.Block`, a data frame or an Arrow table. An
          iterator can be read only once, a list repeatedly;
        - a function without arguments that returns a new iterable of blocks at each
          call, which can be read repeatedly (it is called once right away, for the
          first block);
        - another :class:`~relvec.data.RowBlocks`.

        Parquet, CSV and Arrow data need pyarrow: ``pip install "relvec[arrow]"``.
    target : str, int or array-like of shape (n_rows,), optional
        Name or number of the target column. For an array or a ``.npy`` file it may
        also be the targets themselves, or the path of a ``.npy`` file of them.
    features : list of str or int, optional
        Feature columns, in this order; by default all columns but the target and the
        weight.
    weight : str, int or array-like of shape (n_rows,), optional
        Sample weights, given like the target.
    block_rows : int, optional
        Largest number of rows in a block; by default as many as make two million
        numbers, 16 MB of float64. Small parts of a file are joined; blocks of an
        iterable are not, nor are the ends of files.

    Returns
    -------
    RowBlocks
        Source of rows with ``n_features``, ``feature_names`` and ``repeatable``. An
        iteration over it yields a :class:`~relvec.data.Block` at a time.

    Raises
    ------
    ValueError
        If the data cannot be used, also while iterating. The message names file, row,
        column and remedy.
    FileNotFoundError
        If a file does not exist.
    TypeError
        If the type of the source is not supported.
    ImportError
        If pyarrow is needed and not installed.

    Notes
    -----
    X is float32 if all features are, otherwise float64; booleans and decimals become
    numbers. The target keeps its type: numbers, booleans or text. In a CSV file the
    first 2 MB decide on the type; whole numbers are int64 in blocks without a
    fraction.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.data import scan
    >>> table = np.arange(12.0).reshape(4, 3)
    >>> blocks = scan(table, target=2, block_rows=3)
    >>> blocks.n_features
    2
    >>> for block in blocks:
    ...     print(block.X.shape, block.y)
    (3, 2) [2. 5. 8.]
    (1, 2) [11.]

    Blocks may come from anywhere:

    >>> def days():
    ...     for day in range(3):
    ...         yield np.full((2, 1), day), np.array(["low", "high"])
    >>> sum(len(block.X) for block in scan(days))
    6
    """
    choice = ColumnChoice(target, features, weight)
    if _is_path(source) or _is_path_list(source):
        return _file_blocks(source, choice, block_rows)
    if isinstance(source, RowBlocks):
        return _resized(source, choice, block_rows)
    _check_supported(source)
    if is_frame(source):
        table = MemoryTable("the data frame", FrameRows(source))
        return table_blocks([table], choice, block_rows)
    if _is_array(source):
        return _array_blocks([array_table(source)], choice, block_rows)
    if is_arrow(source) or _is_dataset(source):
        return _arrow_blocks(source, choice, block_rows)
    return iterable_blocks(source, choice, block_rows)


def _resized(source: RowBlocks, choice: ColumnChoice, block_rows: Any) -> RowBlocks:
    given = (choice.target, choice.features, choice.weight)
    if any(value is not None for value in given):
        raise ValueError(
            "the source is a RowBlocks, whose columns have been chosen already; leave "
            "out target, features and weight, or scan what it was made from"
        )
    if block_rows is None:
        return source
    return ResizedBlocks(
        source,
        block_rows=rows_per_block(block_rows, source.n_features),
        n_features=source.n_features,
        feature_names=source.feature_names,
        repeatable=source.repeatable,
    )


def _check_supported(source: Any) -> None:
    """Refuse unsupported types, some of which could be iterated over."""
    check_unmasked("source", source)
    name = type(source).__name__
    if name == "LazyFrame":
        msg = "a LazyFrame is not read in blocks; scan the file itself, or collect() it"
        raise TypeError(msg)
    if hasattr(source, "tocsr"):
        msg = f"{name} is sparse; pass blocks of its rows, each made dense by toarray()"
        raise TypeError(msg)
    if isinstance(source, tuple) and 1 in [getattr(a, "ndim", 0) for a in source]:
        msg = "a tuple of arrays is not a source; pass X and target=y, or [(X, y)]"
        raise TypeError(msg)
    wrong = isinstance(source, Mapping | bytes | bytearray | set | frozenset | type)
    if wrong or not (isinstance(source, Iterable) or callable(source)):
        if _is_array(source) or _is_dataset(source) or is_arrow(source):
            return
        msg = f"{name} is not supported as a source of rows; pass {_SUPPORTED}"
        raise TypeError(msg)


def _file_blocks(source: Any, choice: ColumnChoice, block_rows: Any) -> RowBlocks:
    files = _find_files(source)
    kind = _file_kind(files[0])
    if kind == "npy":
        return _array_blocks([array_table(file) for file in files], choice, block_rows)
    return table_blocks([_READERS[kind](file) for file in files], choice, block_rows)


def _array_blocks(
    tables: list[ArrayTable], choice: ColumnChoice, block_rows: Any
) -> RowBlocks:
    target, y = _column_or_values(choice.target)
    weight, weights = _column_or_values(choice.weight)
    n_rows = sum(table.shape[0] for table in tables)
    for name, values in (("target", y), ("weight", weights)):
        check_length(name, values, n_rows, tables[0].where)
    columns = ColumnChoice(target, choice.features, weight)
    blocks = table_blocks(tables, columns, block_rows)
    return replace(blocks, y=y, weight=weights)


def _column_or_values(value: Any) -> tuple[Any, AnyArray | None]:
    if _is_path(value) and os.fspath(value).lower().endswith(".npy"):
        return None, map_npy(os.fspath(value))
    if value is None or isinstance(value, str) or np.ndim(value) == 0:
        return value, None
    return None, np.asarray(value)


def _arrow_blocks(source: Any, choice: ColumnChoice, block_rows: Any) -> RowBlocks:
    if _is_dataset(source):
        return table_blocks([dataset_table(source)], choice, block_rows)
    if hasattr(source, "read_next_batch"):
        return iterable_blocks(iter(source), choice, block_rows)
    if hasattr(source, "num_rows"):
        rows = MemoryTable("the table", arrow_rows(source))
        return table_blocks([rows], choice, block_rows)
    reader = pyarrow_module().RecordBatchReader.from_stream
    return iterable_blocks(lambda: reader(source), choice, block_rows)


def _is_dataset(source: Any) -> bool:
    return hasattr(source, "scanner") and hasattr(source, "to_batches")


def _is_array(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__"))


def _is_path(source: Any) -> bool:
    """Whether a source names a file."""
    return isinstance(source, str | os.PathLike)


def _is_path_list(source: Any) -> bool:
    """Whether a source is a list of names of files."""
    listed = isinstance(source, list | tuple) and len(source) > 0
    return listed and all(_is_path(path) for path in source)


def _find_files(source: Any) -> list[str]:
    """List the files of paths, folders and patterns; folders in sorted order."""
    paths = [source] if _is_path(source) else source
    files = [file for path in paths for file in _expand(os.fspath(path))]
    for file in files:
        if _file_kind(file) != _file_kind(files[0]):
            raise ValueError(
                f"{files[0]} and {file} are of different kinds; pass files of one "
                "kind, for example by a pattern such as '*.parquet'"
            )
    for file in files:
        if os.path.getsize(file) == 0:
            msg = f"{file} is empty (0 bytes); write it again or leave it out"
            raise ValueError(msg)
    return files


def _file_kind(file: str) -> str:
    """Find out from its name how to read a file."""
    name = file.lower()
    for ending, kind in _FILE_KINDS.items():
        if name.endswith(ending):
            return kind
    raise ValueError(
        f"{file} has an unsupported type; its name must end in "
        f"{', '.join(_FILE_KINDS)}. Rename the file, convert it, or pass its "
        "rows as blocks"
    )


def _expand(path: str) -> list[str]:
    if "://" in path:
        raise ValueError(
            f"{path} is not a local file; open it with pyarrow.dataset.dataset(...) "
            "and pass that"
        )
    if os.path.isdir(path):
        return _files_in(Path(path))
    if os.path.exists(path):
        return [path]
    matches = sorted(glob(path, recursive=True)) if has_magic(path) else []
    files = [match for match in matches if os.path.isfile(match)]
    if not files:
        what = "matches no file" if has_magic(path) else "does not exist"
        msg = f"{path} {what}; check its spelling and the working folder, {os.getcwd()}"
        raise FileNotFoundError(msg)
    return files


def _files_in(folder: Path) -> list[str]:
    """List the files of a folder, except hidden ones and those that begin with _."""
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

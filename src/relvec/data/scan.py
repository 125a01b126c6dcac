"""One entrance for rows from files, tables, arrays and iterables."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from relvec.data.arrow import arrow_rows, is_arrow, load
from relvec.data.blocks import ResizedBlocks, RowBlocks, rows_per_block
from relvec.data.checks import check_length
from relvec.data.csv_files import csv_table
from relvec.data.files import found_files, is_path, is_path_list, kind_of
from relvec.data.formats import (
    ArrayTable,
    array_table,
    arrow_table,
    mapped,
    npy_table,
    parquet_table,
)
from relvec.data.roles import Choice
from relvec.data.rows import FrameRows, is_frame
from relvec.data.stream import stream_blocks
from relvec.data.tables import DatasetTable, MemoryTable, Table, table_blocks
from relvec.parameters import check_unmasked
from relvec.typing import AnyArray

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
    """Rows of files, tables, arrays or iterables, read a block at a time and in order.

    Never more than a few blocks are in memory, and of files only the columns that are
    needed. What the names and types of columns tell is checked at once; cells are
    checked when they are read. Messages count rows from 1, without a file's header.

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
          iterator can be gone through only once; a list again and again, and so can
        - a function without arguments that returns such an iterable, afresh at each
          call (it is called once right away, for the first block);
        - another :class:`~relvec.data.RowBlocks`.

        Parquet, CSV and Arrow data need pyarrow: ``pip install "relvec[arrow]"``.
    target : str, int or array-like of shape (n_rows,), optional
        Name or number of the column that is the target. For an array or ``.npy`` it
        may also be the targets themselves, or the path of a ``.npy`` file of them.
    features : list of str or int, optional
        Columns that are features, in this order; by default all but the target and
        the weight, in the order of the source.
    weight : str, int or array-like of shape (n_rows,), optional
        Sample weights, given like the target.
    block_rows : int, optional
        Largest number of rows in a block; by default as many as make two million
        numbers, 16 MB of float64. Small parts of a file are joined; the blocks of
        an iterable, and the ends of files, stay where they are.

    Returns
    -------
    RowBlocks
        A source of rows, with ``n_features``, ``feature_names`` and ``repeatable``,
        that gives a :class:`~relvec.data.Block` at a time when it is iterated over.

    Raises
    ------
    ValueError
        If the data cannot be used: file, row, column and remedy are named. While
        iterating, too.
    FileNotFoundError
        If there is no such file.
    TypeError
        If the source is of a type that is not supported.
    ImportError
        If pyarrow is needed and not installed.

    Notes
    -----
    X is float32 if all features are, otherwise float64; booleans and decimals become
    numbers. The target stays what it is: numbers, booleans or text. In a CSV file its
    kind is that of the first 2 MB; whole numbers are int64 in blocks without a
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
    choice = Choice(target, features, weight)
    if is_path(source) or is_path_list(source):
        return _file_blocks(source, choice, block_rows)
    if isinstance(source, RowBlocks):
        return _same_blocks(source, choice, block_rows)
    _refuse(source)
    if is_frame(source):
        table = MemoryTable("the data frame", FrameRows(source))
        return table_blocks([table], choice, block_rows)
    if _is_array(source):
        return _array_blocks([array_table(source)], choice, block_rows)
    if is_arrow(source) or _is_dataset(source):
        return _arrow_blocks(source, choice, block_rows)
    return stream_blocks(source, choice, block_rows)


def _same_blocks(source: RowBlocks, choice: Choice, block_rows: Any) -> RowBlocks:
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


def _refuse(source: Any) -> None:
    """Types that are not supported, though some of them could be iterated over."""
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


def _file_blocks(source: Any, choice: Choice, block_rows: Any) -> RowBlocks:
    files = found_files(source)
    kind = kind_of(files[0])
    if kind == "npy":
        return _array_blocks([npy_table(file) for file in files], choice, block_rows)
    return table_blocks([_READERS[kind](file) for file in files], choice, block_rows)


def _array_blocks(
    tables: list[ArrayTable], choice: Choice, block_rows: Any
) -> RowBlocks:
    target, y = _column_or_values(choice.target)
    weight, weights = _column_or_values(choice.weight)
    n_rows = sum(table.shape[0] for table in tables)
    for name, values in (("target", y), ("weight", weights)):
        check_length(name, values, n_rows, tables[0].where)
    columns = Choice(target, choice.features, weight)
    blocks = table_blocks(tables, columns, block_rows)
    return replace(blocks, y=y, weight=weights)


def _column_or_values(value: Any) -> tuple[Any, AnyArray | None]:
    if is_path(value) and os.fspath(value).lower().endswith(".npy"):
        return None, mapped(os.fspath(value))
    if value is None or isinstance(value, str) or np.ndim(value) == 0:
        return value, None
    return None, np.asarray(value)


def _arrow_blocks(source: Any, choice: Choice, block_rows: Any) -> RowBlocks:
    if _is_dataset(source):
        table = DatasetTable("the data set", source.schema, source)
        return table_blocks([table], choice, block_rows)
    if hasattr(source, "read_next_batch"):
        return stream_blocks(iter(source), choice, block_rows)
    if hasattr(source, "num_rows"):
        rows = MemoryTable("the table", arrow_rows(source))
        return table_blocks([rows], choice, block_rows)
    reader = load().RecordBatchReader.from_stream
    return stream_blocks(lambda: reader(source), choice, block_rows)


def _is_dataset(source: Any) -> bool:
    return hasattr(source, "scanner") and hasattr(source, "to_batches")


def _is_array(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__"))

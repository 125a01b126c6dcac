"""Rows of Dask collections: blocks that workers hold and compute on."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from relvec.blockwise import Cluster
from relvec.data.blocks import Block, make_block
from relvec.data.columns import ColumnChoice, Header, Location, Roles, assign_roles
from relvec.data.rows import FrameRows, TableRows, array_rows, is_frame
from relvec.parameters import optional_module
from relvec.typing import AnyArray

Result = TypeVar("Result")
State = TypeVar("State")


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection or a list of delayed blocks."""
    dask = sys.modules.get("dask")
    if dask is None or isinstance(X, np.ndarray):
        return False
    if isinstance(X, list | tuple) and len(X):
        return all(dask.is_dask_collection(one) for one in X)
    return bool(dask.is_dask_collection(X))


def dask_blocks(X: Any, y: Any = None, weight: Any = None) -> "DaskBlocks":
    """Make blocks of a Dask array, a data frame or a list of delayed blocks."""
    if type(X).__name__ == "Delayed":
        X = [X]
    if isinstance(X, list | tuple):
        if y is not None or weight is not None:
            raise ValueError("delayed blocks bring targets and weights: (X, y, weight)")
        return _from_delayed(list(X))
    header = _header(X)
    if header.names is None:
        check_sizes("X", X)
    _check_not_lost(X, y, weight)
    pieces = _delayed_rows(X)
    columns = [
        _aligned_chunks(name, one, X) for name, one in (("y", y), ("weight", weight))
    ]
    made = partial(_checked_block, assign_roles(header, ColumnChoice()))
    delayed = optional_module("dask", "Dask collections", "dask").delayed
    parts = tuple(
        delayed(made, pure=False)(number, piece, *beside)
        for number, (piece, *beside) in enumerate(
            zip(pieces, *(_or_nones(one, len(pieces)) for one in columns), strict=True)
        )
    )
    names = None if header.names is None else list(header.names)
    return DaskBlocks(parts, header.n_columns, names)


@dataclass(frozen=True)
class DaskBlocks:
    """Blocks that tasks of a cluster make when needed."""

    parts: tuple[Any, ...]  # delayed blocks
    n_features: int
    feature_names: list[str] | None
    repeatable: bool = True

    def __iter__(self) -> Iterator[Block]:
        return self.each(_only_block)

    def each(
        self,
        work: Callable[[tuple[Any, Block]], Result],
        items: Sequence[Any] | None = None,
    ) -> Iterator[Result]:
        """Apply ``work`` to every block, on the workers that hold it."""
        pairs = zip(items or range(len(self.parts)), self.parts, strict=True)
        return _results(_task(work, *pair) for pair in pairs)

    def fold(
        self,
        work: Callable[[State, tuple[Any, Block]], State],
        state: State,
        items: Sequence[Any],
        stop: Callable[[], bool],
    ) -> State:
        """Apply ``work`` to one block after another, passing the state on."""
        for pair in zip(items, self.parts, strict=True):
            if stop():
                break
            (state,) = _results([_task(partial(work, state), *pair)])
        return state


def _task(work: Callable[[tuple[Any, Block]], Any], item: Any, part: Any) -> Any:
    dask = optional_module("dask", "Dask collections", "dask")
    return dask.delayed(_apply, pure=False)(work, item, part)


def lazily(work: Callable[[Any], Any], X: Any) -> Any:
    """Apply a method to a collection lazily; return Dask arrays of its results."""
    if isinstance(X, list | tuple) or type(X).__name__ == "Delayed":
        raise ValueError(
            "of delayed blocks the numbers of rows are not known: give a Dask array or "
            "data frame, or predict each of them by dask.delayed(model.predict)(X)"
        )
    array = optional_module("dask.array", "Dask collections", "dask")
    delayed = optional_module("dask", "Dask collections", "dask").delayed
    _header(X)
    results = work(_example(X))
    count = len(results) if isinstance(results, tuple) else 1
    sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * X.npartitions
    nothing: Any = np.asarray(results)[:0]
    if count > 1:
        nothing = tuple(np.asarray(one)[:0] for one in results)
    # One delayed function for all pieces.
    called = delayed(
        partial(_apply_unless_empty, work, nothing), nout=count, pure=False
    )
    tasks = [called(piece) for piece in _delayed_rows(X)]

    def joined(number: int | None) -> Any:
        like = np.asarray(results if number is None else results[number])
        own = [task if number is None else task[number] for task in tasks]
        return array.concatenate(
            [
                array.from_delayed(one, (size, *like.shape[1:]), meta=like[:0])
                for one, size in zip(own, sizes, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )

    if not isinstance(results, tuple):
        return joined(None)
    return tuple(joined(number) for number in range(count))


def _apply_unless_empty(work: Callable[[Any], Any], nothing: Any, rows: Any) -> Any:
    return work(rows) if len(rows) else nothing


def _example(X: Any) -> Any:
    """Make a row with the columns and types of a collection."""
    if hasattr(X, "_meta_nonempty"):
        return X._meta_nonempty.iloc[:1]
    return np.zeros((1, X.shape[1]), dtype=X.dtype)


def _check_not_lost(*collections: Any) -> None:
    """Refuse rows persisted on a cluster that is closed."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return
    held = [one for one in collections if is_dask(one)]
    if any(one.client.status != "running" for one in distributed.futures_of(held)):
        raise ValueError(
            "these rows were persisted on a cluster whose client is closed, and are "
            "gone with it: make and persist them anew"
        )


def _header(X: Any) -> Header:
    """Find the columns of a collection; refuse other types."""
    if hasattr(X, "columns"):
        return FrameRows(X._meta).header("the Dask data frame")
    if not hasattr(X, "chunks"):
        raise ValueError(
            "X must be a Dask array, a Dask data frame or a list of delayed blocks; "
            f"got {type(X).__name__}"
        )
    if X.ndim != 2:
        raise ValueError(
            f"X must have rows and columns; got a Dask array of {X.ndim} dimensions: "
            "X[:, None] makes a single feature of it"
        )
    if X.dtype.kind not in "fiub":
        msg = f"X must hold real numbers; got a Dask array of type {X.dtype}"
        raise ValueError(msg)
    if np.isnan(X.shape[1]):
        msg = "the number of columns of the Dask array is unknown: give it known ones"
        raise ValueError(msg)
    return Header("the Dask array", None, X.shape[1])


def _delayed_rows(X: Any) -> list[Any]:
    """List the delayed rows of every chunk or partition, with all columns."""
    if hasattr(X, "columns"):
        return list(X.to_delayed())
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed().ravel())


def check_sizes(name: str, array: Any) -> None:
    """Refuse chunks of unknown sizes, whose rows have no numbers."""
    if np.isnan(array.chunks[0]).any():
        raise ValueError(
            f"the sizes of {name}'s chunks are unknown: {name}.compute_chunk_sizes() "
            "finds them; or give a Dask data frame, which needs none"
        )


def _aligned_chunks(name: str, values: Any, X: Any) -> Any:
    """Split targets or weights like the rows."""
    if values is None:
        return None
    if hasattr(X, "columns"):
        return _aligned_partitions(name, values, X)
    if not is_dask(values):
        if np.ndim(values) != 1:
            raise ValueError(f"give {name} one value for every row; got {values!r}")
        array = optional_module("dask.array", "Dask collections", "dask")
        values = array.from_array(np.asarray(values), chunks=-1)
    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array(lengths=True)
    check_sizes(name, values)
    if values.ndim != 1 or values.shape[0] != X.shape[0]:
        raise ValueError(
            f"{name} has shape {values.shape} and X {X.shape}: give one value for "
            "every row"
        )
    return list(values.rechunk({0: X.chunks[0]}).to_delayed())


def _aligned_partitions(name: str, values: Any, X: Any) -> list[Any]:
    if not hasattr(values, "npartitions") or not hasattr(values, "to_delayed"):
        raise ValueError(
            f"{name} must be a Dask series with the partitions of X; got "
            f"{type(values).__name__}"
        )
    if values.npartitions != X.npartitions:
        raise ValueError(
            f"{name} has {values.npartitions} partitions and X has {X.npartitions}: "
            "take both from the same data frame"
        )
    return list(np.ravel(values.to_delayed()))


def _or_nones(values: list[Any] | None, count: int) -> Iterable[Any]:
    return [None] * count if values is None else values


def _from_delayed(pieces: list[Any]) -> DaskBlocks:
    """Make blocks with the columns of the first one, which is computed to see them."""
    delayed = optional_module("dask", "Dask collections", "dask").delayed
    (header,) = _results([delayed(_header_of, pure=False)(pieces[0])])
    roles = assign_roles(header, ColumnChoice())
    parts = tuple(
        delayed(_block_from_tuple, pure=False)(roles, number, piece)
        for number, piece in enumerate(pieces)
    )
    names = None if header.names is None else list(header.names)
    return DaskBlocks(parts, header.n_columns, names)


def _header_of(piece: Any) -> Header:
    rows = piece[0] if isinstance(piece, tuple) else piece
    return _table_rows(rows, "block 1").header("block 1")


def _block_from_tuple(roles: Roles, number: int, piece: Any) -> Block:
    given = piece if isinstance(piece, tuple) else (piece,)
    if not 1 <= len(given) <= 3:
        msg = f"block {number + 1} is a tuple of {len(given)}; give (X, y) or (X, y, w)"
        raise ValueError(msg)
    X, y, weight = (*given, None, None)[:3]
    return _checked_block(roles, number, X, y, weight)


def _checked_block(roles: Roles, number: int, X: Any, y: Any, weight: Any) -> Block:
    """Check a block, which may have no rows."""
    where = f"block {number + 1}"
    rows = _table_rows(X, where)
    rows.header(where).check_matches(roles.header)
    beside = [None if one is None else _values(one) for one in (y, weight)]
    place = Location(where)
    return make_block(rows, roles, place, y=beside[0], weight=beside[1])


def _table_rows(X: Any, where: str) -> TableRows:
    return FrameRows(X) if is_frame(X) else array_rows(X, where)


def _values(column: Any) -> AnyArray:
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _only_block(numbered: tuple[int, Block]) -> Block:
    return numbered[1]


def _apply(work: Callable[[tuple[Any, Block]], Any], item: Any, block: Block) -> Any:
    return work((item, block))


def _results(tasks: Iterable[Any]) -> Iterator[Any]:
    """Compute tasks in order, by the client of this context or in this process."""
    client = _client()
    if client is None:
        return (task.compute() for task in tasks)
    return _cluster_results(client, tasks)


def _cluster_results(client: Any, tasks: Iterable[Any]) -> Iterator[Any]:
    """Compute on a cluster; secede from it if this is one of its tasks."""
    distributed = sys.modules["distributed"]
    try:
        distributed.get_worker()
    except ValueError:
        yield from Cluster(client).results(map(client.compute, tasks))
        return
    distributed.secede()
    try:
        yield from Cluster(client).results(map(client.compute, tasks))
    finally:
        distributed.rejoin()


def _client() -> Any:
    """Return the client that Dask would use, if any."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None

"""Rows in blocks, so that a fit can use more rows than memory holds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

from relvec.blockwise import engine
from relvec.data.columns import (
    ColumnChoice,
    Location,
    Roles,
    assign_roles,
    check_finite,
    check_length,
    checked_target,
    checked_weight,
    same_kind,
)
from relvec.data.rows import (
    FrameRows,
    TableRows,
    array_rows,
    arrow_rows,
    contiguous,
    is_arrow,
    is_frame,
)
from relvec.parameters import check_count
from relvec.typing import AnyArray, Array

Result = TypeVar("Result")
State = TypeVar("State")

# Numbers in a block: 16 MB of float64, enough to keep BLAS busy.
_BLOCK_ENTRIES = 2_000_000
_BLOCK_FORMS = "X, (X,), (X, y), (X, y, weight), a data frame or an Arrow table"
_REPEATABLE_REMEDY = (
    "pass a list of blocks, a file, or a function without arguments that returns a "
    "fresh iterator each time"
)


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a problem.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features: finite, float32 or float64, row- or column-major. It may be a view
        of the user's own array, so it is not to be written to.
    y : ndarray of shape (n_rows,) or None
        Targets as they are: numbers, booleans or text.
    weight : ndarray of shape (n_rows,) or None
        Sample weights: finite, at least zero, float64.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.data import Block
    >>> Block(np.ones((2, 3)), y=np.array([0.5, 1.5])).X.shape
    (2, 3)
    """

    X: AnyArray
    y: AnyArray | None = None
    weight: Array | None = None


def is_row_blocks(X: object) -> TypeGuard["RowBlocks"]:
    """Whether rows come in blocks; arrays are recognised quickly."""
    return not isinstance(X, np.ndarray) and isinstance(X, RowBlocks)


@runtime_checkable
class RowBlocks(Protocol):
    """A source of rows that yields them in order, a block at a time.

    :func:`~relvec.data.scan` makes one of files, tables, arrays and iterables. Rows
    are numbered through all blocks, in the order in which they come.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.data import RowBlocks, scan
    >>> blocks = scan(np.ones((5, 2)), block_rows=2)
    >>> isinstance(blocks, RowBlocks)
    True
    >>> [len(block.X) for block in blocks]
    [2, 2, 1]
    """

    @property
    def n_features(self) -> int:
        """Number of columns of X."""

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of X, if they have any."""

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read more than once."""

    def __iter__(self) -> Iterator[Block]: ...


@runtime_checkable
class DistributedBlocks(RowBlocks, Protocol):
    """Blocks that other processes hold: functions go to them, results come back.

    ``work`` receives an item and its block.
    """

    def each(
        self, work: Callable[[tuple[Any, Block]], Result], items: Sequence[Any] | None
    ) -> Iterator[Result]:
        """Apply ``work`` to every block and yield the results in order."""

    def fold(
        self,
        work: Callable[[State, tuple[Any, Block]], State],
        state: State,
        items: Sequence[Any],
        stop: Callable[[], bool],
    ) -> State:
        """Apply ``work`` to one block after another, passing the state on."""


def is_distributed(X: object) -> TypeGuard[DistributedBlocks]:
    """Whether rows are held by other processes."""
    return is_row_blocks(X) and isinstance(X, DistributedBlocks)


def each_block(
    blocks: RowBlocks,
    work: Callable[[tuple[Any, Block]], Result],
    items: Sequence[Any] | None = None,
) -> Iterator[Result]:
    """Apply ``work`` to every block, by the engine of this context.

    ``work`` receives an item and its block; by default items are block numbers.
    """
    if is_distributed(blocks):
        return blocks.each(work, items)
    return engine().map(work, zip(items or count(), blocks, strict=False))


def fold_blocks(
    blocks: RowBlocks,
    work: Callable[[State, tuple[Any, Block]], State],
    state: State,
    items: Sequence[Any],
    stop: Callable[[], bool],
) -> State:
    """Apply ``work`` to one block after another, passing the state on.

    It ends early when ``stop`` returns true.
    """
    if is_distributed(blocks):
        return blocks.fold(work, state, items, stop)
    for pair in zip(items, blocks, strict=True):
        if stop():
            break
        state = work(state, pair)
    return state


def rows_per_block(block_rows: Any, n_features: int) -> int:
    """Return the given number, or as many rows as make two million numbers."""
    if block_rows is None:
        return max(1, _BLOCK_ENTRIES // n_features)
    check_count("block_rows", block_rows)
    return int(block_rows)


def make_block(
    rows: TableRows,
    roles: Roles,
    place: Location,
    *,
    y: AnyArray | None = None,
    weight: AnyArray | None = None,
) -> Block:
    """Check features, target and weight; the last two are columns or given."""
    header = roles.header
    X = rows.matrix(roles, place)
    check_finite(X, place, roles.feature_labels)
    target_label, weight_label = "target", "weight"
    if roles.target is not None:
        y, target_label = rows.column(roles.target), header.label(roles.target)
    if roles.weight is not None:
        weight, weight_label = rows.column(roles.weight), header.label(roles.weight)
    if y is not None:
        y = checked_target(np.asarray(y), place, target_label)
        check_length("the target", y, len(X), place.where)
    if weight is not None:
        weight = checked_weight(np.asarray(weight), place, weight_label)
        check_length("the weight", weight, len(X), place.where)
    return Block(X, y, weight)


def slice_optional(values: AnyArray | None, part: slice) -> AnyArray | None:
    """Slice values that may be None."""
    return None if values is None else values[part]


@dataclass(frozen=True)
class ResizedBlocks:
    """Another source with its larger blocks split."""

    source: RowBlocks
    block_rows: int
    n_features: int
    feature_names: list[str] | None
    repeatable: bool

    def __iter__(self) -> Iterator[Block]:
        return (part for block in iter(self.source) for part in self._split(block))

    def _split(self, block: Block) -> Iterator[Block]:
        for start in range(0, len(block.X), self.block_rows):
            part = slice(start, start + self.block_rows)
            y, weight = (
                slice_optional(block.y, part),
                slice_optional(block.weight, part),
            )
            yield Block(contiguous(block.X[part]), y, weight)


class BlockParts(NamedTuple):
    """Rows, targets and weights of an item of an iterable."""

    rows: TableRows
    y: AnyArray | None
    weight: AnyArray | None


@dataclass(eq=False)
class IterableBlocks:
    """Blocks of an iterable, with the large ones split."""

    begin: Callable[[], Iterator[Any]]
    roles: Roles
    block_rows: int
    repeatable: bool
    started: bool = False

    @property
    def n_features(self) -> int:
        return len(self.roles.features)

    @property
    def feature_names(self) -> list[str] | None:
        return self.roles.feature_names

    def __iter__(self) -> Iterator[Block]:
        if self.started and not self.repeatable:
            raise ValueError(
                "the blocks come from an iterator that has been used up, and this "
                f"needs them again; {_REPEATABLE_REMEDY}"
            )
        self.started = True
        return self._iterate()

    def _iterate(self) -> Iterator[Block]:
        kind: str | None = None
        weighted: bool | None = None
        for number, item in enumerate(self.begin(), start=1):
            where = f"block {number}"
            piece = _split_block(item, where)
            piece.rows.header(where).check_matches(self.roles.header)
            _check_one_source(piece, self.roles, where)
            for start in range(0, len(piece.rows), self.block_rows):
                block = self._sub_block(piece, where, start)
                kind = same_kind(kind, block.y, where)
                weighted = _same_weighting(weighted, block, where)
                yield block
        if kind is None:
            raise _no_rows_error()

    def _sub_block(self, piece: BlockParts, where: str, start: int) -> Block:
        part = slice(start, min(len(piece.rows), start + self.block_rows))
        rows = piece.rows.part(part.start, part.stop)
        y, weight = slice_optional(piece.y, part), slice_optional(piece.weight, part)
        return make_block(rows, self.roles, Location(where, start), y=y, weight=weight)


def iterable_blocks(
    source: Iterable[Any] | Callable[[], Iterable[Any]],
    choice: ColumnChoice,
    block_rows: Any,
) -> IterableBlocks:
    """Make a source of rows with the columns of the first block."""
    begin, first, repeatable = _first_pass(source)
    where = "block 1"
    piece = _split_block(first, where)
    roles = assign_roles(piece.rows.header(where), choice)
    _check_one_source(piece, roles, where)
    # Check types of columns now, before the first pass.
    piece.rows.part(0, 1).matrix(roles, Location(where))
    size = rows_per_block(block_rows, len(roles.features))
    return IterableBlocks(begin, roles, size, repeatable)


def _first_pass(source: Any) -> tuple[Callable[[], Iterator[Any]], Any, bool]:
    """Return a function that starts a pass, the first item, and repeatability."""
    if isinstance(source, Iterator):
        first = _first_item(source)
        waiting = [first]
        return lambda: chain([waiting.pop()], source), first, False
    if isinstance(source, Iterable):
        return lambda: iter(source), _first_item(source), True
    earlier: Any = source()
    first = _first_item(earlier)
    if iter(earlier) is earlier and hasattr(earlier, "close"):
        earlier.close()
    return lambda: _new_pass(source, earlier), first, True


def _first_item(items: Any) -> Any:
    if not isinstance(items, Iterable):
        raise TypeError(
            "the function must return an iterable of blocks; it returned "
            f"{type(items).__name__}"
        )
    for item in items:
        return item
    raise _no_rows_error()


def _new_pass(function: Callable[[], Iterable[Any]], earlier: Any) -> Iterator[Any]:
    items = function()
    if items is earlier and iter(items) is items:
        raise ValueError(
            "the function returned the same iterator twice, and some of its blocks are "
            "gone; it must make a fresh one at each call"
        )
    return iter(items)


def _no_rows_error() -> ValueError:
    return ValueError("there are no rows: the iterable yields no block that has any")


def _split_block(item: Any, where: str) -> BlockParts:
    if isinstance(item, Block):
        item = (item.X, item.y, item.weight)
    if not isinstance(item, tuple):
        item = (item,)
    elif not 1 <= len(item) <= 3:
        raise ValueError(
            f"{where} is a tuple of {len(item)}; a block is {_BLOCK_FORMS}"
        )
    rows = _table_rows(item[0], where)
    extras = [None if part is None else np.atleast_1d(part) for part in item[1:]]
    for name, values in zip(("y", "weight"), extras, strict=False):
        check_length(name, values, len(rows), where)
    y, weight = (*extras, None, None)[:2]
    return BlockParts(rows, y, weight)


def _table_rows(source: Any, where: str) -> TableRows:
    if is_frame(source):
        return FrameRows(source)
    if is_arrow(source):
        return arrow_rows(source)
    if hasattr(source, "__array__"):
        return array_rows(source, where)
    msg = f"{where} is of type {type(source).__name__}; a block is {_BLOCK_FORMS}"
    raise ValueError(msg)


def _check_one_source(piece: BlockParts, roles: Roles, where: str) -> None:
    pairs = (("target", piece.y, roles.target), ("weight", piece.weight, roles.weight))
    for name, values, column in pairs:
        if values is not None and column is not None:
            raise ValueError(
                f"{name} is a column of the blocks, but {where} also comes with one of "
                f"its own; leave out {name}= or give blocks without it"
            )


def _same_weighting(before: bool | None, block: Block, where: str) -> bool:
    now = block.weight is not None
    if before not in (None, now):
        raise ValueError(f"{where}: give weights with every block or with none")
    return now

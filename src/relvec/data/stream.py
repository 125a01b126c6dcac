"""Iterables of blocks, and functions that return one, as a source of rows."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from relvec.data.arrow import arrow_rows, is_arrow
from relvec.data.blocks import Block, make_block, rows_per_block, sliced
from relvec.data.checks import Place, check_length, same_kind
from relvec.data.roles import Choice, Roles, assign
from relvec.data.rows import FrameRows, TableRows, array_rows, is_frame
from relvec.typing import AnyArray

_A_BLOCK = "X, (X,), (X, y), (X, y, weight), a data frame or an Arrow table"
_REMEDY = (
    "pass a list of blocks, a file, or a function without arguments that returns a "
    "fresh iterator each time"
)


class Piece(NamedTuple):
    """What came out of an iterable, taken apart."""

    rows: TableRows
    y: AnyArray | None
    weight: AnyArray | None


@dataclass(eq=False)
class StreamBlocks:
    """Blocks of an iterable, the large ones split."""

    begin: Callable[[], Iterator[Any]]
    roles: Roles
    block_rows: int
    repeatable: bool
    begun: bool = False

    @property
    def n_features(self) -> int:
        return len(self.roles.features)

    @property
    def feature_names(self) -> list[str] | None:
        return self.roles.feature_names

    def __iter__(self) -> Iterator[Block]:
        if self.begun and not self.repeatable:
            raise ValueError(
                "the blocks come from an iterator that has been used up, and this "
                f"needs them again; {_REMEDY}"
            )
        self.begun = True
        return self._blocks()

    def _blocks(self) -> Iterator[Block]:
        kind: str | None = None
        weighted: bool | None = None
        for number, item in enumerate(self.begin(), start=1):
            where = f"block {number}"
            piece = _taken_apart(item, where)
            piece.rows.heading(where).check_same(self.roles.heading)
            _check_given_once(piece, self.roles, where)
            for start in range(0, len(piece.rows), self.block_rows):
                block = self._part(piece, where, start)
                kind = same_kind(kind, block.y, where)
                weighted = _same_weighting(weighted, block, where)
                yield block
        if kind is None:
            raise _nothing()

    def _part(self, piece: Piece, where: str, start: int) -> Block:
        part = slice(start, min(len(piece.rows), start + self.block_rows))
        rows = piece.rows.part(part.start, part.stop)
        y, weight = sliced(piece.y, part), sliced(piece.weight, part)
        return make_block(rows, self.roles, Place(where, start), y=y, weight=weight)


def stream_blocks(
    source: Iterable[Any] | Callable[[], Iterable[Any]], choice: Choice, block_rows: Any
) -> StreamBlocks:
    """A source of rows whose columns are those of the first block."""
    begin, first, repeatable = _begun(source)
    where = "block 1"
    piece = _taken_apart(first, where)
    roles = assign(piece.rows.heading(where), choice)
    _check_given_once(piece, roles, where)
    # Types of columns are part of the heading: find out now whether they will do.
    piece.rows.part(0, 1).matrix(roles, Place(where))
    size = rows_per_block(block_rows, len(roles.features))
    return StreamBlocks(begin, roles, size, repeatable)


def _begun(source: Any) -> tuple[Callable[[], Iterator[Any]], Any, bool]:
    """How to begin a pass, the first block, and whether there can be another pass."""
    if isinstance(source, Iterator):
        first = _first_of(source)
        waiting = [first]
        return lambda: chain([waiting.pop()], source), first, False
    if isinstance(source, Iterable):
        return lambda: iter(source), _first_of(source), True
    earlier: Any = source()
    first = _first_of(earlier)
    if iter(earlier) is earlier and hasattr(earlier, "close"):
        earlier.close()
    return lambda: _afresh(source, earlier), first, True


def _first_of(items: Any) -> Any:
    if not isinstance(items, Iterable):
        raise TypeError(
            "the function must return an iterable of blocks; it returned "
            f"{type(items).__name__}"
        )
    for item in items:
        return item
    raise _nothing()


def _afresh(function: Callable[[], Iterable[Any]], earlier: Any) -> Iterator[Any]:
    items = function()
    if items is earlier and iter(items) is items:
        raise ValueError(
            "the function returned the same iterator twice, and some of its blocks are "
            "gone; it must make a fresh one at each call"
        )
    return iter(items)


def _nothing() -> ValueError:
    return ValueError("there are no rows: the iterable yields no block that has any")


def _taken_apart(item: Any, where: str) -> Piece:
    if isinstance(item, Block):
        item = (item.X, item.y, item.weight)
    if not isinstance(item, tuple):
        item = (item,)
    elif not 1 <= len(item) <= 3:
        raise ValueError(f"{where} is a tuple of {len(item)}; a block is {_A_BLOCK}")
    rows = _as_rows(item[0], where)
    extras = [None if part is None else np.atleast_1d(part) for part in item[1:]]
    for name, values in zip(("y", "weight"), extras, strict=False):
        check_length(name, values, len(rows), where)
    y, weight = (*extras, None, None)[:2]
    return Piece(rows, y, weight)


def _as_rows(source: Any, where: str) -> TableRows:
    if is_frame(source):
        return FrameRows(source)
    if is_arrow(source):
        return arrow_rows(source)
    if hasattr(source, "__array__"):
        return array_rows(source, where)
    msg = f"{where} is of type {type(source).__name__}; a block is {_A_BLOCK}"
    raise ValueError(msg)


def _check_given_once(piece: Piece, roles: Roles, where: str) -> None:
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

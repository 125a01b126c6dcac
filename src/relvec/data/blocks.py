"""Rows in blocks: what a fit on more rows than memory holds is given."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

from relvec.blockwise import engine
from relvec.data.checks import (
    Place,
    check_finite,
    check_length,
    checked_target,
    checked_weight,
)
from relvec.data.roles import Roles
from relvec.data.rows import TableRows, contiguous
from relvec.parameters import check_count
from relvec.typing import AnyArray, Array

Result = TypeVar("Result")
State = TypeVar("State")

# Numbers in a block: 16 megabytes of float64, enough to keep BLAS busy.
_BLOCK_ENTRIES = 2_000_000


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
    """Whether rows come in blocks; an array is told at once."""
    return not isinstance(X, np.ndarray) and isinstance(X, RowBlocks)


@runtime_checkable
class RowBlocks(Protocol):
    """A source of rows, in order, some at a time.

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
        """Whether the rows can be gone through more than once."""

    def __iter__(self) -> Iterator[Block]: ...


@runtime_checkable
class Elsewhere(RowBlocks, Protocol):
    """Blocks that are worked on where they are.

    The work is told something of every block, and has the block itself.
    """

    def each(
        self, work: Callable[[tuple[Any, Block]], Result], told: Sequence[Any] | None
    ) -> Iterator[Result]:
        """The work on every block, in their order."""

    def fold(
        self,
        work: Callable[[State, tuple[Any, Block]], State],
        state: State,
        told: Sequence[Any],
        stop: Callable[[], bool],
    ) -> State:
        """The work on one after another, each beginning with what is so far."""


def is_elsewhere(X: object) -> TypeGuard[Elsewhere]:
    """Whether rows are worked on where they are."""
    return is_row_blocks(X) and isinstance(X, Elsewhere)


def each_block(
    blocks: RowBlocks,
    work: Callable[[tuple[Any, Block]], Result],
    told: Sequence[Any] | None = None,
) -> Iterator[Result]:
    """The work on every block, by whoever does it in this context.

    It gets what it is told of the block, by default its number, and the block.
    """
    if is_elsewhere(blocks):
        return blocks.each(work, told)
    return engine().map(work, zip(told or count(), blocks, strict=False))


def fold_blocks(
    blocks: RowBlocks,
    work: Callable[[State, tuple[Any, Block]], State],
    state: State,
    told: Sequence[Any],
    stop: Callable[[], bool],
) -> State:
    """The work on one block after another, each beginning with what is so far.

    It is over when ``stop`` says so.
    """
    if is_elsewhere(blocks):
        return blocks.fold(work, state, told, stop)
    for item in zip(told, blocks, strict=True):
        if stop():
            break
        state = work(state, item)
    return state


def rows_per_block(block_rows: Any, n_features: int) -> int:
    """What the user asked for, or as many rows as make two million numbers."""
    if block_rows is None:
        return max(1, _BLOCK_ENTRIES // n_features)
    check_count("block_rows", block_rows)
    return int(block_rows)


def make_block(
    rows: TableRows,
    roles: Roles,
    place: Place,
    *,
    y: AnyArray | None = None,
    weight: AnyArray | None = None,
) -> Block:
    """Checked features, target and weight; the last two from columns or as given."""
    heading = roles.heading
    X = rows.matrix(roles, place)
    check_finite(X, place, roles.feature_labels)
    target_label, weight_label = "target", "weight"
    if roles.target is not None:
        y, target_label = rows.column(roles.target), heading.label(roles.target)
    if roles.weight is not None:
        weight, weight_label = rows.column(roles.weight), heading.label(roles.weight)
    if y is not None:
        y = checked_target(np.asarray(y), place, target_label)
        check_length("the target", y, len(X), place.where)
    if weight is not None:
        weight = checked_weight(np.asarray(weight), place, weight_label)
        check_length("the weight", weight, len(X), place.where)
    return Block(X, y, weight)


def sliced(values: AnyArray | None, part: slice) -> AnyArray | None:
    """Some of the values, if there are any."""
    return None if values is None else values[part]


@dataclass(frozen=True)
class ResizedBlocks:
    """Another source, its larger blocks split."""

    source: RowBlocks
    block_rows: int
    n_features: int
    feature_names: list[str] | None
    repeatable: bool

    def __iter__(self) -> Iterator[Block]:
        return (part for block in iter(self.source) for part in self._parts(block))

    def _parts(self, block: Block) -> Iterator[Block]:
        for start in range(0, len(block.X), self.block_rows):
            part = slice(start, start + self.block_rows)
            y, weight = sliced(block.y, part), sliced(block.weight, part)
            yield Block(contiguous(block.X[part]), y, weight)

"""Rows in blocks: what a fit on more rows than memory holds is given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from relvec.data.checks import (
    Place,
    check_finite,
    check_length,
    checked_target,
    checked_weight,
)
from relvec.data.roles import Choice, Roles, assign
from relvec.data.rows import ArrayRows, Rows, check_array, contiguous
from relvec.parameters import check_count
from relvec.typing import AnyArray, Array

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


def rows_per_block(block_rows: Any, n_features: int) -> int:
    """What the user asked for, or as many rows as make two million numbers."""
    if block_rows is None:
        return max(1, _BLOCK_ENTRIES // n_features)
    check_count("block_rows", block_rows)
    return int(block_rows)


def make_block(
    rows: Rows,
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
        check_length("the target", len(y), len(X), place.where)
    if weight is not None:
        weight = checked_weight(np.asarray(weight), place, weight_label)
        check_length("the weight", len(weight), len(X), place.where)
    return Block(X, y, weight)


@dataclass(frozen=True)
class ArrayBlocks:
    """Rows of an array, a memory map or anything sliced like one."""

    X: Any
    roles: Roles
    y: AnyArray | None
    weight: AnyArray | None
    block_rows: int
    repeatable: bool = True

    @property
    def n_features(self) -> int:
        return len(self.roles.features)

    @property
    def feature_names(self) -> list[str] | None:
        return None

    def __iter__(self) -> Iterator[Block]:
        where = self.roles.heading.where
        for start in range(0, len(self.X), self.block_rows):
            part = slice(start, start + self.block_rows)
            yield make_block(
                ArrayRows(np.asarray(self.X[part])),
                self.roles,
                Place(where, start),
                y=None if self.y is None else self.y[part],
                weight=None if self.weight is None else self.weight[part],
            )


def array_blocks(
    X: Any,
    y: Any = None,
    weight: Any = None,
    block_rows: int | None = None,
    *,
    choice: Choice | None = None,
) -> ArrayBlocks:
    """Rows of an array with their targets and weights, a view at a time.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        An array, a memory map or anything that has a shape and gives rows when
        sliced.
    y, weight : array-like of shape (n_rows,), optional
        Targets and sample weights.
    block_rows : int, optional
        Rows in a block; by default as many as make two million numbers.
    choice : Choice, optional
        Columns of X that are features, target and weight.

    Returns
    -------
    ArrayBlocks
        A repeatable source of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.data.blocks import array_blocks
    >>> blocks = array_blocks(np.eye(3), y=[1, 2, 3], block_rows=2)
    >>> [block.y.tolist() for block in blocks]
    [[1, 2], [3]]
    """
    where = "the array"
    n_rows = _checked_rows(X, where)
    roles = assign(ArrayRows(np.asarray(X[:1])).heading(where), choice or Choice())
    targets, weights = (
        None if values is None else np.asarray(values) for values in (y, weight)
    )
    for name, values in (("target", targets), ("weight", weights)):
        if values is not None:
            check_length(name, len(np.atleast_1d(values)), n_rows, where)
    size = rows_per_block(block_rows, len(roles.features))
    return ArrayBlocks(X, roles, targets, weights, size)


def _checked_rows(X: Any, where: str) -> int:
    """Number of rows of a two-dimensional array that has some."""
    shape = tuple(X.shape)
    # The types of other libraries are known once some rows are an array.
    dtype = np.asarray(X[:1]).dtype if shape else np.dtype(float)
    check_array(shape, dtype, where)
    if shape[0] == 0:
        msg = f"{where} has no rows; pass at least one"
        raise ValueError(msg)
    return int(shape[0])


@dataclass(frozen=True)
class ResizedBlocks:
    """Another source, its larger blocks split."""

    source: RowBlocks
    block_rows: int

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @property
    def feature_names(self) -> list[str] | None:
        return self.source.feature_names

    @property
    def repeatable(self) -> bool:
        return self.source.repeatable

    def __iter__(self) -> Iterator[Block]:
        return (part for block in iter(self.source) for part in self._parts(block))

    def _parts(self, block: Block) -> Iterator[Block]:
        for start in range(0, len(block.X), self.block_rows):
            part = slice(start, start + self.block_rows)
            yield Block(
                contiguous(block.X[part]),
                None if block.y is None else block.y[part],
                None if block.weight is None else block.weight[part],
            )

"""Tables that are read stretch by stretch, and the source of rows they make."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from relvec.data.arrow import (
    arrow_rows,
    check_types,
    reading,
    regrouped,
    schema_float_type,
)
from relvec.data.blocks import Block, make_block, rows_per_block
from relvec.data.checks import Place, same_kind
from relvec.data.roles import Choice, Heading, Roles, assign
from relvec.data.rows import FrameRows, Rows
from relvec.typing import AnyArray


class Table(Protocol):
    """A file or a table in memory: its columns at once, its rows in stretches."""

    @property
    def heading(self) -> Heading:
        """The columns there are, and the table's name for messages."""

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        """What its features need; an error if they are not numbers."""

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[Rows]:
        """Rows in order, at most so many at a time, of the columns with a role."""

    def place(self, row: int) -> Place:
        """How a message names the row with this number."""


@dataclass(frozen=True)
class TableBlocks:
    """Rows of one or more tables with the same columns, one table after another."""

    tables: Sequence[Table]
    roles: Roles
    float_type: np.dtype[Any]
    block_rows: int
    y: AnyArray | None = None  # targets and weights that are no columns
    weight: AnyArray | None = None
    repeatable: bool = True

    @property
    def n_features(self) -> int:
        return len(self.roles.features)

    @property
    def feature_names(self) -> list[str] | None:
        return self.roles.feature_names

    def __iter__(self) -> Iterator[Block]:
        kind: str | None = None
        before = 0
        for table in self.tables:
            row = 0
            for rows in table.stretches(self.roles, self.block_rows):
                block = self._block(rows, table.place(row), before + row)
                kind = same_kind(kind, block.y, table.heading.where)
                yield block
                row += len(rows)
            if row == 0:
                raise no_rows(table.heading.where)
            before += row

    def _block(self, rows: Rows, place: Place, start: int) -> Block:
        part = slice(start, start + len(rows))
        block = make_block(
            rows,
            self.roles,
            place,
            y=None if self.y is None else self.y[part],
            weight=None if self.weight is None else self.weight[part],
        )
        # One type for all files, though the columns of some may need less.
        X = block.X.astype(self.float_type, copy=False)
        return Block(X, block.y, block.weight)


def table_blocks(
    tables: Sequence[Table], choice: Choice, block_rows: Any
) -> TableBlocks:
    """The columns of the choice of all tables, checked as far as headings tell."""
    first = tables[0].heading
    roles = assign(first, choice)
    for table in tables[1:]:
        table.heading.check_same(first)
    types = [table.float_type(roles) for table in tables]
    size = rows_per_block(block_rows, len(roles.features))
    return TableBlocks(tables, roles, np.result_type(*types), size)


def no_rows(where: str) -> ValueError:
    """The refusal of a table without rows."""
    return ValueError(f"{where} has no rows; leave it out, or write it again with rows")


@dataclass(frozen=True)
class MemoryTable:
    """A data frame or an Arrow table, sliced without a copy."""

    rows: Rows
    where: str

    @property
    def heading(self) -> Heading:
        return self.rows.heading(self.where)

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        if len(self.rows) == 0:
            raise no_rows(self.where)
        return self.rows.part(0, 1).matrix(roles, self.place(0)).dtype

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[Rows]:
        del roles  # slicing all columns costs nothing
        for start in range(0, len(self.rows), n_rows):
            yield self.rows.part(start, min(len(self.rows), start + n_rows))

    def place(self, row: int) -> Place:
        return Place(self.where, row)


def memory_table(source: Any, *, frame: bool) -> MemoryTable:
    """A data frame, or a table of Arrow."""
    if frame:
        return MemoryTable(FrameRows(source), "the data frame")
    return MemoryTable(arrow_rows(source), "the table")


@dataclass(frozen=True)
class DatasetTable:
    """A data set of pyarrow, of which only the needed columns are read."""

    dataset: Any
    where: str = "the data set"

    @property
    def heading(self) -> Heading:
        names = tuple(self.dataset.schema.names)
        return Heading(self.where, names, len(names))

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        check_types(self.dataset.schema, roles, self.where)
        return schema_float_type(self.dataset.schema, roles)

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[Rows]:
        names = self.heading.names or ()
        # Little is read ahead, because all that is ahead is held in memory.
        with reading(self.where, "write or copy the damaged file again"):
            batches = self.dataset.to_batches(
                columns=[names[position] for position in roles.columns],
                batch_size=n_rows,
                batch_readahead=1,
                fragment_readahead=1,
            )
            yield from regrouped(batches, names, n_rows)

    def place(self, row: int) -> Place:
        return Place(self.where, row)

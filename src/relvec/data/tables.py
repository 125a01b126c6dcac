"""Tables that are read stretch by stretch, and the source of rows they make."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.data.arrow import check_types, reading, regrouped, schema_float_type
from relvec.data.blocks import Block, make_block, rows_per_block, sliced
from relvec.data.checks import Place, same_kind
from relvec.data.roles import Choice, Heading, Roles, assign
from relvec.data.rows import TableRows
from relvec.typing import AnyArray


@dataclass(frozen=True)
class Table(ABC):
    """A file or a table in memory: its columns at once, its rows in stretches."""

    where: str  # its name for messages

    @property
    @abstractmethod
    def heading(self) -> Heading:
        """The columns there are."""

    @abstractmethod
    def float_type(self, roles: Roles) -> np.dtype[Any]:
        """What its features need; an error if they are not numbers."""

    @abstractmethod
    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        """Rows in order, at most so many at a time, of the columns with a role."""

    def place(self, row: int) -> Place:
        """How a message names the row with this number."""
        return Place(self.where, row)


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
                kind = same_kind(kind, block.y, table.where)
                yield block
                row += len(rows)
            if row == 0:
                raise no_rows(table.where)
            before += row

    def _block(self, rows: TableRows, place: Place, start: int) -> Block:
        part = slice(start, start + len(rows))
        y, weight = sliced(self.y, part), sliced(self.weight, part)
        block = make_block(rows, self.roles, place, y=y, weight=weight)
        # One type for all files, though the columns of some may need less.
        return replace(block, X=block.X.astype(self.float_type, copy=False))


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


def no_rows(
    where: str, remedy: str = "leave it out, or write it again with rows"
) -> ValueError:
    """The refusal of a table without rows."""
    return ValueError(f"{where} has no rows; {remedy}")


@dataclass(frozen=True)
class MemoryTable(Table):
    """A data frame or an Arrow table, sliced without a copy."""

    rows: TableRows

    @property
    def heading(self) -> Heading:
        return self.rows.heading(self.where)

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        if len(self.rows) == 0:
            raise no_rows(self.where)
        return self.rows.part(0, 1).matrix(roles, self.place(0)).dtype

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        del roles  # slicing all columns costs nothing
        for start in range(0, len(self.rows), n_rows):
            yield self.rows.part(start, min(len(self.rows), start + n_rows))


@dataclass(frozen=True)
class SchemaTable(Table):
    """A table whose columns are known from a schema of Arrow's."""

    schema: Any

    @property
    def heading(self) -> Heading:
        return Heading(self.where, tuple(self.schema.names), len(self.schema.names))

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        check_types(self.schema, roles, self.where)
        return schema_float_type(self.schema, roles)

    def needed(self, roles: Roles) -> list[str]:
        """Names of the columns with a role."""
        return [self.schema.names[position] for position in roles.columns]


@dataclass(frozen=True)
class DatasetTable(SchemaTable):
    """A data set of pyarrow, of which only the needed columns are read."""

    dataset: Any

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        # Little is read ahead, because all that is ahead is held in memory.
        with reading(self.where, "write or copy the damaged file again"):
            batches = self.dataset.to_batches(
                columns=self.needed(roles),
                batch_size=n_rows,
                batch_readahead=1,
                fragment_readahead=1,
            )
            yield from regrouped(batches, self.schema.names, n_rows)

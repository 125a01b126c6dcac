"""What a report is made of: sections of facts, tables and figures, as values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

_LONGEST = 60  # characters of a heading; the rest is shown to whoever points at it

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for, in the order to read them."""

    values: Mapping[str, Cell]
    kind: str = field(default="facts", init=False)


@dataclass(frozen=True)
class Table:
    """Rows that a reader can sort; numbers are sorted as such."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    kind: str = field(default="table", init=False)

    def is_number(self, column: int) -> bool:
        """Whether a column is set flush right."""
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and not any(isinstance(cell, str | bool) for cell in cells)


@dataclass(frozen=True)
class Matrix:
    """Counts of pairs of labels, shaded by their share of a row."""

    caption: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    kind: str = field(default="matrix", init=False)

    def share(self, row: int, column: int) -> float:
        """Of the row."""
        return self.counts[row][column] / max(sum(self.counts[row]), 1)


@dataclass(frozen=True)
class Figure:
    """A drawing, as the text of an SVG element."""

    svg: str
    caption: str
    kind: str = field(default="figure", init=False)


@dataclass(frozen=True)
class Code:
    """What a reader may copy."""

    text: str
    caption: str
    kind: str = field(default="code", init=False)


Block: TypeAlias = Facts | Table | Matrix | Figure | Code


@dataclass(frozen=True)
class Section:
    """A heading, what it is about, and what it shows."""

    name: str  # of its place in the page
    title: str
    text: str
    blocks: tuple[Block, ...]


def plain(value: Any) -> Cell:
    """A cell of what numpy or a table holds; no number is None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def shown(cell: Cell) -> str:
    """As people read it: numbers to four digits, nothing as a dash."""
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        large = 1e4 <= abs(cell) < 1e12
        text = f"{cell:,.0f}" if large else f"{cell:.4g}"
        return text.replace("-", "−")
    if isinstance(cell, int):
        return f"{cell:,}".replace("-", "−")
    return cell


def heading(name: str) -> str:
    """So much of a name as a column has room for."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"

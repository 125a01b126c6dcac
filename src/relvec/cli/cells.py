"""What the text of CSV cells means, wherever a block of rows begins or ends.

Values are those that pandas finds in a whole column; a block alone might be whole
numbers where others have fractions.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from relvec.cli.exits import Problem
from relvec.cli.tables import rows_named

TEXT = pa.large_string()
# The documented na_values of pandas.read_csv.
_NOTHING = pa.array(
    [
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
        "",
    ]
)
_TRUE = pa.array(["True", "TRUE", "true"])
_TRUTHS = pa.array([*_TRUE.to_pylist(), "False", "FALSE", "false"])


class Cells:
    """Makes numbers and text of cells; remembers what columns of numbers hold."""

    def __init__(self) -> None:
        self._truths: dict[str, bool] = {}

    def frame(
        self, rows: pa.Table, numbers: Collection[str], first: int
    ) -> pd.DataFrame:
        """Values of the rows from the given one on; text where no number is found."""
        made = {}
        for name in rows.column_names:
            cells = present(rows[name])
            made[name] = self._values(cells, name, first) if name in numbers else cells
        index = pd.RangeIndex(first, first + len(rows))
        return pa.table(made).to_pandas(ignore_metadata=True).set_axis(index)

    def _values(self, cells: Any, name: str, first: int) -> Any:
        known = cells.drop_null()
        if not len(known):
            return cells.cast(pa.float64())
        truths = compute.is_in(known, _TRUTHS.cast(cells.type))
        only = bool(compute.all(truths).as_py())
        if self._truths.setdefault(name, only):
            _check_truths(cells, name, first)
            return as_type(cells, pa.bool_())
        try:
            return as_type(cells, pa.float64())
        except (pa.ArrowInvalid, ValueError):
            return cells  # whoever needs numbers names the rows


def _check_truths(cells: Any, name: str, first: int) -> None:
    """Refuse a number, or any text, where all above it were truth values."""
    frame = cells.to_pandas()
    others = (frame.notna() & ~frame.isin(_TRUTHS.to_pylist())).to_numpy()
    if others.any():
        raise Problem(
            f"column {name!r} has {frame[others].iloc[0]!r} in "
            f"{rows_named(others, first)}, and True or False above: correct it"
        )


def present(cells: Any) -> Any:
    """Cells, and nothing where there is none."""
    nothing = compute.is_in(cells, _NOTHING.cast(cells.type))
    return compute.if_else(nothing, pa.scalar(None, cells.type), cells)


def as_type(cells: Any, kind: pa.DataType) -> Any:
    """Values of text and of nothing."""
    if pa.types.is_boolean(kind):
        truths = compute.is_in(cells, _TRUE.cast(cells.type))
        return compute.if_else(cells.is_null(), pa.scalar(None, kind), truths)
    if kind == TEXT:
        return cells
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:  # pandas reads blanks about numbers and signs before them
        found = pd.to_numeric(cells.to_pandas())
        return pa.chunked_array([pa.Array.from_pandas(found).cast(kind)])


def kinds_of(frames: Iterable[pd.DataFrame]) -> dict[str, pa.DataType]:
    """What pandas would find in whole columns, from what it finds in parts of them."""
    found: dict[str, set[str]] = {}
    for frame in frames:
        for name, column in frame.items():
            found.setdefault(str(name), set()).update(_signs(column))
    return {name: _kind(signs) for name, signs in found.items()}


def _signs(column: pd.Series) -> Iterator[str]:
    """A letter for the values, and another for gaps."""
    known = column.dropna()
    if len(known) < len(column):
        yield "gap"
    if not len(known):
        return
    if pd.api.types.is_bool_dtype(known.dtype):
        yield "truth"
    elif pd.api.types.is_signed_integer_dtype(known.dtype):
        yield "whole"
    elif pd.api.types.is_numeric_dtype(known.dtype):
        yield "float"
    else:
        truths = known.map(lambda cell: isinstance(cell, bool)).all()
        yield "truth" if truths else "text"


def _kind(signs: set[str]) -> pa.DataType:
    if signs == {"whole"}:
        return pa.int64()
    if signs <= {"whole", "float", "gap"}:
        return pa.float64()
    return pa.bool_() if signs <= {"truth", "gap"} else TEXT

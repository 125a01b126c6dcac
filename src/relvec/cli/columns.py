"""Which columns are features, which of them are numbers, and whether cells fit."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relvec.cli.exits import Problem, listed
from relvec.cli.slips import remedy_of
from relvec.cli.tables import rows_named
from relvec.typing import AnyArray

_LARGEST = float(np.finfo(np.float64).max) ** 0.5
_MOSTLY = 0.5  # share of numbers above which text among them is a slip


@dataclass(frozen=True)
class Columns:
    """Names of the features, in the order of the table."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers first."""
        return self.numbers + self.texts


def chosen(
    frame: pd.DataFrame, target: str, drop: tuple[str, ...], most_categories: int
) -> Columns:
    """All columns but the target and those to drop, by what they hold."""
    names = left(frame.columns, target, drop)
    texts = tuple(name for name in names if _is_text(frame[name], name))
    for name in texts:
        _check_categories(frame[name], name, most_categories)
    return Columns(tuple(name for name in names if name not in texts), texts)


def left(known: Iterable[str], target: str, drop: tuple[str, ...]) -> list[str]:
    """Names of all columns but the target and those to drop."""
    known = list(known)
    check_named(known, (target, *drop))
    if target in drop:
        raise Problem(f"{target!r} is the target: leave out --drop {target!r}")
    names = [name for name in known if name not in {target, *drop}]
    if not names:
        raise Problem("no column is left to predict from: drop fewer of them")
    return names


def check_named(known: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a table that lacks one of these."""
    known = list(known)
    missing = [name for name in names if name not in known]
    if missing:
        has = listed(map(repr, known))
        remedy = "check names and capitals"
        if all(map(_is_number, known)):
            remedy = "write names of columns in its first line, which is numbers"
        raise Problem(
            f"there is no column {listed(map(repr, missing))}; the table has {has}: "
            f"{remedy}"
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def features(frame: pd.DataFrame, columns: Columns, *, missing: bool) -> pd.DataFrame:
    """Floats and text, as a model takes them; without gaps unless these may be."""
    made = {name: as_numbers(frame[name], name) for name in columns.numbers}
    made |= {name: _as_texts(frame[name]) for name in columns.texts}
    for name, values in made.items():
        gaps = np.asarray(pd.isna(values))
        if gaps.any() and not missing:
            raise Problem(
                f"column {name!r} has no value in {rows_named(gaps, _first(frame))}: "
                "complete or remove them, or fit with --impute"
            )
    return pd.DataFrame(made)


def as_numbers(column: pd.Series, name: str) -> AnyArray:
    """Finite floats, and nan where there is nothing."""
    numbers = pd.to_numeric(_plain(column), errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    text = np.isnan(values) & column.notna().to_numpy()
    if text.any():
        cell = column[text].iloc[0]
        remedy = remedy_of([cell]) or "correct it"
        raise Problem(
            f"column {name!r} has {cell!r} in {rows_named(text, _first(column))} where "
            f"a number should be: {remedy}, or leave the column out with fit's --drop"
        )
    infinite = np.isinf(values)
    if infinite.any():
        raise Problem(
            f"column {name!r} is infinite in {rows_named(infinite, _first(column))}: "
            "correct or remove these rows"
        )
    most = float(np.max(np.abs(values), where=~np.isnan(values), initial=0.0))
    if most > _LARGEST:
        raise Problem(
            f"column {name!r} is of the order of {most:.0e}, whose square floating "
            "point cannot hold: change its unit"
        )
    return values


def _first(rows: pd.DataFrame | pd.Series) -> int:
    """The number of the first row, where these are some of a file."""
    return int(rows.index[0]) if len(rows) else 0


def check_complete(frame: pd.DataFrame, columns: Columns) -> None:
    """Refuse columns without a single value, which nothing can be learned from."""
    empty = [name for name in columns.names if frame[name].isna().all()]
    if empty:
        options = " ".join(f"--drop {name!r}" for name in empty[:3])
        raise Problem(f"column {listed(map(repr, empty))} has no value: {options}")


def _plain(column: pd.Series) -> pd.Series:
    """Truth values beside gaps come as objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if pd.api.types.is_object_dtype(column):
        return column.map(lambda cell: float(cell) if isinstance(cell, bool) else cell)
    return column


def _as_texts(column: pd.Series) -> AnyArray:
    cells: AnyArray = column.astype(object).to_numpy(copy=True)
    gaps = column.isna().to_numpy()
    cells[~gaps] = [str(cell) for cell in cells[~gaps]]
    cells[gaps] = np.nan
    return cells


def _is_text(column: pd.Series, name: str) -> bool:
    """Whether it is to be encoded; or refuse what is neither numbers nor text."""
    kind: Any = column.dtype
    if pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind):
        return False
    cells = _plain(column).dropna()
    if not cells.map(lambda cell: isinstance(cell, str | float | int)).all():
        raise Problem(
            f"column {name!r} holds {kind} and a model takes numbers and text: leave "
            f"it out with --drop {name!r}, or make numbers of it"
        )
    if cells.map(lambda cell: not isinstance(cell, str)).all():
        return False
    _check_slips(column, name)
    return True


def _check_slips(column: pd.Series, name: str) -> None:
    """Refuse numbers with some text among them, which would be a label each."""
    known = column.notna()
    numbers = pd.to_numeric(_plain(column), errors="coerce").notna()
    if numbers.sum() > _MOSTLY * known.sum() and not numbers[known].all():
        as_numbers(column, name)


def _check_categories(column: pd.Series, name: str, most: int) -> None:
    count = column.nunique()
    if count > most:
        remedy = remedy_of(column.dropna())
        if remedy:
            cell = column.dropna().iloc[0]
            raise Problem(
                f"column {name!r} has text such as {cell!r}: {remedy}, or leave it out "
                f"with --drop {name!r}"
            )
        raise Problem(
            f"column {name!r} has {count} different texts, and more than {most} say "
            f"little: leave it out with --drop {name!r}, or raise --max-categories"
        )

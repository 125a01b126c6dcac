"""Features and target of a table: which columns, of which type, checked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relvec.cli.errors import CliError, listed
from relvec.cli.options import CLASSIFICATION, REGRESSION
from relvec.cli.tables import in_rows
from relvec.typing import AnyArray

_MOST_ALIKE = 0.5  # share of cells that look so
_MOST_CELLS, _MOST_LETTERS = (
    1000,
    10_000,
)  # cells that are looked at, and letters of each
# What cells look like, and the remedy.
_TEXT_PATTERNS = (
    (r"[+-]?\d[\d.]*(,\d+)+", "write numbers without commas and with decimal points"),
    (r"[+-]?[$€£¥]\s?[\d.,]+|[\d.,]+\s?[$€£¥]", "write numbers without signs of money"),
    (r"[+-]?[\d.,]+\s?%", "write numbers without %"),
    (
        r"\d{4}[-/.]\d\d?[-/.]\d\d?([ T].*)?|\d\d?[-/.]\d\d?[-/.]\d{4}([ T].*)?",
        "make numbers of dates, as days since the first",
    ),
    (r"[^;]+(;[^;]*)+", "write commas instead of semicolons between cells"),
)
_LARGEST = float(np.finfo(np.float64).max) ** 0.5
_MOSTLY_NUMBERS = 0.5  # share of numbers above which text among them is a slip
# Whole numbers are classes if there are few, each of them several times.
_FEW_VALUES, _ROWS_PER_CLASS = 10, 5
_MOST_CLASSES = 100
_MOST_LABEL_LETTERS = 1000  # letters: numpy gives those of the longest to every row


def text_hint(cells: Iterable[object]) -> str | None:
    """What would make numbers of most of the cells; None if they are plain text."""
    seen = zip(cells, range(_MOST_CELLS), strict=False)
    texts = [str(cell).strip()[:_MOST_LETTERS] for cell, _ in seen]
    for look, remedy in _TEXT_PATTERNS:
        alike = sum(re.fullmatch(look, text) is not None for text in texts)
        if texts and alike > _MOST_ALIKE * len(texts):
            return remedy
    return None


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
    check_has_columns(known, (target, *drop))
    if target in drop:
        raise CliError(f"{target!r} is the target: leave out --drop {target!r}")
    names = [name for name in known if name not in {target, *drop}]
    if not names:
        raise CliError("no column is left to predict from: drop fewer of them")
    return names


def check_has_columns(known: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a table that lacks one of these."""
    known = list(known)
    missing = [name for name in names if name not in known]
    if missing:
        has = listed(map(repr, known))
        remedy = "check names and capitals"
        if all(map(_looks_like_number, known)):
            remedy = "write names of columns in its first line, which is numbers"
        raise CliError(
            f"there is no column {listed(map(repr, missing))}; the table has {has}: "
            f"{remedy}"
        )


def _looks_like_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def features(frame: pd.DataFrame, columns: Columns, *, missing: bool) -> pd.DataFrame:
    """Floats and text, as a model takes them; without gaps unless these may be."""
    made = {name: as_numbers(frame[name], name) for name in columns.numbers}
    made |= {name: _text_values(frame[name]) for name in columns.texts}
    for name, values in made.items():
        gaps = np.asarray(pd.isna(values))
        if gaps.any() and not missing:
            raise CliError(
                f"column {name!r} has no value in {in_rows(gaps, _first_row(frame))}: "
                "complete or remove them, or fit with --impute"
            )
    return pd.DataFrame(made)


def as_numbers(column: pd.Series, name: str) -> AnyArray:
    """Finite floats, and nan where there is nothing."""
    numbers = pd.to_numeric(_booleans_as_floats(column), errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    text = np.isnan(values) & column.notna().to_numpy()
    if text.any():
        cell = column[text].iloc[0]
        remedy = text_hint([cell]) or "correct it"
        raise CliError(
            f"column {name!r} has {cell!r} in {in_rows(text, _first_row(column))} "
            f"where a number should be: {remedy}, or leave the column out with fit's "
            "--drop"
        )
    infinite = np.isinf(values)
    if infinite.any():
        raise CliError(
            f"column {name!r} is infinite in {in_rows(infinite, _first_row(column))}: "
            "correct or remove these rows"
        )
    most = float(np.max(np.abs(values), where=~np.isnan(values), initial=0.0))
    if most > _LARGEST:
        raise CliError(
            f"column {name!r} is of the order of {most:.0e}, whose square floating "
            "point cannot hold: change its unit"
        )
    return values


def _first_row(rows: pd.DataFrame | pd.Series) -> int:
    """The number of the first row, where these are some of a file."""
    return int(rows.index[0]) if len(rows) else 0


def check_not_empty(frame: pd.DataFrame, columns: Columns) -> None:
    """Refuse columns without a single value, which nothing can be learned from."""
    empty = [name for name in columns.names if frame[name].isna().all()]
    if empty:
        options = " ".join(f"--drop {name!r}" for name in empty[:3])
        raise CliError(f"column {listed(map(repr, empty))} has no value: {options}")


def _booleans_as_floats(column: pd.Series) -> pd.Series:
    """Truth values beside gaps come as objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if pd.api.types.is_object_dtype(column):
        return column.map(lambda cell: float(cell) if isinstance(cell, bool) else cell)
    return column


def _text_values(column: pd.Series) -> AnyArray:
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
    cells = _booleans_as_floats(column).dropna()
    if not cells.map(lambda cell: isinstance(cell, str | float | int)).all():
        raise CliError(
            f"column {name!r} holds {kind} and a model takes numbers and text: leave "
            f"it out with --drop {name!r}, or make numbers of it"
        )
    if cells.map(lambda cell: not isinstance(cell, str)).all():
        return False
    _check_stray_text(column, name)
    return True


def _check_stray_text(column: pd.Series, name: str) -> None:
    """Refuse numbers with some text among them, which would be a label each."""
    known = column.notna()
    numbers = pd.to_numeric(_booleans_as_floats(column), errors="coerce").notna()
    if numbers.sum() > _MOSTLY_NUMBERS * known.sum() and not numbers[known].all():
        as_numbers(column, name)


def _check_categories(column: pd.Series, name: str, most: int) -> None:
    count = column.nunique()
    if count > most:
        remedy = text_hint(column.dropna())
        if remedy:
            cell = column.dropna().iloc[0]
            raise CliError(
                f"column {name!r} has text such as {cell!r}: {remedy}, or leave it out "
                f"with --drop {name!r}"
            )
        raise CliError(
            f"column {name!r} has {count} different texts, and more than {most} say "
            f"little: leave it out with --drop {name!r}, or raise --max-categories"
        )


@dataclass(frozen=True, eq=False)
class Target:
    """Values of all rows, and what they are."""

    name: str
    values: AnyArray
    classes: bool

    @property
    def task(self) -> str:
        """By name."""
        return CLASSIFICATION if self.classes else REGRESSION


def read_target(frame: pd.DataFrame, name: str, task: str | None) -> Target:
    """The column as numbers or labels: as asked for, or by what it looks like."""
    check_has_columns(frame.columns, [name])
    column = frame[name]
    _check_no_gaps(column)
    return make_target(name, _target_values(column), task)


def observed(frame: pd.DataFrame, name: str, labels: list[Any]) -> Target:
    """The column as a model with such labels has it; numbers, if it has none."""
    check_has_columns(frame.columns, [name])
    column = frame[name]
    _check_no_gaps(column)
    values, known = _target_values(column), np.asarray(labels)
    text = values.dtype.kind not in "biuf"
    if labels and known.dtype.kind in "UTO":
        values, text = np.asarray([str(value) for value in whole(values)]), False
    if not labels and text:
        raise CliError(
            f"the target {name!r} is text ({str(values[0])!r} in row 1), and the model "
            "predicts numbers: name the column that it was fitted to"
        )
    if not labels:
        return Target(name, as_numbers(column, name), classes=False)
    values = whole(values)
    unknown = np.full(len(values), True) if text else ~np.isin(values, known)
    if unknown.any():
        cell, shown = values[unknown].tolist()[0], listed(map(repr, known.tolist()))
        raise CliError(
            f"the target {name!r} has {cell!r} in {in_rows(unknown)}, and the model "
            f"knows {shown}: name the column that it was fitted to, or remove them"
        )
    return Target(name, values, classes=True)


def make_target(name: str, values: AnyArray, task: str | None) -> Target:
    """Values without gaps, checked for what they are to be."""
    found = task or guess_task(values)
    if found == REGRESSION:
        return Target(name, _as_floats(name, values), classes=False)
    check_classes(name, values)
    return Target(name, whole(values), classes=True)


def guess_task(values: AnyArray) -> str:
    """Regression, if numbers are more than a few whole ones."""
    if values.dtype.kind not in "iuf":
        return CLASSIFICATION
    different = np.unique(values)
    fractions = bool(np.any(different != np.floor(different)))
    many = len(different) > min(_FEW_VALUES, len(values) / _ROWS_PER_CLASS)
    return REGRESSION if fractions or (many and len(different) > 2) else CLASSIFICATION


def check_classes(name: str, values: AnyArray) -> None:
    """Refuse one class, and more of them than could be told apart."""
    labels = pd.unique(values)
    if len(labels) < 2:
        raise CliError(
            f"the target {name!r} is {_python_repr(labels[0])} in every row: there is "
            "nothing to learn; choose another column, or add rows of other values"
        )
    if len(labels) > min(_MOST_CLASSES, len(values) / 2):
        numbers = values.dtype.kind in "iuf"
        remedy = "--task regression" if numbers else text_hint(values)
        raise CliError(
            f"the target {name!r} has {len(labels)} different values in {len(values)} "
            f"rows, too many for classes: {remedy or 'choose another column'}"
        )


def _python_repr(label: Any) -> str:
    """As it is written, without the name of its type."""
    return repr(label.item() if hasattr(label, "item") else label)


def _check_no_gaps(column: pd.Series) -> None:
    gaps = column.isna().to_numpy()
    if gaps.all():
        raise CliError(
            f"the target {column.name!r} has no value: choose another column"
        )
    if gaps.any():
        raise CliError(
            f"the target {column.name!r} has no value in {in_rows(gaps)}: remove "
            "these rows, which --impute does not complete"
        )


def _target_values(column: pd.Series) -> AnyArray:
    """Numbers, truth values or text."""
    kind = column.dtype
    if pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=bool)
    if pd.api.types.is_integer_dtype(kind):
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_numeric_dtype(kind):
        return as_numbers(column, str(column.name))
    labels = [str(cell) for cell in column]
    long = np.asarray([len(label) > _MOST_LABEL_LETTERS for label in labels])
    if long.any():
        raise CliError(
            f"the target {column.name!r} has a text of {max(map(len, labels)):,} "
            f"letters in {in_rows(long)}, and a class has a name of at most "
            f"{_MOST_LABEL_LETTERS:,}: correct it"
        )
    return np.asarray(labels)


def _as_floats(name: str, values: AnyArray) -> AnyArray:
    if values.dtype.kind not in "biuf":
        shown = listed(map(repr, pd.unique(values)[:3].tolist()))
        raise CliError(
            f"the target {name!r} is text ({shown}), and regression needs numbers: "
            "--task classification"
        )
    return as_numbers(pd.Series(values), name)


def whole(values: AnyArray) -> AnyArray:
    """Labels such as 1.0 as the whole numbers that they are."""
    if values.dtype.kind == "f" and np.all(values == np.floor(values)):
        return values.astype(np.int64)
    return values

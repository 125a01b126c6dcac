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

_MOST_ALIKE = 0.5  # share of cells that match a pattern
_MOST_CELLS, _MOST_LETTERS = (
    1000,
    10_000,
)  # cells to look at, and letters of each
# Pattern of cells, and the remedy.
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
_MOSTLY_NUMBERS = 0.5  # share of numbers above which text is an error
# Few integers that occur several times each are classes.
_FEW_VALUES, _ROWS_PER_CLASS = 10, 5
_MOST_CLASSES = 100
_MOST_LABEL_LETTERS = 1000  # numpy stores every label at the longest length


def text_hint(cells: Iterable[object]) -> str | None:
    """Return how to turn most cells into numbers; None for plain text."""
    seen = zip(cells, range(_MOST_CELLS), strict=False)
    texts = [str(cell).strip()[:_MOST_LETTERS] for cell, _ in seen]
    for look, remedy in _TEXT_PATTERNS:
        alike = sum(re.fullmatch(look, text) is not None for text in texts)
        if texts and alike > _MOST_ALIKE * len(texts):
            return remedy
    return None


@dataclass(frozen=True)
class Columns:
    """Names of the features, in the order of the table; numeric and text."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, numeric columns first."""
        return self.numbers + self.texts


def choose_columns(
    frame: pd.DataFrame, target: str, drop: tuple[str, ...], most_categories: int
) -> Columns:
    """Choose all columns but the target and those to drop; find their types."""
    names = remaining_columns(frame.columns, target, drop)
    texts = tuple(name for name in names if _is_text(frame[name], name))
    for name in texts:
        _check_categories(frame[name], name, most_categories)
    return Columns(tuple(name for name in names if name not in texts), texts)


def remaining_columns(
    known: Iterable[str], target: str, drop: tuple[str, ...]
) -> list[str]:
    """List all columns but the target and those to drop."""
    known = list(known)
    check_has_columns(known, (target, *drop))
    if target in drop:
        raise CliError(f"{target!r} is the target: leave out --drop {target!r}")
    names = [name for name in known if name not in {target, *drop}]
    if not names:
        raise CliError("no column is left to predict from: drop fewer of them")
    return names


def check_has_columns(known: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a table that lacks one of the named columns."""
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


def feature_frame(
    frame: pd.DataFrame, columns: Columns, *, missing: bool
) -> pd.DataFrame:
    """Return features as floats and text; refuse missing values unless allowed."""
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
    """Convert a column to finite floats; missing values are NaN."""
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
    """Number of the first row of a block in its file."""
    return int(rows.index[0]) if len(rows) else 0


def check_not_empty(frame: pd.DataFrame, columns: Columns) -> None:
    """Refuse columns without a single value."""
    empty = [name for name in columns.names if frame[name].isna().all()]
    if empty:
        options = " ".join(f"--drop {name!r}" for name in empty[:3])
        raise CliError(f"column {listed(map(repr, empty))} has no value: {options}")


def _booleans_as_floats(column: pd.Series) -> pd.Series:
    """Convert booleans in columns of objects to floats."""
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
    """Whether a column is text; refuse what is neither numbers nor text."""
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
    """Refuse numbers with some text among them, which would be encoded."""
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
    """Target values of all rows, and whether they are classes."""

    name: str
    values: AnyArray
    classes: bool

    @property
    def task(self) -> str:
        """Name of the task."""
        return CLASSIFICATION if self.classes else REGRESSION


def read_target(frame: pd.DataFrame, name: str, task: str | None) -> Target:
    """Read the target as numbers or labels, as asked for or as guessed."""
    check_has_columns(frame.columns, [name])
    column = frame[name]
    _check_no_gaps(column)
    return make_target(name, _target_values(column), task)


def observed_target(frame: pd.DataFrame, name: str, labels: list[Any]) -> Target:
    """Read the target for a model with these labels, or for a regression."""
    check_has_columns(frame.columns, [name])
    column = frame[name]
    _check_no_gaps(column)
    values, known = _target_values(column), np.asarray(labels)
    text = values.dtype.kind not in "biuf"
    if labels and known.dtype.kind in "UTO":
        values, text = np.asarray([str(value) for value in as_integers(values)]), False
    if not labels and text:
        raise CliError(
            f"the target {name!r} is text ({str(values[0])!r} in row 1), and the model "
            "predicts numbers: name the column that it was fitted to"
        )
    if not labels:
        return Target(name, as_numbers(column, name), classes=False)
    values = as_integers(values)
    unknown = np.full(len(values), True) if text else ~np.isin(values, known)
    if unknown.any():
        cell, shown = values[unknown].tolist()[0], listed(map(repr, known.tolist()))
        raise CliError(
            f"the target {name!r} has {cell!r} in {in_rows(unknown)}, and the model "
            f"knows {shown}: name the column that it was fitted to, or remove them"
        )
    return Target(name, values, classes=True)


def make_target(name: str, values: AnyArray, task: str | None) -> Target:
    """Make a target of complete values; check them for the task."""
    found = task or guess_task(values)
    if found == REGRESSION:
        return Target(name, _as_floats(name, values), classes=False)
    check_classes(name, values)
    return Target(name, as_integers(values), classes=True)


def guess_task(values: AnyArray) -> str:
    """Guess regression, unless values are text, booleans or few integers."""
    if values.dtype.kind not in "iuf":
        return CLASSIFICATION
    different = np.unique(values)
    fractions = bool(np.any(different != np.floor(different)))
    many = len(different) > min(_FEW_VALUES, len(values) / _ROWS_PER_CLASS)
    return REGRESSION if fractions or (many and len(different) > 2) else CLASSIFICATION


def check_classes(name: str, values: AnyArray) -> None:
    """Refuse a single class, and too many of them."""
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
    """Write a label without the name of its numpy type."""
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
    """Return target values as booleans, numbers or text."""
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


def as_integers(values: AnyArray) -> AnyArray:
    """Convert labels such as 1.0 to integers."""
    if values.dtype.kind == "f" and np.all(values == np.floor(values)):
        return values.astype(np.int64)
    return values

"""What a target is: a number to predict, or a class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relvec.cli.choices import CLASSIFICATION, REGRESSION
from relvec.cli.columns import as_numbers, check_named
from relvec.cli.exits import Problem, listed
from relvec.cli.slips import remedy_of
from relvec.cli.tables import rows_named
from relvec.typing import AnyArray

# Whole numbers are classes if there are few, each of them several times.
_FEW, _REPEATED = 10, 5
_MOST_CLASSES = 100
_LONGEST_LABEL = 1000  # letters: numpy gives those of the longest to every row


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


def target_of(frame: pd.DataFrame, name: str, task: str | None) -> Target:
    """The column as numbers or labels: as asked for, or by what it looks like."""
    check_named(frame.columns, [name])
    column = frame[name]
    _check_known(column)
    return as_target(name, _values(column), task)


def observed(frame: pd.DataFrame, name: str, labels: list[Any]) -> Target:
    """The column as a model with such labels has it; numbers, if it has none."""
    check_named(frame.columns, [name])
    column = frame[name]
    _check_known(column)
    values, known = _values(column), np.asarray(labels)
    text = values.dtype.kind not in "biuf"
    if labels and known.dtype.kind in "UTO":
        values, text = np.asarray([str(value) for value in whole(values)]), False
    if not labels and text:
        raise Problem(
            f"the target {name!r} is text ({str(values[0])!r} in row 1), and the model "
            "predicts numbers: name the column that it was fitted to"
        )
    if not labels:
        return Target(name, as_numbers(column, name), classes=False)
    values = whole(values)
    unknown = np.full(len(values), True) if text else ~np.isin(values, known)
    if unknown.any():
        cell, shown = values[unknown].tolist()[0], listed(map(repr, known.tolist()))
        raise Problem(
            f"the target {name!r} has {cell!r} in {rows_named(unknown)}, and the model "
            f"knows {shown}: name the column that it was fitted to, or remove them"
        )
    return Target(name, values, classes=True)


def as_target(name: str, values: AnyArray, task: str | None) -> Target:
    """Values without gaps, checked for what they are to be."""
    found = task or guessed(values)
    if found == REGRESSION:
        return Target(name, _as_real(name, values), classes=False)
    check_classes(name, values)
    return Target(name, whole(values), classes=True)


def guessed(values: AnyArray) -> str:
    """Regression, if numbers are more than a few whole ones."""
    if values.dtype.kind not in "iuf":
        return CLASSIFICATION
    different = np.unique(values)
    fractions = bool(np.any(different != np.floor(different)))
    many = len(different) > min(_FEW, len(values) / _REPEATED)
    return REGRESSION if fractions or (many and len(different) > 2) else CLASSIFICATION


def check_classes(name: str, values: AnyArray) -> None:
    """Refuse one class, and more of them than could be told apart."""
    labels = pd.unique(values)
    if len(labels) < 2:
        raise Problem(
            f"the target {name!r} is {_shown(labels[0])} in every row: there is "
            "nothing to learn; choose another column, or add rows of other values"
        )
    if len(labels) > min(_MOST_CLASSES, len(values) / 2):
        numbers = values.dtype.kind in "iuf"
        remedy = "--task regression" if numbers else remedy_of(values)
        raise Problem(
            f"the target {name!r} has {len(labels)} different values in {len(values)} "
            f"rows, too many for classes: {remedy or 'choose another column'}"
        )


def _shown(label: Any) -> str:
    """As it is written, without the name of its type."""
    return repr(label.item() if hasattr(label, "item") else label)


def _check_known(column: pd.Series) -> None:
    gaps = column.isna().to_numpy()
    if gaps.all():
        raise Problem(f"the target {column.name!r} has no value: choose another column")
    if gaps.any():
        raise Problem(
            f"the target {column.name!r} has no value in {rows_named(gaps)}: remove "
            "these rows, which --impute does not complete"
        )


def _values(column: pd.Series) -> AnyArray:
    """Numbers, truth values or text."""
    kind = column.dtype
    if pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=bool)
    if pd.api.types.is_integer_dtype(kind):
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_numeric_dtype(kind):
        return as_numbers(column, str(column.name))
    labels = [str(cell) for cell in column]
    long = np.asarray([len(label) > _LONGEST_LABEL for label in labels])
    if long.any():
        raise Problem(
            f"the target {column.name!r} has a text of {max(map(len, labels)):,} "
            f"letters in {rows_named(long)}, and a class has a name of at most "
            f"{_LONGEST_LABEL:,}: correct it"
        )
    return np.asarray(labels)


def _as_real(name: str, values: AnyArray) -> AnyArray:
    if values.dtype.kind not in "biuf":
        shown = listed(map(repr, pd.unique(values)[:3].tolist()))
        raise Problem(
            f"the target {name!r} is text ({shown}), and regression needs numbers: "
            "--task classification"
        )
    return as_numbers(pd.Series(values), name)


def whole(values: AnyArray) -> AnyArray:
    """Labels such as 1.0 as the whole numbers that they are."""
    if values.dtype.kind == "f" and np.all(values == np.floor(values)):
        return values.astype(np.int64)
    return values

"""Which columns of a table are features, target and weight."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from typing import Any

_MOST_NAMES = 20  # of a wide table, that a message lists


@dataclass(frozen=True)
class Heading:
    """The columns a source has; without names they go by their number."""

    where: str
    names: tuple[str, ...] | None
    n_columns: int

    def label(self, position: int) -> str:
        if self.names is None:
            return f"column number {position}"
        return f"column {self.names[position]!r}"

    def position(self, role: str, column: Any) -> int:
        """The number of a column that was given by name or number."""
        if isinstance(column, Integral) and not isinstance(column, bool):
            return self._by_number(role, int(column))
        if not isinstance(column, str):
            raise ValueError(
                f"{role} must be the name or the number of a column of {self.where}; "
                f"got {type(column).__name__}"
            )
        if self.names is None:
            raise ValueError(
                f"{role} is {column!r}, but the columns of {self.where} have no names; "
                "give the column's number"
            )
        if column not in self.names:
            raise ValueError(self._missing(role, column, self.names))
        return self.names.index(column)

    def _by_number(self, role: str, number: int) -> int:
        if not -self.n_columns <= number < self.n_columns:
            raise ValueError(
                f"{role}: {self.where} has no column number {number}; it has "
                f"{self.n_columns}, numbered from 0"
            )
        return number % self.n_columns

    def _missing(self, role: str, column: str, names: tuple[str, ...]) -> str:
        close = get_close_matches(column, names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return (
            f"{role}: {self.where} has no column {column!r}{hint}; it has "
            f"{_listed(names)}"
        )

    def check_names(self) -> None:
        """Every name once."""
        twice = [name for name, n in Counter(self.names or ()).items() if n > 1]
        if twice:
            raise ValueError(
                f"{self.where} has more than one column {twice[0]!r}; rename them so "
                "that every name occurs once"
            )

    def check_same(self, first: "Heading") -> None:
        """The columns of the first file or block, in the same order."""
        if self.n_columns != first.n_columns:
            raise ValueError(
                f"{self.where} has {self.n_columns} columns and {first.where} has "
                f"{first.n_columns}; every part must have the same columns"
            )
        if self.names == first.names:
            return
        if self.names is None or first.names is None:
            msg = f"only one of {first.where} and {self.where} has column names"
            raise ValueError(msg)
        pairs = zip(self.names, first.names, strict=True)
        number = next(i for i, (name, other) in enumerate(pairs) if name != other)
        raise ValueError(
            f"column number {number} is {self.names[number]!r} in {self.where} and "
            f"{first.names[number]!r} in {first.where}; every part must have the same "
            "columns in the same order"
        )


@dataclass(frozen=True)
class Choice:
    """What the user said about columns, or arrays to take instead of columns."""

    target: Any = None
    features: Any = None
    weight: Any = None


@dataclass(frozen=True)
class Roles:
    """Column numbers of the features, the target and the weight."""

    heading: Heading
    features: tuple[int, ...]
    target: int | None
    weight: int | None

    @property
    def feature_names(self) -> list[str] | None:
        names = self.heading.names
        return None if names is None else [names[i] for i in self.features]

    @property
    def feature_labels(self) -> list[str]:
        return [self.heading.label(position) for position in self.features]

    @property
    def columns(self) -> tuple[int, ...]:
        """All that have to be read."""
        every = (*self.features, self.target, self.weight)
        return tuple(sorted({i for i in every if i is not None}))


def assign(heading: Heading, choice: Choice) -> Roles:
    """The columns the user's choice means, all others being features by default."""
    heading.check_names()
    target, weight = (
        None if column is None else heading.position(role, column)
        for role, column in (("target", choice.target), ("weight", choice.weight))
    )
    taken = {target: "target", weight: "weight"}
    if target is not None and target == weight:
        msg = f"target and weight are both {heading.label(target)} of {heading.where}"
        raise ValueError(msg)
    if choice.features is None:
        features = tuple(i for i in range(heading.n_columns) if i not in taken)
    else:
        features = _listed_features(heading, choice.features)
    for position in features:
        if position in taken:
            raise ValueError(
                f"{heading.label(position)} is both {taken[position]} and among the "
                "features; take it out of one of them"
            )
    if not features:
        msg = f"{heading.where} has no column left to be a feature; name at least one"
        raise ValueError(msg)
    return Roles(heading, features, target, weight)


def _listed_features(heading: Heading, features: Any) -> tuple[int, ...]:
    if isinstance(features, str | bytes) or not hasattr(features, "__iter__"):
        raise ValueError(f"features must be a list of columns; got {features!r}")
    positions = tuple(heading.position("features", column) for column in features)
    twice = [i for i, n in Counter(positions).items() if n > 1]
    if twice:
        msg = f"features names {heading.label(twice[0])} more than once; name it once"
        raise ValueError(msg)
    return positions


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown

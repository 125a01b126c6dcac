"""Rules for the fields of a class, by which values from a file are checked.

A rule gets the name of a field, its value and the sizes found so far, for instance
``reals("outputs", None)`` for a table with as many rows as there are outputs. A size is
taken from the first value that has it, and later values must agree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from relvec.model_file.document import ModelFileError

T = TypeVar("T")
Sizes: TypeAlias = dict[str, int]
Rule: TypeAlias = Callable[[str, Any, Sizes], None]
Axis: TypeAlias = int | str | None  # a number, the name of a size, or any


@dataclass(frozen=True)
class Schema:
    """Rules for the fields of a class, and a check that involves several of them."""

    fields: Mapping[str, Rule]
    relations: Callable[[Any, Sizes], None] | None = None

    def check(self, value: Any, sizes: Sizes) -> None:
        """Raise unless all fields obey their rules."""
        for name, rule in self.fields.items():
            rule(name, getattr(value, name), sizes)
        if self.relations is not None:
            self.relations(value, sizes)


def refusal(name: str, wanted: str) -> ModelFileError:
    """The error for a value that is not as it must be."""
    return ModelFileError(f"{name} must be {wanted}")


def instance(name: str, value: Any, *kinds: type[T]) -> T:
    """Return a value whose class is one of these, not one derived from them."""
    if type(value) not in kinds:
        raise refusal(name, f"a {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def flag(name: str, value: Any, sizes: Sizes) -> None:
    """Require True or False."""
    if type(value) is not bool:
        raise refusal(name, "true or false")


def words(name: str, value: Any, sizes: Sizes) -> None:
    """Require a tuple of strings."""
    if type(value) is not tuple or not all(type(each) is str for each in value):
        raise refusal(name, "a tuple of strings")


def member(*allowed: str) -> Rule:
    """Require one of these words; without any, a word."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        if type(value) is not str or (allowed and value not in allowed):
            raise refusal(name, " or ".join(allowed) or "a string")

    return rule


def integer(least: int = 0, most: int = 2**62, *, size: str | None = None) -> Rule:
    """Require an integer in a range, which may be a size of the model."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        if type(value) is not int or not least <= value <= most:
            raise refusal(name, f"an integer from {least} to {most}")
        if size is not None:
            sizes[size] = value

    return rule


def number(
    least: float = -np.inf,
    most: float = np.inf,
    *,
    above: float | None = None,
    finite: bool = True,
) -> Rule:
    """Require a number in a range; without ``finite`` it may be infinite or NaN."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        known = type(value) in (int, float) and not (value < least or value > most)
        if not known or (finite and not np.isfinite(value)):
            raise refusal(
                name, "a finite number in its range" if finite else "a number"
            )
        if above is not None and not value > above:
            raise refusal(name, f"more than {above:g}")

    return rule


positive = number(above=0.0)


def reals(
    *axes: Axis,
    finite: bool = True,
    above: float = -np.inf,
    least: float = -np.inf,
) -> Rule:
    """Require an array of floating-point numbers with such axes, in a range."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        _check_shape(name, value, axes, "f", sizes)
        if finite and not np.isfinite(value).all():
            raise refusal(name, "without NaN and infinity")
        if np.isfinite(above) and not np.all(value > above):
            raise refusal(name, f"more than {above:g}")
        if np.isfinite(least) and not np.all(value >= least):
            raise refusal(name, f"at least {least:g}")

    return rule


def indices(axis: Axis, least: int = 0, most: Axis = 2**62) -> Rule:
    """Require integers of eight bytes, at least ``least`` and at most ``most``."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        _check_shape(name, value, (axis,), "i", sizes)
        limit = sizes[most] - 1 if isinstance(most, str) else most or 0
        if value.dtype.itemsize != np.dtype(np.intp).itemsize:
            raise refusal(name, "of eight bytes each")
        if len(value) and not (value.min() >= least and value.max() <= limit):
            raise refusal(name, f"from {least} to {limit}")

    return rule


def _check_shape(
    name: str, value: Any, axes: tuple[Axis, ...], kind: str, sizes: Sizes
) -> None:
    known = isinstance(value, np.ndarray) and value.dtype.kind == kind
    if not known or value.ndim != len(axes):
        raise refusal(name, f"an array of numbers with {len(axes)} axes")
    for length, axis in zip(value.shape, axes, strict=True):
        wanted = sizes.setdefault(axis, length) if isinstance(axis, str) else axis
        if wanted is not None and length != wanted:
            raise ModelFileError(
                f"{name} has shape {value.shape}, and {axis} should be {wanted}"
            )


def history(*needed: str) -> Rule:
    """Require a dict of arrays of numbers that has these names."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        if type(value) is not dict or not all(each in value for each in needed):
            raise refusal(name, f"a dict with {', '.join(needed) or 'arrays'}")
        for key, array in value.items():
            known = isinstance(array, np.ndarray) and array.dtype.kind in "fiub"
            if type(key) is not str or not known or array.ndim == 0:
                raise refusal(name, "arrays of numbers by name")

    return rule


def optional(rule: Rule) -> Rule:
    """Allow None as well."""

    def relaxed(name: str, value: Any, sizes: Sizes) -> None:
        if value is not None:
            rule(name, value, sizes)

    return relaxed


def array_or_number(array: Rule, number: Rule) -> Rule:
    """Apply the first rule to arrays and the second one to anything else."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        (array if np.ndim(value) else number)(name, value, sizes)

    return rule

"""Questions to values from a file, and the answer if they are something else."""

from typing import Any, TypeVar

import numpy as np

from relvec.model_file.errors import ModelFileError

T = TypeVar("T")
Sizes = tuple[int | None, ...]


def refuse(name: str, wanted: str) -> ModelFileError:
    """The error for a value that is something else."""
    return ModelFileError(f"{name} must be {wanted}")


def is_a(name: str, value: Any, *kinds: type[T]) -> T:
    """An object of one of these classes and of no other."""
    if type(value) not in kinds:
        words = " or ".join(kind.__name__ for kind in kinds)
        raise refuse(name, f"a {words}")
    return value


def flag(name: str, value: Any) -> None:
    """True or False."""
    if type(value) is not bool:
        raise refuse(name, "true or false")


def whole(name: str, value: Any, least: int = 0, most: int = 2**62) -> int:
    """A whole number in a range."""
    if type(value) is not int or not least <= value <= most:
        raise refuse(name, f"a whole number from {least}")
    return value


def number(
    name: str, value: Any, least: float = -np.inf, *, finite: bool = True
) -> float:
    """A number of at least so much; perhaps infinite, or none at all."""
    known = type(value) in (int, float)
    if not known or value < least or (finite and not np.isfinite(value)):
        raise refuse(name, "a finite number in its range" if finite else "a number")
    return float(value)


def positive(name: str, value: Any, *, finite: bool = True) -> None:
    """A number above zero; perhaps infinite."""
    if not number(name, value, 0.0, finite=finite) > 0:
        raise refuse(name, "positive")


def words(name: str, value: Any) -> None:
    """A tuple of strings."""
    if type(value) is not tuple or not all(type(each) is str for each in value):
        raise refuse(name, "a tuple of strings")


def reals(name: str, value: Any, shape: Sizes, *, finite: bool = True) -> None:
    """An array of floating-point numbers of a shape; None is any size."""
    _shaped(name, value, shape, "f")
    if finite and not np.isfinite(value).all():
        raise refuse(name, "without NaN and infinity")


def indices(
    name: str, value: Any, size: int, least: int = 0, most: int = 2**62
) -> None:
    """So many whole numbers in a range."""
    _shaped(name, value, (size,), "i")
    if value.dtype.itemsize != np.dtype(np.intp).itemsize:
        raise refuse(name, "of eight bytes each")
    if size and not (value.min() >= least and value.max() <= most):
        raise refuse(name, f"from {least} to {most}")


def _shaped(name: str, value: Any, shape: Sizes, kind: str) -> None:
    known = isinstance(value, np.ndarray) and value.dtype.kind == kind
    if not known or value.ndim != len(shape):
        raise refuse(name, f"an array of numbers with {len(shape)} axes")
    fits = zip(value.shape, shape, strict=True)
    if not all(wanted is None or size == wanted for size, wanted in fits):
        raise ModelFileError(f"{name} has shape {value.shape}, and should have {shape}")


def history(name: str, value: Any, *needed: str) -> None:
    """Arrays of numbers by name."""
    if type(value) is not dict or not all(each in value for each in needed):
        raise refuse(name, f"a dict with {', '.join(needed) or 'arrays'}")
    for key, array in value.items():
        known = isinstance(array, np.ndarray) and array.dtype.kind in "fiub"
        if type(key) is not str or not known or array.ndim == 0:
            raise refuse(name, "arrays of numbers by name")

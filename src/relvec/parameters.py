"""Checks of parameters and installed packages; messages name the remedy."""

import re
from collections.abc import Iterable
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

from relvec.typing import Array

_SENSIBLE_WEIGHTS = (1e-50, 1e50)  # their squares are in range
_UNITS = {
    "B": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KIB": 2.0**10,
    "MIB": 2.0**20,
    "GIB": 2.0**30,
    "TIB": 2.0**40,
}
_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>([kmgt]i?)?b)", re.IGNORECASE)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse anything but one of a few words."""
    options = tuple(choices)
    if not isinstance(value, str) or value not in options:
        words = ", ".join(repr(option) for option in options)
        raise _refused(name, f"one of {words}", value)


def check_positive(name: str, value: Any) -> None:
    """Refuse anything but a number above zero."""
    if not _is_finite(value) or value <= 0:
        raise _refused(name, "a positive number", value)


def check_number(name: str, value: Any) -> None:
    """Refuse anything but a finite number."""
    if not _is_finite(value):
        raise _refused(name, "a finite number", value)


def check_not_negative(name: str, value: Any) -> None:
    """Refuse anything but a number of at least zero."""
    if not _is_finite(value) or value < 0:
        raise _refused(name, "a number of at least 0", value)


def check_fraction(name: str, value: Any) -> None:
    """Refuse anything but a number between zero and one."""
    if not _is_number(value) or not 0 < value < 1:
        raise _refused(name, "a number between 0 and 1", value)


def check_count(name: str, value: Any) -> None:
    """Refuse anything but an integer of at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise _refused(name, "a whole number of at least 1", value)


def as_min_vectors(value: Any, n_basis: int) -> int:
    """Return a number of functions, given as such or as a fraction; None is none."""
    return 0 if value is None else as_share("min_vectors", value, n_basis)


def as_share(name: str, value: Any, total: int) -> int:
    """Return a number of at least one, given as such or as a fraction of all."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0:
        return int(value)
    if _is_number(value) and 0 < value < 1:
        return int(value * total)
    wanted = "a whole number of at least 1, a fraction between 0 and 1 or None"
    raise _refused(name, wanted, value)


def as_bytes(name: str, value: Any) -> float:
    """Return a number of bytes, given as such or as "2GB" or "500 MiB"."""
    size = value
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is not None:
        size = float(found["number"]) * _UNITS[found["unit"].upper()]
    if not _is_finite(size) or size <= 0:
        raise _refused(name, "a number of bytes or words like '2GB'", value)
    return float(size)


def check_noise_variance(value: Any) -> None:
    """Check a positive number, or the word for an estimate."""
    if isinstance(value, str) and value == "estimate":
        return
    if not _is_finite(value) or value <= 0:
        raise _refused("noise_variance", "'estimate' or a positive number", value)


def check_noise_variances(value: Any) -> None:
    """Check the same, or a positive number for each output."""
    if not isinstance(value, list | tuple | np.ndarray):
        check_noise_variance(value)
    elif np.size(as_floats("noise_variance", value, 1)) == 0 or np.min(value) <= 0:
        raise _refused("noise_variance", "positive for every output", value)


def check_one_target(y: Any, what: str, remedy: str) -> None:
    """Refuse several targets in a row."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        msg = f"{what} takes one target for each row, and y has {shape[1]}: {remedy}"
        raise ValueError(msg)


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _refused(name, "True or False", value)


def check_level(name: str, value: Any) -> None:
    """Refuse anything but an integer of at least zero, or a boolean."""
    if not isinstance(value, Integral | np.bool_) or value < 0:
        raise _refused(name, "a whole number of at least 0", value)


def check_unmasked(name: str, values: Any) -> None:
    """Refuse an array of numpy.ma in which a value is masked."""
    if not isinstance(values, np.ma.MaskedArray):
        return
    count = np.count_nonzero(np.ma.getmaskarray(values))
    if count:
        raise ValueError(
            f"{name} has {count} masked value(s), which are missing: fill them, "
            f"for example with {name}.filled(0.0), or leave out "
            "their rows"
        )


def as_floats(name: str, values: Any, ndim: int) -> Array:
    """Return a finite array of real numbers with the given number of axes."""
    check_unmasked(name, values)
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be a dense array of real numbers; got "
            f"{type(values).__name__} of type {array.dtype}"
        )
    if array.ndim != ndim:
        msg = f"{name} must have {ndim} dimension(s); got shape {array.shape}"
        raise ValueError(msg)
    if not np.isfinite(array).all():
        msg = f"{name} contains NaN or infinity: remove or impute those entries"
        raise ValueError(msg)
    return array.astype(np.float64, copy=False)


def as_weights(
    sample_weight: Any, n_samples: int, *, name: str = "sample_weight"
) -> Array:
    """Return one weight per row, not all zero; ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    if _is_number(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    weights = as_floats(name, sample_weight, 1)
    if len(weights) != n_samples:
        raise ValueError(
            f"{name} must hold one number per row, {n_samples} in all; got "
            f"{len(weights)}"
        )
    if np.any(weights < 0):
        raise ValueError(
            f"{name} must not be negative; got {weights.min()}: give rows to "
            "leave out a weight of zero"
        )
    if not np.any(weights):
        msg = f"{name} is zero for every row: at least one must be positive"
        raise ValueError(msg)
    smallest, largest = _SENSIBLE_WEIGHTS
    if weights.max() > largest or weights[weights > 0].min() < smallest:
        raise ValueError(
            f"{name} must lie between {smallest} and {largest} where it is not "
            "zero: it counts repetitions of a row"
        )
    return weights


def optional_module(name: str, use: str, extra: str) -> Any:
    """Import an optional module, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        remedy = f'pip install "relvec[{extra}]" installs it'
        raise ImportError(f"{use}, which is not installed; {remedy}") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return _is_number(value) and bool(np.isfinite(value))


def _refused(name: str, wanted: str, value: Any) -> ValueError:
    return ValueError(f"{name} must be {wanted}; got {value!r}")

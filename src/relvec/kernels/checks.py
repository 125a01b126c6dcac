"""Checks of a kernel's parameters and of the rows it is called with."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from relvec.typing import AnyArray, Array, Indices

# One number, or one for every feature.
Scale: TypeAlias = float | Sequence[float] | AnyArray


def check_scale(name: str, value: Any) -> None:
    """A positive number, or one for every feature; None is for the caller to refuse."""
    try:
        scales = np.asarray(value)
    except ValueError:
        scales = np.empty((0, 0))
    numbers = scales.dtype.kind in "fiu" and scales.ndim <= 1 and scales.size > 0
    if not numbers or not np.all((scales > 0) & np.isfinite(scales)):
        raise ValueError(f"{name} must be positive and finite; got {value!r}")


def feature_scales(name: str, value: Any, n_features: int) -> Array:
    """The number, or the numbers of all features that the kernel sees."""
    scales = np.asarray(value, dtype=np.float64)
    if scales.ndim and len(scales) != n_features:
        raise ValueError(
            f"{name} has {len(scales)} entries and the kernel sees {n_features} "
            "features: give one number, or one for every feature"
        )
    return scales


def check_columns(columns: Any) -> None:
    """A slice, or a list of indices or flags; None is all features."""
    if columns is None or isinstance(columns, slice):
        return
    try:
        chosen = np.asarray(columns)
    except ValueError:
        chosen = np.empty(0)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub" or len(chosen) == 0:
        raise ValueError(
            "columns must be None, a slice, or a list of feature numbers or of flags, "
            f"such as [0, 2]; got {columns!r}"
        )


def chosen_columns(columns: Any, n_features: int) -> Indices:
    """Indices of the features that the kernel sees, of so many."""
    index = columns if isinstance(columns, slice) else np.asarray(columns)
    try:
        chosen = np.arange(n_features)[index]
    except IndexError:
        msg = f"columns is {columns!r}, which does not fit {n_features} features"
        raise ValueError(msg) from None
    if len(chosen) == 0 or len(np.unique(chosen)) < len(chosen):
        raise ValueError(
            f"columns is {columns!r}, which of {n_features} features must choose at "
            "least one, and none twice"
        )
    return chosen


def checked_rows(name: str, rows: Any) -> Array:
    """Rows in double precision; whether they are finite is not looked at."""
    array = np.asarray(rows)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be a dense array of rows, (n_rows, n_features), of real "
            f"numbers; got shape {array.shape} of type {array.dtype}"
        )
    return array.astype(np.float64, copy=False)

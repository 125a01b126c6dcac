"""Checks of what users pass in: each message names the parameter and the remedy."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from relvec.typing import Array


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """One of a few words."""
    options = tuple(choices)
    if not isinstance(value, str) or value not in options:
        words = ", ".join(repr(option) for option in options)
        msg = f"{name} must be one of {words}; got {value!r}"
        raise ValueError(msg)


def check_positive(name: str, value: Any) -> None:
    """A number above zero."""
    if not _is_number(value) or not (np.isfinite(value) and value > 0):
        msg = f"{name} must be a positive number; got {value!r}"
        raise ValueError(msg)


def check_number(name: str, value: Any) -> None:
    """A finite number."""
    if not _is_number(value) or not np.isfinite(value):
        msg = f"{name} must be a finite number; got {value!r}"
        raise ValueError(msg)


def check_count(name: str, value: Any) -> None:
    """A whole number of at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        msg = f"{name} must be a whole number of at least 1; got {value!r}"
        raise ValueError(msg)


def check_search(
    *, selection: Any, init: Any, tol: Any, max_iter: Any, max_seconds: Any
) -> None:
    """The settings every search for the evidence's maximum shares."""
    check_choice("selection", selection, ("gain", "random", "cyclic"))
    check_choice("init", init, ("projection", "bias"))
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    if max_seconds is not None:
        check_positive("max_seconds", max_seconds)


def check_noise_variance(value: Any) -> None:
    """A positive number, or the wish to have it estimated."""
    if isinstance(value, str) and value == "estimate":
        return
    if not _is_number(value) or not (np.isfinite(value) and value > 0):
        msg = f"noise_variance must be 'estimate' or a positive number; got {value!r}"
        raise ValueError(msg)


def check_weights(weights: Array, n_samples: int) -> None:
    """One repetition count per row, not all zero."""
    if weights.shape != (n_samples,):
        msg = (
            f"sample_weight must hold one number per row, shape ({n_samples},); got "
            f"shape {weights.shape}"
        )
        raise ValueError(msg)
    if not np.isfinite(weights).all():
        msg = "sample_weight contains NaN or infinity: every weight must be finite"
        raise ValueError(msg)
    if np.any(weights < 0):
        msg = (
            f"sample_weight must not be negative; got {weights.min()!r}: give rows "
            "to leave out a weight of zero"
        )
        raise ValueError(msg)
    if not np.any(weights):
        msg = "sample_weight is zero for every row: at least one must be positive"
        raise ValueError(msg)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)

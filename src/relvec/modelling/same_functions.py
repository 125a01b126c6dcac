"""Which functions of two models are the same."""

from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.kernels.varying import Varying
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array


def known_precisions(earlier: Basis, posterior: Posterior, basis: Basis) -> Array:
    """α of every function as it was in an earlier model; infinite if not in it.

    A function is the same if it has the same centre and the same place in the list of
    kernels, whose parameters may have changed.
    """
    # Where every class has its own, the function is as much in the model as in any.
    alpha = np.atleast_2d(posterior.prior_precision).min(axis=0)
    known = dict(zip(_keys(earlier), alpha, strict=True))
    return np.array([known.get(key, np.inf) for key in _keys(basis)])


def function_keys(basis: Basis) -> list[Any]:
    """Something to compare kernel functions by, the constant left out."""
    return _keys(basis)[basis.bias :]


def _keys(basis: Basis) -> list[Any]:
    """Something to compare functions by."""
    keys: list[Any] = ["constant"] if basis.bias else []
    for number, group in enumerate(basis.groups):
        told_apart = group.centres
        if isinstance(group, Varying):
            told_apart = np.hstack([group.centres, group.scales])
        keys += [(number, key) for key in _centre_keys(told_apart)]
    return keys


def _centre_keys(centres: AnyArray) -> list[Any]:
    """Of rows, objects or indices of columns."""
    if centres.dtype != object:
        return [centre.tobytes() for centre in np.asarray(centres, dtype=np.float64)]
    return [_object_key(tuple(row)) for row in centres]


def _object_key(row: tuple[Any, ...]) -> Any:
    try:
        hash(row)
    except TypeError:
        return tuple(id(item) for item in row)
    return row

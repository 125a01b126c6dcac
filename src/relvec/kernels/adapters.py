"""Things that are not relvec kernels, made to look like one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from relvec.kernels.base import KernelFunction
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class Columns:
    """The columns of X themselves: ``Z`` holds their indices.

    With it the features (``kernel=None``) or the rows of a precomputed kernel matrix
    are a dictionary like any other.
    """

    positive_definite = False
    compact = False

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        return np.asarray(X[:, Z], dtype=np.float64)

    def diagonal(self, X: AnyArray, /) -> Array:
        msg = "columns of X have no diagonal: they are not a kernel of two rows"
        raise TypeError(msg)


@dataclass(frozen=True)
class Checked:
    """A user's callable, whose answers are looked at before they are believed."""

    function: Callable[[Any, Any], Any]

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        # Overflow shows in the values, which are looked at next.
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.function(X, Z)
        name = getattr(self.function, "__name__", repr(self.function))
        if self.compact:
            return checked_sparse(values, name, (len(X), len(Z)))
        array = checked_dense(values, name, (len(X), len(Z)))
        # Low-rank designs work in place, and the array may be the user's own.
        shared = self.positive_definite and not isinstance(
            self.function, KernelFunction
        )
        return array.astype(np.float64, copy=shared)

    @property
    def positive_definite(self) -> bool:
        return bool(getattr(self.function, "positive_definite", False))

    @property
    def compact(self) -> bool:
        return bool(getattr(self.function, "compact", False))

    def diagonal(self, X: AnyArray, /) -> Array:
        if hasattr(self.function, "diagonal"):
            return np.asarray(self.function.diagonal(X), dtype=np.float64)
        return np.array([self(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])


def checked_dense(values: Any, name: str, expected: tuple[int, int]) -> AnyArray:
    """What kernel ``name`` returned, if it is a matrix of finite numbers."""
    if issparse(values):
        raise ValueError(
            f"kernel {name} returned a sparse matrix; give it an attribute compact "
            "that is True if it always does, or let it return an array"
        )
    array = np.asarray(values)
    _check(array, array.shape, name, expected)
    return array


def checked_sparse(values: Any, name: str, expected: tuple[int, int]) -> Any:
    """The same of a compact kernel, as a canonical matrix that is nobody else's."""
    sparse = issparse(values)
    if not sparse:
        raise ValueError(
            f"kernel {name} says that it is compact, and returned "
            f"{type(values).__name__}; it must return a sparse matrix of scipy"
        )
    matrix = csr_array(values, copy=True)
    _check(matrix.data, matrix.shape, name, expected)
    matrix.sum_duplicates()
    return matrix.astype(np.float64, copy=False)


def _check(
    values: AnyArray, shape: tuple[int, ...], name: str, expected: tuple[int, int]
) -> None:
    if shape != expected:
        raise ValueError(
            f"kernel {name} returned shape {shape} for inputs of {expected[0]} "
            f"and {expected[1]} rows; it must return {expected}, one value per pair"
        )
    if not np.isrealobj(values) or values.dtype.kind not in "fiub":
        raise ValueError(
            f"kernel {name} returned values of type {values.dtype}; it must "
            "return real numbers"
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"kernel {name} returned NaN or infinity; scale the features or "
            "change its parameters so that every value is finite"
        )

"""Things that are not relvec kernels, made to look like one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class Columns:
    """The columns of X themselves: ``Z`` holds their numbers.

    With it the features (``kernel=None``) or the rows of a precomputed kernel matrix
    are a dictionary like any other.
    """

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        return np.asarray(X[:, Z], dtype=np.float64)

    @property
    def positive_definite(self) -> bool:
        return False

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
            values = np.asarray(self.function(X, Z))
        name = getattr(self.function, "__name__", repr(self.function))
        expected = (len(X), len(Z))
        if values.shape != expected:
            msg = (
                f"kernel {name} returned shape {values.shape} for inputs of {len(X)} "
                f"and {len(Z)} rows; it must return {expected}, one value per pair"
            )
            raise ValueError(msg)
        if not np.isrealobj(values) or values.dtype.kind not in "fiub":
            msg = (
                f"kernel {name} returned values of type {values.dtype}; it must "
                "return real numbers"
            )
            raise ValueError(msg)
        if not np.isfinite(values).all():
            msg = (
                f"kernel {name} returned NaN or infinity; scale the features or "
                "change its parameters so that every value is finite"
            )
            raise ValueError(msg)
        # Low-rank designs work in place, and the array may be the user's own.
        return values.astype(np.float64, copy=self.positive_definite)

    @property
    def positive_definite(self) -> bool:
        return bool(getattr(self.function, "positive_definite", False))

    def diagonal(self, X: AnyArray, /) -> Array:
        if hasattr(self.function, "diagonal"):
            return np.asarray(self.function.diagonal(X), dtype=np.float64)
        return np.array([self(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])

"""Adapters: functions and scikit-learn kernels as kernels of relvec."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from relvec.kernels.base import KernelFunction, as_dense
from relvec.typing import AnyArray, Array, Indices

# Pairs in long runs of one row, as in a sparse matrix, take one call per row. Others
# are evaluated in square blocks, of which only the diagonal is used: small, but large
# enough that the calls do not dominate.
_FEWEST_IN_RUN = 8
_PAIRS_AT_ONCE = 64


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
    """A user's callable whose results are checked."""

    function: Callable[[Any, Any], Any]

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        # Overflow shows in the values, which are checked next.
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


@dataclass(frozen=True, eq=False, repr=False)
class CallableKernel(KernelFunction):
    """A callable as a kernel that can be added, multiplied and tapered.

    Parameters
    ----------
    function : callable
        Takes two arrays of rows and returns the matrix of values between them. Its
        attributes ``positive_definite``, ``compact``, ``diagonal`` and
        ``requires_vector_input`` are trusted; its values are checked.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Notes
    -----
    The kernel has no parameters, and no derivative by its centres.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import CallableKernel, Taper
    >>> def parabola(X, Z):
    ...     return (1 + X @ Z.T) ** 2
    >>> kernel = CallableKernel(parabola) * Taper(2.0)
    >>> kernel(np.array([[1.0], [2.0], [9.0]])).toarray()
    array([[4.000e+00, 4.500e+00, 0.000e+00],
           [4.500e+00, 2.500e+01, 0.000e+00],
           [0.000e+00, 0.000e+00, 6.724e+03]])
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function) or isinstance(self.function, type):
            raise ValueError(
                "function must be a callable of two arrays of rows that returns the "
                f"matrix of values between them; got {self.function!r}"
            )

    @property
    def positive_definite(self) -> bool:
        return Checked(self.function).positive_definite

    @property
    def compact(self) -> bool:
        return Checked(self.function).compact

    @property
    def requires_vector_input(self) -> bool:
        return bool(getattr(self.function, "requires_vector_input", False))

    def _matrix(self, X: Array, Z: Array) -> Any:
        values = Checked(self.function)(X, Z)
        # A dense one may be the user's own.
        return values if self.compact else values.copy()

    def _paired(self, X: Array, Z: Array) -> Array:
        return diagonals(self._matrix, X, Z)

    def _diagonal(self, X: Array) -> Array:
        return Checked(self.function).diagonal(X)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        return {}


def diagonals(matrix: Callable[[Array, Array], Any], X: AnyArray, Z: AnyArray) -> Array:
    """k(x, z) for pairs of rows, of a kernel that only computes matrices."""
    values = np.empty(len(X))
    runs = _runs(X)
    if len(runs) * _FEWEST_IN_RUN < len(X):
        for start, stop in pairwise([*runs, len(X)]):
            row = matrix(X[start : start + 1], Z[start:stop])
            values[start:stop] = as_dense(row)[0]
        return values
    for start in range(0, len(X), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        values[part] = np.diagonal(as_dense(matrix(X[part], Z[part])))
    return values


def _runs(X: AnyArray) -> Indices:
    """Start of each run of equal rows."""
    if X.ndim == 1 or X.dtype == object:
        return np.arange(len(X))
    return np.concatenate([[0], np.flatnonzero(np.any(X[1:] != X[:-1], axis=1)) + 1])


def checked_dense(values: Any, name: str, expected: tuple[int, int]) -> AnyArray:
    """Return the matrix of kernel ``name`` if its values are finite."""
    if issparse(values):
        raise ValueError(
            f"kernel {name} returned a sparse matrix; give it an attribute compact "
            "that is True if it always does, or let it return an array"
        )
    array = np.asarray(values)
    _check(array, array.shape, name, expected)
    return array


def checked_sparse(values: Any, name: str, expected: tuple[int, int]) -> Any:
    """Return the matrix of a compact kernel as a canonical copy."""
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


@dataclass(frozen=True, eq=False, repr=False)
class GaussianProcessKernel(KernelFunction):
    """A kernel of ``sklearn.gaussian_process.kernels``, or with the same methods.

    Parameters
    ----------
    kernel : object
        It has ``diag``, ``theta`` and ``hyperparameters``. Its parameters have names
        such as ``kernel__length_scale``.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Notes
    -----
    Rows and centres are different observations, even if they are equal: a
    ``WhiteKernel`` is 0 between them and contributes nothing, neither to matrices nor
    to ``diagonal``. Noise is estimated by the model instead. Kernels are assumed to be
    positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from relvec.kernels import GaussianProcessKernel
    >>> kernel = GaussianProcessKernel(DotProduct(sigma_0=2.0))
    >>> kernel(np.array([[2.0]]), np.array([[3.0]]))
    array([[10.]])
    """

    kernel: Any

    positive_definite = True

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = ("diag", "theta", "hyperparameters")
        fitting = callable(self.kernel) and not isinstance(self.kernel, type)
        if not fitting or not all(hasattr(self.kernel, name) for name in wanted):
            raise ValueError(
                "kernel must be a kernel of sklearn.gaussian_process.kernels, made "
                f"with its parameters; got {self.kernel!r}"
            )

    @property
    def requires_vector_input(self) -> bool:
        return bool(getattr(self.kernel, "requires_vector_input", True))

    def _matrix(self, X: Array, Z: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.kernel(X, Z)
        return self._checked(values, (len(X), len(Z)))

    def _checked(self, values: Any, expected: tuple[int, int]) -> Array:
        array = checked_dense(values, repr(self.kernel), expected)
        return array.astype(np.float64, copy=False)

    def _paired(self, X: Array, Z: Array) -> Array:
        return diagonals(self._matrix, X, Z)

    def _diagonal(self, X: Array) -> Array:
        if self._has_noise:
            return self._paired(X, X)
        values = np.asarray(self.kernel.diag(X))
        return self._checked(values[:, None], (len(X), 1))[:, 0]

    @property
    def _has_noise(self) -> bool:
        """Whether ``diag`` includes noise that matrices do not have."""
        parts = [self.kernel, *self.kernel.get_params(deep=True).values()]
        return any(hasattr(part, "noise_level") for part in parts)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        _, by_logarithm = self.kernel(np.concatenate([X, Z]), eval_gradient=True)
        block = by_logarithm[: len(X), len(X) :]
        values = np.exp(self.kernel.theta)
        gradients, start = {}, 0
        for parameter in self.kernel.hyperparameters:
            if parameter.fixed:
                continue
            part = slice(start, start + parameter.n_elements)
            gradient = block[..., part] / values[part]
            single = np.ndim(self.kernel.get_params()[parameter.name]) == 0
            gradients[f"kernel__{parameter.name}"] = (
                gradient[..., 0] if single else gradient
            )
            start = part.stop
        return gradients

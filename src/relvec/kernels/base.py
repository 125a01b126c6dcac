"""What a kernel is: a function of two sets of rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Protocol

import numpy as np

from relvec import kernels
from relvec.kernels.checks import check_columns, checked_rows, chosen_columns
from relvec.kernels.sparse import on_pattern
from relvec.parametric import Parametric
from relvec.typing import AnyArray, Array, Indices


class Kernel(Protocol):
    """k(x, z) for every row x of X and z of Z; no Mercer condition is asked."""

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        """The matrix (n_rows of X, n_rows of Z); sparse if ``compact``."""

    @property
    def positive_definite(self) -> bool:
        """Whether every matrix k(X, X) is known to be positive semi-definite."""

    @property
    def compact(self) -> bool:
        """Whether matrices are sparse, the kernel vanishing beyond some distance."""

    def diagonal(self, X: AnyArray, /) -> Array:
        """k(x, x) for every row x of X."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelFunction(Parametric, ABC):
    """Base of relvec's own kernels: their parameters, rows, columns and algebra.

    A kernel of one's own derives from it, is a dataclass with
    ``@dataclass(frozen=True, eq=False, repr=False)``, and says what ``_matrix`` and
    ``_paired`` are; derivatives may follow. Kernels are added and multiplied, with
    each other and with positive numbers.

    Parameters
    ----------
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.
    """

    columns: Any = field(default=None, kw_only=True)

    # numpy leaves ``number * kernel`` to the kernel.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        check_columns(self.columns)

    def __call__(self, X: AnyArray, Z: AnyArray | None = None) -> Array:
        """k(x, z) for every row x of X and z of Z.

        Parameters
        ----------
        X : array of shape (n, n_features)
        Z : array of shape (m, n_features), optional
            X itself by default.

        Returns
        -------
        array of shape (n, m)
            A ``scipy.sparse.csr_array`` if ``compact``.
        """
        return self._matrix(*self.seen(X, Z)[:2])

    @property
    @abstractmethod
    def positive_definite(self) -> bool:
        """Whether every matrix k(X, X) is known to be positive semi-definite."""

    @property
    def compact(self) -> bool:
        """Whether matrices are sparse, the kernel vanishing beyond some distance."""
        return False

    @property
    def requires_vector_input(self) -> bool:
        """Whether rows must be numbers, in the words of scikit-learn's kernels."""
        return True

    def diagonal(self, X: AnyArray) -> Array:
        """k(x, x) for every row x of X, an array of shape (n,)."""
        return self._diagonal(self.seen(X)[0])

    def paired(self, X: AnyArray, Z: AnyArray) -> Array:
        """k(x, z) for each row x of X and the row z of Z beside it, of shape (n,)."""
        return self._paired(*self.seen(X, Z)[:2])

    def gradients(self, X: AnyArray, Z: AnyArray | None = None) -> dict[str, Array]:
        """∂k(x, z)/∂θ for every continuous parameter θ, by its name.

        X and Z are those of a call.

        Returns
        -------
        dict of str to array
            Names as in :meth:`get_params`, nested ones included. Of shape (n, m), and
            (n, m, d) for a parameter that has one entry for each of d features. Never
            sparse.
        """
        return self._gradients(*self.seen(X, Z)[:2])

    def centre_gradient(self, X: AnyArray, Z: AnyArray | None = None) -> Array:
        """∂k(x, z)/∂z, by the features of the centre z; never sparse.

        It is 0 by every feature that the kernel does not see and, by convention, for
        x = z where a kernel has a kink there. X and Z are those of a call.

        Returns
        -------
        array of shape (n, m, n_features)
        """
        rows, centres, chosen = self.seen(X, Z)
        gradient = self._centre_gradient(rows, centres)
        if chosen is None:
            return gradient
        wide = np.zeros((*gradient.shape[:2], np.shape(X)[1]))
        wide[..., chosen] = gradient
        return wide

    def seen(
        self, X: AnyArray, Z: AnyArray | None = None
    ) -> tuple[Array, Array, Indices | None]:
        """The columns of X and Z (X by default) that the kernel sees; their indices."""
        if self.columns is None and not self.requires_vector_input:
            objects = np.asarray(X)
            return objects, objects if Z is None else np.asarray(Z), None
        rows = checked_rows("X", X)
        centres = rows if Z is None or Z is X else checked_rows("Z", Z)
        if centres.shape[1] != rows.shape[1]:
            msg = f"X has {rows.shape[1]} features and Z has {centres.shape[1]}"
            raise ValueError(msg)
        if self.columns is None:
            return rows, centres, None
        chosen = chosen_columns(self.columns, rows.shape[1])
        narrow = rows[:, chosen]
        return narrow, narrow if centres is rows else centres[:, chosen], chosen

    @abstractmethod
    def _matrix(self, X: Array, Z: Array) -> Array:
        """k(x, z) for all pairs, as a new array."""

    @abstractmethod
    def _paired(self, X: Array, Z: Array) -> Array:
        """k(x, z) for rows that belong together, as a new array (n,)."""

    def _diagonal(self, X: Array) -> Array:
        return self._paired(X, X)

    def _of_distances(self, distances: Array) -> Array | None:
        """k as a function of ‖x − z‖, as a new array; None if it is none."""
        return None

    def _sparse_times(self, other: "KernelFunction", X: Array, Z: Array) -> Any:
        """The matrix of this kernel, a compact one, times another on its pattern."""
        matrix: Any = self(X, Z)
        matrix.data *= on_pattern(other.paired, matrix, X, Z)
        return matrix

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        raise TypeError(f"{type(self).__name__} has no derivatives by its parameters")

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        raise TypeError(f"{type(self).__name__} has no derivative by its centres")

    def __add__(self, other: Any) -> "KernelFunction":
        if isinstance(other, Real):
            return kernels.Sum(self, kernels.Constant(float(other)))
        return kernels.Sum(self, other)

    def __radd__(self, other: Any) -> "KernelFunction":
        # The builtin sum begins with 0.
        if isinstance(other, Real):
            return self if other == 0 else kernels.Constant(float(other)) + self
        return kernels.Sum(other, self)

    def __mul__(self, other: Any) -> "KernelFunction":
        if isinstance(other, Real):
            return kernels.Scaled(self, float(other))
        return kernels.Product(self, other)

    def __rmul__(self, other: Any) -> "KernelFunction":
        if isinstance(other, Real):
            return self * other
        return kernels.Product(other, self)

"""Constant kernels, and kernels of the inner product of two points."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from relvec.kernels.base import KernelFunction
from relvec.parameters import check_number, check_positive
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Constant(KernelFunction):
    """The same value for every pair of points.

    Parameters
    ----------
    value : float, default=1.0
    columns : sequence of int or bool, slice, optional
        No effect.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Linear
    >>> (Linear() + 0.5)(np.array([[2.0]]), np.array([[3.0]]))
    array([[6.5]])
    """

    value: float = 1.0

    positive_definite = True
    requires_vector_input = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("value", self.value)

    def _matrix(self, X: Array, Z: Array) -> Array:
        return np.full((len(X), len(Z)), float(self.value))

    def _paired(self, X: Array, Z: Array) -> Array:
        return np.full(len(X), float(self.value))

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        return {"value": np.ones((len(X), len(Z)))}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        return np.zeros((len(X), *Z.shape))


@dataclass(frozen=True, eq=False, repr=False)
class Linear(KernelFunction):
    """xᵀz.

    Parameters
    ----------
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    positive_definite = True

    def _matrix(self, X: Array, Z: Array) -> Array:
        return X @ Z.T

    def _paired(self, X: Array, Z: Array) -> Array:
        return np.sum(X * Z, axis=1)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        return {}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        return np.repeat(X[:, None, :], len(Z), axis=1)


class _OfProduct(KernelFunction):
    """f(gamma·xᵀz + coef0), with the fields in the kernels' order."""

    gamma: float
    coef0: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("gamma", self.gamma)
        check_number("coef0", self.coef0)

    @abstractmethod
    def _profile(self, sums: Array) -> Array:
        """The function f."""

    @abstractmethod
    def _derivative(self, sums: Array) -> Array:
        """The derivative f′."""

    def _scaled(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """√gamma·x and √gamma·z, so that their products stay in range."""
        root = np.sqrt(self.gamma)
        return X * root, Z * root

    def _sums(self, X: Array, Z: Array) -> Array:
        rows, centres = self._scaled(X, Z)
        return rows @ centres.T + self.coef0

    def _matrix(self, X: Array, Z: Array) -> Array:
        return self._profile(self._sums(X, Z))

    def _paired(self, X: Array, Z: Array) -> Array:
        rows, centres = self._scaled(X, Z)
        return self._profile(np.sum(rows * centres, axis=1) + self.coef0)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        derivative = self._derivative(self._sums(X, Z))
        return {"gamma": derivative * (X @ Z.T), "coef0": derivative}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        derivative = self._derivative(self._sums(X, Z))
        return derivative[..., None] * (self.gamma * X)[:, None, :]


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(_OfProduct):
    """(gamma·xᵀz + coef0)^degree.

    Parameters
    ----------
    degree : float, default=3
        Kernel learning does not change it, as there is no derivative by it.
    gamma : float, default=1.0
    coef0 : float, default=0.0
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=1.0)(np.array([[1.0]]), np.array([[3.0]]))
    array([[16.]])
    """

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("degree", self.degree)

    @property
    def positive_definite(self) -> bool:
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def _profile(self, sums: Array) -> Array:
        return sums**self.degree

    def _derivative(self, sums: Array) -> Array:
        return self.degree * sums ** (self.degree - 1)


@dataclass(frozen=True, eq=False, repr=False)
class Sigmoid(_OfProduct):
    """tanh(gamma·xᵀz + coef0); not positive definite, which an RVM does not require.

    Parameters
    ----------
    gamma : float, default=1.0
    coef0 : float, default=0.0
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5)(np.array([[1.0]]), np.array([[2.0]]))
    array([[0.76159416]])
    """

    gamma: float = 1.0
    coef0: float = 0.0

    positive_definite = False

    def _profile(self, sums: Array) -> Array:
        return np.tanh(sums)

    def _derivative(self, sums: Array) -> Array:
        return 1 - np.tanh(sums) ** 2

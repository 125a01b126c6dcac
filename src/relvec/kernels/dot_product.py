"""Kernels of the inner product of two points."""

from dataclasses import dataclass

import numpy as np

from relvec.typing import Array


@dataclass(frozen=True)
class Linear:
    """xᵀz."""

    def __call__(self, X: Array, Z: Array, /) -> Array:
        return X @ Z.T

    @property
    def positive_definite(self) -> bool:
        return True

    def diagonal(self, X: Array, /) -> Array:
        return np.sum(X * X, axis=1)


@dataclass(frozen=True)
class Polynomial:
    """(gamma·xᵀz + coef0)^degree."""

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __call__(self, X: Array, Z: Array, /) -> Array:
        return (_scaled_product(X, Z, self.gamma) + self.coef0) ** self.degree

    @property
    def positive_definite(self) -> bool:
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def diagonal(self, X: Array, /) -> Array:
        squares = np.sum((X * np.sqrt(self.gamma)) ** 2, axis=1)
        return (squares + self.coef0) ** self.degree


@dataclass(frozen=True)
class Sigmoid:
    """tanh(gamma·xᵀz + coef0); not positive definite, which an RVM does not ask."""

    gamma: float = 1.0
    coef0: float = 0.0

    def __call__(self, X: Array, Z: Array, /) -> Array:
        return np.tanh(_scaled_product(X, Z, self.gamma) + self.coef0)

    @property
    def positive_definite(self) -> bool:
        return False

    def diagonal(self, X: Array, /) -> Array:
        squares = np.sum((X * np.sqrt(self.gamma)) ** 2, axis=1)
        return np.tanh(squares + self.coef0)


def _scaled_product(X: Array, Z: Array, gamma: float) -> Array:
    """gamma·xᵀz, scaled before the product so that squares stay in range."""
    root = np.sqrt(gamma)
    return (X * root) @ (Z * root).T

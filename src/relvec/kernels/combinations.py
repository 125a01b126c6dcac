"""Sums, products, multiples and mixtures of kernels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.kernels.base import Kernel, KernelFunction, as_dense
from relvec.kernels.stationary import multiplied
from relvec.parameters import check_positive
from relvec.typing import AnyArray, Array


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(KernelFunction):
    """factor·k(x, z), written ``factor * kernel``.

    Parameters
    ----------
    kernel : KernelFunction
    factor : float, default=1.0
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Linear
    >>> (2.0 * Linear())(np.array([[2.0]]), np.array([[3.0]]))
    array([[12.]])
    """

    kernel: KernelFunction
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_kernel("kernel", self.kernel)
        check_positive("factor", self.factor)

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    @property
    def compact(self) -> bool:
        return self.kernel.compact

    @property
    def requires_vector_input(self) -> bool:
        return self.kernel.requires_vector_input

    def _matrix(self, X: Array, Z: Array) -> Array:
        values = self.kernel(X, Z)
        values *= self.factor
        return values

    def _paired(self, X: Array, Z: Array) -> Array:
        return self.factor * self.kernel.paired(X, Z)

    def _diagonal(self, X: Array) -> Array:
        return self.factor * self.kernel.diagonal(X)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        inner = self.kernel.gradients(X, Z)
        gradients = {f"kernel__{name}": self.factor * g for name, g in inner.items()}
        return gradients | {"factor": as_dense(self.kernel(X, Z))}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        return self.factor * self.kernel.centre_gradient(X, Z)


@dataclass(frozen=True, eq=False, repr=False)
class _Pair(KernelFunction):
    """Two kernels."""

    left: KernelFunction
    right: KernelFunction

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_kernel("left", self.left)
        _check_kernel("right", self.right)

    @property
    def positive_definite(self) -> bool:
        return self.left.positive_definite and self.right.positive_definite

    @property
    def requires_vector_input(self) -> bool:
        return self.left.requires_vector_input or self.right.requires_vector_input


@dataclass(frozen=True, eq=False, repr=False)
class Sum(_Pair):
    """k₁(x, z) + k₂(x, z), written ``left + right``.

    Parameters
    ----------
    left, right : KernelFunction
    columns : sequence of int or bool, slice, optional
        The features that both kernels use; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Gaussian, Linear
    >>> kernel = Gaussian(columns=[0]) + Linear(columns=[1])
    >>> kernel(np.array([[2.0, 1.0]]), np.array([[2.0, 3.0]]))
    array([[4.]])
    """

    @property
    def compact(self) -> bool:
        return self.left.compact and self.right.compact

    def _matrix(self, X: Array, Z: Array) -> Array:
        left, right = self.left(X, Z), self.right(X, Z)
        if self.compact:
            return left + right
        total = as_dense(left)
        total += as_dense(right)
        return total

    def _paired(self, X: Array, Z: Array) -> Array:
        return self.left.paired(X, Z) + self.right.paired(X, Z)

    def _diagonal(self, X: Array) -> Array:
        return self.left.diagonal(X) + self.right.diagonal(X)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        left, right = self.left.gradients(X, Z), self.right.gradients(X, Z)
        gradients = {f"left__{name}": g for name, g in left.items()}
        return gradients | {f"right__{name}": g for name, g in right.items()}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        return self.left.centre_gradient(X, Z) + self.right.centre_gradient(X, Z)


@dataclass(frozen=True, eq=False, repr=False)
class Product(_Pair):
    """k₁(x, z)·k₂(x, z), written ``left * right``.

    Parameters
    ----------
    left, right : KernelFunction
        If one is compact, the other is evaluated only where the first is not zero.
    columns : sequence of int or bool, slice, optional
        The features that both kernels use; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Gaussian, Linear
    >>> kernel = Gaussian(columns=[0]) * Linear(columns=[1])
    >>> kernel(np.array([[2.0, 1.0]]), np.array([[2.0, 3.0]]))
    array([[3.]])
    """

    @property
    def compact(self) -> bool:
        return self.left.compact or self.right.compact

    def _matrix(self, X: Array, Z: Array) -> Array:
        if self.left.compact and self.right.compact:
            left: Any = self.left(X, Z)
            return left.multiply(self.right(X, Z)).tocsr()
        if self.left.compact:
            return self.left._sparse_times(self.right, X, Z)
        if self.right.compact:
            return self.right._sparse_times(self.left, X, Z)
        values = self.left(X, Z)
        values *= self.right(X, Z)
        return values

    def _paired(self, X: Array, Z: Array) -> Array:
        return self.left.paired(X, Z) * self.right.paired(X, Z)

    def _diagonal(self, X: Array) -> Array:
        return self.left.diagonal(X) * self.right.diagonal(X)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        left, right = as_dense(self.left(X, Z)), as_dense(self.right(X, Z))
        by_left, by_right = self.left.gradients(X, Z), self.right.gradients(X, Z)
        gradients = {
            f"left__{name}": multiplied(g, right) for name, g in by_left.items()
        }
        others = {f"right__{name}": multiplied(g, left) for name, g in by_right.items()}
        return gradients | others

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        left, right = as_dense(self.left(X, Z)), as_dense(self.right(X, Z))
        by_left = multiplied(self.left.centre_gradient(X, Z), right)
        return by_left + multiplied(self.right.centre_gradient(X, Z), left)


def _check_kernel(name: str, value: Any) -> None:
    if not isinstance(value, KernelFunction):
        raise TypeError(
            f"{name} must be one of relvec's kernels, a kernel of scikit-learn's "
            "gaussian_process in a GaussianProcessKernel, or another callable in a "
            f"CallableKernel; got {value!r}"
        )


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σₛ weightₛ·kₛ(x, z)."""

    kernels: tuple[Kernel, ...]
    weights: Array

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        parts = [
            weight * (values if self.compact else as_dense(values))
            for weight, values in zip(self.weights, self.parts(X, Z), strict=True)
        ]
        return sum(parts[1:], start=parts[0])

    def parts(self, X: AnyArray, Z: AnyArray) -> list[Array]:
        """The values of every kernel separately."""
        return [kernel(X, Z) for kernel in self.kernels]

    @property
    def positive_definite(self) -> bool:
        return all(kernel.positive_definite for kernel in self.kernels)

    @property
    def compact(self) -> bool:
        return all(kernel.compact for kernel in self.kernels)

    def diagonal(self, X: AnyArray, /) -> Array:
        return np.asarray(self.weights @ [each.diagonal(X) for each in self.kernels])

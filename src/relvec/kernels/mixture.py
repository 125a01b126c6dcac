"""A convex combination of whatever is taken for kernels."""

from dataclasses import dataclass

import numpy as np

from relvec.kernels.base import Kernel
from relvec.kernels.sparse import as_dense
from relvec.typing import AnyArray, Array


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
        """The values of every kernel by itself."""
        return [kernel(X, Z) for kernel in self.kernels]

    @property
    def positive_definite(self) -> bool:
        return all(kernel.positive_definite for kernel in self.kernels)

    @property
    def compact(self) -> bool:
        return all(kernel.compact for kernel in self.kernels)

    def diagonal(self, X: AnyArray, /) -> Array:
        return np.asarray(self.weights @ [each.diagonal(X) for each in self.kernels])

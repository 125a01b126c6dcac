"""The kernel that is the same everywhere."""

from dataclasses import dataclass

import numpy as np

from relvec.kernels.base import KernelFunction
from relvec.parameters import check_positive
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Constant(KernelFunction):
    """The same value for every pair of points.

    Parameters
    ----------
    value : float, default=1.0
    columns : sequence of int or bool, slice, optional
        Without effect.

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

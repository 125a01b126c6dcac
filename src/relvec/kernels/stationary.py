"""Kernels of the distance between two points."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from relvec.typing import Array

# Up to here distances are summed feature by feature, which is exact for points far
# from the origin; beyond, one matrix product is several times faster.
_FEW_FEATURES = 12


@dataclass(frozen=True)
class Gaussian:
    """exp(−‖x − z‖² / 2ℓ²).

    Parameters
    ----------
    length_scale : float
        ℓ. scikit-learn's ``gamma`` is 1/(2ℓ²); Tipping's width r is ℓ√2.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Gaussian
    >>> Gaussian(length_scale=2.0)(np.array([[0.0]]), np.array([[0.0], [2.0]]))
    array([[1.        , 0.60653066]])
    """

    length_scale: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.length_scale) and self.length_scale > 0):
            msg = f"length_scale must be positive and finite, got {self.length_scale!r}"
            raise ValueError(msg)

    @classmethod
    def from_gamma(cls, gamma: float) -> "Gaussian":
        """exp(−gamma·‖x − z‖²)."""
        return cls(float(np.sqrt(0.5) / np.sqrt(gamma)))

    def __call__(self, X: Array, Z: Array, /) -> Array:
        # Scaling first keeps squares in range for features of any magnitude.
        scale = np.float64(self.length_scale)
        squares = squared_distances(X / scale, Z / scale)
        squares *= -0.5
        return np.exp(squares, out=squares)

    @property
    def positive_definite(self) -> bool:
        return True

    def diagonal(self, X: Array, /) -> Array:
        return np.ones(len(X))


def squared_distances(X: Array, Z: Array) -> Array:
    """‖x − z‖² for all pairs of rows."""
    if X.shape[1] <= _FEW_FEATURES:
        return cdist(X, Z, "sqeuclidean")
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    squares = X @ Z.T
    squares *= -2
    squares += np.sum(X * X, axis=1)[:, None]
    squares += np.sum(Z * Z, axis=1)
    return np.maximum(squares, 0, out=squares)

"""Base of the kernels that see two points only through their scaled distance."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from relvec.kernels.base import KernelFunction
from relvec.kernels.checks import Scale, check_scale, feature_scales
from relvec.kernels.distances import apply, differences, of_squares, squared_distances
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Radial(KernelFunction):
    """f(s) with s = ‖(x − z)/ℓ‖², one ℓ for all features or one for each.

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ; 1 by default.
    width : float or array of float, optional
        √2·ℓ, instead of ``length_scale``.
    """

    length_scale: Scale | None = field(default=None, kw_only=True)
    width: Scale | None = field(default=None, kw_only=True)

    positive_definite = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length_scale is not None and self.width is not None:
            raise ValueError(
                "width is √2 times length_scale: give one of them, not both; got "
                f"length_scale={self.length_scale!r} and width={self.width!r}"
            )
        for name in ("length_scale", "width"):
            if getattr(self, name) is not None:
                check_scale(name, getattr(self, name))

    @property
    def scale(self) -> float | Array:
        """The length scale in effect, or those of all features."""
        if self.width is not None:
            scales = np.asarray(self.width) / np.sqrt(2)
        else:
            scales = np.asarray(1.0 if self.length_scale is None else self.length_scale)
        return scales if scales.ndim else float(scales)

    @abstractmethod
    def _profile(self, squares: Array) -> None:
        """f(s), in place of s."""

    @abstractmethod
    def _derivative(self, squares: Array) -> Array:
        """f′(s); 0 where it is infinite, at s = 0."""

    def _derivative_beside(self, values: Array, squares: Array) -> Array:
        """f′(s) where f(s) is known as well, which may tell it."""
        return self._derivative(squares)

    def _profile_gradients(self, squares: Array) -> dict[str, Array]:
        """∂f(s)/∂θ by further parameters θ."""
        return {}

    def _scales(self, n_features: int) -> Array:
        name = "length_scale" if self.width is None else "width"
        return feature_scales(name, self.scale, n_features)

    @property
    def _rough(self) -> bool:
        """Whether f takes the root of s, which magnifies errors near s = 0."""
        return False

    def _squares(self, X: Array, Z: Array) -> Array:
        # Scaling first keeps squares in range for features of any magnitude.
        scales = self._scales(X.shape[1])
        return squared_distances(X / scales, Z / scales, exact=self._rough)

    def _matrix(self, X: Array, Z: Array) -> Array:
        scales = self._scales(X.shape[1])
        return of_squares(self._profile, X / scales, Z / scales, exact=self._rough)

    def _paired(self, X: Array, Z: Array) -> Array:
        scaled = (X - Z) / self._scales(X.shape[1])
        return apply(self._profile, np.einsum("ij,ij->i", scaled, scaled))

    def _of_distances(self, distances: Array) -> Array | None:
        if self.columns is not None or np.ndim(self.scale):
            return None
        return apply(self._profile, (distances / self.scale) ** 2)

    def _diagonal(self, X: Array) -> Array:
        self._scales(X.shape[1])
        return apply(self._profile, np.zeros(len(X)))

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        squares = self._squares(X, Z)
        gradients = self._profile_gradients(squares)
        derivative = self._derivative(squares)
        # s is homogeneous of degree −2 in the width as in the length scale.
        name = "length_scale" if self.width is None else "width"
        given = getattr(self, name)
        value = np.asarray(1.0 if given is None else given, dtype=np.float64)
        if value.ndim:
            scaled = differences(X, Z) / self._scales(X.shape[1])
            squares, derivative = scaled**2, derivative[..., None]
        gradients[name] = -2 * derivative * squares / value
        return gradients

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        derivative = self._derivative(self._squares(X, Z))[..., None]
        scales = self._scales(X.shape[1])
        return -2 * derivative * (differences(X, Z) / scales) / scales

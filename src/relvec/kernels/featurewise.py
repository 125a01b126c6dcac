"""Kernels that are a product of one function for each feature."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from relvec.kernels.base import KernelFunction, Scale, check_scale, feature_scales
from relvec.kernels.stationary import differences, gaussian, of_squares
from relvec.parameters import check_positive
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Laplacian(KernelFunction):
    """exp(−‖x − z‖₁ / ℓ), with the sum of absolute differences.

    Parameters
    ----------
    length_scale : float or array of float, default=1.0
        ℓ, one for all features or one for each. scikit-learn's ``gamma`` is 1/ℓ.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Notes
    -----
    The kernel has a kink where a feature of x and z is the same: there
    ``centre_gradient`` is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Laplacian
    >>> Laplacian(length_scale=2.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]]))
    array([[0.36787944]])
    """

    length_scale: Scale = 1.0

    positive_definite = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale("length_scale", self.length_scale)

    @classmethod
    def from_gamma(cls, gamma: float) -> "Laplacian":
        """exp(−gamma·‖x − z‖₁)."""
        check_positive("gamma", gamma)
        return cls(1 / gamma)

    def _scales(self, n_features: int) -> Array:
        return feature_scales("length_scale", self.length_scale, n_features)

    def _matrix(self, X: Array, Z: Array) -> Array:
        scales = self._scales(X.shape[1])
        distances = cdist(X / scales, Z / scales, "cityblock")
        np.negative(distances, out=distances)
        return np.exp(distances, out=distances)

    def _paired(self, X: Array, Z: Array) -> Array:
        return np.exp(-np.sum(np.abs(X - Z) / self._scales(X.shape[1]), axis=1))

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        values = self._matrix(X, Z)
        scales = self._scales(X.shape[1])
        if scales.ndim == 0:
            distances = cdist(X / scales, Z / scales, "cityblock")
            return {"length_scale": values * distances / scales}
        scaled = np.abs(differences(X, Z)) / scales
        return {"length_scale": values[..., None] * scaled / scales}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        values = self._matrix(X, Z)[..., None]
        return values * np.sign(differences(X, Z)) / self._scales(X.shape[1])


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(KernelFunction):
    """exp(−2 Σⱼ sin²(π(xⱼ − zⱼ)/pⱼ) / ℓⱼ²).

    Parameters
    ----------
    length_scale : float or array of float, default=1.0
        ℓ, one for all features or one for each.
    period : float or array of float, default=1.0
        p, one for all features or one for each.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Notes
    -----
    A Gaussian kernel of points on circles, one circle for every feature. For one
    feature it is scikit-learn's ``ExpSineSquared``; for several it is a product, which
    is positive definite, while a periodic function of their distance is not.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Periodic
    >>> Periodic(period=3.0)(np.array([[0.0]]), np.array([[3.0], [1.5]]))
    array([[1.        , 0.13533528]])
    """

    length_scale: Scale = 1.0
    period: Scale = 1.0

    positive_definite = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale("length_scale", self.length_scale)
        check_scale("period", self.period)

    def _parameters(self, n_features: int) -> tuple[Array, Array]:
        """Length scales and periods, for all features or each."""
        scales = feature_scales("length_scale", self.length_scale, n_features)
        return scales, feature_scales("period", self.period, n_features)

    def _on_circles(self, X: Array) -> Array:
        """Map to twice as many features, where this kernel is Gaussian with ℓ = 1."""
        scales, periods = self._parameters(X.shape[1])
        angles = 2 * np.pi * _turns(X, periods)
        return np.hstack([np.cos(angles) / scales, np.sin(angles) / scales])

    def _matrix(self, X: Array, Z: Array) -> Array:
        return of_squares(gaussian, self._on_circles(X), self._on_circles(Z))

    def _paired(self, X: Array, Z: Array) -> Array:
        difference = self._on_circles(X) - self._on_circles(Z)
        return np.exp(-0.5 * np.einsum("ij,ij->i", difference, difference))

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        values = self._matrix(X, Z)[..., None]
        scales, periods = self._parameters(X.shape[1])
        turns = differences(_turns(X, periods), _turns(Z, periods))
        by_scale = values * 4 * (np.sin(np.pi * turns) / scales) ** 2 / scales
        by_period = np.sin(2 * np.pi * turns) * (differences(X, Z) / periods) / periods
        by_period *= 2 * np.pi * values / scales**2
        if scales.ndim == 0:
            by_scale = by_scale.sum(axis=2)
        if periods.ndim == 0:
            by_period = by_period.sum(axis=2)
        return {"length_scale": by_scale, "period": by_period}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        values = self._matrix(X, Z)[..., None]
        scales, periods = self._parameters(X.shape[1])
        turns = differences(_turns(X, periods), _turns(Z, periods))
        return values * 2 * np.pi * np.sin(2 * np.pi * turns) / (scales**2 * periods)


def _turns(X: Array, periods: Array) -> Array:
    """x/p without whole periods, which fmod removes without rounding."""
    return np.asarray(np.fmod(X, periods) / periods)

"""Smooth kernels of the distance between two points."""

from dataclasses import dataclass

import numpy as np

from relvec.kernels.checks import Scale
from relvec.kernels.distances import gaussian
from relvec.kernels.radial import Radial
from relvec.parameters import check_positive
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Radial):
    """exp(−‖x − z‖² / 2ℓ²).

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ, one for all features or one for each; 1 by default. scikit-learn's
        ``gamma`` is 1/(2ℓ²).
    width : float or array of float, optional
        r = √2·ℓ instead, as in exp(−‖x − z‖²/r²) [1]_.
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.

    References
    ----------
    .. [1] Tipping, M. E. (2001). Sparse Bayesian learning and the relevance vector
       machine. Journal of Machine Learning Research 1, 211-244.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Gaussian
    >>> Gaussian(length_scale=2.0)(np.array([[0.0]]), np.array([[0.0], [2.0]]))
    array([[1.        , 0.60653066]])
    >>> Gaussian(width=2.0).scale
    1.414213562373095
    """

    length_scale: Scale | None = None

    @classmethod
    def from_gamma(cls, gamma: float) -> "Gaussian":
        """exp(−gamma·‖x − z‖²)."""
        check_positive("gamma", gamma)
        return cls(float(np.sqrt(0.5) / np.sqrt(gamma)))

    def _profile(self, squares: Array) -> None:
        gaussian(squares)

    def _derivative(self, squares: Array) -> Array:
        return -0.5 * np.exp(-0.5 * squares)

    def _derivative_beside(self, values: Array, squares: Array) -> Array:
        return -0.5 * values


@dataclass(frozen=True, eq=False, repr=False)
class InverseMultiquadric(Radial):
    """1/√(‖x − z‖² + η).

    Parameters
    ----------
    offset : float, default=1.0
        η; the kernel is at most 1/√η.
    length_scale : float or array of float, optional
        ℓ, by which features are divided first: ‖(x − z)/ℓ‖².
    width : float or array of float, optional
        √2·ℓ, instead of ``length_scale``.
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import InverseMultiquadric
    >>> InverseMultiquadric(offset=9.0)(np.array([[0.0]]), np.array([[0.0], [4.0]]))
    array([[0.33333333, 0.2       ]])
    """

    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("offset", self.offset)

    def _profile(self, squares: Array) -> None:
        squares += self.offset
        np.sqrt(squares, out=squares)
        np.reciprocal(squares, out=squares)

    def _derivative(self, squares: Array) -> Array:
        return -0.5 * (squares + self.offset) ** -1.5

    def _profile_gradients(self, squares: Array) -> dict[str, Array]:
        return {"offset": self._derivative(squares)}


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Radial):
    """(1 + ‖x − z‖² / 2αℓ²)^(−α), a mixture of Gaussians of many length scales.

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ, one for all features or one for each; 1 by default.
    alpha : float, default=1.0
        α; the larger, the closer to a single Gaussian.
    width : float or array of float, optional
        √2·ℓ, instead of ``length_scale``.
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=0.5)(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    array([[1.        , 0.70710678]])
    """

    length_scale: Scale | None = None
    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("alpha", self.alpha)

    def _profile(self, squares: Array) -> None:
        squares /= 2 * self.alpha
        np.log1p(squares, out=squares)
        squares *= -self.alpha
        np.exp(squares, out=squares)

    def _derivative(self, squares: Array) -> Array:
        ratio = squares / (2 * self.alpha)
        return -0.5 * np.exp(-(self.alpha + 1) * np.log1p(ratio))

    def _profile_gradients(self, squares: Array) -> dict[str, Array]:
        ratio = squares / (2 * self.alpha)
        logarithm = np.log1p(ratio)
        values = np.exp(-self.alpha * logarithm)
        return {"alpha": values * (ratio / (1 + ratio) - logarithm)}

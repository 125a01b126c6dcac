"""Kernels that vanish beyond a distance, so that their matrices are sparse.

A taper is a function of u ≥ 0 that is zero from 1 on and keeps products positive
definite. Its exponent p is at least a value that grows with the number of features.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relvec.kernels.base import (
    KernelFunction,
    Scale,
    check_scale,
    close_distances,
    count_close,
    feature_scales,
    on_pattern,
)
from relvec.kernels.combinations import Product
from relvec.kernels.stationary import Matern, differences, squared_distances
from relvec.parameters import check_choice, check_positive
from relvec.typing import AnyArray, Array


class Triangular:
    """max(1 − u, 0)^p, eq. 6.1.1.3.1 of the thesis; it has a kink at u = 0."""

    def least(self, n_features: int) -> float:
        """Smallest exponent for which t(‖x − z‖) is positive definite."""
        return (n_features + 1) / 2

    def value(self, u: Array, power: float) -> Array:
        """t(u)."""
        return np.maximum(1 - u, 0) ** power

    def derivative(self, u: Array, power: float) -> Array:
        """t′(u)/u, and 0 at u = 0 where t has a kink."""
        inside = (u > 0) & (u < 1)
        derivative = np.zeros_like(u)
        derivative[inside] = -power * (1 - u[inside]) ** (power - 1) / u[inside]
        return derivative

    def by_power(self, u: Array, power: float) -> Array:
        """∂t(u)/∂p."""
        return self.value(u, power) * _log_rest(u)


class Smooth:
    """max(1 − u, 0)^p (1 + pu), Wendland's function with two derivatives."""

    def least(self, n_features: int) -> float:
        return (n_features + 5) / 2

    def value(self, u: Array, power: float) -> Array:
        return np.maximum(1 - u, 0) ** power * (1 + power * u)

    def derivative(self, u: Array, power: float) -> Array:
        return -power * (power + 1) * np.maximum(1 - u, 0) ** (power - 1)

    def by_power(self, u: Array, power: float) -> Array:
        rest = np.maximum(1 - u, 0) ** power
        return rest * ((1 + power * u) * _log_rest(u) + u)


def _log_rest(u: Array) -> Array:
    """log(1 − u), and 0 where it is not finite."""
    logarithm = np.zeros_like(u)
    inside = u < 1
    logarithm[inside] = np.log1p(-u[inside])
    return logarithm


TAPERS: dict[str, Triangular | Smooth] = {
    "triangular": Triangular(),
    "smooth": Smooth(),
}


@dataclass(frozen=True, eq=False, repr=False)
class Taper(KernelFunction):
    """max(1 − u, 0)^exponent with u = ‖x − z‖/support, to multiply any kernel by.

    The product, ``kernel * Taper(support)``, is zero beyond a distance of ``support``.
    Its matrices are ``scipy.sparse.csr_array``, and only derivatives need arrays of the
    size of all pairs of rows. The product is positive definite if the kernel is. This
    is eq. 6.1.1.3.1 of [1]_, the hyper-triangular kernel.

    Parameters
    ----------
    support : float or array of float, default=3.0
        The distance beyond which the kernel is 0; or one for each feature, which
        divides the feature before the distance is computed.
    exponent : float, optional
        The default is the smallest exponent for which the kernel of d features is
        positive definite: (d + 1)/2, or (d + 5)/2 for the smooth taper. Smaller ones
        are refused.
    taper : {"triangular", "smooth"}, default="triangular"
        max(1 − u, 0)^exponent has a kink at u = 0, so that products with it are no
        smoother than an exponential kernel.
        ``"smooth"`` multiplies it by 1 + exponent·u, Wendland's function [2]_, which
        has two derivatives; prefer it for more than three features.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default. They alone
        determine the sparsity of a product.

    Notes
    -----
    ``centre_gradient`` is 0 at x = z if the taper has a kink there.

    The other factor is evaluated for close pairs only. Kernels that compute whole
    matrices (:class:`GaussianProcessKernel`, :class:`CallableKernel`) are evaluated one
    row at a time.

    References
    ----------
    .. [1] Ben-Shimon, D. (2006). Accelerating the relevance vector machine. Thesis,
       Ben-Gurion University of the Negev.
    .. [2] Wendland, H. (1995). Piecewise polynomial, positive definite and compactly
       supported radial functions of minimal degree. Advances in Computational
       Mathematics 4, 389-396.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import RationalQuadratic, Taper
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> kernel = RationalQuadratic() * Taper(2.0)
    >>> kernel(X).toarray().round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    >>> Taper(2.0).count(X)
    5
    """

    support: Scale = 3.0
    exponent: float | None = None
    taper: str = "triangular"

    positive_definite = True
    compact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("taper", self.taper, tuple(TAPERS))
        check_scale("support", self.support)
        if self.exponent is not None:
            check_positive("exponent", self.exponent)

    def count(self, X: AnyArray, Z: AnyArray | None = None) -> int:
        """Number of non-zero entries between X and Z, without computing them.

        X and Z are as in a call; Z is X by default.
        """
        rows, centres, _ = self.seen(X, Z)
        supports = self._supports(rows.shape[1])
        return count_close(rows / supports, centres / supports)

    def _supports(self, n_features: int) -> Array:
        return feature_scales("support", self.support, n_features)

    def _power(self, n_features: int) -> float:
        least = TAPERS[self.taper].least(n_features)
        if self.exponent is None:
            return least
        if self.exponent < least:
            raise ValueError(
                f"exponent is {self.exponent!r}, and of {n_features} features the "
                f"kernel is positive definite only from {least} on: raise it, or "
                "leave it to the default"
            )
        return float(self.exponent)

    def _values(self, u: Array, n_features: int) -> Array:
        return TAPERS[self.taper].value(u, self._power(n_features))

    def _matrix(self, X: Array, Z: Array) -> Any:
        supports = self._supports(X.shape[1])
        matrix = close_distances(X / supports, Z / supports)
        matrix.data = self._values(matrix.data, X.shape[1])
        return matrix

    def _sparse_times(self, other: KernelFunction, X: Array, Z: Array) -> Any:
        supports = self._supports(X.shape[1])
        if self.columns is not None or supports.ndim:
            return super()._sparse_times(other, X, Z)
        # Reuse known distances.
        matrix = close_distances(X / supports, Z / supports)
        values = other._of_distances(matrix.data * supports)
        if values is None:
            values = on_pattern(other.paired, matrix, X, Z)
        values *= self._values(matrix.data, X.shape[1])
        matrix.data = values
        return matrix

    def _paired(self, X: Array, Z: Array) -> Array:
        scaled = (X - Z) / self._supports(X.shape[1])
        return self._values(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), X.shape[1])

    def _distances(self, X: Array, Z: Array) -> Array:
        supports = self._supports(X.shape[1])
        return np.sqrt(squared_distances(X / supports, Z / supports, exact=True))

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        u, supports = self._distances(X, Z), self._supports(X.shape[1])
        taper, power = TAPERS[self.taper], self._power(X.shape[1])
        by_square = -taper.derivative(u, power)
        if supports.ndim:
            squares = (differences(X, Z) / supports) ** 2
            by_square = by_square[..., None]
        else:
            squares = u**2
        gradients = {"support": by_square * squares / supports}
        if self.exponent is not None:
            gradients["exponent"] = taper.by_power(u, power)
        return gradients

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        derivative = TAPERS[self.taper].derivative(
            self._distances(X, Z), self._power(X.shape[1])
        )
        supports = self._supports(X.shape[1])
        return -derivative[..., None] * (differences(X, Z) / supports) / supports


@dataclass(frozen=True, eq=False, repr=False)
class CompactMatern(Matern):
    """The Matérn kernel times a :class:`Taper`, under one name.

    ``CompactMatern(ℓ, nu, support=R)`` is ``Matern(ℓ, nu) * Taper(R)``. Its matrices
    are ``scipy.sparse.csr_array``.

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ of the Matérn kernel, one for all features or one for each; 1 by default.
    nu : float, default=1.5
        ν of the Matérn kernel, any positive number or infinity.
    width : float or array of float, optional
        √2·ℓ, instead of ``length_scale``.
    support, exponent, taper : optional
        Those of the :class:`Taper`.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Notes
    -----
    ``centre_gradient`` is 0 at x = z if the kernel has a kink there.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import CompactMatern
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> kernel = CompactMatern(support=2.0, nu=0.5)
    >>> kernel(X).toarray().round(3)
    array([[1.   , 0.184, 0.   ],
           [0.184, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    >>> kernel.count(X)
    5
    """

    support: Scale = field(default=3.0, kw_only=True)
    exponent: float | None = field(default=None, kw_only=True)
    taper: str = field(default="triangular", kw_only=True)

    compact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        Taper(self.support, self.exponent, self.taper)  # checks its parameters

    @property
    def _taper(self) -> Taper:
        return Taper(self.support, self.exponent, self.taper)

    @property
    def _product(self) -> Product:
        return Product(
            Matern(self.length_scale, self.nu, width=self.width), self._taper
        )

    def count(self, X: AnyArray, Z: AnyArray | None = None) -> int:
        """Number of non-zero entries between X and Z, without computing them.

        X and Z are as in a call; Z is X by default.
        """
        return self._taper.count(*self.seen(X, Z)[:2])

    def _matrix(self, X: Array, Z: Array) -> Any:
        return self._product(X, Z)

    def _paired(self, X: Array, Z: Array) -> Array:
        return self._product.paired(X, Z)

    def _diagonal(self, X: Array) -> Array:
        return self._product.diagonal(X)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        gradients = self._product.gradients(X, Z)
        return {name.partition("__")[2]: each for name, each in gradients.items()}

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        return self._product.centre_gradient(X, Z)

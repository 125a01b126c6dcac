"""A Matérn kernel that vanishes beyond a distance, so that its matrices are sparse."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relvec.kernels.checks import Scale, check_scale, feature_scales
from relvec.kernels.distances import apply, differences, multiplied, squared_distances
from relvec.kernels.matern import Matern
from relvec.kernels.sparse import close_distances, count_close, on_pattern
from relvec.kernels.tapers import TAPERS
from relvec.parameters import check_choice, check_positive
from relvec.typing import AnyArray, Array


@dataclass(frozen=True, eq=False, repr=False)
class CompactMatern(Matern):
    """The Matérn kernel times max(1 − u, 0)^exponent, u = ‖x − z‖/support.

    Its matrices are ``scipy.sparse.csr_array``: nothing the size of all pairs of rows
    is held, except by the derivatives. The second factor is eq. 6.1.1.3.1 of [1]_,
    with a radius of its own.

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ of the Matérn kernel, one for all features or one for each; 1 by default.
    nu : float, default=1.5
        ν of the Matérn kernel, any positive number or infinity.
    width : float or array of float, optional
        √2·ℓ, instead of ``length_scale``.
    support : float or array of float, default=3.0
        The distance from which on the kernel is 0; or one for each feature, by which
        they are divided before the distance is taken.
    exponent : float, optional
        The default is the least that keeps the kernel of d features positive definite:
        (d + 1)/2, or (d + 5)/2 for the smooth taper; less is refused.
    taper : {"triangular", "smooth"}, default="triangular"
        The second factor: max(1 − u, 0)^exponent has a kink at u = 0, so that the
        kernel is no smoother than an exponential, whatever ``nu`` is.
        ``"smooth"`` multiplies it by 1 + exponent·u, Wendland's function [2]_, which
        has two derivatives; prefer it for more than three features.
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.

    Notes
    -----
    Where the kernel has a kink at x = z, ``centre_gradient`` is 0 there.

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
        check_choice("taper", self.taper, tuple(TAPERS))
        check_scale("support", self.support)
        if self.exponent is not None:
            check_positive("exponent", self.exponent)

    def count(self, X: AnyArray, Z: AnyArray | None = None) -> int:
        """How many entries the matrix between X and Z will have, without making it.

        X and Z, which is X by default, are those of a call.
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

    def _matrix(self, X: Array, Z: Array) -> Any:
        supports, scales = self._supports(X.shape[1]), self._scales(X.shape[1])
        matrix = close_distances(X / supports, Z / supports)
        if supports.ndim or scales.ndim:
            values = on_pattern(super()._paired, matrix, X, Z)
        else:
            values = (matrix.data * (supports / scales)) ** 2
            apply(self._profile, values)
        values *= TAPERS[self.taper].value(matrix.data, self._power(X.shape[1]))
        matrix.data = values
        return matrix

    def _paired(self, X: Array, Z: Array) -> Array:
        scaled = (X - Z) / self._supports(X.shape[1])
        distances = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        taper = TAPERS[self.taper].value(distances, self._power(X.shape[1]))
        return super()._paired(X, Z) * taper

    def _diagonal(self, X: Array) -> Array:
        self._power(X.shape[1])
        self._supports(X.shape[1])
        return super()._diagonal(X)

    def _distances(self, X: Array, Z: Array) -> Array:
        supports = self._supports(X.shape[1])
        return np.sqrt(squared_distances(X / supports, Z / supports, exact=True))

    def _taper(self, X: Array, Z: Array) -> tuple[Array, Array, Array]:
        """t(u) for all distances u, t′(u)/u (0 at u = 0), and ∂t/∂exponent."""
        u, p, taper = self._distances(X, Z), self._power(X.shape[1]), TAPERS[self.taper]
        return taper.value(u, p), taper.derivative(u, p), taper.by_power(u, p)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        taper, derivative, by_power = self._taper(X, Z)
        values = super()._matrix(X, Z)
        by_matern = super()._gradients(X, Z)
        gradients = {name: multiplied(g, taper) for name, g in by_matern.items()}
        supports = self._supports(X.shape[1])
        by_square = -values * derivative
        if supports.ndim:
            squares = (differences(X, Z) / supports) ** 2
            by_square = by_square[..., None]
        else:
            squares = self._distances(X, Z) ** 2
        gradients["support"] = by_square * squares / supports
        if self.exponent is not None:
            gradients["exponent"] = values * by_power
        return gradients

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        taper, derivative, _ = self._taper(X, Z)
        by_distance = super()._matrix(X, Z) * derivative
        supports = self._supports(X.shape[1])
        gradient = multiplied(super()._centre_gradient(X, Z), taper)
        scaled = differences(X, Z) / supports
        return gradient - by_distance[..., None] * scaled / supports

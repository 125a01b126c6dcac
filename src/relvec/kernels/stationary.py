"""Kernels of the scaled distance between two points.

The Matérn function M_ν(z) = 2^(1−ν)/Γ(ν)·z^ν·K_ν(z) has M_ν(0) = 1. From
K_(ν+1)(z) = K_(ν−1)(z) + (2ν/z)·K_ν(z) follows

    M_(ν+1)(z) = M_ν(z) + z²/(4ν(ν−1))·M_(ν−1)(z)      for ν > 1:

sums of positive terms, which neither overflow nor cancel. Half-integer orders begin
with exp(−z), integer ones with K₀ and K₁; for others scipy's K_ν is slow, and safe up
to a moderate order. Large orders use the uniform expansion.

See Olver, F. W. J. et al., NIST Digital Library of Mathematical Functions,
https://dlmf.nist.gov, 10.29.1 and 10.41.4.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gamma, k0, k1, kve

from relvec.kernels.base import KernelFunction, Scale, check_scale, feature_scales
from relvec.parameters import check_positive
from relvec.typing import Array

# With few features (up to the first number) or a single row, sums feature by feature
# are fastest, and exact for points far from each other or the origin. Beyond the
# second, a product of matrices is several times faster. In between it is used if
# squares are so small that their differences lose few digits (250 · eps is 6e-14).
_FEW_FEATURES, _MANY_FEATURES = 4, 12
_SMALL_SQUARE, _LARGEST_SQUARE = 250.0, 1e300
# A quarter of a megabyte stays in the processor's cache between operations.
_CACHED_ENTRIES = 32_768


def squared_distances(X: Array, Z: Array, *, exact: bool = False) -> Array:
    """‖x − z‖² for all pairs; ``exact`` keeps the digits of small distances."""
    return of_squares(lambda squares: None, X, Z, exact=exact)


def of_squares(
    function: Callable[[Array], None], X: Array, Z: Array, *, exact: bool = False
) -> Array:
    """f(‖x − z‖²) for all pairs of rows, by a function that works in place."""
    n_features = X.shape[1]
    if exact or n_features <= _FEW_FEATURES or min(len(X), len(Z)) <= 1:
        return apply(function, cdist(X, Z, "sqeuclidean"))
    centre = Z.mean(axis=0)
    rows, centres = X - centre, Z - centre
    squares = [np.einsum("ij,ij->i", points, points) for points in (rows, centres)]
    limit = _SMALL_SQUARE if n_features <= _MANY_FEATURES else _LARGEST_SQUARE
    if max(map(np.max, squares)) > limit:
        return apply(function, cdist(X, Z, "sqeuclidean"))
    return _of_expanded_squares(function, rows, centres, *squares)


def _of_expanded_squares(
    function: Callable[[Array], None],
    X: Array,
    Z: Array,
    row_squares: Array,
    centre_squares: Array,
) -> Array:
    """The same from ‖x‖² − 2xᵀz + ‖z‖², in blocks of rows after the product.

    All rows are multiplied at once: with many features and few rows, most of the time
    of a product goes into rearranging Z.
    """
    values = np.matmul(X, Z.T)
    step = max(1, _CACHED_ENTRIES // len(Z))
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        squares = values[part]
        squares *= -2
        squares += row_squares[part, None]
        squares += centre_squares
        function(np.maximum(squares, 0, out=squares))
    return values


def apply(function: Callable[[Array], None], values: Array) -> Array:
    """Apply an in-place function to parts of an array, and return the array."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _CACHED_ENTRIES):
        function(flat[start : start + _CACHED_ENTRIES])
    return values


def gaussian(squares: Array) -> None:
    """exp(−s/2), in place of s."""
    squares *= -0.5
    np.exp(squares, out=squares)


def differences(X: Array, Z: Array) -> Array:
    """x − z for all pairs of rows, (n, m, n_features)."""
    return np.subtract(X[:, None, :], Z)


def multiplied(gradient: Array, values: Array) -> Array:
    """Multiply a gradient (n, m) or (n, m, d) by values (n, m)."""
    return gradient * (values if gradient.ndim == 2 else values[..., None])


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
        """The effective length scale, for all features or each."""
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
        """f′(s), possibly computed from f(s)."""
        return self._derivative(squares)

    def _profile_gradients(self, squares: Array) -> dict[str, Array]:
        """∂f(s)/∂θ by further parameters θ."""
        return {}

    def _scales(self, n_features: int) -> Array:
        name = "length_scale" if self.width is None else "width"
        return feature_scales(name, self.scale, n_features)

    @property
    def _rough(self) -> bool:
        """Whether f uses the root of s, which magnifies errors near s = 0."""
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


# Below the first, M_ν with ν > 1 is 1 to all digits; the square of the second does not
# underflow; M_ν of the third is 0.
_SMALL, _SMALLEST, _LARGEST = 1e-10, 1e-150, 1e4
# K_ν of the first overflows from order 27 on.
_MOST_DIRECT = 25
# From this order on the expansion has 13 digits; the recurrence would need 200 steps.
_LARGE_ORDER = 200


def matern(order: float, z: Array) -> Array:
    """M_ν(z) for z ≥ 0."""
    if order > _LARGE_ORDER:
        return _large_order(order, z)
    if order % 1 in {0.0, 0.5}:
        return _recurrent(order, np.clip(z, _SMALLEST, _LARGEST))
    if 1 < order < _MOST_DIRECT:
        values = _direct(order, np.clip(z, _SMALL, _LARGEST))
    else:
        values = _recurrent(order, np.clip(z, _SMALLEST, _LARGEST))
    values[z == 0] = 1.0
    return values


def matern_derivative(order: float, z: Array) -> Array:
    """−M_ν′(z)/z = 2^(1−ν)/Γ(ν)·z^(ν−1)·K_(ν−1)(z); 0 where it is infinite."""
    if order > 1:
        return matern(order - 1, z) / (2 * (order - 1))
    positive = np.clip(z, _SMALLEST, _LARGEST)
    derivative = _increment(order, positive) * (2 * order) / positive**2
    derivative[z == 0] = 0.0
    return derivative


def _direct(order: float, z: Array) -> Array:
    """Evaluate the definition."""
    values = np.asarray(kve(order, z), dtype=np.float64)
    values *= np.exp(-z)
    values *= z**order
    values *= 2 ** (1 - order) / gamma(order)
    return values


def _recurrent(order: float, z: Array) -> Array:
    """Use the recurrence upwards from orders ν in (0, 1] and ν + 1."""
    steps = int(np.ceil(order)) - 1
    first = order - steps
    lower = _first(first, z)
    if steps == 0:
        return lower
    upper = lower + _increment(first, z)
    squares = 0.25 * z * z
    for nu in first + np.arange(1, steps):
        lower *= squares
        lower /= nu * (nu - 1)
        lower += upper
        lower, upper = upper, lower
    return upper


def _first(order: float, z: Array) -> Array:
    """M_ν(z) for an order of at most 1."""
    if order == 0.5:
        return np.exp(-z)
    if order == 1:
        return z * k1(z)
    return _direct(order, z)


def _increment(order: float, z: Array) -> Array:
    """M_(ν+1)(z) − M_ν(z) = 2^(−ν)/Γ(ν+1)·z^(ν+1)·K_(1−ν)(z) for at most order 1."""
    if order == 0.5:
        return z * np.exp(-z)
    if order == 1:
        return 0.5 * z * z * k0(z)
    factor = 2**-order / gamma(order + 1)
    return factor * z ** (order + 1) * kve(1 - order, z) * np.exp(-z)


def _large_order(order: float, z: Array) -> Array:
    """DLMF 10.41.4 for K_ν(ν·t), with Stirling's series for Γ(ν)."""
    ratio = np.minimum(z / order, 1e4)
    root = np.sqrt(1 + ratio * ratio)
    excess = ratio * ratio / (1 + root)  # √(1 + t²) − 1, for small t too
    p = 1 / root
    series = np.ones_like(p)
    for k, (divisor, coefficients) in enumerate(_DEBYE, start=1):
        polynomial = p**k * np.polynomial.polynomial.polyval(p * p, coefficients)
        series += polynomial / (divisor * (-order) ** k)
    stirling = 1 / (12 * order) - 1 / (360 * order**3) + 1 / (1260 * order**5)
    exponent = order * (np.log1p(excess / 2) - excess) - stirling
    return np.exp(exponent) * np.sqrt(p) * series


# u_k(p) of DLMF 10.41.10: divisor, and coefficients of p^k, p^(k+2), …
_DEBYE = (
    (24, (3, -5)),
    (1152, (81, -462, 385)),
    (414_720, (30_375, -369_603, 765_765, -425_425)),
    (39_813_120, (4_465_125, -94_121_676, 349_922_430, -446_185_740, 185_910_725)),
)


# Relative step, about eps^(1/5): it balances the truncation of a fourth-order
# difference, h⁴, and rounding, eps/h.
_ORDER_STEP = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Matern(Radial):
    """2^(1−ν)/Γ(ν)·z^ν·K_ν(z) with z = √(2ν)·‖x − z‖/ℓ.

    K_ν is the modified Bessel function of the second kind. Functions of this kernel
    are differentiable ⌈ν⌉ − 1 times: ν = 1/2 is exp(−‖x − z‖/ℓ), ν = ∞ the Gaussian
    kernel. Orders 1/2, 3/2, 5/2, … are the fastest, followed by 1, 2, 3, …

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ, one for all features or one for each, as in scikit-learn; 1 by default.
    nu : float, default=1.5
        ν, any positive number or infinity. The derivative by ν is a fourth-order
        difference with about ten digits; infinity has none.
    width : float or array of float, optional
        σ = √2·ℓ instead, the width of eq. 6.1.1.2.1 in [1]_.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

    Notes
    -----
    For ν ≤ 1/2 the kernel has a kink where x = z: there ``centre_gradient`` is 0.

    References
    ----------
    .. [1] Ben-Shimon, D. (2006). Accelerating the relevance vector machine. Thesis,
       Ben-Gurion University of the Negev.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Matern
    >>> Matern(length_scale=2.0, nu=0.5)(np.array([[0.0]]), np.array([[0.0], [2.0]]))
    array([[1.        , 0.36787944]])
    """

    length_scale: Scale | None = None
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu != np.inf:
            check_positive("nu", self.nu)

    @property
    def _rough(self) -> bool:
        return self.nu < 1

    def _profile(self, squares: Array) -> None:
        if self.nu == np.inf:
            gaussian(squares)
        else:
            squares *= 2 * self.nu
            np.sqrt(squares, out=squares)
            squares[...] = matern(self.nu, squares)

    def _profile_gradients(self, squares: Array) -> dict[str, Array]:
        if self.nu == np.inf:
            return {}
        step = _ORDER_STEP * self.nu

        def at(steps: int) -> Array:
            nu = self.nu + steps * step
            return matern(nu, np.sqrt(2 * nu * squares))

        return {"nu": (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)}

    def _derivative(self, squares: Array) -> Array:
        if self.nu == np.inf:
            return -0.5 * np.exp(-0.5 * squares)
        return -self.nu * matern_derivative(self.nu, np.sqrt(2 * self.nu * squares))


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
        The features that the kernel uses; all by default.

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
        ℓ, which divides the features: ‖(x − z)/ℓ‖².
    width : float or array of float, optional
        √2·ℓ, instead of ``length_scale``.
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.

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
        The features that the kernel uses; all by default.

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

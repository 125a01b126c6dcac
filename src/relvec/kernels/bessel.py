"""The Matérn function M_ν(z) = 2^(1−ν)/Γ(ν)·z^ν·K_ν(z), which begins with M_ν(0) = 1.

From K_(ν+1)(z) = K_(ν−1)(z) + (2ν/z)·K_ν(z) follows

    M_(ν+1)(z) = M_ν(z) + z²/(4ν(ν−1))·M_(ν−1)(z)      for ν > 1:

sums of positive terms, which neither overflow nor cancel. Half-integer orders begin
with exp(−z), integer ones with K₀ and K₁; for others scipy's K_ν is slow, and safe up
to a moderate order. For large orders there is the uniform expansion.

See Olver, F. W. J. et al., NIST Digital Library of Mathematical Functions,
https://dlmf.nist.gov, 10.29.1 and 10.41.4.
"""

import numpy as np
from scipy.special import gamma, k0, k1, kve

from relvec.typing import Array

# Below the first, M_ν with ν > 1 is 1 to all digits; the square of the second is still
# above 0; M_ν of the third is 0.
_SMALL, _SMALLEST, _LARGEST = 1e-10, 1e-150, 1e4
# From order 27 on, K_ν of the first is more than the largest number.
_MOST_DIRECT = 25
# There the expansion has 13 digits, and more beyond; the recurrence has 200 steps.
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
    """The definition."""
    values = np.asarray(kve(order, z), dtype=np.float64)
    values *= np.exp(-z)
    values *= z**order
    values *= 2 ** (1 - order) / gamma(order)
    return values


def _recurrent(order: float, z: Array) -> Array:
    """From orders ν in (0, 1] and ν + 1 upwards."""
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

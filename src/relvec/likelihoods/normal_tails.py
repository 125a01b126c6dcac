"""The normal distribution function and its slope, for large arrays at once.

With a = |z| the tail is Φ(−a) = e^(−a²/2)·m(a), where m(a) = ½erfcx(a/√2) falls slowly
and smoothly: (a + k)m(a) is a polynomial in t = (a − k)/(a + k), which maps all a ≥ 0
to −1 ≤ t < 1 (Shepherd & Laframboise 1981). What is left are sums and products, which
processors do for several numbers at a time; scipy's functions take ten times longer.
With z₊ = max(z, 0), z₋ = min(z, 0) and

    c = ½ + sign(z)(½ − e^(−z₊²/2)m),   that is  m  or  1 − Φ(−a),

both sides are  log Φ(z) = log c − ½z₋²  and  φ(z)/Φ(z) = e^(−z₊²/2)/(c√(2π)).
"""

from functools import cache

import numpy as np
from scipy.special import erfcx, log_ndtr

from relvec.typing import Array

_MIDDLE = 3.75 * np.sqrt(2.0)  # k, the paper's
_DEGREE = 16  # for relative errors of 4e-12 of m, far below those of quadrature
# Below −this, φ/Φ and −z agree in so many digits that few of their difference are left.
_FAR = 300.0
_LOG_NORMAL = -0.5 * np.log(2 * np.pi)
_DENSITY = float(np.exp(_LOG_NORMAL))  # φ(0)


def log_cdf_and_ratio(z: Array) -> tuple[Array, Array]:
    """log Φ(z) and φ(z)/Φ(z), to full relative accuracy on both sides."""
    log_cdf = log_ndtr(z)
    return log_cdf, np.exp(_LOG_NORMAL - 0.5 * z * z - log_cdf)


def ratio_and_scaled(z: Array, room: Array) -> tuple[Array, Array]:
    """φ(z)/Φ(z) and c, whose logarithm is log Φ(z) + ½z₋².

    All is done in ``room`` (3, *shape of z), of which the results are parts: memory
    that is asked for anew costs more than what is done with it.
    """
    share, t, tail = room
    np.abs(z, out=share)
    share += _MIDDLE
    np.divide(1.0, share, out=share)
    np.multiply(share, -2 * _MIDDLE, out=t)
    t += 1
    coefficients = _coefficients()
    np.multiply(t, coefficients[0], out=tail)
    for coefficient in coefficients[1:-1]:
        tail += coefficient
        tail *= t
    tail += coefficients[-1]
    tail *= share  # m
    peak = np.maximum(z, 0.0, out=t)
    peak *= peak
    peak *= -0.5
    np.exp(peak, out=peak)
    tail *= peak
    np.subtract(0.5, tail, out=tail)
    scaled = np.copysign(tail, z, out=tail)
    scaled += 0.5
    peak *= _DENSITY
    return np.divide(peak, scaled, out=peak), scaled


def steepness(z: Array, ratio: Array, out: Array | None = None) -> Array:
    """−(log Φ)″ = r(z + r), between 0 and 1, for the ratio r = φ(z)/Φ(z).

    An error of r counts z² times, so far below zero the expansion 1 − 1/z² + 6/z⁴ takes
    its place. ``out`` may be z itself.
    """
    far = z < -_FAR if z.size and z.min() < -_FAR else None
    squares = None if far is None else z[far] ** -2.0
    bend = np.add(z, ratio, out=out)
    bend *= ratio
    if squares is not None:
        bend[far] = 1 - squares * (1 - 6 * squares)
    return bend


@cache
def _coefficients() -> list[float]:
    """Of (a + k)m(a) by powers of t, highest first, by interpolation."""
    chebyshev = np.polynomial.chebyshev
    t = chebyshev.chebpts1(_DEGREE + 1)
    a = _MIDDLE * (1 + t) / (1 - t)
    values = 0.5 * (a + _MIDDLE) * erfcx(a / np.sqrt(2.0))
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, values, _DEGREE))
    return [float(c) for c in powers[::-1]]

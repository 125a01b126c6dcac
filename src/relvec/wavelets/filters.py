"""The filter of an orthonormal wavelet, computed from its number of vanishing moments.

Solves |H(z)|² + |H(−z)|² = 2 on the unit circle for H(z) = Σ h_k z^k with N zeros at
z = −1. By Daubechies' spectral factorisation H(z) ∝ (1 + z)^N Q(z), where |Q|² is a
polynomial P in y = (2 − z − 1/z) / 4. Each root of P comes from a pair z, 1/z, and Q
may take either: of all the choices the one with the most nearly linear phase gives
the least asymmetric wavelet, or symmlet.

See I. Daubechies (1992), "Ten Lectures on Wavelets", SIAM, sections 6.1 and 8.1.
"""

from itertools import product

import numpy as np
from scipy.special import comb

from relvec.typing import AnyArray, Array


def symmlet(n_moments: int) -> Array:
    """The filter h of 2N coefficients, with Σh = √2; the Haar filter for N = 1."""
    pairs = _root_pairs(n_moments)
    # The mirror image of a filter is as good as the filter: one pair stays as it is.
    options = [(pair, 1 / pair) for pair in pairs[1:]]
    factors = [_factor([*pairs[:1], *choice]) for choice in product(*options)]
    most_linear = min(factors, key=_phase_deviation)
    taps = np.convolve(most_linear, np.poly(np.full(n_moments, -1.0)))
    return np.sqrt(2) * taps / taps.sum()


def _root_pairs(n_moments: int) -> list[AnyArray]:
    """Roots z inside the unit circle, real ones alone, others with their conjugate."""
    powers = np.arange(n_moments)
    y = np.roots(comb(n_moments - 1 + powers, powers)[::-1])
    upper = y[y.imag >= 0].astype(complex)
    # z + 1/z = 2 − 4y
    middle = 1 - 2 * upper
    z = middle + np.sqrt(middle**2 - 1)
    inside = np.where(np.abs(z) < 1, z, 1 / z)
    return [
        np.array([root.real]) if value.imag == 0 else np.array([root, root.conj()])
        for value, root in zip(upper, inside, strict=True)
    ]


def _factor(roots: list[AnyArray]) -> Array:
    """Coefficients of Q, from its roots."""
    return np.real(np.atleast_1d(np.poly(np.concatenate([np.empty(0), *roots]))))


def _phase_deviation(factor: Array) -> float:
    """How far the phase of Q is from a linear one, at most, over the unit circle."""
    angles = np.linspace(0, 2 * np.pi, 1025)
    phase = np.unwrap(np.angle(np.polyval(factor, np.exp(1j * angles))))
    line = np.linspace(phase[0], phase[-1], len(phase))
    return float(np.max(np.abs(phase - line)))

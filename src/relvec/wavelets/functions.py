"""Wavelets on the unit interval, at any points.

Given the filter h of a wavelet with N vanishing moments, the scaling function φ solves
φ(x) = √2 Σ h_k φ(2x − k), and the wavelet is ψ(x) = √2 Σ g_k φ(2x − k). The values of
2^(j/2) ψ(2^j x − k) are computed to machine precision, without interpolation: those of
the finest scaling functions by a product of matrices over the binary digits of x, and
coarser ones by the two equations, which are PyWavelets' discrete transform.

See I. Daubechies and J. C. Lagarias (1992), "Two-scale difference equations II", SIAM
Journal on Mathematical Analysis 23, 1031-1079, and for the polynomials H.-S. Oh,
P. Naveau and G. Lee (2001), "Polynomial boundary treatment for wavelet regression",
Biometrika 88, 291-298.
"""

from typing import Any

import numpy as np
from scipy.linalg import hankel, toeplitz

from relvec.parameters import optional_module
from relvec.typing import Array


def symmlet(n_moments: int) -> Array:
    """The filter h of 2N coefficients, with Σh = √2; the Haar filter for N = 1."""
    wavelet = pywavelets().Wavelet("haar" if n_moments == 1 else f"sym{n_moments}")
    # The mirror image would do as well; old models need this one.
    mirrored = n_moments in (4, 6, 8, 10)
    taps = np.array(wavelet.dec_lo if mirrored else wavelet.rec_lo)
    places = np.linspace(-1, 1, 2 * n_moments)
    moments = np.polynomial.legendre.legvander(places, n_moments - 1).T
    moments *= (-1.0) ** np.arange(2 * n_moments)
    earlier, later = hankel(taps)[::2], np.triu(toeplitz(taps))[::2]
    errors = np.append(earlier @ taps - np.eye(n_moments)[0], moments @ taps)
    return taps - np.linalg.solve(np.vstack([earlier + later, moments]), errors)


def pywavelets() -> Any:
    """Import PyWavelets, or explain how to install it."""
    use = "filters of wavelets are those of PyWavelets"
    return optional_module("pywt", use, "wavelets")


# Binary digits of a number in [1/2, 1).
_DIGITS = 53


def basis_functions(
    positions: Array, taps: Array, levels: int, *, periodic: bool
) -> Array:
    """Values (n, functions) at positions in [0, 1]: polynomials, then each level.

    Each level j has one wavelet per cell of width 2^-j, the one whose support is
    centred there. It is wrapped around a circle, or cut off at the ends of the
    interval. Wavelets are orthogonal to polynomials of degree < N: on the interval
    these are added, on the circle only the constant, which completes an orthonormal
    basis.
    """
    order = len(taps) // 2
    pywt = pywavelets()
    wavelet = pywt.Wavelet("symmlet", pywt.orthogonal_filter_bank(taps))
    mode = "periodic" if periodic else "zero"
    scaling = _finest(positions, taps, levels, periodic=periodic)
    functions = []
    for level in reversed(range(levels)):
        scaling, wavelets = pywt.dwt(scaling, wavelet, mode, axis=1)
        inner = slice(order - 1, order - 1 + 2**level)
        functions.append(wavelets[:, : 2**level] if periodic else wavelets[:, inner])
        scaling = scaling[:, inner] if periodic else scaling
    functions.append(_legendre(positions, 1 if periodic else order))
    return np.hstack(functions[::-1])


def _legendre(positions: Array, count: int) -> Array:
    """Orthonormal polynomials on [0, 1], of ascending degree."""
    degrees = np.arange(count)
    values = np.polynomial.legendre.legvander(2 * positions - 1, count - 1)
    return np.sqrt(2 * degrees + 1) * values


def _finest(positions: Array, taps: Array, level: int, *, periodic: bool) -> Array:
    """2^(j/2) φ(2^j x − k) for all k whose support meets the interval."""
    n_cells, reach = 2**level, len(taps) - 2
    # The last cell is closed, the others are open on the right.
    cells = np.minimum(positions * n_cells, n_cells - 1).astype(np.intp)
    translates = cells[:, None] - np.arange(reach + 1)
    columns = translates % n_cells if periodic else translates + reach
    values = np.zeros((len(positions), n_cells + (0 if periodic else reach)))
    rows = np.arange(len(positions))[:, None]
    within = _scaling_function(positions * n_cells - cells, taps)
    np.add.at(values, (rows, columns), 2 ** (level / 2) * within)
    return values


def _scaling_function(fractions: Array, taps: Array) -> Array:
    """φ(t), φ(t + 1), ..., φ(t + 2N − 2) for each t in [0, 1].

    If d is the first binary digit of t, these are T_d times the same for 2t − d, where
    (T_d)_il = √2 h_(d + 2i − l): a product over the digits.
    """
    n_values = len(taps) - 1
    padded = np.pad(np.sqrt(2) * taps, n_values)
    row, column = np.indices((n_values, n_values))
    refine = [padded[n_values + digit + 2 * row - column] for digit in (0, 1)]
    digits = []
    for _ in range(_DIGITS):
        digits.append(fractions >= 0.5)
        fractions = 2 * fractions - digits[-1]
    values = np.tile(_at_integers(refine[0]), (len(fractions), 1))
    for digit in reversed(digits):
        ones = digit[:, None]
        values = np.where(ones, values @ refine[1].T, values @ refine[0].T)
    return values


def _at_integers(refine: Array) -> Array:
    """φ(0), φ(1), ...: fixed points of the two-scale equation, with sum one."""
    size = len(refine)
    equations = np.vstack([refine - np.eye(size), np.ones(size)])
    return np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]

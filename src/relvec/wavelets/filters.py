"""The filter of an orthonormal wavelet, by its number of vanishing moments.

PyWavelets has the filters of Daubechies' least asymmetric wavelets, or symmlets, to
about twelve digits, of which values of the functions would keep nine. One step of
Newton's method on the equations that define a filter h of 2N coefficients gives the
rest: Σ_k h_k h_(k+2m) = δ_m0 and Σ_k (−1)^k p(k) h_k = 0 for all polynomials p of
degree < N. See I. Daubechies (1992), "Ten Lectures on Wavelets", SIAM, section 6.1.
"""

from typing import Any

import numpy as np
from scipy.linalg import hankel, toeplitz

from relvec.parameters import optional_module
from relvec.typing import Array


def symmlet(n_moments: int) -> Array:
    """The filter h of 2N coefficients, with Σh = √2; the Haar filter for N = 1."""
    wavelet = pywavelets().Wavelet("haar" if n_moments == 1 else f"sym{n_moments}")
    # A filter's mirror image is as good as the filter; models keep the one they had.
    mirrored = n_moments in (4, 6, 8, 10)
    taps = np.array(wavelet.dec_lo if mirrored else wavelet.rec_lo)
    places = np.linspace(-1, 1, 2 * n_moments)
    moments = np.polynomial.legendre.legvander(places, n_moments - 1).T
    moments *= (-1.0) ** np.arange(2 * n_moments)
    earlier, later = hankel(taps)[::2], np.triu(toeplitz(taps))[::2]
    errors = np.append(earlier @ taps - np.eye(n_moments)[0], moments @ taps)
    return taps - np.linalg.solve(np.vstack([earlier + later, moments]), errors)


def pywavelets() -> Any:
    """PyWavelets, which only wavelets need, or the way to get it."""
    use = "filters of wavelets are those of PyWavelets"
    return optional_module("pywt", use, "wavelets")

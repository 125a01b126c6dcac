"""Functions of a distance that are zero from 1 on and keep products positive definite.

Each is a function of u ≥ 0 with an exponent p, from a least one on that grows with the
number of features.
"""

import numpy as np

from relvec.typing import Array


class Triangular:
    """max(1 − u, 0)^p, eq. 6.1.1.3.1 of the thesis; it has a kink at u = 0."""

    def least(self, n_features: int) -> float:
        """Exponent from which on t(‖x − z‖) is positive definite."""
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
    """log(1 − u), and 0 where that is not finite."""
    logarithm = np.zeros_like(u)
    inside = u < 1
    logarithm[inside] = np.log1p(-u[inside])
    return logarithm


TAPERS: dict[str, Triangular | Smooth] = {
    "triangular": Triangular(),
    "smooth": Smooth(),
}

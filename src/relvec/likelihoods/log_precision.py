"""Squared errors whose log precision is a latent value, by Laplace's approximation."""

from dataclasses import dataclass

import numpy as np

from relvec.likelihoods.log_linear import LogLinear
from relvec.typing import Array

_LOG_NORMAL = -0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class LogPrecision(LogLinear):
    """y = ε² with ε ~ N(0, e^−η), by the density of ε."""

    def terms(self, y: Array) -> tuple[Array, Array, Array]:
        return np.full(y.shape, 0.5), 0.5 * y, np.full(y.shape, _LOG_NORMAL)

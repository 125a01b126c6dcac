"""Counts through the logarithmic link, by Laplace's approximation."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from relvec.likelihoods.log_linear import LogLinear
from relvec.typing import Array


@dataclass(frozen=True)
class Poisson(LogLinear):
    """y = 0, 1, 2, ... with mean exposure·e^η."""

    exposure: float = 1.0

    def terms(self, y: Array) -> tuple[Array, Array, Array]:
        constant = y * np.log(self.exposure) - gammaln(y + 1)
        return y, np.full(y.shape, self.exposure), constant

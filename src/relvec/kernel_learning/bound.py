"""How large the weights of narrow functions may be.

Two functions side by side with large weights of opposite sign are a steep gradient
where there are rows, and run wild where there are none. Wide functions need such
weights: over the rows they hardly differ from a constant. Narrow ones whose length
scales are learned do not: a function of another scale says the same.
"""

from dataclasses import dataclass

import numpy as np

from relvec.typing import Array

# How fast the bound gives way to functions that are wide: so steep that narrow ones do
# not feel it. Other powers are not on record.
_POWER = 4


@dataclass(frozen=True)
class WeightBound:
    """On the prior standard deviations of weights, which grows with length scales."""

    narrow: float  # of functions far narrower than ``wide``
    wide: Array  # (1 or d,) length scales at which it has doubled

    def max_prior_std(self, scales: Array) -> Array:
        """Of the weights of functions with these length scales (n, 1 or d)."""
        logarithm = np.mean(np.log(scales / self.wide), axis=1)
        return np.asarray(self.narrow * (1 + np.exp(_POWER * logarithm)))

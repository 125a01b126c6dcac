"""An estimate of the noise that is not made of residuals that the model has used up.

Functions are chosen for the rows they sit on, so residuals are too small, by how much a
row tells that is predicted without itself and without its function. The ratio of its
squared error to the variance promised is one on average where there is nothing to
correct, and the noise is raised until it is.
"""

import numpy as np

from relvec.modelling.families.base import LeftOut
from relvec.typing import Array

# Generalised cross-validation with Friedman's cost of a function, as in
# ``relvec.kernel_learning.criteria``. Its square is the most that is corrected: where
# there is hardly any noise no function can do without another, and rows under them seem
# lost that new rows are not.
_COST_PER_FUNCTION = 3.0
# Nats of all rows together: less is no evidence for anything.
_LEAST_GAIN = 1.0
# Observations that the variance of the targets counts for, in logarithms, where rows
# are few: without it intervals of five rows were too narrow, from 1 to 4 they were not.
_PRIOR_WEIGHT = 2.0


def corrected_noise(
    noise: float, left_out: LeftOut, *, centred: bool, degrees_of_freedom: float
) -> float:
    """A variance no smaller than ``noise``."""
    count, weight = left_out.n_observations, left_out.weight
    errors = left_out.errors(centred=centred)[:, 0]
    variance = left_out.variance[:, 0]
    ratio = min(_ratio(errors, variance + noise, weight), _most(left_out))
    if ratio > 1 and 0.5 * count * (ratio - 1 - np.log(ratio)) > _LEAST_GAIN:
        within = float(np.average(variance, weights=weight))
        noise = ratio * (noise + within) - within
    if np.isinf(degrees_of_freedom):
        return noise
    prior = float(np.average(left_out.targets[:, 0] ** 2, weights=weight))
    share = _PRIOR_WEIGHT / (_PRIOR_WEIGHT + degrees_of_freedom)
    return max(noise, noise ** (1 - share) * prior**share)


def _ratio(errors: Array, promised: Array, weight: Array) -> float:
    """Mean of squared errors to their variance."""
    least = np.finfo(float).tiny
    return float(np.average(errors**2 / np.maximum(promised, least), weights=weight))


def _most(left_out: LeftOut) -> float:
    count, n_functions = left_out.n_observations, left_out.n_functions
    left = count - _COST_PER_FUNCTION * n_functions
    return ((count - n_functions) / left) ** 2 if left > 0 else np.inf

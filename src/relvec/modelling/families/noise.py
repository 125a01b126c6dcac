"""An estimate of the noise that is not made of residuals that the model has used up.

Functions are chosen for the rows they sit on, so residuals are too small, by how much a
row tells that is predicted without itself and without its function. The ratio of its
squared error to the variance promised is one on average where there is nothing to
correct, and the noise is raised until it is.
"""

from collections.abc import Callable

import numpy as np

from relvec.modelling.families.base import LeftOut
from relvec.modelling.residuals import LEVEL
from relvec.typing import Array

# Generalised cross-validation with Friedman's cost of a function, as in
# ``relvec.kernel_learning.criteria``. Its square is the most that is corrected: where
# there is hardly any noise no function can do without another, and rows under them seem
# lost that new rows are not.
_COST_PER_FUNCTION = 3.0
# Nats of all rows together: less is no evidence for anything.
_LEAST_GAIN = 1.0
# Of a noise that is estimated: from so many on Student's distribution is as good as
# Gaussian, its intervals 1.6 % wider; with fewer than three it has no variance.
_MANY, _LEAST_FREEDOM = 60, 3.0
# Of the logarithm of a factor of the noise: a percent of its deviation, and beyond all
# that numbers can be apart.
_LOG_STEP, _LARGEST_LOG = 0.02, 512.0
# Observations that the variance of the targets counts for, in logarithms, where rows
# are few: without it intervals of five rows were too narrow, from 1 to 4 they were not.
_PRIOR_WEIGHT = 2.0
_MOST_STEPS, _CLOSE = 100, 1e-6  # of a ratio, which takes ten


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


def noise_factor(coverage: Callable[[float], float], n_rows: float) -> float:
    """How many times the noise must be, at least once, for 90 % intervals to hold.

    ``coverage`` tells what the intervals of ``n_rows`` rows cover that were never seen,
    for so many times the noise. Where it is 90 % to a standard error, nothing changes.
    """
    if coverage(1.0) >= LEVEL - np.sqrt(LEVEL * (1 - LEVEL) / n_rows):
        return 1.0
    least, enough = 0.0, 1.0
    while coverage(np.exp(enough)) < LEVEL:
        if enough > _LARGEST_LOG:
            return 1.0  # rows lie outside whatever the noise is
        least, enough = enough, 2 * enough
    while enough - least > _LOG_STEP:
        middle = 0.5 * (least + enough)
        if coverage(np.exp(middle)) < LEVEL:
            least = middle
        else:
            enough = middle
    return float(np.exp(enough))


def freedom_left(observations: float) -> float:
    """Degrees of freedom of a noise estimated from so many; infinite from 60 on."""
    left = max(observations, _LEAST_FREEDOM)
    return left if left < _MANY else np.inf


def corrected_scale(
    scale: float, left_out: LeftOut, *, degrees_of_freedom: float
) -> float:
    """σ² of Student's t, no smaller than ``scale``.

    The same with the scale of most likelihood in the place of the mean square: an error
    counts for ν + 1 of its variances at most, so that a few cannot raise it.
    """
    errors, variance = _errors(left_out)
    squares = errors**2 / np.maximum(variance + scale, np.finfo(float).tiny)
    ratio, gain = _scale_of_most_likelihood(
        squares, left_out.weight, degrees_of_freedom
    )
    ratio = min(ratio, _most(left_out))
    if ratio <= 1 or gain * left_out.n_observations <= _LEAST_GAIN:
        return scale
    within = float(np.average(variance, weights=left_out.weight))
    return float(ratio * (scale + within) - within)


def _scale_of_most_likelihood(
    squares: Array, weight: Array, freedom: float
) -> tuple[float, float]:
    """Of squared errors whose scale should be one, and nats per row that it gains."""
    if not squares.any():
        return 0.0, 0.0
    ratio = 1.0
    for _ in range(_MOST_STEPS):
        scales = (freedom + 1) / (freedom + squares / ratio)
        before = ratio
        # Over the mean of the scales, not the number of rows: that is faster.
        ratio = float(weight @ (scales * squares) / (weight @ scales))
        if abs(ratio - before) < _CLOSE * before:
            break
    terms = np.log1p(squares / freedom) - np.log1p(squares / (freedom * ratio))
    gain = 0.5 * ((freedom + 1) * np.average(terms, weights=weight) - np.log(ratio))
    return ratio, float(gain)


def _errors(left_out: LeftOut) -> tuple[Array, Array]:
    """And their variances without the noise (N,)."""
    errors = (left_out.targets - left_out.mean)[:, 0]
    return errors, left_out.variance[:, 0]


def _ratio(errors: Array, promised: Array, weight: Array) -> float:
    """Mean of squared errors to their variance."""
    least = np.finfo(float).tiny
    return float(np.average(errors**2 / np.maximum(promised, least), weights=weight))


def _most(left_out: LeftOut) -> float:
    count, n_functions = left_out.n_observations, left_out.n_functions
    left = count - _COST_PER_FUNCTION * n_functions
    return ((count - n_functions) / left) ** 2 if left > 0 else np.inf

"""Student's t with a Gaussian added: what latent values and heavy tails come to.

A t variable of ν degrees of freedom is a normal one of variance 1/τ with τ from a gamma
distribution of shape and rate ν/2, so

    ∫ t(y | η, σ²) N(η | m, s²) dη = ∫ N(y | m, s² + σ²/τ) Ga(τ | ν/2, ν/2) dτ,

a smooth integral over log τ, whose trapezoidal sum has all digits that are asked for.
"""

from functools import cache

import numpy as np
from scipy.special import gammaln, logsumexp, ndtr

from relvec.typing import Array

# In log τ, of its standard deviation for many degrees of freedom, and at most: half of
# one leaves 1e-8. So many nodes reach targets that are 1e8 scales away.
_STEP, _N_NODES = 0.5, 128
_FURTHEST_ABOVE = (4.0, 9.0)  # in log τ, and in its standard deviations
_ROWS_AT_ONCE = 8192  # times nodes: temporaries of 8 MB
_MOST_STEPS, _CLOSE = 60, 1e-10  # of Newton's method, which takes ten


def log_convolved(
    squares: Array, variance: Array, scale: Array, degrees_of_freedom: float
) -> Array:
    """log ∫ t(y | η, scale²) N(η | m, variance) dη of (y − m)², elementwise."""
    log_weights, tau = _rule(degrees_of_freedom)
    total = variance[..., None] + scale[..., None] ** 2 / tau
    terms = -0.5 * (np.log(2 * np.pi * total) + squares[..., None] / total)
    return np.asarray(logsumexp(terms + log_weights, axis=-1))


def central_quantile(
    level: float, variance: Array, scale: float, degrees_of_freedom: float
) -> Array:
    """Half the width (N,) of the interval about the mean of this probability."""
    parts = []
    for start in range(0, max(1, len(variance)), _ROWS_AT_ONCE):
        some = variance[start : start + _ROWS_AT_ONCE]
        parts.append(_half_width(level, some, scale, degrees_of_freedom))
    return np.concatenate(parts)


def _half_width(level: float, variance: Array, scale: float, nu: float) -> Array:
    """By Newton's method: beyond the mean the distribution function is concave.

    So steps from below stay below, and rise.
    """
    log_weights, tau = _rule(nu)
    weights = np.exp(log_weights)
    std = np.sqrt(variance[:, None] + scale**2 / tau)
    half = np.zeros(len(variance))
    for _ in range(_MOST_STEPS):
        z = half[:, None] / std
        inside = (2 * ndtr(z) - 1) @ weights
        slope = (np.exp(-0.5 * z * z) / std) @ weights * np.sqrt(2 / np.pi)
        step = (level - inside) / slope
        half = half + step
        if np.all(step <= _CLOSE * half):
            break
    return half


@cache
def _rule(degrees_of_freedom: float) -> tuple[Array, Array]:
    """Logarithms of weights, and nodes τ, for averages over the gamma distribution."""
    shape = degrees_of_freedom / 2
    spread = 1 / np.sqrt(shape)
    most, deviations = _FURTHEST_ABOVE
    last, step = min(most, deviations * spread), _STEP * min(1.0, spread)
    log_tau = last - step * np.arange(_N_NODES)[::-1]
    log_density = shape * (np.log(shape) + log_tau - np.exp(log_tau)) - gammaln(shape)
    return log_density + np.log(step), np.exp(log_tau)

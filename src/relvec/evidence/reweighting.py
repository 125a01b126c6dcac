"""Noise of heavy tails and the weights of rows, for functions and α that are held.

    ξ² = E[(y − η)²] by the posterior for row precisions βu      (E step, with u(ξ²))
    β  = Σv / Σv(u/ū)ξ²                                           (M step)

u/ū in the place of u is the M step of a model that has a scale for u, too, which would
be one in the end: it comes there in fewer steps (Liu, Rubin and Wu, 1998, "Parameter
expansion to accelerate EM").
"""

import numpy as np

from relvec.evidence.base import Problem, started
from relvec.evidence.laplace_gradient import predictor_variances
from relvec.evidence.mode import posterior_at_mode
from relvec.likelihoods.student_t import ScaleMixture

_MOST_STEPS = 100  # which are 15 to begin with, then 2
_CLOSE = 1e-3  # in the logarithm of the noise


def settled(problem: Problem, bound: ScaleMixture) -> ScaleMixture:
    """The bound that the functions a problem begins with ask for, from another one."""
    active, alpha = started(problem)
    start = np.zeros((problem.y.shape[1], len(active)))
    for _ in range(_MOST_STEPS):
        mode = posterior_at_mode(problem, bound, active, alpha, start)
        variance = predictor_variances(problem, mode.posterior)
        seen = bound.lower_bound(problem.y, mode.eta, variance)
        noise = seen.refitted(problem.sample_weight)
        change = np.log(noise.noise_precision / bound.bounded.noise_precision)
        bound = ScaleMixture(noise, seen.squares)
        if np.max(np.abs(change)) < _CLOSE:
            break
    return bound

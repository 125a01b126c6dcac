"""How Laplace's evidence changes with α, the precisions of the rows included.

With B the curvature of the likelihood at the mode ŵ and v = diag ΦΣΦᵀ, summed over
outputs,

    ∂L/∂log αᵢ = ½(γᵢ − αᵢŵᵢ²) + αᵢŵᵢ (ΣΦᵀg)ᵢ,    g = ½ ∂(vᵀB)/∂η with v held,

since ∂ŵ/∂log αᵢ = −Σeᵢ αᵢŵᵢ. The updates of EM and MacKay hold B, too: they know the
first term alone, which is all there is for a Gaussian likelihood. Where outputs are
coupled, Σ has not all of the Hessian, and the second term is approximate.
"""

import numpy as np

from relvec.evidence.approach import Mode
from relvec.evidence.base import Problem
from relvec.posterior import Posterior
from relvec.typing import Array

# By which η is moved: half the digits of a difference are left of what ε^(1/3) has.
_MOVED = float(np.finfo(float).eps ** (1 / 3))


def evidence_gradient(problem: Problem, mode: Mode) -> Array:
    """∂L/∂log α (n,) at the mode, for α that outputs share."""
    posterior = mode.posterior
    alpha, mean = posterior.prior_precision, posterior.mean
    held = 0.5 * (1 - alpha * posterior.variances - alpha * mean**2)
    if mode.likelihood.matching is not None:
        # Where moments match, the evidence does not change with the rows' precisions.
        return np.sum(held, axis=0)
    pull = posterior.solve(
        problem.design.rmatvec(_bend(problem, mode), posterior.active)
    )
    return np.sum(held + alpha * mean * pull, axis=0)


def predictor_variances(problem: Problem, posterior: Posterior) -> Array:
    """Of η (N, K), or (N, 1) where outputs share the posterior covariance."""
    whitened = [
        problem.design.matvec(whitener, posterior.active)
        for whitener in posterior.whitener
    ]
    return np.column_stack([np.sum(rows**2, axis=1) for rows in whitened])


def _bend(problem: Problem, mode: Mode) -> Array:
    """g (N, K), by differences: the likelihood tells no third derivatives."""
    variances = np.broadcast_to(
        predictor_variances(problem, mode.posterior), problem.y.shape
    )

    def weighed(eta: Array) -> Array:
        given = problem.y, eta, problem.sample_weight
        precision = mode.likelihood.pseudo_observations(*given).precision
        return np.sum(variances * precision, axis=1)

    bend = np.empty_like(mode.eta)
    for output in range(bend.shape[1]):
        step = np.zeros(bend.shape[1])
        step[output] = _MOVED
        rise = weighed(mode.eta + step) - weighed(mode.eta - step)
        bend[:, output] = 0.5 * rise / (2 * _MOVED)
    return bend

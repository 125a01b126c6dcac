"""The posterior whose moments match those of the likelihood, row by row.

Solves   for weights μ and cavities N(mₙ, vₙ) of all rows at once (``probit_rows``):
         Aμ = Φᵀg, gradients taken at the cavities, and 1/vₙ = 1/sₙ − τₙ, with sₙ the
         posterior variance of ηₙ and τₙ the precision that the row amounts to
Given    prior precisions and a likelihood that can be asked beside a cavity
By       a step of Newton's method for μ at these cavities and one of the secant method
         for log(1 + v), together where μ is near, so that each costs one look at rows
Returns  the posterior and the evidence of expectation propagation. That is stationary
         in the cavities, so small errors of these do not matter; and with the rows as
         Gaussian observations it changes with α as their evidence does, which the
         search takes for granted.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.blockwise import check_time
from relvec.evidence.approach import (
    Mode,
    Point,
    backtracked,
    decrement,
    expanded,
    gradient_at,
    log_evidence,
)
from relvec.evidence.base import Problem
from relvec.evidence.newton_step import coupled_step
from relvec.likelihoods import Matching, PseudoObservations
from relvec.posterior import Posterior
from relvec.precision import TINY
from relvec.typing import Array

_MOST_STEPS = 200  # of which it takes about eight
# Newton's decrement below which cavities move along: a dozen standard deviations, from
# where its step needs no backtracking.
_NEAR = 300.0
# At the end: the decrement, and by how much log(1 + v) of any row would move. The first
# of each for models that stay, the second for those that are about to change.
_DECREMENT = (1e-3, 0.3)
_MISMATCH = (2e-2, 0.3)
_LONGEST = 2.0  # step of log(1 + v), a factor of seven: secants overshoot


def matched_posterior(
    problem: Problem, likelihood: Matching, here: Point, *, rough: bool
) -> Mode:
    """From the weights and cavities that are there."""
    y, weight = problem.y, problem.sample_weight
    log_variance = _LogVariance(np.log1p(np.broadcast_to(likelihood.cavity, len(y))))
    for _ in range(_MOST_STEPS):
        check_time()
        seen, stepped = expanded(problem, likelihood, here)
        size = decrement(stepped, stepped.mean - here.mean)
        posterior = replace(stepped, mean=here.mean)
        variance = _row_variance(problem, posterior)
        goal = likelihood.cavities(y, here.eta, variance, weight)
        difference = np.log1p(goal) - log_variance.value
        mismatch = float(np.max(np.abs(difference), initial=0.0))
        matched = size < _DECREMENT[rough] and mismatch < _MISMATCH[rough]
        if matched or not np.isfinite(size):
            break
        mean = _stepped(problem, likelihood, here, seen, posterior)
        if size < _NEAR:
            log_variance = log_variance.moved(difference)
            likelihood = likelihood.with_cavity(np.expm1(log_variance.value))
            here = here.moved(mean, problem.design.matvec(mean, here.active))
        else:
            judged = here.judged(problem, likelihood)
            here = backtracked(problem, likelihood, judged, mean)
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    evidence += likelihood.correction(y, here.eta, weight)
    return Mode(likelihood, seen, posterior, here.eta, evidence)


def _stepped(
    problem: Problem,
    likelihood: Matching,
    here: Point,
    seen: PseudoObservations,
    posterior: Posterior,
) -> Array:
    """Weights after a step of Newton's method, the cavities fixed."""
    if len(here.active) == 0:
        return here.mean
    curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
    gradient = gradient_at(problem, seen, here, here.eta)
    if curvature is None:
        return posterior.mean + posterior.solve(gradient)
    return here.mean + coupled_step(problem, posterior, curvature, gradient)


def _row_variance(problem: Problem, posterior: Posterior) -> Array:
    """Of the linear predictor of every row (N,)."""
    rows = problem.design.matvec(posterior.whitener[0], posterior.active)
    return np.einsum("nr,nr->n", rows, rows)


@dataclass(frozen=True)
class _LogVariance:
    """log(1 + v) of all rows, and where it was before.

    Variances may overshoot ever more: the more of them, the less precise are rows, and
    the more is left to the others. The secant method sees that after one step.
    """

    value: Array
    before: "tuple[Array, Array] | None" = None

    def moved(self, difference: Array) -> "_LogVariance":
        step = difference
        if self.before is not None:
            last, last_difference = self.before
            turn = difference - last_difference
            share = (turn @ difference) / max(float(turn @ turn), TINY)
            step = difference - share * (turn + self.value - last)
        step = np.clip(step, -_LONGEST, _LONGEST)
        return _LogVariance(
            np.maximum(self.value + step, 0.0), (self.value, difference)
        )

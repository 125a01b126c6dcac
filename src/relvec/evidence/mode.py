"""The posterior at its mode, for given prior precisions, and its evidence.

Solves   max over w of  Σₙ vₙ log p(yₙ | ηₙ) − ½wᵀAw,  η = Φw            (10)
Returns  the Laplace approximation there, (11)-(14), exact for a Gaussian likelihood,
         with log evidence  log p(y | w) − ½wᵀAw − ½ log |I + A^(-1/2)ΦᵀBΦA^(-1/2)|.

Newton's method with backtracking; the likelihood's pseudo-observations are its
quadratic expansion, so each step is one least-squares problem. A likelihood that is to
match moments has its posterior from ``matching`` instead.
"""

from dataclasses import replace

import numpy as np

from relvec.blockwise import check_time
from relvec.evidence.approach import (
    Mode,
    Point,
    backtracked,
    conjugate_mode,
    decrement,
    expanded,
    gradient_at,
    log_evidence,
    point_at,
)
from relvec.evidence.base import Problem
from relvec.evidence.matching import matched_posterior
from relvec.evidence.newton_step import coupled_step, step_at_once
from relvec.likelihoods import Likelihood
from relvec.typing import Array, Indices

__all__ = ["Mode", "posterior_at_mode"]

_MAX_NEWTON = 100  # of which it takes about four
# Newton's decrement is the squared error of the mode in posterior standard deviations;
# the log determinant feels that error to first order.
_DECREMENT = 1e-20  # 1e-10 nats, a tenth of what evidences are trusted with
_COUPLED_DECREMENT = 1e-12  # where steps are themselves only searched for
_ROUGH_DECREMENT = 1e-3  # for models that are about to change
_SMALL_DECREMENT = 1e-8  # below, a step that no longer shrinks is rounding


def posterior_at_mode(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    start: Array,
    *,
    most_steps: int | None = None,
    rough: bool = False,
    plain: bool = False,
) -> Mode:
    """Search from the weights ``start`` (K, n), to the end unless steps are limited.

    A ``rough`` search ends near the mode, for models that are about to change. A
    ``plain`` step solves for the pseudo-observations, whatever couples outputs. With no
    steps at all the weights stay as they are.
    """
    given, likelihood = likelihood, likelihood.coarse if rough else likelihood
    here = point_at(problem, likelihood, active, prior_precision, start)
    if most_steps == 0:
        return _unmoved(problem, likelihood, here)
    if likelihood.conjugate:
        return conjugate_mode(problem, likelihood, here)
    if likelihood.matching is not None and most_steps is None and not plain:
        return matched_posterior(problem, likelihood.matching, here, rough=rough)
    if most_steps is None and not plain:
        here = _approached(problem, likelihood, here, rough=rough)
    last, solved = np.inf, None
    for _ in range(most_steps or _MAX_NEWTON):
        check_time()
        solved = observations, posterior = expanded(problem, likelihood, here, solved)
        curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
        separate = curvature is None
        size = decrement(posterior, posterior.mean - here.mean)
        enough = _DECREMENT if separate else _COUPLED_DECREMENT
        enough = _ROUGH_DECREMENT if rough else enough
        if size < enough or (size < _SMALL_DECREMENT and size > 0.25 * last):
            break
        last = size
        goal = posterior.mean
        if curvature is not None and not plain:
            gradient = gradient_at(problem, observations, here, here.eta)
            at = problem, posterior, curvature, gradient
            goal = here.mean + coupled_step(*at, enough)
        there = backtracked(problem, likelihood, here, goal)
        if there.objective < here.objective:
            # Derivatives, which are integrals too, promise more than values can tell.
            break
        here = there
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    return Mode(given, observations, posterior, here.eta, evidence)


def _unmoved(problem: Problem, likelihood: Likelihood, here: "Point") -> Mode:
    """The expansion about these weights, with them as the mean."""
    observations, posterior = expanded(problem, likelihood, here)
    posterior = replace(posterior, mean=here.mean)
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    return Mode(likelihood, observations, posterior, here.eta, evidence)


def _approached(
    problem: Problem, likelihood: Likelihood, here: "Point", *, rough: bool
) -> "Point":
    """Nearly the mode of a few weights of coupled outputs, which need no factor."""
    enough = _ROUGH_DECREMENT if rough else _SMALL_DECREMENT
    for _ in range(_MAX_NEWTON):
        check_time()
        curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
        if curvature is None:
            return here
        seen = likelihood.pseudo_observations(
            problem.y, here.eta, problem.sample_weight
        )
        gradient = gradient_at(problem, seen, here, here.eta)
        model = here.active, here.prior_precision
        step = step_at_once(problem, *model, curvature, gradient)
        if step is None or np.sum(gradient * step) < enough:
            return here
        here = backtracked(problem, likelihood, here, here.mean + step)
    return here

"""The posterior at its mode, for given prior precisions, and its evidence.

Solves   max over w of  Σₙ vₙ log p(yₙ | ηₙ) − ½wᵀAw,  η = Φw            (10)
Returns  the Laplace approximation there, (11)-(14), exact for a Gaussian likelihood,
         with log evidence  log p(y | w) − ½wᵀAw − ½ log |I + A^(-1/2)ΦᵀBΦA^(-1/2)|.

Newton's method with step halving; the likelihood's pseudo-observations are its
quadratic expansion, so each step is one least-squares problem.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.design import GRAM_LIMIT
from relvec.evidence.base import Problem
from relvec.evidence.newton_step import coupled_step, step_at_once
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

_MAX_NEWTON = 100
_MAX_HALVINGS = 40
_CORRECTIONS = 2
# Newton's decrement bounds the error of the mode in posterior standard deviations;
# the log determinant feels that error to first order.
_DECREMENT = 1e-20
_COUPLED_DECREMENT = 1e-12  # where steps are themselves searched for
_ROUGH_DECREMENT = 1e-3
_SMALL_DECREMENT = 1e-8  # below, a step that no longer shrinks is rounding


@dataclass(frozen=True)
class Mode:
    """The Laplace approximation at the mode."""

    likelihood: Likelihood
    observations: PseudoObservations
    posterior: Posterior
    eta: Array  # (N, K) the linear predictor at the mode
    log_evidence: float


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
    ``plain`` step solves for the pseudo-observations, whatever couples outputs.
    """
    here = _at(problem, likelihood, active, prior_precision, start)
    if most_steps is None and not (plain or likelihood.conjugate):
        here = _approached(problem, likelihood, here, rough=rough)
    last, factor = np.inf, None
    for _ in range(most_steps or _MAX_NEWTON):
        observations, posterior = _expand(problem, likelihood, here, factor)
        factor = posterior.factor if likelihood.steady else None
        if likelihood.conjugate:
            posterior, eta = _corrected(problem, observations, posterior)
            here = replace(here, mean=posterior.mean, eta=eta)
            break
        curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
        separate = curvature is None
        size = _decrement(posterior, posterior.mean - here.mean)
        enough = _DECREMENT if separate else _COUPLED_DECREMENT
        enough = _ROUGH_DECREMENT if rough else enough
        if size < enough or (size < _SMALL_DECREMENT and size > 0.25 * last):
            break
        last = size
        goal = posterior.mean
        if curvature is not None and not plain:
            at = replace(posterior, mean=here.mean)
            gradient = _pull(problem, observations, at, here.eta)
            goal = here.mean + coupled_step(problem, at, curvature, gradient)
        here = _halved_step(problem, likelihood, here, goal)
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    return Mode(likelihood, observations, posterior, here.eta, evidence)


def _approached(
    problem: Problem, likelihood: Likelihood, here: "_Point", *, rough: bool
) -> "_Point":
    """Nearly the mode of a few weights of coupled outputs, which need no factor."""
    enough = _ROUGH_DECREMENT if rough else _SMALL_DECREMENT
    for _ in range(_MAX_NEWTON):
        curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
        if curvature is None:
            return here
        seen = likelihood.pseudo_observations(
            problem.y, here.eta, problem.sample_weight
        )
        slope = _pull(problem, seen, here, here.eta)
        at = here.active, here.prior_precision
        step = step_at_once(problem, *at, curvature, slope)
        if step is None or np.sum(slope * step) < enough:
            return here
        here = _halved_step(problem, likelihood, here, here.mean + step)
    return here


@dataclass(frozen=True)
class _Point:
    """Weights on the way to the mode."""

    active: Indices
    prior_precision: Array
    mean: Array  # (K, n)
    eta: Array  # (N, K)
    objective: float  # log p(y | w) − ½wᵀAw


def _at(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    mean: Array,
) -> _Point:
    eta = problem.design.matvec(mean, active)
    value = np.nan
    if not likelihood.conjugate:
        value = _objective(problem, likelihood, prior_precision, mean, eta)
    return _Point(active, prior_precision, mean, eta, value)


def log_evidence(
    problem: Problem, likelihood: Likelihood, posterior: Posterior, eta: Array
) -> float:
    """(7) by Laplace's method at the mode, in the space of the active functions."""
    density = likelihood.log_density(problem.y, eta, problem.sample_weight)
    return density - 0.5 * posterior.penalty - 0.5 * posterior.log_determinant


def _expand(
    problem: Problem, likelihood: Likelihood, here: _Point, factor: Array | None
) -> tuple[PseudoObservations, Posterior]:
    """The least-squares problem that agrees with the likelihood here, solved."""
    seen = likelihood.pseudo_observations(problem.y, here.eta, problem.sample_weight)
    if factor is None:
        factor = problem.design.factor(
            here.active, here.prior_precision, seen.precision
        )
    posterior = Posterior(here.active, here.prior_precision, here.mean, factor)
    return seen, _pulled(problem, seen, posterior, here.eta)


def _pull(
    problem: Problem, seen: PseudoObservations, at: Posterior | _Point, eta: Array
) -> Array:
    """ΦᵀB(t̂ − Φμ) − Aμ, the slope of the log posterior at μ."""
    residual = seen.precision * (seen.target - eta)
    pull = problem.design.rmatvec(residual, at.active)
    return pull - at.prior_precision * at.mean


def _pulled(
    problem: Problem, seen: PseudoObservations, posterior: Posterior, eta: Array
) -> Posterior:
    """One step from the mean with linear predictor η towards ΦᵀB(t̂ − Φμ) = Aμ."""
    pull = _pull(problem, seen, posterior, eta)
    return replace(posterior, mean=posterior.mean + posterior.solve(pull))


def _corrected(
    problem: Problem, seen: PseudoObservations, posterior: Posterior
) -> tuple[Posterior, Array]:
    """With the mean to full accuracy, and its linear predictor.

    The factor is accurate; solving with it twice, as for normal equations, is not
    where the columns are nearly dependent: correct from the rows.
    """
    eta = problem.design.matvec(posterior.mean, posterior.active)
    corrections = 0 if posterior.condition < GRAM_LIMIT else _CORRECTIONS
    for _ in range(corrections):
        posterior = _pulled(problem, seen, posterior, eta)
        eta = problem.design.matvec(posterior.mean, posterior.active)
    return posterior, eta


def _decrement(posterior: Posterior, step: Array) -> float:
    """stepᵀΣ⁻¹step, the squared length of a step in standard deviations."""
    scaled = np.sqrt(posterior.prior_precision) * step
    whitened = np.swapaxes(posterior.factor, 1, 2) @ scaled[:, :, None]
    return float(np.sum(whitened**2))


def _objective(
    problem: Problem,
    likelihood: Likelihood,
    prior_precision: Array,
    mean: Array,
    eta: Array,
) -> float:
    density = likelihood.log_density(problem.y, eta, problem.sample_weight)
    return density - 0.5 * float(np.sum(prior_precision * mean**2))


def _halved_step(
    problem: Problem, likelihood: Likelihood, here: _Point, goal: Array
) -> _Point:
    """As far towards the goal as 1, ½, ¼, ... of the way does not descend."""
    slack = 1e-14 * abs(here.objective)
    alpha = here.prior_precision
    eta = problem.design.matvec(goal, here.active)
    for halving in range(_MAX_HALVINGS):
        fraction = 0.5**halving
        mean = here.mean + fraction * (goal - here.mean)
        trial = here.eta + fraction * (eta - here.eta) if halving else eta
        value = _objective(problem, likelihood, alpha, mean, trial)
        if value >= here.objective - slack:
            break
    return replace(here, mean=mean, eta=trial, objective=value)

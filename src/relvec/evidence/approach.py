"""Steps towards the mode of the weights, from one point of the way to the next."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.coordinates import Coordinates
from relvec.evidence.noise_units import log_density_of_unit
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.posterior import Posterior
from relvec.precision import FACTOR_LIMIT, GRAM_LIMIT, ROUNDING
from relvec.typing import Array, Indices

_MAX_BACKTRACKING = 40  # halvings, of which 40 leave 1e-12 of a step: none of it


@dataclass(frozen=True)
class Mode:
    """The Laplace approximation at the mode."""

    likelihood: Likelihood
    observations: PseudoObservations
    posterior: Posterior
    eta: Array  # (N, K) the linear predictor at the mode
    log_evidence: float


@dataclass(frozen=True)
class Point:
    """Weights on the way to the mode."""

    active: Indices
    prior_precision: Array
    mean: Array  # (K, n)
    eta: Array  # (N, K)
    objective: float  # log p(y | w) − ½wᵀAw

    def moved(self, mean: Array, eta: Array) -> "Point":
        """To other weights, whose objective is not asked for."""
        return replace(self, mean=mean, eta=eta, objective=np.nan)

    def judged(self, problem: Problem, likelihood: Likelihood) -> "Point":
        """With the objective that a likelihood makes of it."""
        density = likelihood.log_density(problem.y, self.eta, problem.sample_weight)
        penalty = float(np.sum(self.prior_precision * self.mean**2))
        return replace(self, objective=density - 0.5 * penalty)


def point_at(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    mean: Array,
) -> Point:
    """Where the search begins; a conjugate likelihood has no way to go."""
    eta = problem.design.matvec(mean, active)
    here = Point(active, prior_precision, mean, eta, np.nan)
    return here if likelihood.conjugate else here.judged(problem, likelihood)


def log_evidence(
    problem: Problem, likelihood: Likelihood, posterior: Posterior, eta: Array
) -> float:
    """(7) by Laplace's method at the mode, in the space of the active functions."""
    density = likelihood.log_density(problem.y, eta, problem.sample_weight)
    return density - 0.5 * posterior.penalty - 0.5 * posterior.log_determinant


def expanded(
    problem: Problem,
    likelihood: Likelihood,
    here: Point,
    before: tuple[PseudoObservations, Posterior] | None = None,
) -> tuple[PseudoObservations, Posterior]:
    """The least-squares problem that agrees with the likelihood here, solved.

    Its factor is that of the problem before where precisions have not moved.
    """
    seen = likelihood.pseudo_observations(problem.y, here.eta, problem.sample_weight)
    if before is not None and np.array_equal(seen.precision, before[0].precision):
        factor = before[1].factor
    else:
        model = here.active, here.prior_precision
        factor = problem.design.factor(*model, seen.precision)
    posterior = Posterior(here.active, here.prior_precision, here.mean, factor)
    return seen, _stepped(problem, seen, posterior, here.eta)


def gradient_at(
    problem: Problem, seen: PseudoObservations, at: Posterior | Point, eta: Array
) -> Array:
    """ΦᵀB(t̂ − η) − Aμ, the gradient of the log posterior at μ with predictor η."""
    residual = seen.precision * (seen.target - eta)
    pull = problem.design.rmatvec(residual, at.active)
    return pull - at.prior_precision * at.mean


def _stepped(
    problem: Problem, seen: PseudoObservations, posterior: Posterior, eta: Array
) -> Posterior:
    """One step of Newton's method from the mean with linear predictor η."""
    step = posterior.solve(gradient_at(problem, seen, posterior, eta))
    return replace(posterior, mean=posterior.mean + step)


def conjugate_mode(problem: Problem, likelihood: Likelihood, here: Point) -> Mode:
    """The posterior of a likelihood whose pseudo-observations are the data.

    By Cholesky's factor where inner products have digits enough; solving with it twice,
    as for normal equations, costs as many again, which one correction brings back.
    Otherwise by the columns themselves.
    """
    seen = likelihood.pseudo_observations(problem.y, here.eta, problem.sample_weight)
    alpha = here.prior_precision
    condition = np.max(seen.noise_precision) / np.min(alpha, initial=np.inf)
    shared = seen.row_weights.shape[1] == 1 and alpha.ndim == 1
    if shared and condition >= FACTOR_LIMIT:
        at = here.active, seen.row_weights[:, 0], seen.target
        count = float(problem.sample_weight.sum())
        columns = Coordinates(*problem.design.coordinates(*at), count)
        found = columns.solved(alpha, seen.noise_precision)
        posterior = Posterior(here.active, alpha, found.mean, found.factor)
        eta = problem.design.matvec(found.mean, here.active)
        evidence = found.log_evidence + log_density_of_unit(likelihood, count)
        return Mode(likelihood, seen, posterior, eta, evidence)
    factor = problem.design.factor(here.active, alpha, seen.precision)
    posterior = Posterior(here.active, alpha, here.mean, factor)
    eta = here.eta
    for _ in range(1 + (condition >= GRAM_LIMIT)):
        posterior = _stepped(problem, seen, posterior, eta)
        eta = problem.design.matvec(posterior.mean, here.active)
    evidence = log_evidence(problem, likelihood, posterior, eta)
    return Mode(likelihood, seen, posterior, eta, evidence)


def decrement(posterior: Posterior, step: Array) -> float:
    """stepᵀΣ⁻¹step, the squared length of a step in standard deviations."""
    scaled = np.sqrt(posterior.prior_precision) * step
    whitened = np.swapaxes(posterior.factor, 1, 2) @ scaled[:, :, None]
    return float(np.sum(whitened**2))


def backtracked(
    problem: Problem, likelihood: Likelihood, here: Point, goal: Array
) -> Point:
    """As far towards the goal as 1, ½, ¼, ... of the way does not descend."""
    least = here.objective - ROUNDING * abs(here.objective)
    eta = problem.design.matvec(goal, here.active)
    for halvings in range(_MAX_BACKTRACKING):
        fraction = 0.5**halvings
        mean = here.mean + fraction * (goal - here.mean)
        trial = here.eta + fraction * (eta - here.eta) if halvings else eta
        there = here.moved(mean, trial).judged(problem, likelihood)
        if there.objective >= least:
            break
    return there

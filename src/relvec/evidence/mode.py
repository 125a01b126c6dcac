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
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

_MAX_NEWTON = 100
_MAX_HALVINGS = 40
_CORRECTIONS = 2
# Newton's decrement bounds the error of the mode in posterior standard deviations;
# the log determinant feels that error to first order.
_DECREMENT = 1e-20
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
) -> Mode:
    """Search from the weights ``start`` (K, n)."""
    mean, last = start, np.inf
    eta = problem.design.matvec(mean, active)
    for _ in range(_MAX_NEWTON):
        observations, posterior = _expand(
            problem, likelihood, active, prior_precision, eta
        )
        if likelihood.conjugate:
            eta = problem.design.matvec(posterior.mean, active)
            break
        size = _decrement(posterior, posterior.mean - mean)
        if size < _DECREMENT or (size < _SMALL_DECREMENT and size > 0.25 * last):
            break
        last = size
        mean = _halved_step(problem, likelihood, posterior, mean)
        eta = problem.design.matvec(mean, active)
    evidence = log_evidence(problem, likelihood, posterior, eta)
    return Mode(likelihood, observations, posterior, eta, evidence)


def log_evidence(
    problem: Problem, likelihood: Likelihood, posterior: Posterior, eta: Array
) -> float:
    """(7) by Laplace's method at the mode, in the space of the active functions."""
    density = likelihood.log_density(problem.y, eta, problem.sample_weight)
    return density - 0.5 * posterior.penalty - 0.5 * posterior.log_determinant


def _expand(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    eta: Array,
) -> tuple[PseudoObservations, Posterior]:
    """The least-squares problem that agrees with the likelihood at ``eta``."""
    seen = likelihood.pseudo_observations(problem.y, eta, problem.sample_weight)
    factor = problem.design.factor(active, prior_precision, seen.precision)
    start = np.zeros(factor.shape[:2])
    posterior = Posterior(active, prior_precision, start, factor)
    # The factor is accurate; solving with it twice, as for normal equations, is not
    # where the columns are nearly dependent: correct from the rows.
    corrections = 0 if posterior.condition < GRAM_LIMIT else _CORRECTIONS
    for _ in range(1 + corrections):
        posterior = _corrected(problem, seen, posterior)
    return seen, posterior


def _corrected(
    problem: Problem, seen: PseudoObservations, posterior: Posterior
) -> Posterior:
    """One step towards ΦᵀB(t̂ − Φμ) = Aμ."""
    residual = seen.target - problem.design.matvec(posterior.mean, posterior.active)
    pull = problem.design.rmatvec(seen.precision * residual, posterior.active)
    pull -= posterior.prior_precision * posterior.mean
    return replace(posterior, mean=posterior.mean + posterior.solve(pull))


def _decrement(posterior: Posterior, step: Array) -> float:
    """stepᵀΣ⁻¹step, the squared length of a step in standard deviations."""
    scaled = np.sqrt(posterior.prior_precision) * step
    whitened = np.swapaxes(posterior.factor, 1, 2) @ scaled[:, :, None]
    return float(np.sum(whitened**2))


def _halved_step(
    problem: Problem, likelihood: Likelihood, posterior: Posterior, mean: Array
) -> Array:
    """The longest of the steps 1, ½, ¼, ... along Newton's that does not descend."""

    def objective(weights: Array) -> float:
        eta = problem.design.matvec(weights, posterior.active)
        density = likelihood.log_density(problem.y, eta, problem.sample_weight)
        return density - 0.5 * float(np.sum(posterior.prior_precision * weights**2))

    before = objective(mean)
    slack = 1e-14 * abs(before)
    step = posterior.mean - mean
    for _ in range(_MAX_HALVINGS):
        if objective(mean + step) >= before - slack:
            break
        step = 0.5 * step
    return mean + step

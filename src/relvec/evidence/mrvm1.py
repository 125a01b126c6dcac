"""From no function upwards, one at a time, as published.

Solves   θᵢ = Σ_c q_ci² − K sᵢ > 0 for every function i of the model and for no other,
         (13) of Psorakis et al. 2010, with αᵢ = K sᵢ²/θᵢ (11) for those in the model
Given    a multinomial probit with an output for every class, and its lower bound
By       algorithm 1: one α, then one update of the weights (14) and one of the
         auxiliary variables (3), (4), in turn; next is the function outside with the
         largest θ > 0, then the one inside with the smallest θ < 0, then one drawn
Until    conv1: no function is to enter or to leave, and the last log α has moved by
         less than ``tol``; or conv2: so, and after some steps for every row

Functions are ranked by θ in the units of the kernel, as printed: it is no gain in
evidence, and grows with the square of a function's norm. What is Y here are targets of
the pseudo-observations. The pass over all functions, for q, is left out where none can
have come to gain: no q has moved by more than the residual, whose norm is known.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from relvec.chance import generator
from relvec.evidence.approach import Mode, log_evidence
from relvec.evidence.base import Problem, started
from relvec.evidence.fixed_point import FixedPointModel
from relvec.evidence.solver import Search, Solver
from relvec.likelihoods import PseudoObservations
from relvec.linalg import cholesky
from relvec.parameters import check_choice, check_count, check_positive
from relvec.posterior import Posterior
from relvec.precision import TINY, dependent_share
from relvec.typing import AnyArray, Array, Indices

CONVERGENCE = ("conv1", "conv2")
TOL = 1e-2  # of log α; the paper does not tell its ε
_DRAWN = 1024  # numbers at a time


@dataclass(frozen=True, eq=False, repr=False)
class PublishedMrvm1(Solver):
    """The settings of algorithm 1."""

    convergence: str = "conv2"
    passes: int = 1  # λ: steps for every row, at least, with conv2
    tol: float = TOL

    def __post_init__(self) -> None:
        check_choice("convergence", self.convergence, CONVERGENCE)
        check_count("passes", self.passes)
        if self.passes > 1 and self.convergence == "conv1":
            raise ValueError(
                f"passes={self.passes!r} has no use with convergence='conv1', which "
                "does not count steps: leave it out or set convergence='conv2'"
            )
        check_positive("tol", self.tol)

    @property
    def own_tolerance(self) -> str:
        return "Mrvm1(algorithm='published', tol=...)"

    @property
    def ends_at_mode(self) -> bool:
        return False

    def maximiser(self, problem: Problem, search: Search) -> "OneAtATime":
        least = self.passes * problem.n_visits if self.convergence == "conv2" else 0
        return OneAtATime(least, self.tol, search.seed)


@dataclass(frozen=True)
class Answers:
    """What all functions said of a residual, when they were last asked."""

    residual: Array  # (N, K) what a model leaves of Y
    quality: Array  # (K, M) Q

    def may_gain(
        self, residual: Array, seen: PseudoObservations, sparsity: Array
    ) -> AnyArray:
        """Whether functions (M,) can have a θ > 0 beside another residual."""
        squares = seen.precision[:, 0] @ (residual - self.residual) ** 2
        moved = np.sqrt(squares)  # functions have the norm one
        most = np.abs(self.quality) + moved[:, None]
        return np.einsum("km,km->m", most, most) > len(most) * sparsity


@dataclass(frozen=True)
class OneAtATimeState:
    """A model, and what every function is to it."""

    model: FixedPointModel
    cross: Array  # (n, M) ΦₐᵀVΦ
    pull: Array  # (K, n) ΦₐᵀVY
    answers: Answers
    sparsity: Array  # (M,) s
    theta: Array  # (M,) of functions with norm one; −∞ if there was no need to ask
    wrong: int | None = None  # the function that is to enter, or else to leave
    steps: int = 0
    change: float = np.inf  # of the last log α


@dataclass(frozen=True)
class OneAtATime:
    """The algorithm."""

    least_steps: int = 0
    tol: float = TOL
    seed: int = 0

    def init(self, problem: Problem) -> OneAtATimeState:
        """Y follows the labels, and the model is empty unless there is another."""
        active, alpha = started(problem)
        weights = problem.sample_weight[:, None]
        labels = PseudoObservations(problem.y, weights, np.ones(1))
        cross = problem.design.cross_gram(active, weights)[0]
        pull = problem.design.rmatvec(weights * problem.y, active)
        mode = _mode(problem, active, alpha, cross, pull)
        if len(active) == 0:
            mode = replace(mode, observations=labels)
        return _judged(problem, mode, cross)

    def converged(self, problem: Problem, state: OneAtATimeState) -> bool:
        if state.wrong is not None:
            return False
        still = state.change < self.tol and state.steps >= self.least_steps
        return still or len(state.model.active) == 0

    def step(self, problem: Problem, state: OneAtATimeState) -> OneAtATimeState:
        index = state.wrong
        if index is None:  # line 19
            drawn = _drawn(self.seed, state.steps // _DRAWN)[state.steps % _DRAWN]
            index = int(state.model.active[int(drawn * len(state.model.active))])
        theta, s = state.theta[index], state.sparsity[index]
        alpha = problem.y.shape[1] * s**2 / theta if theta > 0 else np.inf
        return _acted(problem, state, index, alpha)


def _acted(
    problem: Problem, state: OneAtATimeState, index: int, alpha: float
) -> OneAtATimeState:
    """With another α of one function, (11) or (12); lines 4 to 13."""
    cross, pull, change = state.cross, state.pull, np.inf
    active, precision = state.model.active, state.model.prior_precision
    at = int(np.searchsorted(active, index))
    if at == len(active) or active[at] != index:
        own, weights = np.array([index]), problem.sample_weight[:, None]
        row = problem.design.cross_gram(own, weights)[0]
        cross = np.insert(cross, at, row, axis=0)
        mine = problem.design.rmatvec(weights * state.model.observations.target, own)
        pull = np.insert(pull, at, mine[:, 0], axis=1)
        active = np.insert(active, at, index)
        precision = np.insert(precision, at, alpha)
    elif np.isfinite(alpha):
        change = abs(np.log(alpha / precision[at]))
        precision = precision.copy()
        precision[at] = alpha
    else:
        cross, pull = np.delete(cross, at, axis=0), np.delete(pull, at, axis=1)
        active, precision = np.delete(active, at), np.delete(precision, at)
    mode = _mode(problem, active, precision, cross, pull)
    after = _judged(problem, mode, cross, state.answers)
    return replace(after, steps=state.steps + 1, change=float(change))


def _mode(
    problem: Problem,
    active: Indices,
    alpha: Array,
    cross: Array,
    pull: Array,
) -> Mode:
    """Weights for auxiliary variables (14), and these for the weights (3), (4)."""
    root = 1 / np.sqrt(alpha)
    inner = np.eye(len(active)) + root[:, None] * cross[:, active] * root
    factor, likelihood = cholesky(inner[None]), problem.likelihood
    mean = Posterior(active, alpha, pull, factor).solve(pull)
    posterior = Posterior(active, alpha, mean, factor)
    eta = problem.design.matvec(posterior.mean, active)
    seen = likelihood.pseudo_observations(problem.y, eta, problem.sample_weight)
    evidence = log_evidence(problem, likelihood, posterior, eta)
    return Mode(likelihood, seen, posterior, eta, evidence)


def _judged(
    problem: Problem, mode: Mode, cross: Array, known: Answers | None = None
) -> OneAtATimeState:
    """A model with s and θ of all functions; lines 13 to 17.

    All of them are asked for q only if one that is not in the model may gain.
    """
    posterior, seen, design = mode.posterior, mode.observations, problem.design
    active, alpha = posterior.active, posterior.prior_precision
    pull = design.rmatvec(seen.precision * seen.target, active)
    smooth = posterior.solve(pull)
    residual = seen.target - design.matvec(smooth, active)
    half = posterior.whitener[0] @ cross
    s = (design.column_norms > 0) - np.einsum("nm,nm->m", half, half)  # (18)
    told = s > dependent_share(posterior.condition)
    told[active] = False
    n_outputs, theta = len(smooth), np.full(len(s), -np.inf)
    if known is None or np.any(known.may_gain(residual, seen, s) & told):
        Q = design.rmatvec(seen.precision * residual)  # (19)
        known = Answers(residual, Q)
        theta = np.where(told, np.sum(Q * Q, axis=0) - n_outputs * s, -np.inf)
    left = alpha * posterior.variances[0]  # (α − S)/α, with all its digits
    s[active] /= left  # (20)
    q = alpha * smooth / left  # (21), as ΦₐᵀVR = Aw for the weights that leave R
    theta[active] = np.sum(q**2, axis=0) - n_outputs * s[active]
    wrong = _wrong(problem, active, theta)
    model = FixedPointModel(mode, 0.0)
    return OneAtATimeState(model, cross, pull, known, s, theta, wrong)


def _wrong(problem: Problem, active: Indices, theta: Array) -> int | None:
    """The function outside with the largest θ > 0, or inside with the smallest < 0."""
    norms = problem.design.column_norms
    units = norms**2 if len(active) else np.ones_like(norms)  # (16) is a ratio
    rank = np.maximum(units, TINY) * theta
    inside, rank[active] = rank[active], -np.inf
    best = int(rank.argmax())
    if rank[best] > 0:
        return best
    return int(active[inside.argmin()]) if inside.min(initial=0.0) < 0 else None


@lru_cache(maxsize=4)
def _drawn(seed: int, block: int) -> Array:
    """Numbers between 0 and 1."""
    return generator(seed, block).random(_DRAWN)

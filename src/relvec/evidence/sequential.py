"""The sequential algorithm of Tipping & Faul 2003, section 4.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       adding, re-estimating or deleting one basis function at a time, from an
         empty model, each step the exact maximum over one α
Until    no candidate gains more than ``tol`` nats, and neither any log α nor the log
         noise would move by ``tol``                                        (4.4)

Departures from the paper: S and Q are not updated, (28)-(41), but computed anew from
inner products (``products``). The noise update of step 9 is a fixed point without a
guarantee, and so are the gains of a Laplace approximation; such a step is taken only
as far as the refitted evidence rises, so the evidence never falls.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.blockwise import check_time
from relvec.chance import generator
from relvec.evidence.base import Problem, interpolates
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.newton import spent
from relvec.evidence.products import (
    CandidateStatistics,
    Gram,
    Products,
    best_additions,
    best_precision,
    least_allowed,
)
from relvec.evidence.search import SearchModel
from relvec.likelihoods import refitted
from relvec.posterior import Posterior
from relvec.precision import SLACK, TIE, TINY
from relvec.typing import Array, Indices

# Precisions of a seed's prior to try, relative to its precision from the data: weights
# of wide functions are large. And how many may join it before it must have paid.
_SEED_PRIORS = (1e-3, 1e-6, 1e-9)
_SEED_COMPANY = 5
# Shares of a step that are tried in turn; a sixteenth gains an eighth of it at most.
_BACKTRACKING = (1.0, 0.5, 0.25, 0.125, 0.0625)


@dataclass(frozen=True)
class Proposals:
    """The best single action for every basis function."""

    current: Array  # (M,) α as it is; inf: out of the model
    precision: Array  # (M,) α to move to
    gain: Array  # (M,) evidence gained thereby; 0 for a function that stays out
    change: Array  # (M,) |Δ log α|; inf for additions and deletions, 0 for staying out


@dataclass(frozen=True)
class SequentialState:
    """A model and what single steps keep beside it."""

    model: SearchModel
    proposals: Proposals
    steps: int = 0  # accepted so far
    cursor: int = 0  # where the cyclic selection goes on
    settled: bool = False  # the likelihood's own parameters have converged
    rejected: tuple[int, ...] = ()  # functions whose refitted evidence fell
    stale: bool = False  # some of them were rejected by an earlier model
    seeded: bool = False  # a start from several functions at once has been tried

    @classmethod
    def of(cls, problem: Problem, model: SearchModel, **kept: Any) -> "SequentialState":
        """The state of a model, with what is kept of the state before."""
        return cls(model, proposals(problem, model), **kept)


@dataclass(frozen=True)
class Sequential:
    """Settings of the sequential algorithm, one action per pass over the dictionary."""

    selection: str = "gain"  # "random", "cyclic"
    start: int | None = None  # a column; None: the largest normalised projection
    tol: float = 1e-4
    noise_interval: int = 10
    seed: int = 0

    def init(self, problem: Problem) -> SequentialState:
        mode = posterior_at_mode(problem, problem.likelihood, *problem.initial)
        return SequentialState.of(problem, model_at(problem, mode))

    def converged(self, problem: Problem, state: SequentialState) -> bool:
        idle = self.worthwhile(state).size == 0
        searched = state.seeded or len(state.model.active) > 0
        done = state.settled and idle and searched and not state.stale
        return done or interpolates(problem, state.model)

    def step(self, problem: Problem, state: SequentialState) -> SequentialState:
        if state.settled and len(state.model.active) == 0:
            after = self._seeded_start(problem, state)
        else:
            after = self._acted(problem, state)
        idle = self.worthwhile(after).size == 0
        if idle or (state.steps + 1) % self.noise_interval == 0:
            after = self._refit_likelihood(problem, after)
        accepted = after.model is not state.model
        return replace(after, steps=state.steps + accepted)

    def worthwhile(self, state: SequentialState) -> Indices:
        """Functions whose best action is more than the tolerance, ascending."""
        options = state.proposals
        inside = np.isfinite(options.current)
        moves = np.where(inside, options.change >= self.tol, options.gain > self.tol)
        moves[list(state.rejected)] = False
        return np.flatnonzero(moves)

    def _pick(self, state: SequentialState) -> int | None:
        worthwhile, options = self.worthwhile(state), state.proposals
        if worthwhile.size == 0:
            return None
        if state.steps == 0:
            if self.start in worthwhile:
                return self.start
            return choose(options, worthwhile, "gain", 0, 0)
        turn = state.cursor if self.selection == "cyclic" else state.steps
        return choose(options, worthwhile, self.selection, turn, self.seed)

    def _seeded_start(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Several functions at once, where none gains alone.

        Around centred targets, wide kernels are worth nothing but beside each other
        or the constant. A seed is held with a broad prior while others join it; the
        step counts if the evidence comes to exceed that of the empty model.
        """
        if self.worthwhile(state).size:
            return replace(state, settled=False)
        stats = _statistics(state.model)
        S, Q = stats.sparsity, stats.quality
        seed = self.start if self.start is not None else problem.bias
        if seed is None:
            usable = np.all(stats.least_sparsity < S, axis=0)
            seed = int(np.argmax(np.sum(Q**2 / np.where(usable, S, np.inf), axis=0)))
        for broad in _SEED_PRIORS:
            broadest = np.array([broad * np.mean(S[:, seed])])
            precision = float(problem.allowed(np.array([seed]), broadest)[0])
            found = _with_company(problem, state, seed, precision)
            if found is not None:
                return SequentialState.of(problem, found, seeded=True)
        return replace(state, seeded=True)

    def _acted(self, problem: Problem, state: SequentialState) -> SequentialState:
        """Steps 4-8 with the model refitted and its evidence asked.

        A function whose action was rejected waits until no other action is left.
        """
        before, least = state.model, state.model.log_evidence
        if problem.likelihood.conjugate:
            # A gain is the evidence's own, however small it is beside rounding.
            least -= SLACK * (abs(least) + problem.n_observations)
        while True:
            check_time()
            index = self._pick(state)
            if index is None and not state.stale:
                return state
            if index is None:
                state = replace(state, rejected=(), stale=False)
                continue
            for target in _damped_targets(state.proposals, index):
                after = with_precision(problem, before, index, target)
                if after.log_evidence > least:
                    return SequentialState.of(
                        problem,
                        after,
                        cursor=index + 1,
                        rejected=state.rejected,
                        stale=bool(state.rejected),
                        seeded=state.seeded,
                    )
            state = replace(state, rejected=(*state.rejected, index))

    def _refit_likelihood(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Step 9, as far along as the evidence rises."""
        model, likelihood = state.model, state.model.likelihood
        eta = problem.design.matvec(model.mean, model.active)
        data = problem.y, eta, problem.sample_weight
        weights = spent(likelihood, model.effective_parameters)
        goal = refitted(likelihood, *data, more=(-weights, 0.0))
        origin = likelihood.log_parameters
        distance = goal.log_parameters - origin
        if np.max(np.abs(distance), initial=0.0) < self.tol:
            return replace(state, settled=True)
        at = model.active, model.prior_precision, model.mean
        for fraction in _BACKTRACKING:
            trial = likelihood.with_parameters(origin + fraction * distance)
            mode = posterior_at_mode(problem, trial, *at)
            after = model_at(problem, mode, model.products)
            if after.log_evidence >= model.log_evidence:
                kept = {"cursor": state.cursor, "seeded": state.seeded}
                return SequentialState.of(problem, after, **kept)
        return replace(state, settled=True)


def model_at(
    problem: Problem, mode: Mode, known: Products | None = None
) -> SearchModel:
    """The model at a mode; products of rows that weigh the same are reused."""
    seen, own, unit = mode.observations, problem.likelihood.unit, mode.likelihood.unit
    noise = seen.noise_precision
    if own is not None and unit is not None:
        noise = (own / unit) ** 2  # in the units of the first model
    if known is None or not mode.likelihood.conjugate:
        known = Gram(problem, seen)
    return SearchModel(
        likelihood=mode.likelihood,
        observations=seen,
        posterior=mode.posterior,
        log_evidence=mode.log_evidence,
        noise_precision=noise,
        products=known.suited(mode.posterior.condition),
    )


def with_precision(
    problem: Problem, model: SearchModel, index: int, precision: float
) -> SearchModel:
    """With one α changed; an infinite one takes its function out."""
    keep = model.active != index
    active, alpha = model.active[keep], model.prior_precision[keep]
    mean = model.mean[:, keep]
    if np.isfinite(precision):
        inside = np.flatnonzero(~keep)
        start = model.mean[:, inside] if inside.size else np.zeros((len(mean), 1))
        active = np.append(active, index)
        alpha = np.append(alpha, precision)
        mean = np.concatenate([mean, start], axis=1)
    mode = posterior_at_mode(problem, model.likelihood, active, alpha, mean)
    return model_at(problem, mode, model.products)


def _with_company(
    problem: Problem, empty: SequentialState, seed: int, precision: float
) -> SearchModel | None:
    """The seed and what joins it, once together they exceed the empty model."""
    model, index = empty.model, seed
    for _ in range(1 + _SEED_COMPANY):
        if not (np.isfinite(precision) and precision > 0):
            return None
        model = with_precision(problem, model, index, precision)
        if model.log_evidence > empty.model.log_evidence:
            return model
        options = proposals(problem, model)
        outside = np.isinf(options.current)
        index = int(np.argmax(np.where(outside, options.gain, -np.inf)))
        precision = float(options.precision[index])
    return None


def _damped_targets(options: Proposals, index: int) -> list[float]:
    """α to try in turn: the proposed one, then ever more cautious ones."""
    precision, current = float(options.precision[index]), float(options.current[index])
    if not np.isfinite(precision):
        return [precision]
    if not np.isfinite(current):
        return [precision, 4 * precision, 16 * precision]
    return [current * (precision / current) ** f for f in _BACKTRACKING[:-1]]


def _statistics(model: SearchModel) -> CandidateStatistics:
    at = model.active, model.prior_precision, model.noise_precision
    return model.products.statistics(*at)


def proposals(problem: Problem, model: SearchModel) -> Proposals:
    """What each function would gain by moving to its best α, all others fixed."""
    stats, active = _statistics(model), model.active
    precision, gain = best_additions(stats, problem.least_precision)
    change = np.where(np.isfinite(precision), np.inf, 0.0)
    current = np.full(len(gain), np.inf)
    if len(active):
        current[active] = model.prior_precision
        smallest = least_allowed(stats, problem.least_precision)[active]
        S = stats.sparsity[:, active]
        inside = _active_proposals(model.posterior, S, smallest)
        precision[active], gain[active], change[active] = inside
    return Proposals(current, precision, gain, change)


def _active_proposals(
    posterior: Posterior, S: Array, smallest: Array
) -> tuple[Array, Array, Array]:
    """Re-estimation or deletion of each active function."""
    alpha, mu = posterior.prior_precision, posterior.mean
    variance = posterior.variances[: len(posterior.factor)]
    # γ = 1 − αΣ = S/α: each form is exact where the other one cancels.
    product, ratio = alpha * variance, S / alpha
    shrinks = product < 0.5
    gamma = np.where(shrinks, 1 - product, ratio.clip(0, 1))
    shrunk = np.where(shrinks, product, 1 - gamma)
    best = best_precision(gamma / variance, mu / variance)  # s, q by eq. 23
    precision = np.maximum(best, smallest)
    stays = np.isfinite(precision)
    target = np.where(stays, precision, alpha)
    gain = np.where(
        stays,
        reestimation_gain(alpha, target, shrunk, mu),
        deletion_gain(shrunk, mu, variance),
    )
    change = np.where(stays, np.abs(np.log(target / alpha)), np.inf)
    return precision, gain, change


def reestimation_gain(alpha: Array, target: Array, shrunk: Array, mu: Array) -> Array:
    """eq. (32), with Q = αμ and S = α − α²Σ inserted; ``shrunk`` is αΣ.

    1 + S(1/α̃ − 1/α) is a weighted mean of 1 and α/α̃: no sum that could cancel.
    """
    ratio = alpha / target
    growth = (1 - shrunk) * (ratio - 1)
    left = shrunk + (1 - shrunk) * ratio
    logarithm = np.where(np.abs(growth) < 0.5, np.log1p(growth), np.log(left))
    return 0.5 * (alpha * mu * mu * (ratio - 1) / left - logarithm).sum(axis=0)


def deletion_gain(shrunk: Array, mu: Array, variance: Array) -> Array:
    """eq. (37), with Q = αμ and S = α − α²Σ inserted; ``shrunk`` is αΣ."""
    return -0.5 * (mu * mu / variance + np.log(np.maximum(shrunk, TINY))).sum(axis=0)


def choose(
    options: Proposals, worthwhile: Indices, rule: str, turn: int, seed: int
) -> int:
    """One of the ``worthwhile`` functions (ascending) by the rule of section 4.2."""
    if rule == "random":
        return int(generator(seed, turn).choice(worthwhile))
    if rule == "cyclic":
        later = worthwhile[worthwhile >= turn]
        return int(later[0] if len(later) else worthwhile[0])
    gain = options.gain[worthwhile]
    best = worthwhile[gain >= gain.max() - TIE * abs(gain.max())]
    # A copy of an active column gains exactly what re-estimating that column does:
    # the copy must not enter. Other ties go to the lowest index.
    inside = best[np.isfinite(options.current[best])]
    return int(inside[0] if inside.size else best[0])

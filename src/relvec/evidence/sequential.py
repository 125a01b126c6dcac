"""The sequential algorithm of Tipping & Faul 2003, section 4.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       adding, re-estimating or deleting one basis function at a time, from an
         empty model, each step the exact maximum over one α
Until    no candidate gains more than ``tol`` nats, and neither any log α nor the log
         noise would move by ``tol``                                        (4.4)

Departures from the paper: the noise update of step 9 is a fixed point without a
guarantee, and so are the gains of a Laplace approximation; such a step is taken only
as far as the refitted evidence rises, so the evidence never falls.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.design import GRAM_LIMIT
from relvec.evidence.base import Problem
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.selection import Proposals, choose, proposals
from relvec.evidence.statistics import (
    Projections,
    Statistics,
    added,
    deleted,
    recomputed,
    reestimated,
)
from relvec.likelihoods import Likelihood
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class SequentialState:
    """The model so far and what every basis function could add to it."""

    likelihood: Likelihood
    log_evidence: float
    projections: Projections
    stats: Statistics
    proposals: Proposals
    steps: int = 0  # accepted so far
    cursor: int = 0  # where the cyclic selection goes on
    updates: int = 0  # steps since the statistics were last recomputed
    settled: bool = False  # the likelihood's own parameters have converged
    rejected: tuple[int, ...] = ()  # functions whose refitted evidence fell
    stale: bool = False  # some of them were rejected by an earlier model
    exact: bool = True  # gains are those of the evidence, statistics can be updated

    @property
    def active(self) -> Indices:
        return self.stats.active

    @property
    def prior_precision(self) -> Array:
        return self.stats.prior_precision

    @property
    def mean(self) -> Array:
        return self.stats.mean

    @property
    def effective_parameters(self) -> Array:
        shrunk = self.stats.prior_precision * self.stats.variances
        return np.sum(1 - shrunk, axis=-1)


@dataclass(frozen=True)
class Sequential:
    """Settings of the sequential algorithm, one action per pass over the dictionary."""

    selection: str = "gain"  # "random", "cyclic"
    start: int | None = None  # a column; None: the largest normalised projection
    tol: float = 1e-4
    noise_interval: int = 10
    refresh_interval: int = 50
    seed: int = 0

    def init(self, problem: Problem) -> SequentialState:
        n_outputs = problem.y.shape[1]
        empty = np.empty(0, dtype=np.intp)
        mode = posterior_at_mode(
            problem, problem.likelihood, empty, np.empty(0), np.empty((n_outputs, 0))
        )
        return _linearised(problem, mode)

    def converged(self, problem: Problem, state: SequentialState) -> bool:
        idle = self._worthwhile(state).size == 0
        return state.settled and idle and not state.stale

    def step(self, problem: Problem, state: SequentialState) -> SequentialState:
        if state.exact:
            after = self._exact_step(problem, state)
        else:
            after = self._confirmed_step(problem, state)
        idle = self._worthwhile(after).size == 0
        if idle or (state.steps + 1) % self.noise_interval == 0:
            after = self._refit_likelihood(problem, after)
        accepted = after.stats is not state.stats
        return replace(after, steps=state.steps + accepted)

    def _worthwhile(self, state: SequentialState) -> Indices:
        """Functions whose best action is more than the tolerance, ascending."""
        options = state.proposals
        inside = np.isfinite(options.current)
        moves = np.where(inside, options.change >= self.tol, options.gain > self.tol)
        moves[list(state.rejected)] = False
        return np.flatnonzero(moves)

    def _pick(self, state: SequentialState) -> int | None:
        worthwhile = self._worthwhile(state)
        if worthwhile.size == 0:
            return None
        if state.steps == 0:
            if self.start in worthwhile:
                return self.start
            return choose(state.proposals, worthwhile, "gain", 0, 0)
        turn = state.cursor if self.selection == "cyclic" else state.steps
        return choose(state.proposals, worthwhile, self.selection, turn, self.seed)

    def _exact_step(self, problem: Problem, state: SequentialState) -> SequentialState:
        """Steps 4-8 and the update formulae: the gain is the evidence's own."""
        index = self._pick(state)
        if index is None:
            return state
        precision = float(state.proposals.precision[index])
        position = np.flatnonzero(state.active == index)
        if position.size == 0:
            here = np.array([index])
            weights = problem.sample_weight[:, None]
            row = problem.design.cross_gram(here, weights)
            stats = added(state.stats, index, precision, row)
        elif np.isfinite(precision):
            stats = reestimated(state.stats, int(position[0]), precision)
        else:
            stats = deleted(state.stats, int(position[0]))
        after = replace(
            state,
            stats=stats,
            log_evidence=state.log_evidence + float(state.proposals.gain[index]),
            proposals=_proposals(state.projections, stats),
            cursor=index + 1,
            updates=state.updates + 1,
            settled=False,
        )
        if after.updates >= self.refresh_interval or np.any(stats.variances <= 0):
            return _refreshed(problem, after, after.likelihood)
        return after

    def _confirmed_step(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Steps 4-8 with the model refitted and its evidence asked.

        A function whose action was rejected waits until no other action is left.
        """
        while True:
            index = self._pick(state)
            if index is None and not state.stale:
                return state
            if index is None:
                state = replace(state, rejected=(), stale=False)
                continue
            for target in _damped_targets(state, index):
                mode = _mode_after(problem, state, index, target)
                if mode.log_evidence > state.log_evidence:
                    after = _linearised(problem, mode)
                    return replace(
                        after,
                        cursor=index + 1,
                        rejected=state.rejected,
                        stale=bool(state.rejected),
                    )
            state = replace(state, rejected=(*state.rejected, index))

    def _refit_likelihood(
        self, problem: Problem, state: SequentialState
    ) -> SequentialState:
        """Step 9, as far along as the evidence rises."""
        eta = problem.design.matvec(state.mean, state.active)
        goal = state.likelihood.refit(
            problem.y, eta, problem.sample_weight, state.effective_parameters
        )
        origin = state.likelihood.log_parameters
        distance = goal.log_parameters - origin
        settled = bool(np.max(np.abs(distance), initial=0.0) < self.tol)
        if not np.any(distance):
            return replace(state, settled=settled)
        for fraction in (1.0, 0.5, 0.25, 0.125, 0.0625):
            trial = state.likelihood.with_parameters(origin + fraction * distance)
            after = _refreshed(problem, state, trial)
            if after.log_evidence >= state.log_evidence:
                return replace(after, settled=settled)
        return replace(state, settled=True)


def _proposals(projections: Projections, stats: Statistics) -> Proposals:
    scale = stats.noise_precision[:, None] * projections.squared_norms
    return proposals(stats, scale)


def _linearised(problem: Problem, mode: Mode) -> SequentialState:
    """The state whose statistics belong to the pseudo-observations at a mode."""
    seen = mode.observations
    projections = Projections.of(problem.design, seen)
    cross = problem.design.cross_gram(mode.posterior.active, seen.row_weights)
    return _state_at(problem, mode, projections, cross)


def _refreshed(
    problem: Problem, state: SequentialState, likelihood: Likelihood
) -> SequentialState:
    """The same model with other noise, recomputed; Gram matrices are kept."""
    mode = posterior_at_mode(
        problem, likelihood, state.active, state.prior_precision, state.mean
    )
    after = _state_at(problem, mode, state.projections, state.stats.cross)
    return replace(after, steps=state.steps, cursor=state.cursor)


def _state_at(
    problem: Problem, mode: Mode, projections: Projections, cross: Array
) -> SequentialState:
    seen, posterior = mode.observations, mode.posterior
    stats = recomputed(posterior, seen.noise_precision, cross, projections)
    sound = posterior.condition < GRAM_LIMIT
    if not sound:
        residual = seen.precision * (seen.target - mode.eta)
        stats = replace(
            stats,
            sparsity_in=problem.design.sparsity(
                posterior.active, posterior.prior_precision, seen.precision
            ),
            quality_in=problem.design.rmatvec(residual),
        )
    return SequentialState(
        mode.likelihood,
        mode.log_evidence,
        projections,
        stats,
        _proposals(projections, stats),
        exact=sound and mode.likelihood.conjugate,
    )


def _damped_targets(state: SequentialState, index: int) -> list[float]:
    """α to try in turn: the proposed one, then ever more cautious ones."""
    precision = float(state.proposals.precision[index])
    position = np.flatnonzero(state.active == index)
    if not np.isfinite(precision):
        return [precision]
    if position.size == 0:
        return [precision, 4 * precision, 16 * precision]
    current = float(state.prior_precision[position[0]])
    return [current * (precision / current) ** f for f in (1.0, 0.5, 0.25, 0.125)]


def _mode_after(
    problem: Problem, state: SequentialState, index: int, precision: float
) -> Mode:
    """The Laplace approximation with one α changed."""
    keep = state.active != index
    active, alpha, mean = (
        state.active[keep],
        state.prior_precision[keep],
        state.mean[:, keep],
    )
    if np.isfinite(precision):
        inside = np.flatnonzero(~keep)
        start = state.mean[:, inside] if inside.size else np.zeros((len(mean), 1))
        active = np.append(active, index)
        alpha = np.append(alpha, precision)
        mean = np.concatenate([mean, start], axis=1)
    return posterior_at_mode(problem, state.likelihood, active, alpha, mean)

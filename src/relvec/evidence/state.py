"""The state of the sequential search and how it is set up at a mode.

Where Gram matrices are sound, its statistics come from them; elsewhere from passes over
the dictionary. It is exact if moreover the likelihood is conjugate: then predicted
gains are those of the evidence and the statistics can be updated. Otherwise what they
predict is to be confirmed by refitting.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.moments import Solution
from relvec.evidence.selection import Proposals, proposals
from relvec.evidence.statistics import (
    GramStatistics,
    Projections,
    Statistics,
    observed,
    recomputed,
)
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.posterior import Posterior
from relvec.precision import MOST_DOUBT, SEARCH_LIMIT, lost
from relvec.typing import Array, Indices

_MOST_DRIFT = 2e-3  # updates × √error, found by trial: μ drifts faster than S and Q


@dataclass(frozen=True)
class SequentialState:
    """The model so far and what every basis function could add to it."""

    likelihood: Likelihood
    observations: PseudoObservations
    log_evidence: float
    stats: Statistics
    gram: GramStatistics | None  # the same in Gram form, where digits are left in it
    exact: bool  # gains are those of the evidence, statistics free to be updated
    proposals: Proposals
    steps: int = 0  # accepted so far
    cursor: int = 0  # where the cyclic selection goes on
    updates: int = 0  # steps since the statistics were last recomputed
    error: float = 0.0  # largest relative error of S and Q since then
    doubt: float = 0.0  # nats by which the gains since then may be wrong
    settled: bool = False  # the likelihood's own parameters have converged
    rejected: tuple[int, ...] = ()  # functions whose refitted evidence fell
    stale: bool = False  # some of them were rejected by an earlier model
    seeded: bool = False  # a start from several functions at once has been tried
    look: "Look | None" = None  # a search in which data say more
    looks: int = 0  # such searches begun since the last great gain
    looked_again: bool = False  # enough of them were tried
    thinning: bool = False  # functions are asked their price
    exhausted: bool = False  # no round is left that raises the evidence
    solution: Solution | None = None  # the model's posterior in Gram form, if at hand

    @property
    def log_hyperprior(self) -> float:
        return 0.0

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
        return np.broadcast_to(np.sum(1 - shrunk, axis=-1), len(self.stats.mean))

    @property
    def log_determinant(self) -> float:
        sharing = len(self.stats.mean) / len(self.stats.covariance)
        inside = np.linalg.slogdet(self.stats.covariance)[1].sum() * sharing
        outside = len(self.stats.mean) * np.log(self.stats.prior_precision).sum()
        return float(-inside - outside)


def state_at(
    problem: Problem, mode: Mode, before: SequentialState | None = None
) -> SequentialState:
    """The state at a mode; inner products of rows that weigh the same are reused."""
    known = before.gram if before and _weighs_the_same(before, mode) else None
    state = state_with(problem, mode, mode.observations, known)
    condition = mode.posterior.condition
    if condition < problem.design.gram_limit:
        return state
    stats = observed(problem.design, mode.observations, mode.posterior, mode.eta)
    return replace(
        state,
        stats=stats,
        gram=state.gram if condition < SEARCH_LIMIT else None,
        exact=False,
        proposals=proposals(stats, problem.least_precision),
    )


def _weighs_the_same(state: SequentialState, mode: Mode) -> bool:
    rows = state.observations.row_weights, mode.observations.row_weights
    return np.array_equal(*rows)


@dataclass(frozen=True)
class Look:
    """A search from the model found where data say more, and then as they are."""

    state: SequentialState
    problem: Problem  # that is searched
    rounds: int = 0  # so far
    released: bool = False


@dataclass(frozen=True)
class FoundModel:
    """A ``Model`` that was found in Gram form."""

    likelihood: Likelihood
    posterior: Posterior
    log_evidence: float


class Model(Protocol):
    """A posterior for some likelihood and its log evidence."""

    @property
    def likelihood(self) -> Likelihood: ...

    @property
    def posterior(self) -> Posterior: ...

    @property
    def log_evidence(self) -> float: ...


def state_with(
    problem: Problem,
    model: Model,
    seen: PseudoObservations,
    known: GramStatistics | None,
    solution: Solution | None = None,
) -> SequentialState:
    """The state of a model whose Gram matrices are sound."""
    if known is None:
        projections = Projections.of(problem.design, seen)
    elif model.likelihood.conjugate:
        projections = known.projections
    else:
        projections = known.projections.retargeted(problem.design, seen)
    cross = _cross_gram(problem, model.posterior.active, seen.row_weights, known)
    gram = recomputed(model.posterior, seen.noise_precision, cross, projections)
    return SequentialState(
        likelihood=model.likelihood,
        observations=seen,
        log_evidence=model.log_evidence,
        stats=gram,
        gram=gram,
        exact=model.likelihood.conjugate,
        proposals=proposals(gram, problem.least_precision),
        error=_relative_error(gram),
        solution=solution,
    )


def _cross_gram(
    problem: Problem, active: Indices, weights: Array, known: GramStatistics | None
) -> Array:
    """ΦₐᵀWΦ, with the rows of columns that are already known."""
    if known is None:
        return problem.design.cross_gram(active, weights)
    if np.array_equal(active, known.active):
        return known.cross
    places = {column: place for place, column in enumerate(known.active.tolist())}
    cross = np.empty((len(known.cross), len(active), known.cross.shape[2]))
    new = []
    for place, column in enumerate(active.tolist()):
        if column in places:
            cross[:, place] = known.cross[:, places[column]]
        else:
            new.append(place)
    if new:
        cross[:, new] = problem.design.cross_gram(active[new], weights)
    return cross


def refreshed(
    problem: Problem, state: SequentialState, likelihood: Likelihood
) -> SequentialState:
    """The same functions with the likelihood's parameters, recomputed."""
    mode = posterior_at_mode(
        problem, likelihood, state.active, state.prior_precision, state.mean
    )
    after = state_at(problem, mode, state)
    return replace(after, steps=state.steps, cursor=state.cursor, seeded=state.seeded)


def updated(
    state: SequentialState, gram: GramStatistics, gain: float
) -> SequentialState:
    """After one exact action, its proposals still to be made."""
    error = max(state.error, _relative_error(gram))
    return replace(
        state,
        stats=gram,
        gram=gram,
        log_evidence=state.log_evidence + gain,
        updates=state.updates + 1,
        solution=None,
        error=error,
        doubt=state.doubt + abs(gain) * error,
        settled=False,
    )


def is_fragile(state: SequentialState) -> bool:
    """Whether the gains since the last recomputation are no longer to be trusted."""
    if np.any(state.stats.variances <= 0):
        return True
    if state.updates * np.sqrt(state.error) > _MOST_DRIFT:
        return True
    return state.doubt > MOST_DOUBT * max(1.0, abs(state.log_evidence))


def _relative_error(gram: GramStatistics) -> float:
    """Of S, Q and gains: rounding, magnified by how broad a prior is for its data."""
    return lost(gram.condition)


def mode_after(
    problem: Problem, state: SequentialState, index: int, precision: float
) -> Mode:
    """The posterior with one α changed; an infinite one takes its function out."""
    keep = state.active != index
    active, alpha = state.active[keep], state.prior_precision[keep]
    mean = state.mean[:, keep]
    if np.isfinite(precision):
        inside = np.flatnonzero(~keep)
        start = state.mean[:, inside] if inside.size else np.zeros((len(mean), 1))
        active = np.append(active, index)
        alpha = np.append(alpha, precision)
        mean = np.concatenate([mean, start], axis=1)
    return posterior_at_mode(problem, state.likelihood, active, alpha, mean)

"""The state of the sequential search and how it is set up at a mode.

A state is exact where the likelihood is conjugate and its Gram matrices are sound:
then predicted gains are those of the evidence and the statistics can be updated.
Elsewhere they come from passes over the dictionary, and what they predict is to be
confirmed by refitting.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.design import DIFFERENCE_LIMIT
from relvec.evidence.base import Problem
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.selection import Proposals, proposals
from relvec.evidence.statistics import (
    GramStatistics,
    Projections,
    Statistics,
    observed,
    recomputed,
)
from relvec.likelihoods import Likelihood
from relvec.typing import Array, Indices

_ROUNDING = 1e-14
_MOST_DOUBT = 1e-10  # relative to the log evidence
_MOST_DRIFT = 2e-3  # updates × √error, found by trial: μ drifts faster than S and Q


@dataclass(frozen=True)
class SequentialState:
    """The model so far and what every basis function could add to it."""

    likelihood: Likelihood
    log_evidence: float
    stats: Statistics
    gram: GramStatistics | None  # the same statistics where they can be updated
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


def state_at(
    problem: Problem, mode: Mode, known: GramStatistics | None = None
) -> SequentialState:
    """The state at a mode; what is ``known`` of the same columns is used again."""
    gram = None
    if mode.likelihood.conjugate and mode.posterior.condition < DIFFERENCE_LIMIT:
        gram = _gram_statistics(problem, mode, known)
    stats: Statistics = gram or observed(
        problem.design, mode.observations, mode.posterior, mode.eta
    )
    error = 0.0 if gram is None else _relative_error(gram)
    return SequentialState(
        mode.likelihood, mode.log_evidence, stats, gram, proposals(stats), error=error
    )


def _gram_statistics(
    problem: Problem, mode: Mode, known: GramStatistics | None
) -> GramStatistics:
    seen = mode.observations
    if known is None:
        projections = Projections.of(problem.design, seen)
        cross = problem.design.cross_gram(mode.posterior.active, seen.row_weights)
    else:
        projections, cross = known.projections, known.cross
    return recomputed(mode.posterior, seen.noise_precision, cross, projections)


def refreshed(
    problem: Problem, state: SequentialState, likelihood: Likelihood
) -> SequentialState:
    """The same functions with the likelihood's parameters, recomputed."""
    mode = posterior_at_mode(
        problem, likelihood, state.active, state.prior_precision, state.mean
    )
    after = state_at(problem, mode, state.gram)
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
    return state.doubt > _MOST_DOUBT * max(1.0, abs(state.log_evidence))


def _relative_error(gram: GramStatistics) -> float:
    """Of S, Q and gains: rounding, magnified by how broad a prior is for its data."""
    data = gram.noise_precision[:, None] * gram.projections.squared_norms
    ratios = data[:, gram.active] / gram.prior_precision
    return float(_ROUNDING * np.max(ratios, initial=1.0))


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

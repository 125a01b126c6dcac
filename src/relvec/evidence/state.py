"""The state of the sequential search and how it is set up at a mode.

A state is exact where the likelihood is conjugate and its Gram matrices are sound:
then predicted gains are those of the evidence and the statistics can be updated.
Elsewhere they come from passes over the dictionary, and what they predict is to be
confirmed by refitting.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.design import GRAM_LIMIT
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
    if mode.likelihood.conjugate and mode.posterior.condition < GRAM_LIMIT:
        gram = _gram_statistics(problem, mode, known)
    stats: Statistics = gram or observed(
        problem.design, mode.observations, mode.posterior, mode.eta
    )
    return SequentialState(
        mode.likelihood, mode.log_evidence, stats, gram, proposals(stats)
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
    return replace(
        state,
        stats=gram,
        gram=gram,
        log_evidence=state.log_evidence + gain,
        updates=state.updates + 1,
        settled=False,
    )


def is_fragile(state: SequentialState) -> bool:
    """Whether the updates since the last recomputation may have cost too many digits.

    Each costs about as many as the largest ratio of a function's precision from the
    data to that of its prior.
    """
    gram = state.gram
    if gram is None or np.any(gram.variances <= 0):
        return True
    data = gram.noise_precision[:, None] * gram.projections.squared_norms
    ratios = data[:, gram.active] / gram.prior_precision
    return bool(state.updates * np.max(ratios, initial=0.0) >= GRAM_LIMIT)


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

"""The model of a search: what it is, and what every basis function could add to it.

Where Gram matrices are sound, its statistics come from them; elsewhere from passes over
the dictionary. It is exact if moreover the likelihood is conjugate: then predicted
gains are those of the evidence and the statistics can be updated. Otherwise what they
predict is to be confirmed by refitting.
"""

from dataclasses import dataclass, replace

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
from relvec.precision import DIFFERENCE_LIMIT, PASS_LIMIT
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class SearchModel:
    """The model so far and the best action for every basis function."""

    likelihood: Likelihood
    observations: PseudoObservations
    log_evidence: float
    stats: Statistics
    gram: GramStatistics | None  # the same in Gram form, where that has digits enough
    proposals: Proposals
    # The posterior in Gram form, if it is at hand in the units of these observations.
    solution: Solution | None = None

    @property
    def exact(self) -> bool:
        """Whether gains are those of the evidence, statistics free to be updated."""
        return self.stats is self.gram and self.likelihood.conjugate

    @property
    def digits(self) -> bool:
        """Whether Gram matrices have enough of them."""
        return self.gram is not None

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


@dataclass(frozen=True)
class Fitted:
    """A posterior for some likelihood and its log evidence."""

    likelihood: Likelihood
    posterior: Posterior
    log_evidence: float


def model_at(
    problem: Problem, mode: Mode, before: SearchModel | None = None
) -> SearchModel:
    """The model at a mode; inner products of rows that weigh the same are reused."""
    known, weights = None, mode.observations.row_weights
    if before is not None and np.array_equal(before.observations.row_weights, weights):
        known = before.gram
    fitted = Fitted(mode.likelihood, mode.posterior, mode.log_evidence)
    model = model_in_gram_form(problem, fitted, mode.observations, known)
    condition = mode.posterior.condition
    if condition < PASS_LIMIT:
        return model
    stats = observed(problem.design, mode.observations, mode.posterior, mode.eta)
    poor = condition >= DIFFERENCE_LIMIT
    return replace(
        model,
        stats=stats,
        gram=None if poor and weights.shape[1] == 1 else model.gram,
        proposals=proposals(stats, problem.least_precision),
    )


def model_in_gram_form(
    problem: Problem,
    fitted: Fitted,
    seen: PseudoObservations,
    known: GramStatistics | None,
    solution: Solution | None = None,
) -> SearchModel:
    """The model where Gram matrices are sound; what is ``known`` of them is reused."""
    unit = fitted.likelihood.unit
    if known is None:
        projections = Projections.of(problem.design, seen, unit)
    elif fitted.likelihood.conjugate:
        projections = known.projections.in_unit(unit)
    else:
        projections = known.projections.retargeted(problem.design, seen)
    cross = _cross_gram(problem, fitted.posterior.active, seen.row_weights, known)
    gram = recomputed(fitted.posterior, seen.noise_precision, cross, projections)
    return SearchModel(
        likelihood=fitted.likelihood,
        observations=seen,
        log_evidence=fitted.log_evidence,
        stats=gram,
        gram=gram,
        proposals=proposals(gram, problem.least_precision),
        solution=solution if unit is None else None,
    )


def _cross_gram(
    problem: Problem, active: Indices, weights: Array, known: GramStatistics | None
) -> Array:
    """ΦₐᵀWΦ, with the rows of columns that are already known."""
    if known is None:
        return problem.design.cross_gram(active, weights)
    if np.array_equal(active, known.active):
        return known.cross
    positions = {column: i for i, column in enumerate(known.active.tolist())}
    cross = np.empty((len(known.cross), len(active), known.cross.shape[2]))
    new = []
    for i, column in enumerate(active.tolist()):
        if column in positions:
            cross[:, i] = known.cross[:, positions[column]]
        else:
            new.append(i)
    if new:
        cross[:, new] = problem.design.cross_gram(active[new], weights)
    return cross


def refreshed(
    problem: Problem, model: SearchModel, likelihood: Likelihood
) -> SearchModel:
    """The same functions with the likelihood's parameters, recomputed."""
    at = likelihood, model.active, model.prior_precision, model.mean
    return model_at(problem, posterior_at_mode(problem, *at), model)


def mode_after(
    problem: Problem, model: SearchModel, index: int, precision: float
) -> Mode:
    """The posterior with one α changed; an infinite one takes its function out."""
    keep = model.active != index
    active, alpha = model.active[keep], model.prior_precision[keep]
    mean = model.mean[:, keep]
    if np.isfinite(precision):
        inside = np.flatnonzero(~keep)
        start = model.mean[:, inside] if inside.size else np.zeros((len(mean), 1))
        active = np.append(active, index)
        alpha = np.append(alpha, precision)
        mean = np.concatenate([mean, start], axis=1)
    return posterior_at_mode(problem, model.likelihood, active, alpha, mean)

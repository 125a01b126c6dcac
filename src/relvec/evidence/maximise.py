"""The one driver: loop, limits, clock, trace, callbacks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from relvec.blockwise import OutOfTimeError, stopped_when
from relvec.evidence.base import (
    Callback,
    EvidenceFit,
    EvidenceMaximiser,
    Model,
    Problem,
    StateT,
    Status,
    interpolates,
)
from relvec.evidence.coupled import coupled
from relvec.evidence.deadline import NEVER, Deadline
from relvec.evidence.fixed_point import FixedPointModel
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.trace import Trace, n_vectors
from relvec.evidence.units import Units
from relvec.likelihoods import Likelihood, at_ceiling
from relvec.linalg import single_threaded
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

# Rows that the posterior is taken from, at least, where there is no time for all: the
# variances of some hundred weights are known by them.
_FEWEST_ROWS = 2000


@dataclass(frozen=True)
class Limits:
    """How long a fit may take."""

    max_iter: int = 10_000
    deadline: Deadline = NEVER
    min_vectors: int = 0  # a search that comes down to so many is over


def maximise(
    problem: Problem,
    maximiser: EvidenceMaximiser[StateT],
    limits: Limits | None = None,
    callback: Callback | None = None,
    *,
    at_mode: bool = True,
) -> EvidenceFit:
    """Step until convergence, a limit or a callback's word; in the user's units.

    The weights are those at the mode, or else the last that the search has had.
    """
    limits = limits or Limits()
    units = Units.of(problem)
    problem = units.inside(problem)
    trace = Trace(units)
    ended = partial(_in_time, limits.deadline, _at_mode if at_mode else _as_it_is)
    finish = partial(_finished, problem, trace, ended)
    told = _Told(trace, finish, callback)
    with single_threaded():
        model, status = _search(problem, maximiser, limits, told)
        return finish(model, status)


@dataclass(frozen=True)
class _Told:
    """Who is told of steps, and how of what a fit would be that ended there."""

    trace: Trace
    finish: Callable[[Model, Status], EvidenceFit]
    callback: Callback | None


def _search(
    problem: Problem,
    maximiser: EvidenceMaximiser[StateT],
    limits: Limits,
    told: "_Told",
) -> tuple[Model, Status]:
    """The last model of the search and why it ended.

    A step that is cut short by the deadline has not been taken.
    """
    model: Model | None = None
    try:
        with stopped_when(lambda: limits.deadline.passed):
            state = maximiser.init(problem)
            model = state.model
            while (status := _ended(problem, maximiser, state, limits, told)) is None:
                state = maximiser.step(problem, state)
                model = state.model
    except OutOfTimeError:
        found = _begun(problem) if model is None else model
        return found, Status.MAX_SECONDS
    return model, status


def _ended(
    problem: Problem,
    maximiser: EvidenceMaximiser[StateT],
    state: StateT,
    limits: Limits,
    told: "_Told",
) -> Status | None:
    """Why a search ends at this state; None if it goes on."""
    news = told.trace.record(problem, state)
    if news is not None:
        news = replace(news, fit=partial(told.finish, state.model, Status.STOPPED))
        if told.callback is not None and told.callback(news):
            return Status.STOPPED
        if 0 < news.n_vectors <= limits.min_vectors:
            return Status.MIN_VECTORS
    if maximiser.converged(problem, state):
        return _outcome(problem, state.model)
    if len(told.trace.snapshots) >= limits.max_iter:
        return Status.MAX_ITER
    return Status.MAX_SECONDS if limits.deadline.passed else None


@dataclass(frozen=True)
class _Weights:
    """What is known of a model without a look at the rows."""

    likelihood: Likelihood
    active: Indices  # ascending
    prior_precision: Array
    mean: Array

    @classmethod
    def of(cls, model: Model) -> "_Weights":
        order = np.argsort(model.active)
        precision, mean = model.prior_precision[..., order], model.mean[:, order]
        return cls(model.likelihood, model.active[order], precision, mean)

    @classmethod
    def begun(cls, problem: Problem) -> "_Weights":
        """What a problem begins with."""
        active, alpha = np.empty(0, dtype=np.intp), np.empty(0)
        start, weights = problem.start_precision, problem.start_weights
        if start is not None:
            active = np.flatnonzero(np.isfinite(np.atleast_2d(start)).all(axis=0))
            alpha = start[..., active]
        mean = np.zeros((problem.y.shape[1], len(active)))
        if weights is not None:
            mean = weights[:, active] * problem.design.column_norms[active]
        return cls(problem.likelihood, active, alpha, mean)

    def by_rows(self, problem: Problem, count: int) -> Mode:
        """The posterior by so many rows that stand for all.

        The weights stay; where all of them are zero they take a step to the mode.
        """
        rows = np.arange(count) * len(problem.y) // count
        weight = problem.sample_weight[rows]
        part = replace(
            problem,
            design=problem.design.view(self.active, rows),
            y=problem.y[rows],
            sample_weight=weight * (problem.sample_weight.sum() / weight.sum()),
        )
        norms = np.where(part.design.column_norms > 0, part.design.column_norms, 1.0)
        ratio = norms / problem.design.column_norms[self.active]
        # What a likelihood keeps of rows is of other rows.
        own = problem.likelihood.with_parameters(self.likelihood.log_parameters)
        alpha, mean = self.prior_precision / ratio**2, self.mean * ratio
        at = part, own, np.arange(len(ratio)), alpha, mean
        mode = posterior_at_mode(*at, most_steps=0 if mean.any() else 1)
        mode = coupled(part, mode) if problem.coupled else mode
        posterior = mode.posterior.rescaled(1 / ratio)
        return replace(mode, posterior=replace(posterior, active=self.active))


def _begun(problem: Problem) -> Model:
    """The model that a problem begins with, where there was no time to search."""
    few = min(_FEWEST_ROWS, len(problem.y))
    return FixedPointModel(_Weights.begun(problem).by_rows(problem, few), 0.0)


def _outcome(problem: Problem, model: Model) -> Status:
    """What a search that ended by itself has come to."""
    if not np.any(problem.y):
        return Status.CONSTANT_TARGET
    if n_vectors(problem, model) == 0:
        return Status.EMPTY
    if at_ceiling(model.likelihood, np.any(problem.y, axis=0)):
        return Status.PERFECT_FIT
    return Status.INTERPOLATION if interpolates(problem, model) else Status.CONVERGED


def _at_mode(problem: Problem, model: Model) -> Mode:
    """The model with functions in order and nothing accumulated."""
    order = np.argsort(model.active)
    mode = posterior_at_mode(
        problem,
        model.likelihood,
        model.active[order],
        model.prior_precision[..., order],
        model.mean[:, order],
    )
    return coupled(problem, mode) if problem.coupled else mode


def _as_it_is(problem: Problem, model: Model) -> Mode:
    """With the weights that it has."""
    order = np.argsort(model.active)
    at = model.active[order], model.prior_precision[..., order]
    factor = problem.design.factor(*at, model.observations.precision)
    posterior = Posterior(*at, model.mean[:, order], factor)
    eta = problem.design.matvec(posterior.mean, posterior.active)
    evidence = model.log_evidence - model.log_hyperprior
    return Mode(model.likelihood, model.observations, posterior, eta, evidence)


def _in_time(
    deadline: Deadline,
    ended: Callable[[Problem, Model], Mode],
    problem: Problem,
    model: Model,
) -> Mode:
    """What a model comes to by all rows, or by as many as there is time for."""
    until = deadline.end.share(2)  # the rest is for what follows
    soon = until.share(2)
    try:
        with stopped_when(lambda: soon.passed):
            return ended(problem, model)
    except OutOfTimeError:
        some = partial(_Weights.of(model).by_rows, problem)
        return until.in_time(some, len(problem.y), _FEWEST_ROWS)


def _finished(
    problem: Problem,
    trace: Trace,
    ended: Callable[[Problem, Model], Mode],
    model: Model,
    status: Status,
) -> EvidenceFit:
    """The result, in the user's units."""
    mode, units = ended(problem, model), trace.units
    scale = units.of_weights(problem, model)
    return EvidenceFit(
        likelihood=model.likelihood.rescaled(units.scale).absolute,
        posterior=mode.posterior.rescaled(scale),
        search_mean=model.mean[:, np.argsort(model.active)] * scale,
        log_evidence=mode.log_evidence + model.log_hyperprior - units.shift,
        history=trace.history(),
        status=status,
        n_iter=len(trace.snapshots),
        n_observations=float(problem.sample_weight.sum()),
        steps_before=problem.steps_before,
    )

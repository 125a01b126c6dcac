"""The one driver: loop, limits, clock, trace, callbacks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

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
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.trace import Trace, n_vectors
from relvec.evidence.units import Units
from relvec.likelihoods import at_ceiling
from relvec.linalg import single_threaded
from relvec.posterior import Posterior


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
    finish = partial(_finished, problem, trace, _at_mode if at_mode else _as_it_is)
    told = _Told(trace, finish, callback)
    with single_threaded():
        state, status = _search(problem, maximiser, limits, told)
        return finish(state.model, status)


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
) -> tuple[StateT, Status]:
    state = maximiser.init(problem)
    while True:
        if maximiser.converged(problem, state):
            return state, _outcome(problem, state.model)
        if len(told.trace.snapshots) >= limits.max_iter:
            return state, Status.MAX_ITER
        if limits.deadline.passed:
            return state, Status.MAX_SECONDS
        state = maximiser.step(problem, state)
        news = told.trace.record(problem, state)
        if news is None:
            continue
        news = replace(news, fit=partial(told.finish, state.model, Status.STOPPED))
        if told.callback is not None and told.callback(news):
            return state, Status.STOPPED
        if 0 < news.n_vectors <= limits.min_vectors:
            return state, Status.MIN_VECTORS


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

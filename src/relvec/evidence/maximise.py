"""The one driver: loop, limits, clock, trace, callbacks."""

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
from relvec.evidence.deadline import NEVER, Deadline
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.trace import Trace, n_vectors
from relvec.evidence.units import Units
from relvec.likelihoods import at_ceiling
from relvec.linalg import single_threaded


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
) -> EvidenceFit:
    """Step until convergence, a limit or a callback's word; in the user's units."""
    limits = limits or Limits()
    units = Units.of(problem)
    problem = units.inside(problem)
    trace = Trace(units)
    with single_threaded():
        state, status = _search(problem, maximiser, limits, callback, trace)
        mode = _exact_mode(problem, state.model)
        return _finished(problem, state.model, mode, status, trace)


def _search(
    problem: Problem,
    maximiser: EvidenceMaximiser[StateT],
    limits: Limits,
    callback: Callback | None,
    trace: Trace,
) -> tuple[StateT, Status]:
    state = maximiser.init(problem)
    while True:
        if maximiser.converged(problem, state):
            return state, _outcome(problem, state.model)
        if len(trace.snapshots) >= limits.max_iter:
            return state, Status.MAX_ITER
        if limits.deadline.passed:
            return state, Status.MAX_SECONDS
        state = maximiser.step(problem, state)
        news = trace.record(problem, state)
        if news is None:
            continue
        news = replace(news, fit=partial(_stopped, problem, state.model, trace))
        if callback is not None and callback(news):
            return state, Status.STOPPED
        if 0 < news.n_vectors <= limits.min_vectors:
            return state, Status.MIN_VECTORS


def _outcome(problem: Problem, model: Model) -> Status:
    """What a search that ended by itself has come to."""
    if not np.any(problem.y):
        return Status.CONSTANT_TARGET
    if n_vectors(problem, model) == 0:
        return Status.EMPTY
    if at_ceiling(model.likelihood):
        return Status.PERFECT_FIT
    return Status.INTERPOLATION if interpolates(problem, model) else Status.CONVERGED


def _exact_mode(problem: Problem, model: Model) -> Mode:
    """The model with functions in order and nothing accumulated."""
    order = np.argsort(model.active)
    return posterior_at_mode(
        problem,
        model.likelihood,
        model.active[order],
        model.prior_precision[..., order],
        model.mean[:, order],
    )


def _finished(
    problem: Problem, model: Model, mode: Mode, status: Status, trace: Trace
) -> EvidenceFit:
    """The result, in the user's units."""
    units = trace.units
    posterior = units.outside(problem, mode.posterior)
    scale = units.scale / problem.design.column_norms[posterior.active]
    return EvidenceFit(
        likelihood=model.likelihood.rescaled(units.scale),
        posterior=posterior,
        search_mean=model.mean[:, np.argsort(model.active)] * scale,
        log_evidence=mode.log_evidence + model.log_hyperprior - units.shift,
        history=trace.history(),
        status=status,
        n_iter=len(trace.snapshots),
        n_observations=float(problem.sample_weight.sum()),
        steps_before=problem.steps_before,
    )


def _stopped(problem: Problem, model: Model, trace: Trace) -> EvidenceFit:
    """What a fit would return that ended here."""
    mode = _exact_mode(problem, model)
    return _finished(problem, model, mode, Status.STOPPED, trace)

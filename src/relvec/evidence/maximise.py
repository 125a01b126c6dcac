"""The one driver: loop, limits, clock, trace, callbacks."""

import time
from dataclasses import dataclass, fields, replace

import numpy as np

from relvec.evidence.base import (
    Callback,
    EvidenceFit,
    EvidenceMaximiser,
    Problem,
    Snapshot,
    State,
    StateT,
    Status,
    interpolates,
)
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.units import Units
from relvec.linalg import single_threaded
from relvec.typing import AnyArray

# How far the evidence of the search may be from that on exact columns, relative to
# its size (taken as at least so many nats).
_ACCURACY = 1e-6
_LEAST_NATS = 1e5


@dataclass(frozen=True)
class Limits:
    """How long a fit may take."""

    max_iter: int = 10_000
    max_seconds: float = np.inf
    min_vectors: int = 0  # a search that comes down to so many is over


def maximise(
    problem: Problem,
    maximiser: EvidenceMaximiser[StateT],
    limits: Limits | None = None,
    callback: Callback | None = None,
) -> EvidenceFit:
    """Step until convergence, a limit or a callback's word; in the user's units.

    Where the design turns out not to be accurate enough for what was found with it,
    the search is repeated with a finer one.
    """
    limits = limits or Limits()
    units = Units.of(problem)
    problem = units.inside(problem)
    trace = Trace(units)
    with single_threaded():
        while True:
            state, status = _search(problem, maximiser, limits, callback, trace)
            mode = _exact_mode(problem, state)
            reached = state.log_evidence - state.log_hyperprior
            error = abs(mode.log_evidence - reached)
            if error <= _ACCURACY * max(_LEAST_NATS, abs(mode.log_evidence)):
                break
            finer = problem.design.refined() if status.success else None
            if finer is None:
                break
            problem = replace(problem, design=finer)
            trace.restart()
        return _finished(problem, state, mode, status, trace)


def _search(
    problem: Problem,
    maximiser: EvidenceMaximiser[StateT],
    limits: Limits,
    callback: Callback | None,
    trace: "Trace",
) -> tuple[StateT, Status]:
    state = maximiser.init(problem)
    while True:
        if maximiser.converged(problem, state):
            return state, _outcome(problem, state)
        if len(trace.snapshots) >= limits.max_iter:
            return state, Status.MAX_ITER
        if trace.seconds >= limits.max_seconds:
            return state, Status.MAX_SECONDS
        state = maximiser.step(problem, state)
        news = trace.record(problem, state)
        if news is None:
            continue
        if callback is not None and callback(news):
            return state, Status.STOPPED
        if 0 < news.n_vectors <= limits.min_vectors:
            return state, Status.MIN_VECTORS


class Trace:
    """The clock and what was accepted so far."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.snapshots: list[Snapshot] = []
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._started

    def restart(self) -> None:
        """Forget the steps, not the time they took."""
        self.snapshots = []

    def record(self, problem: Problem, state: State) -> Snapshot | None:
        """A snapshot in the user's units if the last step was accepted."""
        if state.steps == len(self.snapshots):
            return None
        noise = np.sqrt(np.mean(state.likelihood.noise_variance))
        snapshot = Snapshot(
            iteration=state.steps,
            log_evidence=state.log_evidence - self.units.shift,
            n_vectors=_n_vectors(problem, state),
            gamma=float(np.sum(state.effective_parameters)),
            noise_std=float(noise * self.units.scale),
            seconds=self.seconds,
        )
        self.snapshots.append(snapshot)
        return replace(snapshot, fit=lambda: _stopped(problem, state, self))

    def history(self) -> dict[str, AnyArray]:
        """One array per quantity."""
        names = [field.name for field in fields(Snapshot) if field.name != "fit"]
        return {
            name: np.array([getattr(shot, name) for shot in self.snapshots])
            for name in names
        }


def _outcome(problem: Problem, state: State) -> Status:
    """What a search that ended by itself has come to."""
    if not np.any(problem.y):
        return Status.CONSTANT_TARGET
    if _n_vectors(problem, state) == 0:
        return Status.EMPTY
    if state.likelihood.noiseless:
        return Status.PERFECT_FIT
    return Status.INTERPOLATION if interpolates(problem, state) else Status.CONVERGED


def _n_vectors(problem: Problem, state: State) -> int:
    """Active functions, the constant not counted."""
    return int(np.count_nonzero(state.active != problem.bias))


def _exact_mode(problem: Problem, state: State) -> Mode:
    """The state's model with functions in order and nothing accumulated."""
    order = np.argsort(state.active)
    return posterior_at_mode(
        problem,
        state.likelihood,
        state.active[order],
        state.prior_precision[order],
        state.mean[:, order],
    )


def _finished(
    problem: Problem, state: State, mode: Mode, status: Status, trace: Trace
) -> EvidenceFit:
    """The result, in the user's units."""
    units = trace.units
    return EvidenceFit(
        likelihood=state.likelihood.rescaled(units.scale),
        posterior=units.outside(problem, mode.posterior),
        log_evidence=mode.log_evidence + state.log_hyperprior - units.shift,
        history=trace.history(),
        status=status,
        n_iter=len(trace.snapshots),
        n_observations=float(problem.sample_weight.sum()),
    )


def _stopped(problem: Problem, state: State, trace: Trace) -> EvidenceFit:
    """What a fit would return that ended here."""
    mode = _exact_mode(problem, state)
    return _finished(problem, state, mode, Status.STOPPED, trace)

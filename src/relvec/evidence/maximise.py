"""The one driver: loop, limits, clock, trace, callbacks."""

import time
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from relvec.blockwise import OutOfTimeError, stopped_when
from relvec.evidence.base import (
    NEVER,
    Callback,
    Deadline,
    EvidenceFit,
    EvidenceMaximiser,
    Model,
    Problem,
    Snapshot,
    State,
    StateT,
    Status,
    interpolates,
)
from relvec.evidence.fixed_point import FixedPoint, FixedPointState
from relvec.evidence.mode import Mode, coupled, posterior_at_mode
from relvec.evidence.search import BatchSearch, SearchState
from relvec.likelihoods import Likelihood, at_ceiling, root_mean_square
from relvec.linalg import single_threaded
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True)
class Units:
    """The scale of the targets, and what log densities have less in their unit."""

    scale: Any  # a number, or (K,) where outputs have units of their own
    shift: float

    @classmethod
    def of(cls, problem: Problem) -> "Units":
        """That of targets which have a unit is their root mean square."""
        y, weight, scale = problem.y, problem.sample_weight, 1.0
        if problem.likelihood.unit is not None:
            columns = np.split(y, y.shape[1], axis=1)
            each = np.array([root_mean_square(one, weight) or 1.0 for one in columns])
            return cls(each, float(weight.sum() * np.log(each).sum()))
        if not np.any(np.isnan(problem.likelihood.scale)):
            scale = root_mean_square(y, weight) or 1.0
        # A density of y is one of y/scale divided by scale, for every observation.
        count = weight.sum() * y.shape[1]
        return cls(scale, float(count * (np.log(scale) - problem.density_shift)))

    def inside(self, problem: Problem) -> Problem:
        """The problem as the engine solves it."""
        weights, own = problem.start.weights, problem.likelihood.unit
        unit = self.scale if own is None else own[:, None]
        start = problem.start
        if weights is not None:
            start = replace(start, weights=weights / unit)
        return replace(
            problem,
            y=problem.y / self.scale,
            start=start,
            # Weights that are measured by the noise have no unit of their own.
            scale=self.scale if own is None else 1.0,
            likelihood=problem.likelihood.rescaled(1 / self.scale),
        )

    def of_weights(self, problem: Problem, model: Model) -> Array:
        """By which weights (K, n) are multiplied for columns and targets as given."""
        norms = problem.design.column_norms[np.sort(model.active)]
        unit = model.likelihood.unit
        if unit is None:
            return np.asarray(self.scale / norms)
        return np.asarray((self.scale * unit)[:, None] / norms)

    def noise_std(self, likelihood: Likelihood) -> float:
        """Of all outputs, their root mean square."""
        if likelihood.unit is None:
            return float(np.sqrt(np.mean(likelihood.scale**2)) * self.scale)
        return float(np.sqrt(np.mean((likelihood.scale * self.scale) ** 2)))


_NO_COLUMN = ("details", "fit")


class Trace:
    """What was accepted so far, in the user's units."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.snapshots: list[Snapshot] = []
        self._before: Model | None = None
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._started

    def record(self, problem: Problem, state: State) -> Snapshot | None:
        """A snapshot if the last step was accepted."""
        if state.steps == len(self.snapshots):
            return None
        model = state.model
        snapshot = Snapshot(
            iteration=state.steps,
            log_evidence=model.log_evidence - self.units.shift,
            n_vectors=n_vectors(problem, model),
            gamma=float(np.sum(model.effective_parameters)),
            noise_std=self.units.noise_std(model.likelihood),
            seconds=self.seconds,
            details=self._details(problem, model),
        )
        self.snapshots.append(snapshot)
        return snapshot

    def history(self) -> dict[str, AnyArray]:
        """One array per quantity."""
        names = [each.name for each in fields(Snapshot) if each.name not in _NO_COLUMN]
        columns = {
            name: [getattr(shot, name) for shot in self.snapshots] for name in names
        }
        for name in self.snapshots[0].details if self.snapshots else ():
            columns[name] = [shot.details[name] for shot in self.snapshots]
        return {name: np.array(values) for name, values in columns.items()}

    def _details(self, problem: Problem, model: Model) -> dict[str, float]:
        """Of a classifier: likelihoods, and what moved since the last step."""
        if problem.likelihood.conjugate:
            return {}
        likelihood, joint = likelihoods(model)
        before, self._before = self._before, model
        moved = _moved(before, model) if before else (np.nan, np.nan, np.nan)
        names = ("weights_change", "targets_change", "precision_change")
        return {
            "log_likelihood": likelihood,
            "log_joint": joint,
            **dict(zip(names, moved, strict=True)),
        }


def n_vectors(problem: Problem, model: Model) -> int:
    """Active functions, the constant not counted."""
    return int(np.count_nonzero(model.active != problem.bias))


def likelihoods(model: Model) -> tuple[float, float]:
    """log p(y | w) and log p(y, w | α) at the weights, from the evidence."""
    alpha = np.broadcast_to(model.prior_precision, model.mean.shape)
    penalty = float(np.sum(alpha * model.mean**2))
    evidence = model.log_evidence - model.log_hyperprior
    likelihood = evidence + 0.5 * penalty + 0.5 * model.posterior.log_determinant
    prior = 0.5 * float(np.sum(np.log(alpha / (2 * np.pi)))) - 0.5 * penalty
    return likelihood, likelihood + prior


def _moved(before: Model, after: Model) -> tuple[float, float, float]:
    """Length of the change of W, root mean square of that of Y, largest of log α."""
    weights = _beside(before.mean, after.mean, before, after, 0.0)
    alphas = _beside(
        np.atleast_2d(before.prior_precision),
        np.atleast_2d(after.prior_precision),
        before,
        after,
        np.nan,
    )
    targets = np.full(1, np.nan)  # of other rows than before
    if before.observations.target.shape == after.observations.target.shape:
        targets = after.observations.target - before.observations.target
    ratios = np.abs(np.log(alphas[1] / alphas[0]))
    return (
        _norm(weights[1] - weights[0]),
        _norm(targets) / float(np.sqrt(targets.size)),
        float(np.fmax.reduce(ratios, axis=None, initial=0.0)),
    )


def _norm(values: Array) -> float:
    return float(np.sqrt(np.vdot(values, values)))


def _beside(
    one: Array, other: Array, before: Model, after: Model, rest: float
) -> list[Array]:
    """Values (K, n) of two models for the functions that are in either."""
    if np.array_equal(before.active, after.active):
        return [one, other]
    functions = np.union1d(before.active, after.active)
    both = ((one, before), (other, after))
    return [_among(values, model, functions, rest) for values, model in both]


def _among(values: Array, model: Model, functions: AnyArray, rest: float) -> Array:
    """Values (K, n) of the model's functions among more of them."""
    result = np.full((len(values), len(functions)), rest)
    result[:, np.searchsorted(functions, model.active)] = values
    return result


@dataclass(frozen=True)
class ContinuedState:
    """Where the fixed point stands, or the search that goes on from it."""

    inner: FixedPointState | SearchState
    resumed: Problem  # what ``inner`` is a state of

    @property
    def steps(self) -> int:
        return self.inner.steps

    @property
    def model(self) -> Model:
        return self.inner.model


@dataclass(frozen=True)
class Continued:
    """A fixed point, and the search that goes on from there.

    A function that has left a top-down iteration never comes back, and some that stayed
    gain nothing. The search finds out from q² > s whether a function is worth having,
    in the model or not.
    """

    fixed_point: FixedPoint
    search: BatchSearch

    def init(self, problem: Problem) -> ContinuedState:
        return ContinuedState(self.fixed_point.init(problem), problem)

    def converged(self, problem: Problem, state: ContinuedState) -> bool:
        inner, resumed = state.inner, state.resumed
        return isinstance(inner, SearchState) and self.search.converged(resumed, inner)

    def step(self, problem: Problem, state: ContinuedState) -> ContinuedState:
        inner = state.inner
        if isinstance(inner, SearchState):
            return replace(state, inner=self.search.step(state.resumed, inner))
        if not self.fixed_point.settled(inner):
            return replace(state, inner=self.fixed_point.step(problem, inner))
        resumed = problem.resumed(inner.model)
        begun = replace(self.search.init(resumed), steps=inner.steps)
        return ContinuedState(begun, resumed)


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
    """Take steps until convergence, a limit or a true answer of the callback.

    The result is in the user's units. The weights are those at the mode, or else the
    last that the search has had.
    """
    units = Units.of(problem)
    inside = units.inside(problem)
    run = _Run(inside, Trace(units), limits or Limits(), callback, at_mode)
    with single_threaded():
        model, status = run.searched(maximiser)
        return run.fit(model, status)


@dataclass(frozen=True)
class _Run:
    """The loop around a maximiser, for a problem in the units of the engine."""

    problem: Problem
    trace: Trace
    limits: Limits
    callback: Callback | None
    at_mode: bool

    def searched(self, maximiser: EvidenceMaximiser[StateT]) -> tuple[Model, Status]:
        """The last model of the search and why it ended.

        A step that is cut short by the deadline has not been taken.
        """
        problem, deadline = self.problem, self.limits.deadline
        model: Model | None = None
        try:
            with stopped_when(lambda: deadline.passed):
                state = maximiser.init(problem)
                model = state.model
                while (status := self._status(maximiser, state)) is None:
                    state = maximiser.step(problem, state)
                    model = state.model
        except OutOfTimeError:
            if model is None:
                at = problem.likelihood, *problem.initial
                few = min(_FEWEST_ROWS, len(problem.y))
                model = _posterior_of_rows(problem, *at, count=few)
            return model, Status.MAX_SECONDS
        return model, status

    def _status(
        self, maximiser: EvidenceMaximiser[StateT], state: StateT
    ) -> Status | None:
        """Why the search ends at this state; None if it goes on."""
        news = self.trace.record(self.problem, state)
        if news is not None:
            news = replace(news, fit=partial(self.fit, state.model, Status.STOPPED))
            if self.callback is not None and self.callback(news):
                return Status.STOPPED
            if 0 < news.n_vectors <= self.limits.min_vectors:
                return Status.MIN_VECTORS
        if maximiser.converged(self.problem, state):
            return _outcome(self.problem, state.model)
        if len(self.trace.snapshots) >= self.limits.max_iter:
            return Status.MAX_ITER
        return Status.MAX_SECONDS if self.limits.deadline.passed else None

    def fit(self, model: Model, status: Status) -> EvidenceFit:
        """The result of a search that ends with this model, in the user's units."""
        mode, units = self._mode_in_time(model), self.trace.units
        scale = units.of_weights(self.problem, model)
        return EvidenceFit(
            likelihood=model.likelihood.rescaled(units.scale).in_target_units,
            posterior=mode.posterior.rescaled(scale),
            search_mean=_in_order(model)[2] * scale,
            log_evidence=mode.log_evidence + model.log_hyperprior - units.shift,
            history=self.trace.history(),
            status=status,
            n_iter=len(self.trace.snapshots),
            n_observations=float(self.problem.sample_weight.sum()),
            steps_before=self.problem.start.steps,
        )

    def _mode_in_time(self, model: Model) -> Mode:
        """The posterior by all rows, or by as many as there is time for."""
        problem, ended = self.problem, _at_mode if self.at_mode else _as_it_is
        until = self.limits.deadline.end.share(2)  # the rest is for what follows
        soon = until.share(2)
        try:
            with stopped_when(lambda: soon.passed):
                return ended(problem, model)
        except OutOfTimeError:
            at = model.likelihood, *_in_order(model)
            return until.in_time(
                lambda count: _posterior_of_rows(problem, *at, count=count),
                len(problem.y),
                _FEWEST_ROWS,
            )


def _outcome(problem: Problem, model: Model) -> Status:
    """What a search that ended by itself has come to."""
    if not np.any(problem.y):
        return Status.CONSTANT_TARGET
    if n_vectors(problem, model) == 0:
        return Status.EMPTY
    if at_ceiling(model.likelihood, np.any(problem.y, axis=0)):
        return Status.PERFECT_FIT
    return Status.INTERPOLATION if interpolates(problem, model) else Status.CONVERGED


def _in_order(model: Model) -> tuple[Indices, Array, Array]:
    """Active columns, ascending, their α and weights."""
    order = np.argsort(model.active)
    precision, mean = model.prior_precision[..., order], model.mean[:, order]
    return model.active[order], precision, mean


def _at_mode(problem: Problem, model: Model) -> Mode:
    """The model at its mode, with functions in order and nothing accumulated."""
    mode = posterior_at_mode(problem, model.likelihood, *_in_order(model))
    return coupled(problem, mode) if problem.coupled else mode


def _as_it_is(problem: Problem, model: Model) -> Mode:
    """The model with the weights that it has."""
    active, alpha, mean = _in_order(model)
    factor = problem.design.factor(active, alpha, model.observations.precision)
    posterior = Posterior(active, alpha, mean, factor)
    eta = problem.design.matvec(mean, active)
    evidence = model.log_evidence - model.log_hyperprior
    return Mode(model.likelihood, model.observations, posterior, evidence, eta)


def _posterior_of_rows(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    mean: Array,
    *,
    count: int,
) -> Mode:
    """The posterior by some rows that stand for all.

    The weights stay; where all of them are zero they take a step to the mode.
    """
    rows = np.arange(count) * len(problem.y) // count
    weight = problem.sample_weight[rows]
    part = replace(
        problem,
        design=problem.design.view(active, rows),
        y=problem.y[rows],
        sample_weight=weight * (problem.sample_weight.sum() / weight.sum()),
    )
    norms = np.where(part.design.column_norms > 0, part.design.column_norms, 1.0)
    ratio = norms / problem.design.column_norms[active]
    # What a likelihood keeps of rows is of other rows.
    own = problem.likelihood.with_parameters(likelihood.log_parameters)
    at = np.arange(len(ratio)), prior_precision / ratio**2, mean * ratio
    mode = posterior_at_mode(part, own, *at, most_steps=0 if mean.any() else 1)
    mode = coupled(part, mode) if problem.coupled else mode
    posterior = mode.posterior.rescaled(1 / ratio)
    return replace(mode, posterior=replace(posterior, active=active))

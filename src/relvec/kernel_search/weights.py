"""One kernel mixed of several, its weights learned from the evidence.

Solves   max over θ on the simplex of the evidence of a fit with Σₛ θₛkₛ
By       fits of some mixtures, each from nothing; steps from the best of them along
         the gradient of the evidence; and steps towards single kernels, each a fit
         that begins with the functions of the best model
Until    such steps have been tried, some twenty fits in all

Along θ the evidence of fits is rugged: every search ends in a maximum of its own, which
differs from that of the next mixture by several nats. The gradient knows only that of
the model at hand, and comes to rest there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import Basis
from relvec.evidence import Status
from relvec.kernel_learning import Mixed, better_weights
from relvec.kernel_search.trials import STOPPED
from relvec.kernels import Kernel
from relvec.kernels.mixture import Mixture
from relvec.kernels.sparse import as_dense
from relvec.modelling import (
    Beginning,
    FittedModel,
    KnownFunctions,
    Learned,
    Monitor,
    Specification,
    TrainingSet,
    maximised,
)
from relvec.typing import Array

# The numbers below were chosen on 14 problems of 100 to 150 rows, five draws each;
# docs/theory/kernel_learning.md, "Weights of kernels", has what came of it on others.
_SHARES = 11  # of the first of two kernels, from 0 to 1, all of which are tried
# Of more kernels equal weights are tried, and each kernel alone while they are so few.
_FEW_KERNELS = 5
# Fits along the gradient, before steps towards single kernels and after.
_CLIMBS_BEFORE, _CLIMBS_AFTER = 3, 2
# Of the way towards a kernel by itself: between two shares, or from coarse to fine.
_BETWEEN_SHARES, _STEPS = (0.15,), (0.4, 0.15)
_MOST_DIRECTIONS = 4  # towards kernels of the largest weights
_SHORTER = 0.25  # of a step that failed, for a fit with the functions of both its ends
_ALONE = 0.99  # weight of a kernel beside which there is nothing to take from
_LEAST_GAIN = 1e-2  # nats, which is no evidence for anything
_LEAST_CLIMB = 5e-2  # the same of a step along the gradient, after which one follows
_DEGENERATE = (Status.INTERPOLATION, Status.PERFECT_FIT)
# From which better weights are guessed, by all kernels at once, for the sake of memory;
# the evidence is of all.
_MOST_ROWS = 5000


def learn_weights(
    spec: Specification, data: TrainingSet, start: FittedModel | None, monitor: Monitor
) -> FittedModel:
    """The best of the models with the mixtures that are tried.

    A start with weights stands in the place of fits from nothing.
    """
    if not data.rows.in_memory:
        msg = "kernel_learning='weights' needs its rows in memory, not in blocks"
        raise ValueError(msg)
    n_kernels = len(spec.kernels)
    known = None if start is None else start.learned.weights
    if known is not None and len(known) == n_kernels:
        first, others = known, np.empty((0, n_kernels))
    else:
        first, others = np.full(n_kernels, 1 / n_kernels), _other_mixtures(n_kernels)
    search = _Search.begun(spec, data, monitor, first, start)
    # Nothing to learn from where kernels are so narrow that they explain every row.
    if search.best.status not in _DEGENERATE:
        for weights in others:
            search.tried(weights, start)
        search.climb(_CLIMBS_BEFORE)
        search.towards_kernels(_BETWEEN_SHARES if n_kernels == 2 else _STEPS)
        search.climb(_CLIMBS_AFTER)
    return search.result


def _other_mixtures(n_kernels: int) -> Array:
    """Weights (trials, n) to begin with besides equal ones."""
    if n_kernels == 2:
        shares = np.delete(np.linspace(0, 1, _SHARES), _SHARES // 2)
        return np.column_stack([shares, 1 - shares])
    return np.eye(n_kernels if n_kernels <= _FEW_KERNELS else 0, n_kernels)


@dataclass
class _Search:
    """The best model so far, and how it came to an end if it has."""

    spec: Specification
    data: TrainingSet
    monitor: Monitor
    best: FittedModel
    ended: Status | None = None  # early, by time or by somebody's word

    @classmethod
    def begun(
        cls,
        spec: Specification,
        data: TrainingSet,
        monitor: Monitor,
        weights: Array,
        start: FittedModel | None,
    ) -> "_Search":
        first = _mixed(spec, data, weights, start, monitor)
        ended = first.status if first.status in STOPPED else None
        return cls(spec, data, monitor, first, ended)

    @property
    def result(self) -> FittedModel:
        """The best model, which knows that the search has not come to its end."""
        return self.best if self.ended is None else self.best.ended_as(self.ended)

    @property
    def weights(self) -> Array:
        """Those of the best model."""
        weights = self.best.learned.weights
        assert weights is not None
        return weights

    def tried(
        self, weights: Array, start: KnownFunctions | None, least: float = _LEAST_GAIN
    ) -> FittedModel | None:
        """The model with these weights, kept if it gains; None once all is over."""
        if self.ended is not None:
            return None
        trial = _mixed(self.spec, self.data, weights, start, self.monitor)
        if trial.status in STOPPED:
            self.ended = trial.status
        gain = trial.log_evidence - self.best.log_evidence
        if gain > least and trial.status not in _DEGENERATE:
            self.best = trial
        return trial

    def climb(self, most: int) -> None:
        """Along the gradient of the evidence while it rises."""
        for _ in range(most):
            before = self.best
            if self.ended is not None or len(before.indices) == 0:
                return
            at = _functions(before, self.data), self.weights
            goal = better_weights(*at, lambda: self.spec.deadline.passed)
            self.tried(goal, before, _LEAST_CLIMB)
            if self.best is before:
                return

    def towards_kernels(self, steps: tuple[float, ...]) -> None:
        """Steps from the best weights; of two ends the better, or one between."""
        for step in steps:
            for way in self._directions():
                before, weights = self.best, self.weights
                trial = self.tried(weights + step * way, before)
                if trial is not None and self.best is before:
                    both = _Both(before, trial)
                    self.tried(weights + _SHORTER * step * way, both)

    def _directions(self) -> Iterator[Array]:
        """From the best weights to kernels alone, whatever the best are by then."""
        alone = np.eye(len(self.weights))
        for kernel in np.argsort(-self.weights, kind="stable")[:_MOST_DIRECTIONS]:
            if self.weights[kernel] < _ALONE:
                yield alone[kernel] - self.weights


@dataclass(frozen=True)
class _Both:
    """The functions of two models."""

    one: FittedModel
    other: FittedModel

    def beginning(self, basis: Basis) -> Beginning:
        """The lower α of each, and the weights of the first that knows them."""
        one, other = self.one.beginning(basis), self.other.beginning(basis)
        inside = np.isfinite(one.precision)
        return Beginning(
            precision=np.fmin(one.precision, other.precision),
            weights=np.where(inside, one.weights, other.weights),
            labels=one.labels,
        )


def _mixed(
    spec: Specification,
    data: TrainingSet,
    weights: Array,
    start: KnownFunctions | None,
    monitor: Monitor,
) -> FittedModel:
    """The model of one kernel, mixed with these weights."""
    mixture: Kernel = Mixture(spec.kernels, weights)
    mixed = replace(spec, kernels=(mixture,))
    model = maximised(mixed, data, start=start, monitor=monitor)
    return replace(model, learned=Learned(weights=weights))


def _functions(model: FittedModel, data: TrainingSet) -> Mixed:
    """The model's functions by every kernel, on some of the rows."""
    rows = slice(None, None, max(1, len(data) // _MOST_ROWS))
    X, y, weight = data.table[rows], data.targets[rows], data.weight[rows]
    (group,) = model.basis.groups
    mixture = group.kernel
    assert isinstance(mixture, Mixture)
    parts = np.stack([as_dense(part) for part in mixture.parts(X, group.centres)])
    eta = model.latent(X)[0] - data.offset
    return Mixed(
        parts=parts,
        constant=np.ones((len(X), int(model.basis.bias))),
        prior_precision=model.posterior.prior_precision,
        seen=model.fit.likelihood.pseudo_observations(y, eta, weight),
        count=float(weight.sum()),
    )

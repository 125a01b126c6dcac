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

from relvec.evidence import Status
from relvec.kernel_learning import Mixed, better_weights
from relvec.kernel_search.trials import STOPPED
from relvec.kernels import Kernel
from relvec.kernels.base import as_dense
from relvec.kernels.combinations import Mixture
from relvec.modelling import (
    FittedModel,
    Learned,
    Monitor,
    Specification,
    TrainingSet,
    maximised,
)
from relvec.typing import Array


@dataclass(frozen=True)
class WeightSettings:
    """Constants, chosen on 14 problems of 100 to 150 rows, five draws each.

    docs/theory/kernel_learning.md, "Weights of kernels", has what came of it on others.
    """

    shares: int = 11  # of the first of two kernels, from 0 to 1, all of which are tried
    few_kernels: int = 5  # of which each is tried alone, besides equal weights
    # Fits along the gradient, before steps towards single kernels and after.
    climbs_before: int = 3
    climbs_after: int = 2
    # Of the way towards a kernel by itself: between two shares, or from coarse to fine.
    between_shares: tuple[float, ...] = (0.15,)
    steps: tuple[float, ...] = (0.4, 0.15)
    most_directions: int = 4  # towards kernels of the largest weights
    alone: float = 0.99  # weight of a kernel beside which there is nothing to take from
    least_gain: float = 1e-2  # nats, which is no evidence for anything
    least_climb: float = (
        5e-2  # nats of a step along the gradient, after which one follows
    )
    most_rows: int = 5000  # from which better weights are guessed, for memory's sake


SETTINGS = WeightSettings()
_DEGENERATE = (Status.INTERPOLATION, Status.PERFECT_FIT)


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
    search = _Search(spec, data, monitor)
    search.tried(first, start)
    # Nothing to learn from where kernels are so narrow that they explain every row.
    if search.model.status not in _DEGENERATE:
        for weights in others:
            search.tried(weights, start)
        search.climb(SETTINGS.climbs_before)
        two = n_kernels == 2
        search.towards_kernels(SETTINGS.between_shares if two else SETTINGS.steps)
        search.climb(SETTINGS.climbs_after)
    # The best model knows whether the search has come to its end.
    return search.model if search.ended is None else search.model.ended_as(search.ended)


def _other_mixtures(n_kernels: int) -> Array:
    """Weights (trials, n) to begin with besides equal ones."""
    if n_kernels == 2:
        shares = np.delete(np.linspace(0, 1, SETTINGS.shares), SETTINGS.shares // 2)
        return np.column_stack([shares, 1 - shares])
    return np.eye(n_kernels if n_kernels <= SETTINGS.few_kernels else 0, n_kernels)


@dataclass
class _Search:
    """The best model so far, and how the search came to an end if it has."""

    spec: Specification
    data: TrainingSet
    monitor: Monitor
    best: FittedModel | None = None
    ended: Status | None = None  # early, by time or by somebody's word

    @property
    def model(self) -> FittedModel:
        """The best model, of which there is one after the first trial."""
        assert self.best is not None
        return self.best

    @property
    def weights(self) -> Array:
        """The weights of the best model."""
        weights = self.model.learned.weights
        assert weights is not None
        return weights

    def tried(
        self,
        weights: Array,
        start: FittedModel | None,
        least: float = SETTINGS.least_gain,
    ) -> None:
        """Fit one kernel mixed with these weights, and keep the model if it gains."""
        if self.ended is not None:
            return
        mixture: Kernel = Mixture(self.spec.kernels, weights)
        mixed = replace(self.spec, kernels=(mixture,))
        trial = maximised(mixed, self.data, start=start, monitor=self.monitor)
        if trial.status in STOPPED:
            self.ended = trial.status
        before = -np.inf if self.best is None else self.best.log_evidence
        fine = self.best is None or trial.status not in _DEGENERATE
        if trial.log_evidence - before > least and fine:
            self.best = replace(trial, learned=Learned(weights=weights))

    def climb(self, most: int) -> None:
        """Along the gradient of the evidence while it rises."""
        for _ in range(most):
            before = self.model
            if self.ended is not None or len(before.indices) == 0:
                return
            at = _functions(before, self.data), self.weights
            goal = better_weights(*at, lambda: self.spec.deadline.passed)
            self.tried(goal, before, SETTINGS.least_climb)
            if self.best is before:
                return

    def towards_kernels(self, steps: tuple[float, ...]) -> None:
        """Steps from the best weights, each from the functions of the best model."""
        for step in steps:
            for way in self._directions():
                self.tried(self.weights + step * way, self.model)

    def _directions(self) -> Iterator[Array]:
        """From the best weights to kernels alone, whatever the best are by then."""
        alone = np.eye(len(self.weights))
        for kernel in np.argsort(-self.weights, kind="stable")[
            : SETTINGS.most_directions
        ]:
            if self.weights[kernel] < SETTINGS.alone:
                yield alone[kernel] - self.weights


def _functions(model: FittedModel, data: TrainingSet) -> Mixed:
    """The model's functions by every kernel, on some of the rows."""
    rows = slice(None, None, max(1, len(data) // SETTINGS.most_rows))
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

"""The fit of one set of rows, on whose rows its functions are centred."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.chance import generator
from relvec.likelihoods import Likelihood, re_estimated
from relvec.modelling import (
    AT_ROWS,
    Beginning,
    Candidates,
    FittedModel,
    KnownFunctions,
    Monitor,
    OnRows,
    Specification,
    TrainingSet,
    maximised,
    silent,
)
from relvec.parameters import as_share
from relvec.partition.parts import InMemory, Parts, consecutive, dealt
from relvec.partition.weighing import weighed
from relvec.typing import Array

# Noise and model are estimated in turn until the logarithm of the noise precision moves
# by less, but no more often: sets that are not the last one only have to find
# functions, and pass the noise on to the next.
_MOVED, _MOVED_AT_LAST = 0.2, 0.01
_TURNS, _TURNS_AT_LAST = 3, 15
# Rows that a set which is not the last one is fitted to: from their errors the noise is
# known to 1 %.
MOST_AROUND = 8192


@dataclass(frozen=True)
class SetModel:
    """What is left of a set."""

    model: FittedModel
    rows: TrainingSet  # that its functions are centred on
    log_parameters: Array  # of the likelihood, as far as rows around have told
    n_rows: int  # of the set

    @property
    def record(self) -> tuple[int, int]:
        """How many rows the set had, and how many vectors it was left with."""
        return self.n_rows, len(self.rows)


@dataclass(frozen=True)
class OfSeveral:
    """What the fit of a merged set begins with."""

    models: tuple[FittedModel, ...]

    def beginning(self, basis: Basis) -> Beginning:
        """For the functions of a dictionary, each known to one model."""
        found = [model.beginning(basis) for model in self.models]
        precision = found[0].precision
        for other in found[1:]:
            precision = np.where(np.isnan(precision), other.precision, precision)
        # Every one of the models explains all there is to explain.
        weights = np.mean([one.weights for one in found], axis=0)
        return Beginning(precision, weights, found[0].labels)


@dataclass(frozen=True)
class _Fit:
    """All of a fit but its data."""

    spec: Specification
    start: KnownFunctions | None
    monitor: Monitor = silent
    exact: bool = True  # whether it is to have all digits

    def __call__(self, data: TrainingSet) -> FittedModel:
        return maximised(self.spec, data, start=self.start, monitor=self.monitor)

    def to_all(
        self, rows: TrainingSet, around: Parts, log_parameters: Array
    ) -> FittedModel:
        """With functions on the rows of a set, to all rows around it."""
        spec, start, monitor = self.spec, self.start, self.monitor
        # Sums are enough to find functions; with Gaussian noise one pass makes them.
        rough = rows.likelihood.conjugate and not self.exact
        rough &= spec.solver.looks_at_rows is None
        if isinstance(around, InMemory) and not rough:
            centred = replace(spec, centres=OnRows(*AT_ROWS.of(rows.rows)))
            data = around.data.with_parameters(log_parameters)
            return maximised(centred, data, start=start, monitor=monitor)
        functions = Candidates.of(spec.kernels, AT_ROWS, rows.rows, bias=spec.intercept)
        like = rows.with_parameters(log_parameters)
        return weighed(spec, around, functions, like, start=start, monitor=monitor)


@dataclass(frozen=True)
class _Turns:
    """How often noise and model are estimated in turn, at most and at the end."""

    most: int
    moved: float


def _in_turn(
    fit: _Fit,
    rows: TrainingSet,
    around: Parts | None,
    log_parameters: Array,
    turns: _Turns,
) -> tuple[FittedModel, Array]:
    """Model and noise, each given the other; the noise from rows around the set."""
    free = rows.likelihood
    for _ in range(turns.most):
        held = free.with_parameters(log_parameters, fixed=True)
        model = fit(replace(rows, likelihood=held))
        if around is None:
            break
        found = noise_of_all(around, model, free).log_parameters
        change = np.max(np.abs(found - log_parameters))
        log_parameters = found
        if change < turns.moved or fit.spec.deadline.passed:
            break
    return model, log_parameters


@dataclass(frozen=True)
class SetFits:
    """How sets are fitted."""

    spec: Specification
    size: int  # rows of a partition
    rows: str  # that functions are fitted to: those of the "partition" or "all"
    noise_from: Any  # "all" rows, the "partition", or a number or share of rows
    early_stop: str  # by half of the "partition", of the "set", or "never"

    def fitted(
        self,
        rows: TrainingSet,
        around: Parts | None,
        log_parameters: Array,
        *,
        start: KnownFunctions | None = None,
    ) -> SetModel:
        """The model of a set that is not the last one."""
        fit = _Fit(self._early(len(rows)), start, exact=False)
        turns = _Turns(_TURNS, _MOVED)
        model, found = self._fit(fit, rows, around, log_parameters, turns)
        kept = np.flatnonzero(np.isin(rows.rows.indices, model.indices))
        return SetModel(model, rows.subset(kept), found, len(rows))

    def last(
        self,
        rows: TrainingSet,
        around: Parts | None,
        log_parameters: Array,
        *,
        start: KnownFunctions | None = None,
        monitor: Monitor = silent,
    ) -> tuple[FittedModel, Array]:
        """The model of the last set, converged, and the likelihood's parameters."""
        fit = _Fit(self.spec, start, monitor)
        turns = _Turns(_TURNS_AT_LAST, _MOVED_AT_LAST)
        return self._fit(fit, rows, around, log_parameters, turns)

    def merged(self, pair: tuple[SetModel, ...], around: Parts | None) -> SetModel:
        """Of the rows that several sets are left with."""
        pair = with_vectors(pair)
        if len(pair) == 1:
            return pair[0]
        rows, begin = united(pair)
        noise = np.mean([one.log_parameters for one in pair], axis=0)
        return self.fitted(rows, around, noise, start=begin)

    def partitions(self, part: TrainingSet) -> Iterator[TrainingSet]:
        """Sets of rows, dealt by chance."""
        by_class = self.spec.family.labels is not None
        return consecutive(dealt(part, by_class=by_class), self.size)

    def around(self, part: TrainingSet) -> Parts | None:
        """Rows of a part that a set's noise is estimated from; None: its own."""
        if self.rows == "partition" and self.noise_from == "partition":
            return None
        count = min(len(part), MOST_AROUND)
        if self.noise_from != "all":
            asked = max(1, as_share("noise_from", self.noise_from, len(part)))
            count = min(len(part), asked)
        drawn = generator(self.spec.seed, 7).choice(len(part), count, replace=False)
        return InMemory(part.subset(np.sort(drawn)), count)

    def _fit(
        self,
        fit: _Fit,
        rows: TrainingSet,
        around: Parts | None,
        log_parameters: Array,
        turns: _Turns,
    ) -> tuple[FittedModel, Array]:
        """The model of a set, and the likelihood's parameters."""
        if self.rows == "all":
            assert around is not None
            model = fit.to_all(rows, around, log_parameters)
        elif self.noise_from == "partition" or not len(log_parameters):
            model = fit(rows.with_parameters(log_parameters))
        else:
            return _in_turn(fit, rows, around, log_parameters, turns)
        return model, model.fit.likelihood.log_parameters

    def _early(self, n_rows: int) -> Specification:
        """Of a fit that ends before it has converged."""
        if self.early_stop == "never":
            return self.spec
        half = max(1, (self.size if self.early_stop == "partition" else n_rows) // 2)
        return replace(self.spec, solver=self.spec.solver.stopping_at(half))


def with_vectors(sets: tuple[SetModel, ...]) -> tuple[SetModel, ...]:
    """Those that are left with some; the first if none is."""
    return tuple(one for one in sets if len(one.rows)) or sets[:1]


def united(sets: tuple[SetModel, ...]) -> tuple[TrainingSet, KnownFunctions]:
    """The rows of several sets as one, and what its fit begins with."""
    rows = sets[0].rows.joined(*(one.rows for one in sets[1:]))
    return rows, OfSeveral(tuple(one.model for one in sets))


def noise_of_all(
    around: Parts, model: FittedModel, likelihood: Likelihood
) -> Likelihood:
    """With the parameters that the errors on these rows ask for, (4.2.3.1)."""
    errors = list(around.each(partial(_errors, model, likelihood)))
    count, squares = np.sum(errors, axis=0)
    spent = model.posterior.effective_parameters
    return re_estimated(likelihood, count - spent, squares)


def _errors(
    model: FittedModel, likelihood: Likelihood, part: TrainingSet
) -> tuple[Array, Array]:
    eta = model.predictor(part.table)
    return likelihood.sufficient_statistics(part.targets, eta, part.weight)

"""The thesis' three ways from partitions to a last set (Ben-Shimon 2006, 4.1 and 5.2).

Given    rows in parts, and how large a partition is
By       fitting sets of rows, each by itself, whose functions are centred on these
         rows: partitions, and what earlier sets were left with
Returns  the last set, before it is fitted

How large a partition is follows from the model of a few rows (4.2.1, 5.2.1.2).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.blockwise import engine
from relvec.chance import generator
from relvec.evidence import Deadline
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
    has_width,
    logger,
    maximised,
    silent,
)
from relvec.parameters import as_share
from relvec.partition.parts import (
    MOST_AROUND,
    InMemory,
    Parts,
    alone,
    consecutive,
    dealt,
)
from relvec.partition.search import fit_to_sums
from relvec.partition.sources import Source
from relvec.typing import Array, Indices


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
class LastSet:
    """The set that is to be fitted next; in the end, the one that gives the result."""

    rows: TrainingSet
    start: KnownFunctions | None
    log_parameters: Array
    records: list[tuple[int, int]] = field(default_factory=list)  # of earlier sets
    cut_short: bool = False  # whether time was over before all rows were seen

    def after(self, found: SetModel, fresh: TrainingSet) -> "LastSet":
        """What is left of this set, and other rows."""
        rows, records = found.rows.joined(fresh), [*self.records, found.record]
        return LastSet(rows, found.model, found.log_parameters, records)

    @classmethod
    def of(cls, sets: Sequence[SetModel]) -> "LastSet":
        """What is left of several sets; of the first if none has vectors."""
        sets = [one for one in sets if len(one.rows)] or sets[:1]
        rows = sets[0].rows.joined(*(one.rows for one in sets[1:]))
        noise = np.mean([one.log_parameters for one in sets], axis=0)
        return cls(rows, OfSeveral(tuple(one.model for one in sets)), noise)


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
        # Each of the models explains all there is to explain.
        weights = np.mean([one.weights for one in found], axis=0)
        return Beginning(precision, weights, found[0].labels)


@dataclass(frozen=True)
class Begun:
    """What sets begin with."""

    log_parameters: Array
    start: KnownFunctions | None
    until: Deadline  # no further set is begun after it
    around: Parts | None  # rows for sets of which it is not known where they are from
    taught: KnownFunctions | None = None  # the model by which the kernel was learned

    @property
    def sent(self) -> "Begun":
        """Without what no worker needs."""
        return replace(self, around=None, taught=None)

    def first(self, rows: TrainingSet, *, cut_short: bool = False) -> LastSet:
        """The first set."""
        return LastSet(rows, self.start, self.log_parameters, cut_short=cut_short)


@dataclass(frozen=True)
class _Fit:
    """All of a fit but its data, and how often it is repeated with another noise."""

    spec: Specification
    start: KnownFunctions | None
    monitor: Monitor = silent
    turns: int = 3
    moved: float = 0.2  # change of the log noise precision that ends it

    def to_own(self, rows: TrainingSet) -> FittedModel:
        """To the rows that functions are centred on."""
        return maximised(self.spec, rows, start=self.start, monitor=self.monitor)

    def to_all(
        self, rows: TrainingSet, around: Parts, like: TrainingSet
    ) -> FittedModel:
        """With functions on the rows of a set, to all rows around it."""
        spec, start, monitor = self.spec, self.start, self.monitor
        if isinstance(around, InMemory):
            centred = replace(spec, centres=OnRows(*AT_ROWS.of(rows.rows)))
            data = replace(around.data, likelihood=like.likelihood)
            return maximised(centred, data, start=start, monitor=monitor)
        functions = Candidates.of(spec.kernels, AT_ROWS, rows.rows, bias=spec.intercept)
        return fit_to_sums(spec, around, functions, like, start=start, monitor=monitor)

    def in_turn(
        self, rows: TrainingSet, around: Parts, log_parameters: Array
    ) -> tuple[FittedModel, Array]:
        """Model and noise, each given the other; the noise from rows around the set."""
        free = rows.likelihood
        for _ in range(self.turns):
            held = free.with_parameters(log_parameters, fixed=True)
            model = self.to_own(replace(rows, likelihood=held))
            found = noise_of_all(around, model, free).log_parameters
            change = np.max(np.abs(found - log_parameters))
            log_parameters = found
            if change < self.moved or self.spec.deadline.passed:
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
        """The model of a set that is not the last one.

        Such sets only have to find functions, and pass the noise on to the next.
        """
        fit = _Fit(self._early(len(rows)), start)
        model, found = self._by(fit, rows, around, log_parameters)
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
        fit = _Fit(self.spec, start, monitor, turns=15, moved=0.01)
        return self._by(fit, rows, around, log_parameters)

    def merged(self, pair: Sequence[SetModel], around: Parts | None) -> SetModel:
        """Of the rows that two sets are left with; or the only one that has any."""
        some = [one for one in pair if len(one.rows)] or pair[:1]
        if len(some) == 1:
            return some[0]
        one = LastSet.of(some)
        return self.fitted(one.rows, around, one.log_parameters, start=one.start)

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

    def _by(
        self, fit: _Fit, rows: TrainingSet, around: Parts | None, log_parameters: Array
    ) -> tuple[FittedModel, Array]:
        """The model of a set, and the likelihood's parameters."""
        like = rows.with_parameters(log_parameters)
        if self.rows == "all" and around is not None:
            model = fit.to_all(rows, around, like)
        elif around is None or not len(log_parameters):
            model = fit.to_own(like)
        else:
            return fit.in_turn(rows, around, log_parameters)
        return model, model.fit.likelihood.log_parameters

    def _early(self, n_rows: int) -> Specification:
        """Of a fit that ends before it has converged."""
        if self.early_stop == "never":
            return self.spec
        half = max(1, (self.size if self.early_stop == "partition" else n_rows) // 2)
        return replace(self.spec, solver=self.spec.solver.stopping_at(half))


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


def split_and_merge(
    fits: SetFits,
    parts: Parts,
    begun: Begun,
    first: TrainingSet,
    *,
    pairwise: bool,
) -> LastSet:
    """Every set is fitted by itself, then what two are left with, and so on.

    ``first`` is the set of which there will be a model even if there is no time.
    """
    stage, cut_short = _Stage(), False
    for found in parts.each(partial(_of_part, fits, begun.sent, pairwise)):
        stage = _Stage(stage.sets + found.sets, stage.records + found.records)
        cut_short = begun.until.passed
        if cut_short:
            break
    if not stage.sets:
        return begun.first(first, cut_short=True)
    if pairwise:
        merged = partial(fits.merged, around=begun.around)
        merge = partial(engine().map, partial(alone, merged))
        while len(stage.sets) > 2 and not begun.until.passed:
            stage = stage.merged(merge)
    last = LastSet.of(stage.sets)
    return replace(last, records=stage.records, cut_short=cut_short)


@dataclass(frozen=True)
class _Stage:
    """Sets that are left of some, and what they were."""

    sets: list[SetModel] = field(default_factory=list)
    records: list[tuple[int, int]] = field(default_factory=list)

    def merged(
        self, merge: Callable[[Iterable[list[SetModel]]], Iterable[SetModel]]
    ) -> "_Stage":
        """Two at a time; the last of an odd number waits for the next stage."""
        pairs = [self.sets[k : k + 2] for k in range(0, len(self.sets), 2)]
        sets = list(merge(pairs))
        met = [one.record for one, pair in zip(sets, pairs, strict=True) if pair[1:]]
        return _Stage(sets, self.records + met)


def _of_part(fits: SetFits, begun: Begun, pairwise: bool, part: TrainingSet) -> _Stage:
    """Of one part all sets, or the two that they were merged into."""
    if not len(part):
        return _Stage()
    around, noise = fits.around(part), begun.log_parameters
    sets: list[SetModel] = []
    for one in fits.partitions(part):
        if sets and begun.until.passed:
            break
        sets.append(fits.fitted(one, around, noise, start=begun.start))
    stage = _Stage(sets, [one.record for one in sets])
    while pairwise and len(stage.sets) > 2:
        stage = stage.merged(partial(map, partial(fits.merged, around=around)))
    return stage


def incremental(
    fits: SetFits, parts: Parts, begun: Begun, first: TrainingSet
) -> LastSet:
    """What is found so far and the next partition are the next set.

    ``first`` is the set of which there will be a model even if there is no time.
    """
    work = partial(_with_part, fits, begun.sent)
    none: LastSet | None = None
    last = parts.fold(work, none, lambda: begun.until.passed)
    if last is None:
        return begun.first(first, cut_short=True)
    return replace(last, cut_short=begun.until.passed)


def _with_part(
    fits: SetFits, begun: Begun, last: LastSet | None, part: TrainingSet
) -> LastSet | None:
    if not len(part):
        return last
    around = fits.around(part)
    for one in fits.partitions(part):
        if begun.until.passed:
            break
        if last is None:
            last = begun.first(one)
            continue
        found = fits.fitted(last.rows, around, last.log_parameters, start=last.start)
        last = last.after(found, one)
    return last


def working_set(
    fits: SetFits,
    parts: Parts,
    begun: Begun,
    first: TrainingSet,
    *,
    max_sets: float,
) -> LastSet:
    """What is found so far and the rows that it predicts worst are the next set."""
    strata = Strata.of(parts, by_class=fits.spec.family.labels is not None)
    last, used = begun.first(first), first.rows.indices
    while len(last.records) + 1 < max_sets:
        if begun.until.passed:
            return replace(last, cut_short=True)
        given = last.rows, begun.around, last.log_parameters
        found = fits.fitted(*given, start=last.start)
        fresh = worst_rows(parts, strata, found.model, fits.size, used)
        if not len(fresh):
            break
        used = np.concatenate([used, fresh.rows.indices])
        last = last.after(found, fresh)
    return last


@dataclass(frozen=True)
class Strata:
    """The classes, whose proportions are kept; without any, all rows are one."""

    codes: Array | None  # (classes, outputs) their targets
    share: Array  # (classes,) of the rows

    @classmethod
    def of(cls, parts: Parts, *, by_class: bool) -> "Strata":
        """One look at all targets."""
        if not by_class:
            return cls(None, np.ones(1))
        found = list(parts.each(_counted))
        targets = np.concatenate([codes for codes, _ in found])
        codes, which = np.unique(targets, axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), np.concatenate([n for _, n in found]))
        return cls(codes, counts / counts.sum())

    def of_rows(self, part: TrainingSet) -> Indices:
        """The number of each row's class."""
        if self.codes is None:
            return np.zeros(len(part), dtype=np.intp)
        return _nearest(part.targets, self.codes)

    def quotas(self, size: int) -> Indices:
        """Rows of each class among so many, by the largest remainders."""
        exact = size * self.share
        whole = np.floor(exact).astype(np.intp)
        most = np.argsort(whole - exact, kind="stable")[: size - whole.sum()]
        whole[most] += 1
        return whole


@dataclass(frozen=True)
class _Ranked:
    """Rows with their class and how much they have to tell."""

    rows: TrainingSet
    stratum: Indices
    score: Array

    def best(self, strata: Strata, size: int) -> "_Ranked":
        """So many of each class at most."""
        chosen = [
            mine[np.argsort(-self.score[mine], kind="stable")[:size]]
            for mine in (
                np.flatnonzero(self.stratum == k) for k in range(len(strata.share))
            )
        ]
        every = np.sort(np.concatenate(chosen))
        return _Ranked(self.rows.subset(every), self.stratum[every], self.score[every])

    def joined(self, other: "_Ranked") -> "_Ranked":
        return _Ranked(
            self.rows.joined(other.rows),
            np.concatenate([self.stratum, other.stratum]),
            np.concatenate([self.score, other.score]),
        )


def worst_rows(
    parts: Parts, strata: Strata, model: FittedModel, size: int, used: Indices
) -> TrainingSet:
    """So many rows, or those that are left, in the proportions of the classes."""
    used = np.sort(used)
    found = parts.each(partial(_ranked, strata, model, size, used))
    ranked = reduce(lambda one, two: one.joined(two).best(strata, size), found)
    return ranked.rows.subset(np.sort(_by_quotas(ranked, strata.quotas(size), size)))


def _by_quotas(ranked: _Ranked, quotas: Sequence[int] | Indices, size: int) -> Indices:
    """The best of each class, then the best of those that are left."""
    order = np.argsort(-ranked.score, kind="stable")
    of_class = ranked.stratum[order]
    place = np.empty(len(order), dtype=np.intp)  # of each among its class
    for k, _ in enumerate(quotas):
        mine = np.flatnonzero(of_class == k)
        place[mine] = np.arange(len(mine))
    beyond = place >= np.asarray(quotas)[of_class]
    return order[np.argsort(beyond, kind="stable")[:size]]


def _ranked(
    strata: Strata, model: FittedModel, size: int, used: Indices, part: TrainingSet
) -> _Ranked:
    """The best of a part."""
    indices = part.rows.indices
    after = np.searchsorted(used, indices).clip(max=len(used) - 1)
    left = np.flatnonzero(used[after] != indices)
    fresh = part.subset(left)
    # By the place of a row in its part: its number is that of the order given.
    chance = generator(part.rows.seed, 8, len(used)).random(len(part))[left]
    stratum = strata.of_rows(fresh)
    score = _score(strata, model, fresh, stratum, chance)
    return _Ranked(fresh, stratum, score).best(strata, size)


def _score(
    strata: Strata,
    model: FittedModel,
    rows: TrainingSet,
    stratum: Indices,
    chance: Array,
) -> Array:
    """How improbable it is, or of classes one where it is wrong; then by chance."""
    if not len(rows):
        return np.empty(0)
    if strata.codes is None:
        mean = model.predictor(rows.table)
        nothing = np.zeros_like(mean)
        return -rows.likelihood.log_predictive(rows.targets, mean, nothing)
    expected = model.family.expected(*model.latent(rows.table))
    predicted = _nearest(expected, strata.codes)
    return (predicted != stratum) + chance


def _counted(part: TrainingSet) -> tuple[Array, Array]:
    """Targets that occur, and how often."""
    codes, counts = np.unique(part.targets, axis=0, return_counts=True)
    return codes, counts.astype(np.float64)


def _nearest(targets: Array, codes: Array) -> Indices:
    """The number of the code (K, outputs) that each target is nearest to."""
    return np.argmax(targets @ codes.T - 0.5 * np.sum(codes**2, axis=1), axis=1)


# (5.2.1.2.1): up to such a ratio of vectors to rows drawn, such a share of these rows.
_SHARES = ((0.25, 0.2), (0.75, 0.6), (np.inf, 1.0))
_NEARLY_ALL = 0.9  # the thesis: "close to one"
# Rows of a first look by solvers that begin with all functions, whose time grows with
# the third power: a minute for these.
_MOST_AT_ONCE = 2000
_LEAST = 10  # rows of a partition, unless its user says otherwise


@dataclass(frozen=True)
class PartitionSize:
    """P, and the sparseness ratio that it was found from; nan if it was given."""

    rows: int
    ratio: float = np.nan
    narrow: bool = True  # whether a kernel could be so, having a width

    @property
    def advice(self) -> str | None:
        """That of the thesis where nearly every row is a vector."""
        if not self.ratio > _NEARLY_ALL:
            return None
        return (
            f"{self.ratio:.0%} of the rows that were drawn to find the partition size "
            f"are relevance vectors, so that partitions gain little: {self._remedy}"
        )

    @property
    def _remedy(self) -> str:
        if not self.narrow:
            return "leave out partition, or choose a kernel with fewer functions"
        return (
            "the kernel is probably too narrow, widen it or let it be learned "
            "(gamma='learn')"
        )


def found_size(spec: Specification, source: Source) -> PartitionSize:
    """From the vectors of a model of √(N·d) rows."""
    at_once, n_rows = spec.solver.begins_with_all is not None, source.n_rows
    count = int(np.ceil(np.sqrt(n_rows * source.n_features)))
    count = min(count, n_rows, _MOST_AT_ONCE if at_once else n_rows)
    rows = source.drawn(count)
    ratio = len(np.unique(maximised(spec, rows).indices)) / max(len(rows), 1)
    share = next(share for most, share in _SHARES if ratio <= most)
    classes = spec.family.labels
    least = max(_LEAST, 0 if classes is None else len(classes))
    size = min(max(round(share * len(rows)), least), n_rows)
    logger.info("partitions of %d rows; sparseness ratio %.2f", size, ratio)
    return PartitionSize(size, ratio, has_width(spec.kernels))


def check_size(size: int, n_rows: int, classes: Any) -> None:
    """Refuse a partition that cannot be one."""
    if size > n_rows:
        raise ValueError(
            f"partition_size={size} is more than the {n_rows} rows there are: give "
            "fewer, leave it at 'auto', or leave out partition"
        )
    if classes is not None and size < len(classes):
        raise ValueError(
            f"partition_size={size} is less than the {len(classes)} classes, so that "
            "no partition could have all of them: give more"
        )

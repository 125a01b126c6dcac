"""The three ways from partitions to the last set (thesis, 4.1.1 to 4.1.3)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from relvec.blockwise import engine
from relvec.evidence import Deadline
from relvec.modelling import KnownFunctions, TrainingSet
from relvec.partition.parts import Parts
from relvec.partition.sets import SetFits, SetModel, united, with_vectors
from relvec.partition.worst_rows import Strata, worst_rows
from relvec.typing import Array

Record = tuple[int, int]  # rows of a set, vectors that it was left with


@dataclass(frozen=True)
class Begun:
    """What sets begin with."""

    log_parameters: Array
    start: KnownFunctions | None
    until: Deadline  # no further set is begun after it
    around: Parts | None  # rows for sets of which it is not known where they are from
    taught: KnownFunctions | None = None  # the model by which the kernel was learned


@dataclass(frozen=True)
class LastSet:
    """The set whose model is the result, before it is fitted."""

    rows: TrainingSet
    start: KnownFunctions | None
    log_parameters: Array
    records: list[Record]
    cut_short: bool = False  # whether time was over before all rows were seen


@dataclass(frozen=True)
class _Stage:
    """Sets that are left of some, and what they were."""

    sets: list[SetModel] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def merged(
        self, merge: Callable[[Iterable[tuple[SetModel, ...]]], Iterable[SetModel]]
    ) -> "_Stage":
        """Two at a time; the last of an odd number waits for the next stage."""
        pairs = [tuple(self.sets[k : k + 2]) for k in range(0, len(self.sets), 2)]
        sets = list(merge(pairs))
        met = [one.record for one, pair in zip(sets, pairs, strict=True) if pair[1:]]
        return _Stage(sets, self.records + met)


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
    sent = replace(begun, around=None, taught=None)
    for found in parts.each(partial(_of_part, fits, sent, pairwise)):
        stage = _Stage(stage.sets + found.sets, stage.records + found.records)
        if begun.until.passed:
            cut_short = True
            break
    if not stage.sets:
        return LastSet(first, begun.start, begun.log_parameters, [], cut_short=True)
    if pairwise:
        merge = partial(engine().map, partial(fits.merged, around=begun.around))
        while len(stage.sets) > 2 and not begun.until.passed:
            stage = stage.merged(merge)
    sets = with_vectors(tuple(stage.sets))
    rows, start = united(sets)
    noise = np.mean([one.log_parameters for one in sets], axis=0)
    return LastSet(rows, start, noise, stage.records, cut_short)


def _of_part(fits: SetFits, begun: Begun, pairwise: bool, part: TrainingSet) -> _Stage:
    """Of one part all sets, or the two that they were merged into."""
    if not len(part):
        return _Stage()
    around = fits.around(part)
    sets: list[SetModel] = []
    for one in fits.partitions(part):
        if sets and begun.until.passed:
            break
        noise = begun.log_parameters
        sets.append(fits.fitted(one, around, noise, start=begun.start))
    stage = _Stage(sets, [one.record for one in sets])
    while pairwise and len(stage.sets) > 2:
        stage = stage.merged(partial(map, partial(fits.merged, around=around)))
    return stage


@dataclass(frozen=True)
class _Increment:
    """The set to be fitted next: what was found, and rows not yet looked at."""

    found: SetModel | None = None
    waiting: TrainingSet | None = None
    records: tuple[Record, ...] = ()

    def set_for(self, begun: Begun) -> LastSet:
        """With what its fit begins with."""
        assert self.waiting is not None
        rows, noise, start = self.waiting, begun.log_parameters, begun.start
        if self.found is not None:
            rows = rows.joined(self.found.rows)
            noise, start = self.found.log_parameters, self.found.model
        return LastSet(rows, start, noise, list(self.records))


def incremental(
    fits: SetFits, parts: Parts, begun: Begun, first: TrainingSet
) -> LastSet:
    """What is found so far and the next partition are the next set.

    ``first`` is the set of which there will be a model even if there is no time.
    """
    work = partial(_with_part, fits, replace(begun, around=None, taught=None))
    state = parts.fold(work, _Increment(), lambda: begun.until.passed)
    if state.waiting is None:
        return LastSet(first, begun.start, begun.log_parameters, [], cut_short=True)
    last = state.set_for(begun)
    return replace(last, cut_short=begun.until.passed)


def _with_part(
    fits: SetFits, begun: Begun, state: _Increment, part: TrainingSet
) -> _Increment:
    if not len(part) or begun.until.passed:
        return state
    around = fits.around(part)
    for one in fits.partitions(part):
        if state.waiting is not None:
            if begun.until.passed:
                break
            now = state.set_for(begun)
            found = fits.fitted(now.rows, around, now.log_parameters, start=now.start)
            records = (*state.records, found.record)
            state = _Increment(found, None, records)
        state = replace(state, waiting=one)
    return state


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
    state = LastSet(first, begun.start, begun.log_parameters, [])
    used = first.rows.indices
    while len(state.records) + 1 < max_sets and not begun.until.passed:
        found = fits.fitted(
            state.rows, begun.around, state.log_parameters, start=state.start
        )
        fresh = worst_rows(parts, strata, found.model, fits.size, used)
        if not len(fresh):
            return replace(state, cut_short=False)
        used = np.concatenate([used, fresh.rows.indices])
        records = [*state.records, found.record]
        rows = found.rows.joined(fresh)
        state = LastSet(rows, found.model, found.log_parameters, records)
    return replace(state, cut_short=begun.until.passed)

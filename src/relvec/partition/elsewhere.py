"""Rows that stay where they are: in a file, in other processes, on a cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np

from relvec.chance import generator
from relvec.data import Block, RowBlocks, each_block, fold_blocks
from relvec.design import Rows
from relvec.likelihoods import Likelihood
from relvec.modelling import (
    AT_ROWS,
    Candidates,
    Family,
    Features,
    FittedModel,
    Monitor,
    Sample,
    Specification,
    TrainingRows,
    TrainingSet,
    calibrated,
    features_of,
    targets_of,
)
from relvec.partition.parts import Parts, alone, dealt
from relvec.partition.survey import Survey
from relvec.partition.weighing import weighed
from relvec.typing import Array, Indices

Result = TypeVar("Result")
State = TypeVar("State")

# Functions that all rows are asked about, if that is for us to choose: time grows with
# their square. Beside those of a model there are at least so many others.
_FUNCTIONS, _OTHERS = 500, 100
# Of the mean, a deviation of targets that are all the same.
_ROUNDING = 8 * float(np.finfo(float).eps)
# Working sets, unless their number is given: each takes a pass over all rows.
_MOST_SETS = 50


@dataclass(frozen=True)
class Encoding:
    """From a block to a training set, wherever that is done."""

    family: Family
    features: Features
    offset: float
    likelihood: Likelihood
    n_drawn: int  # rows of a set that functions may be centred on
    seed: int

    def __call__(self, item: tuple[int, Block]) -> TrainingSet:
        """Of the number of a block's first row, and the block."""
        start, block = item
        X, y = block.X, targets_of(block)
        weight = np.ones(len(X)) if block.weight is None else block.weight
        counted = np.flatnonzero(weight)
        if len(counted) < len(X):
            X, y, weight = X[counted], y[counted], weight[counted]
        rows = TrainingRows(
            rows=Rows.of(X),
            indices=start + counted,
            weight=weight,
            features=self.features,
            sample=Sample.of(X, self.n_drawn, self.seed),
            in_memory=True,
            seed=self.seed,
        )
        targets = self.family.targets(y, self.offset)
        return TrainingSet(rows, targets, self.likelihood, self.offset)


@dataclass(frozen=True)
class InBlocks:
    """Parts that are blocks."""

    blocks: RowBlocks
    encoding: Encoding
    starts: tuple[int, ...]  # number of the first row of every block

    def each(self, work: Callable[[TrainingSet], Result]) -> Iterator[Result]:
        work_on = partial(_encoded, self.encoding, work)
        return each_block(self.blocks, work_on, self.starts)

    def fold(
        self,
        work: Callable[[State, TrainingSet], State],
        state: State,
        stop: Callable[[], bool],
    ) -> State:
        onwards = partial(_onwards, self.encoding, work)
        return fold_blocks(self.blocks, onwards, state, self.starts, stop)


def _encoded(
    encoding: Encoding, work: Callable[[TrainingSet], Result], item: tuple[int, Block]
) -> Result:
    return alone(work, encoding(item))


def _onwards(
    encoding: Encoding,
    work: Callable[[State, TrainingSet], State],
    state: State,
    item: tuple[int, Block],
) -> State:
    return _encoded(encoding, partial(work, state), item)


@dataclass(frozen=True)
class RowsElsewhere:
    """All rows, of which some that were drawn are in memory."""

    blocks: RowBlocks
    survey: Survey
    encoding: Encoding
    sample: TrainingSet  # in an order by chance
    candidates: int | None
    most_sets: float = _MOST_SETS

    @classmethod
    def of(
        cls,
        blocks: RowBlocks,
        survey: Survey,
        family: Family,
        *,
        n_drawn: int,
        candidates: int | None,
        seed: int,
    ) -> "RowsElsewhere":
        """With so many rows drawn, by a pass over the blocks.

        ``candidates`` are the functions of a set, and those weighed by all rows, if
        that is not for us to choose.
        """
        spread = survey.targets
        offset = family.offset(spread.mean, spread.weight)
        # Two targets with the mean and the variance of all.
        std, middle = np.sqrt(spread.variance), spread.mean - offset
        if std <= _ROUNDING * abs(spread.mean):
            std = 0.0
        two = np.array([[middle - std], [middle + std]])
        half = np.full(2, spread.weight / 2)
        encoding = Encoding(
            family=family,
            features=features_of(blocks),
            offset=offset,
            likelihood=family.starting_likelihood(two, half, offset),
            n_drawn=candidates or survey.n_rows,
            seed=seed,
        )
        found = _drawn(blocks, encoding, survey, n_drawn)
        sample = dealt(found, by_class=family.labels is not None)
        sample = replace(sample, rows=replace(sample.rows, spread=survey.spread))
        return cls(blocks, survey, encoding, sample, candidates)

    @property
    def n_rows(self) -> int:
        return self.survey.n_counted

    @property
    def n_features(self) -> int:
        return self.encoding.features.number

    def drawn(self, count: int) -> TrainingSet:
        return self.sample.subset(np.arange(min(count, len(self.sample))))

    def parts(self, size: int) -> Parts:
        return InBlocks(self.blocks, self.encoding, self.survey.starts)

    def check_sets(self, size: int) -> None:
        """Every block must have rows of two classes for each of its sets."""
        for number, part in enumerate(self.survey.parts):
            if part.counts is None or part.n_counted == 0:
                continue
            counts = sorted(part.counts)
            if len(counts) < 2 or counts[-2] < -(-part.n_counted // size):
                few = "one class only" if len(counts) < 2 else "too few rows of all "
                few += "" if len(counts) < 2 else "classes but one"
                raise ValueError(
                    f"block {number + 1} of {len(self.survey.parts)} has {few}, and "
                    "partitions are fitted by themselves: shuffle the rows, give "
                    "larger blocks or a larger partition_size, or use "
                    "partition='sample'"
                )

    def polished(
        self,
        spec: Specification,
        model: FittedModel,
        rows: TrainingSet,
        noise: Array,
        monitor: Monitor,
    ) -> FittedModel:
        """By sums over all rows, of the functions found and others."""
        like = self.sample.with_parameters(noise) if len(noise) else self.sample
        candidates = self._candidates(spec, model, rows)
        parts = self.parts(len(rows))
        found = weighed(spec, parts, candidates, like, start=model, monitor=monitor)
        return calibrated(found, spec, self.sample)

    def _candidates(
        self, spec: Specification, model: FittedModel, rows: TrainingSet
    ) -> Candidates:
        """On the rows of the model, and on rows drawn."""
        own = rows.subset(np.flatnonzero(np.isin(rows.rows.indices, model.indices)))
        new = ~np.isin(self.sample.rows.indices, own.rows.indices)
        others = np.flatnonzero(new)[: self._n_others(spec, len(own))]
        every = own.joined(self.sample.subset(others))
        whole = Sample.of(every.table, len(every), every.rows.seed)
        centres = replace(every.rows, sample=whole)
        return Candidates.of(spec.kernels, AT_ROWS, centres, bias=spec.intercept)

    def _n_others(self, spec: Specification, n_own: int) -> int:
        """Rows beside those of the model that functions are centred on."""
        each = len(spec.kernels)
        if self.candidates is not None:
            return max(self.candidates - n_own, 0)
        most = min(_FUNCTIONS, spec.budget.most_functions)
        return max(min(_OTHERS, most) // each, most // each - n_own)


def _drawn(
    blocks: RowBlocks, encoding: Encoding, survey: Survey, count: int
) -> TrainingSet:
    """So many rows of those that count, by chance, whatever the blocks are."""
    total = survey.n_counted
    if count < total:
        drawing = generator(encoding.seed, 9)
        wanted = np.sort(drawing.choice(total, count, replace=False, shuffle=False))
    else:
        wanted = np.arange(total)
    ends = np.cumsum([0, *(part.n_counted for part in survey.parts)])
    cuts = np.searchsorted(wanted, ends)
    # Every block has to know only its own.
    told = [
        (start, wanted[slice(*cut)] - first)
        for start, cut, first in zip(survey.starts, pairwise(cuts), ends, strict=False)
    ]
    found = list(each_block(blocks, partial(_at, encoding), told))
    return found[0].joined(*found[1:])


def _at(encoding: Encoding, item: tuple[tuple[int, Indices], Block]) -> TrainingSet:
    (start, places), block = item
    return encoding((start, block)).subset(places)

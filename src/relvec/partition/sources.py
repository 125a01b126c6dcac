"""All rows of a fit: in memory, in a file, in other processes or on a cluster.

A ``Source`` has some rows that were drawn in memory, and gives all of them in parts.
Only a summary and small results of work on blocks come from rows that are distributed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import TypeVar

import numpy as np

from relvec.chance import generator
from relvec.data import Block, RowBlocks, each_block, fold_blocks, same_kind
from relvec.design import Rows
from relvec.evidence import BottomUp
from relvec.likelihoods import Likelihood
from relvec.modelling import (
    Family,
    Features,
    FittedModel,
    Monitor,
    RunningMoments,
    Sample,
    Specification,
    TrainingRows,
    TrainingSet,
    calibrated,
    check_magnitude,
    features_of,
    fit,
    targets_of,
)
from relvec.parameters import as_floats
from relvec.partition.parts import (
    MOST_AROUND,
    InMemory,
    Parts,
    alone,
    classes_of,
    dealt,
)
from relvec.partition.search import FreshCandidates, search_sums
from relvec.typing import AnyArray, Array, Indices

Result = TypeVar("Result")
State = TypeVar("State")

# Rows of a part, where there are more of them than sets are fitted to: enough for the
# noise to be known to 2 % from their errors, and sets whose number is a power of two,
# so that pairs are those of all sets.
_PART_ROWS, _PART_SETS = 2048, 16
# Of the mean, a deviation of targets that are all the same.
_ROUNDING = 8 * float(np.finfo(float).eps)
# Working sets, unless their number is given: each takes a pass over all rows.
_MOST_SETS = 50


@dataclass(frozen=True)
class RowsInMemory:
    """Rows in memory."""

    data: TrainingSet
    by_class: bool
    most_sets: float = np.inf

    @classmethod
    def of(cls, data: TrainingSet, spec: Specification) -> "RowsInMemory":
        """In an order by chance."""
        by_class = spec.family.labels is not None
        return cls(dealt(data, by_class=by_class), by_class)

    @property
    def n_rows(self) -> int:
        return len(self.data)

    @property
    def n_features(self) -> int:
        return self.data.rows.n_features

    def drawn(self, count: int) -> TrainingSet:
        return self.data.subset(np.arange(min(count, len(self.data))))

    def parts(self, size: int) -> Parts:
        if len(self.data) <= MOST_AROUND:
            return InMemory(self.data, len(self.data))
        sets = 2 ** int(np.ceil(np.log2(max(_PART_ROWS / size, _PART_SETS))))
        return InMemory(self.data, size * sets)

    def check_sets(self, size: int) -> None:
        if not self.by_class:
            return
        n_sets = -(-len(self.data) // size)
        counts = np.bincount(classes_of(self.data))
        if n_sets > 1 and np.sort(counts)[-2] < n_sets:
            raise ValueError(
                f"of {n_sets} partitions some would have one class only, as all "
                f"classes but one have {np.sort(counts)[-2]} rows or fewer: set "
                "partition_size to more, or leave out partition"
            )

    def polished(
        self,
        spec: Specification,
        model: FittedModel,
        rows: TrainingSet,
        noise: Array,
        monitor: Monitor,
    ) -> FittedModel:
        if not spec.solver.maximises_evidence:
            return calibrated(model, spec, self.data)
        if spec.solver.begins_with_all is not None:
            spec = replace(spec, solver=BottomUp())
        data = self.data.with_parameters(noise) if len(noise) else self.data
        return fit(spec, data, start=model, monitor=monitor)


@dataclass(frozen=True)
class BlockSummary:
    """Of the rows of one block."""

    n_rows: int  # those of weight zero included
    n_counted: int
    spread: RunningMoments  # of X
    targets: RunningMoments  # where they are numbers
    labels: AnyArray | None  # that occur, where they are classes
    counts: AnyArray | None  # how often each does
    target: AnyArray  # one of them at most, to see of what kind they are

    @classmethod
    def of(cls, classes: bool, numbered: tuple[int, Block]) -> "BlockSummary":
        """Checked, too: what is wrong with a block is told before any fit."""
        number, block = numbered
        y, weight = targets_of(block), _weights_of(block)
        check_magnitude(block.X)
        values, labels, counts = RunningMoments(), None, None
        if classes:
            if y.dtype.kind == "f" and not np.all(y == np.round(y)):
                raise ValueError(
                    f"block {number + 1}: the targets are numbers with fractions, and "
                    "classes are not; use RVR for them, or round them"
                )
            labels, counts = np.unique(y[weight > 0], return_counts=True)
        elif len(y):
            values = RunningMoments.of(as_floats("y", y, 1)[:, None], weight)
        spread = (
            RunningMoments.of(block.X, weight) if len(block.X) else RunningMoments()
        )
        counted = int(np.count_nonzero(weight))
        return cls(len(y), counted, spread, values, labels, counts, y[:1])


@dataclass(frozen=True)
class DatasetSummary:
    """Of all rows, from a first pass over the blocks."""

    parts: tuple[BlockSummary, ...]
    n_rows: int  # those of weight zero included
    n_counted: int
    spread: RunningMoments  # of X
    targets: RunningMoments  # where they are numbers

    @classmethod
    def of(cls, blocks: RowBlocks, *, classes: bool) -> "DatasetSummary":
        """Also refuses blocks that cannot be fitted."""
        if not blocks.repeatable:
            raise ValueError(
                "fit goes over the rows several times, and these blocks can be read "
                "only once: scan a file, a list of blocks, or a function that returns "
                "a fresh iterator"
            )
        work: Callable[..., BlockSummary] = partial(BlockSummary.of, classes)
        parts, kind = tuple(each_block(blocks, work)), None
        for number, part in enumerate(parts):
            if part.n_rows:
                kind = same_kind(kind, part.target, f"block {number + 1}")
        n_counted = sum(part.n_counted for part in parts)
        if n_counted == 0:
            raise ValueError("the blocks hold no rows of positive weight")
        spread = reduce(RunningMoments.joined, (part.spread for part in parts))
        targets = reduce(RunningMoments.joined, (part.targets for part in parts))
        spread.check_span()
        n_rows = sum(part.n_rows for part in parts)
        return cls(parts, n_rows, n_counted, spread, targets)

    @property
    def starts(self) -> list[int]:
        """The number of the first row of every block."""
        return list(accumulate((part.n_rows for part in self.parts[:-1]), initial=0))

    @property
    def labels(self) -> AnyArray:
        """Of the classes, in their order."""
        found = [part.labels for part in self.parts if part.labels is not None]
        return np.unique(np.concatenate([one for one in found if len(one)]))


def _weights_of(block: Block) -> Array:
    return np.ones(len(block.X)) if block.weight is None else block.weight


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
        X, y, weight = block.X, targets_of(block), _weights_of(block)
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
    starts: list[int]  # number of the first row of every block

    def each(self, work: Callable[[TrainingSet], Result]) -> Iterator[Result]:
        on_block = partial(_on_block, self.encoding, work)
        return each_block(self.blocks, on_block, self.starts)

    def fold(
        self,
        work: Callable[[State, TrainingSet], State],
        state: State,
        stop: Callable[[], bool],
    ) -> State:
        onwards = partial(_onwards, self.encoding, work)
        return fold_blocks(self.blocks, onwards, state, self.starts, stop)


def _on_block(
    encoding: Encoding, work: Callable[[TrainingSet], Result], item: tuple[int, Block]
) -> Result:
    return alone(work, encoding(item))


def _onwards(
    encoding: Encoding,
    work: Callable[[State, TrainingSet], State],
    state: State,
    item: tuple[int, Block],
) -> State:
    return _on_block(encoding, partial(work, state), item)


@dataclass(frozen=True)
class DistributedRows:
    """All rows, of which some that were drawn are in memory."""

    blocks: RowBlocks
    summary: DatasetSummary
    encoding: Encoding
    sample: TrainingSet  # in an order by chance
    candidates: int | None
    most_sets: float = _MOST_SETS

    @classmethod
    def of(
        cls,
        blocks: RowBlocks,
        summary: DatasetSummary,
        family: Family,
        *,
        n_drawn: int,
        candidates: int | None,
        seed: int,
    ) -> "DistributedRows":
        """With so many rows drawn, by a pass over the blocks.

        ``candidates`` are the functions of a set, and those weighed by all rows, if
        that is not for us to choose.
        """
        spread = summary.targets
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
            n_drawn=candidates or summary.n_rows,
            seed=seed,
        )
        found = _drawn(blocks, encoding, summary, n_drawn)
        sample = dealt(found, by_class=family.labels is not None)
        sample = replace(sample, rows=replace(sample.rows, spread=summary.spread))
        return cls(blocks, summary, encoding, sample, candidates)

    @property
    def n_rows(self) -> int:
        return self.summary.n_counted

    @property
    def n_features(self) -> int:
        return self.encoding.features.number

    def drawn(self, count: int) -> TrainingSet:
        return self.sample.subset(np.arange(min(count, len(self.sample))))

    def parts(self, size: int) -> Parts:
        return InBlocks(self.blocks, self.encoding, self.summary.starts)

    def check_sets(self, size: int) -> None:
        """Every block must have rows of two classes for each of its sets."""
        for number, part in enumerate(self.summary.parts):
            if part.counts is None or part.n_counted == 0:
                continue
            counts = sorted(part.counts)
            if len(counts) < 2 or counts[-2] < -(-part.n_counted // size):
                few = "one class only" if len(counts) < 2 else "too few rows of all "
                few += "" if len(counts) < 2 else "classes but one"
                raise ValueError(
                    f"block {number + 1} of {len(self.summary.parts)} has {few}, and "
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
        """By sums over all rows, with candidates on the rows drawn."""
        like = self.sample.with_parameters(noise) if len(noise) else self.sample
        own = rows.subset(np.flatnonzero(np.isin(rows.rows.indices, model.indices)))
        new = ~np.isin(self.sample.rows.indices, own.rows.indices)
        most = len(self.sample)
        if self.candidates is not None:
            most = max(self.candidates - len(own), 0)
        others = self.sample.subset(np.flatnonzero(new)[:most])
        found = search_sums(
            spec,
            self.parts(len(rows)),
            FreshCandidates(others.joined(own), spec, len(others)),
            model,
            like,
            n_observations=self.summary.spread.weight,
            monitor=monitor,
        )
        return calibrated(found, spec, self.sample)


def _drawn(
    blocks: RowBlocks, encoding: Encoding, summary: DatasetSummary, count: int
) -> TrainingSet:
    """So many rows of those that count, by chance, whatever the blocks are."""
    total = summary.n_counted
    if count < total:
        drawing = generator(encoding.seed, 9)
        wanted = np.sort(drawing.choice(total, count, replace=False, shuffle=False))
    else:
        wanted = np.arange(total)
    ends = np.cumsum([0, *(part.n_counted for part in summary.parts)])
    cuts = np.searchsorted(wanted, ends)
    # Every block has to know only its own.
    told = [
        (start, wanted[slice(*cut)] - first)
        for start, cut, first in zip(summary.starts, pairwise(cuts), ends, strict=False)
    ]
    found = list(each_block(blocks, partial(_at, encoding), told))
    return found[0].joined(*found[1:])


def _at(encoding: Encoding, item: tuple[tuple[int, Indices], Block]) -> TrainingSet:
    (start, places), block = item
    return encoding((start, block)).subset(places)


Source = RowsInMemory | DistributedRows

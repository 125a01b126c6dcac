"""The rows that a model is fitted to: in memory or read again and again, with targets.

Rows of weight zero are dropped, and equal rows among many are merged. Rows in memory
are sorted by their values first. Searches number functions and draw rows by position,
and sums are rounded in the order of their terms; so the same rows in another order give
the same model.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np

from relvec.chance import generator
from relvec.data import Block, RowBlocks
from relvec.design import Rows
from relvec.likelihoods import Likelihood
from relvec.parameters import as_weights
from relvec.typing import AnyArray, Array, Indices

_COLUMNS_AT_ONCE = (
    8  # compared at a time, beyond the first, which mostly tells rows apart
)
# Of the largest value of a kernel matrix: what differs by less is rounding, which may
# be another in another order.
_RESOLUTION = 2.0**-30


@dataclass(frozen=True)
class RowOrder:
    """An order of rows, and which rows differ from the one before."""

    indices: Indices
    fresh: AnyArray

    @classmethod
    def given(cls, n_rows: int) -> "RowOrder":
        """The order in which rows are given."""
        indices = np.arange(n_rows)
        return cls(indices, indices == 0)

    def then_by(self, keys: Iterable[list[AnyArray]]) -> "RowOrder":
        """Rows that do not differ by these keys, the first of which counts most.

        Keys come some at a time, and only as long as rows have all others in common.
        """
        indices, fresh = self.indices.copy(), self.fresh.copy()
        for some in keys:
            alike = ~fresh
            alike[:-1] |= alike[1:]
            tied = np.flatnonzero(alike)
            if len(tied) == 0:
                break
            own = [key[indices[tied]] for key in some]
            order = np.lexsort((*own[::-1], np.cumsum(fresh)[tied]))
            indices[tied] = indices[tied][order]
            for key in own:
                values = key[order]
                fresh[tied[1:]] |= values[1:] != values[:-1]
        return RowOrder(indices, fresh)


def by_values(X: AnyArray, y: AnyArray | None = None) -> RowOrder:
    """By the features from the first to the last, then by the target.

    Only ranks count, so that units do not matter.
    """
    return RowOrder.given(len(X)).then_by(_sort_keys(X, y))


def by_likeness(K: AnyArray, y: AnyArray) -> RowOrder:
    """Order rows of a square kernel matrix by their sorted values."""
    return RowOrder.given(len(K)).then_by(_keys_of_square(K, y))


def _sort_keys(X: AnyArray, y: AnyArray | None) -> Iterator[list[AnyArray]]:
    columns = _ranked(X) if X.dtype == object else X
    yield list(columns[:, :1].T)
    for first in range(1, columns.shape[1], _COLUMNS_AT_ONCE):
        yield list(columns[:, first : first + _COLUMNS_AT_ONCE].T)
    if y is not None:
        targets = y.reshape(len(y), -1).T
        yield [np.unique(one, return_inverse=True)[1].ravel() for one in targets]


def _keys_of_square(K: AnyArray, y: AnyArray) -> Iterator[list[AnyArray]]:
    unit = _RESOLUTION * float(np.max(np.abs(K), initial=0.0)) or 1.0
    yield [np.rint(np.diagonal(K) / unit), np.rint(np.min(K, axis=1) / unit)]
    yield from _sort_keys(np.sort(np.rint(K / unit), axis=1), y)


def _ranked(objects: AnyArray) -> Array:
    """Ranks in columns of text or of numbers; all the same where there is no order."""
    ranks = np.zeros(objects.shape)
    for rank, column in zip(ranks.T, objects.T, strict=True):
        if any(all(isinstance(item, kind) for item in column) for kind in (str, Real)):
            rank[:] = np.unique(column, return_inverse=True)[1].ravel()
    return ranks


_LARGEST_FEATURE = 1e152  # the sum of the squares of many stays in range
_SMALLEST_SPAN = 1e-152  # squares of differences, and their reciprocals, do too
_TEMPORARIES = 8  # numbers per entry of X while its variance is computed
# Rows of which equal ones are counted once, where no more than this share differs.
_MANY, _FEW_DIFFER = 1000, 0.5
_COPIES = 3  # of rows that come in blocks and are kept: the blocks, all, and in order


@dataclass(frozen=True)
class Features:
    """The columns of X."""

    number: int
    names: tuple[str, ...] | None = None

    def checked(self, X: AnyArray) -> AnyArray:
        """Return X as an array with these columns, or raise an error."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.number:
            raise ValueError(
                f"X has shape {X.shape}: give a table of {self.number} "
                "features, as the model was fitted on"
            )
        return X


@dataclass(frozen=True)
class RunningMoments:
    """Weight, mean, variance and range of all entries of X seen so far."""

    weight: float = 0.0
    mean: float = 0.0
    variance: float = 0.0
    least: float = np.inf
    largest: float = -np.inf

    @classmethod
    def of(cls, X: AnyArray, sample_weight: Array) -> "RunningMoments":
        """Moments of all entries of some rows."""
        weight = float(sample_weight.sum())
        if weight == 0:
            return cls()
        least, largest = float(np.min(X)), float(np.max(X))
        peak = max(largest, -least) or 1.0
        share = sample_weight / (weight * X.shape[1])
        unit = np.asarray(X, dtype=np.float64) / peak
        mean = float(np.sum(share @ unit))
        variance = float(np.sum(share @ (unit - mean) ** 2))
        return cls(weight, mean * peak, variance * peak * peak, least, largest)

    def joined(self, other: "RunningMoments") -> "RunningMoments":
        """Moments of both sets of rows together."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        part = other.weight / weight
        difference = other.mean - self.mean
        within = (1 - part) * self.variance + part * other.variance
        between = part * (1 - part) * difference * difference
        return RunningMoments(
            weight,
            self.mean + part * difference,
            within + between,
            min(self.least, other.least),
            max(self.largest, other.largest),
        )

    def check_span(self) -> None:
        """Reject values whose squared differences underflow."""
        span = self.largest - self.least
        if 0 < span < _SMALLEST_SPAN:
            raise ValueError(
                f"the values of X differ by {span:.0e} at most, whose square floating "
                "point cannot hold: scale the features"
            )


@dataclass(frozen=True)
class Sample:
    """A random sample of rows, held in memory."""

    size: int  # asked for
    indices: Indices  # among the rows that count
    rows: AnyArray

    @classmethod
    def of(cls, X: AnyArray, size: int, seed: int) -> "Sample":
        """Draw from rows in memory; the sample is X itself if all of them are taken."""
        chosen = _drawn(len(X), size, seed)
        return cls(size, chosen, X if len(chosen) == len(X) else X[chosen])

    @classmethod
    def read(cls, size: int, indices: Indices, rows: AnyArray) -> "Sample":
        """Keep rows drawn from a source, in an order of their own."""
        order = by_values(rows).indices
        return cls(size, indices[order], rows[order])

    def at(self, indices: Indices) -> AnyArray:
        """Some of its rows, by their indices."""
        order = np.argsort(self.indices)
        return self.rows[order[np.searchsorted(self.indices, indices, sorter=order)]]


@dataclass(frozen=True)
class TrainingRows:
    """Rows of positive weight, with a sample and moments from one pass."""

    rows: Rows
    indices: Indices  # among all rows that were given
    weight: Array  # (rows,)
    features: Features
    sample: Sample
    in_memory: bool
    seed: int
    spread: RunningMoments | None = None  # where it is known already

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.features.number

    @cached_property
    def variance(self) -> float:
        """Variance of all entries of X."""
        if self.spread is not None:
            return self.spread.variance
        spread = RunningMoments()
        for part, rows in self.rows.blocks(_TEMPORARIES * self.n_features):
            spread = spread.joined(RunningMoments.of(rows, self.weight[part]))
        return spread.variance

    @property
    def of_objects(self) -> bool:
        """Whether rows hold objects instead of numbers."""
        return self.sample.rows.dtype == object

    def drawn(self, count: int) -> Indices:
        """Indices of at most ``count`` random rows in memory, ascending."""
        known = np.arange(len(self)) if self.in_memory else self.sample.indices
        if len(known) == 0:
            raise ValueError(
                "kernel_learning needs some rows in memory, and of these blocks none "
                "was drawn: leave candidates at 'auto' or set it to a number"
            )
        return known[_drawn(len(known), count, self.seed)]

    def subset(self, chosen: Indices) -> "TrainingRows":
        """Some of the rows (ascending), with a sample of their own."""
        if len(chosen) == len(self):
            return self
        if self.in_memory:
            return self._held(chosen, self.rows.whole()[chosen])
        rows, size = self.rows.subset(chosen), self.sample.size
        drawn = _drawn(len(chosen), size, self.seed)
        sample = Sample.read(size, drawn, rows.at(drawn))
        return replace(self._weighted(chosen), rows=rows, sample=sample)

    def loaded(self, chosen: Indices) -> "TrainingRows":
        """A subset of rows that are in memory already; none is read again."""
        if self.in_memory:
            return self.subset(chosen)
        return self._held(chosen, self.sample.at(chosen))

    def held(self) -> "TrainingRows":
        """All rows, read into memory if they are not there."""
        if self.in_memory:
            return self
        return replace(self, rows=Rows.of(self.rows.whole()), in_memory=True)

    def _held(self, chosen: Indices, X: AnyArray) -> "TrainingRows":
        sample = Sample.of(X, self.sample.size, self.seed)
        part = self._weighted(chosen)
        return replace(part, rows=Rows.of(X), sample=sample, in_memory=True)

    def _weighted(self, chosen: Indices) -> "TrainingRows":
        """Replace indices and weights by those of some rows, but not the rows."""
        indices, weight = self.indices[chosen], self.weight[chosen]
        return replace(self, indices=indices, weight=weight, spread=None)


def in_arrays(
    X: AnyArray,
    y: AnyArray,
    sample_weight: Array,
    n_drawn: int,
    seed: int,
    *,
    names: tuple[str, ...] | None = None,
    square: bool = False,
    room: float = np.inf,
) -> tuple[TrainingRows, AnyArray]:
    """Rows in memory, those of weight zero left out, and their targets.

    They come in an order of their own, unless that would copy more than ``room`` bytes.
    Of many rows that are there again and again one counts for all. ``square`` says that
    X are a kernel's values between all rows.
    """
    check_magnitude(X)
    if X.dtype != object:
        RunningMoments(least=float(np.min(X)), largest=float(np.max(X))).check_span()
    present, weight = _counted(X, y, sample_weight, square=square)
    if len(present) == len(X) and X.nbytes > room:
        present, weight = np.arange(len(X)), sample_weight
    elif not np.array_equal(present, np.arange(len(X))):
        X, y = X[present], y[present]
    rows = TrainingRows(
        rows=Rows.of(X),
        indices=present,
        weight=weight,
        features=Features(X.shape[1], names),
        sample=Sample.of(X, n_drawn, seed),
        in_memory=True,
        seed=seed,
    )
    return rows, y


def _counted(
    X: AnyArray, y: AnyArray, sample_weight: Array, *, square: bool
) -> tuple[Indices, Array]:
    """Rows that count, in an order of their own, and for how much.

    Where few of many differ, the first of equal ones counts for all; the likelihood is
    the same.
    """
    present = np.flatnonzero(sample_weight)
    weight, labels = sample_weight[present], y[present]
    if len(present) < len(X):
        X = X[np.ix_(present, present)] if square else X[present]
    found = by_likeness(X, labels) if square else by_values(X, labels)
    order = found.then_by([[weight]]).indices
    first = np.flatnonzero(found.fresh)
    told_apart = square or X.dtype == object
    if told_apart or len(X) < _MANY or len(first) > _FEW_DIFFER * len(X):
        return present[order], weight[order]
    total = np.add.reduceat(weight[order], first)
    return np.minimum.reduceat(present[order], first), total


def in_blocks(
    blocks: RowBlocks, n_drawn: int, seed: int, *, room: float = 0.0
) -> tuple[TrainingRows, AnyArray]:
    """Read a source once; keep targets, weights and a sample of rows.

    Rows of no more than ``room`` bytes are kept, as if they had come in an array.
    """
    if not blocks.repeatable:
        raise ValueError(
            "fit goes over the rows several times, and these blocks can be read "
            "only once: scan a file, a list of blocks, or a function that returns "
            "a fresh iterator; or use RVR.partial_fit on each block"
        )
    gathered = _Gathered(n_drawn, seed, room)
    for block in blocks:
        gathered.add(block)
    return gathered.training_rows(blocks)


class _Gathered:
    """Collects targets, weights and a sample in a pass over blocks."""

    def __init__(self, n_drawn: int, seed: int, room: float) -> None:
        self.n_drawn = n_drawn
        self.room = room
        self.kept: list[AnyArray] = []  # all rows, while there is room
        self.seed = seed
        self.generator = generator(seed)
        self.y: list[AnyArray] = []
        self.weight: list[Array] = []
        self.spread = RunningMoments()
        self.keys = np.empty(0)
        self.places: Indices = np.empty(0, dtype=np.intp)
        self.drawn: AnyArray | None = None
        self.counted = 0

    def add(self, block: Block) -> None:
        y = targets_of(block)
        check_magnitude(block.X)
        weight = np.ones(len(block.X)) if block.weight is None else block.weight
        self.y.append(y)
        self.weight.append(weight)
        self.spread = self.spread.joined(RunningMoments.of(block.X, weight))
        counted = block.X[weight > 0]
        self._keep(counted)
        self._draw(counted)

    def _keep(self, X: AnyArray) -> None:
        """Keep a copy of the rows while all of them fit into memory."""
        self.room -= _COPIES * X.nbytes
        self.kept = [*self.kept, X.copy()] if self.room >= 0 else []

    def _draw(self, X: AnyArray) -> None:
        """Keep the rows with the smallest random numbers, however blocks are cut."""
        keys = self.generator.random(len(X))
        places = self.counted + np.arange(len(X))
        self.counted += len(X)
        chosen = _smallest(keys, self.n_drawn)
        rows = X[chosen]
        if self.drawn is not None:
            rows = np.concatenate([self.drawn, rows])
        keys = np.concatenate([self.keys, keys[chosen]])
        places = np.concatenate([self.places, places[chosen]])
        best = _smallest(keys, self.n_drawn)
        self.keys, self.places, self.drawn = keys[best], places[best], rows[best]

    def training_rows(self, blocks: RowBlocks) -> tuple[TrainingRows, AnyArray]:
        if not self.y or self.drawn is None:
            raise ValueError("the blocks hold no rows")
        self.spread.check_span()
        weight = as_weights(np.concatenate(self.weight), sum(map(len, self.weight)))
        y, present = np.concatenate(self.y), weight > 0
        if self.counted == len(self.drawn):
            return self._held(self.drawn, features_of(blocks), y, weight)
        if self.kept:
            X = np.concatenate(self.kept)
            self.kept = []
            return self._held(X, features_of(blocks), y, weight)
        everything = bool(present.all())
        rows = TrainingRows(
            rows=Rows(blocks, self.counted, None if everything else present),
            indices=np.flatnonzero(present),
            weight=weight if everything else weight[present],
            features=features_of(blocks),
            sample=Sample.read(self.n_drawn, self.places, self.drawn),
            in_memory=False,
            seed=self.seed,
            spread=self.spread,
        )
        return rows, y if everything else y[present]

    def _held(
        self, X: AnyArray, features: Features, y: AnyArray, weight: Array
    ) -> tuple[TrainingRows, AnyArray]:
        """Rows in memory; the source is not read again."""
        present = np.flatnonzero(weight)
        given = X, y[present], weight[present], self.n_drawn, self.seed
        rows, y = in_arrays(*given, names=features.names)
        return replace(rows, indices=present[rows.indices]), y


def features_of(blocks: RowBlocks) -> Features:
    """The columns of rows that come in blocks."""
    names = blocks.feature_names
    return Features(blocks.n_features, None if names is None else tuple(names))


def targets_of(block: Block) -> AnyArray:
    """Targets of a block, or an error if it has none."""
    if block.y is None:
        raise ValueError(
            "the blocks have no target: name its column, as in "
            "scan('rows.parquet', target='y'), or give y beside a Dask collection"
        )
    return np.asarray(block.y)


def check_magnitude(X: AnyArray) -> None:
    """Reject features whose squares overflow."""
    if X.dtype == object:
        return
    largest = max(float(np.max(X, initial=0.0)), -float(np.min(X, initial=0.0)))
    if largest > _LARGEST_FEATURE:
        raise ValueError(
            f"X reaches {largest:.0e}, whose square floating point cannot hold: scale "
            "the features"
        )


def _drawn(total: int, count: int, seed: int) -> Indices:
    """At most ``count`` random numbers of 0, 1, ..., total − 1, ascending."""
    if total <= count:
        return np.arange(total)
    return _smallest(generator(seed).random(total), count)


def _smallest(keys: Array, count: int) -> Indices:
    """Indices of the ``count`` smallest numbers, ascending."""
    if len(keys) <= count:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, count)[:count])


@dataclass(frozen=True)
class TrainingSet:
    """Rows, targets and a likelihood with its first parameters."""

    rows: TrainingRows
    targets: Array  # (rows, outputs), less the offset
    likelihood: Likelihood  # with the parameters to begin with
    offset: Array | float = 0.0  # (outputs,) if there are several
    # Nats of each observation that log densities have besides, where weights are not
    # repetitions but relative precisions.
    density_shift: float = 0.0

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def table(self) -> AnyArray:
        """The rows themselves, which must be in memory."""
        return self.rows.rows.whole()

    @property
    def weight(self) -> Array:
        """Weights of the rows."""
        return self.rows.weight

    @property
    def root_mean_squares(self) -> Array:
        """Root mean squares of the outputs (K,)."""
        squares = np.average(self.targets**2, axis=0, weights=self.weight)
        return np.asarray(np.sqrt(squares))

    def with_parameters(self, log_parameters: Array) -> "TrainingSet":
        """Replace the first parameters of the likelihood."""
        likelihood = self.likelihood.with_parameters(log_parameters)
        return replace(self, likelihood=likelihood)

    def drawn(self, count: int) -> "TrainingSet":
        """At most ``count`` random rows in memory; all rows if that many are held."""
        if self.rows.in_memory and count >= len(self):
            return self
        chosen = self.rows.drawn(count)
        rows, targets = self.rows.loaded(chosen), self.targets[chosen]
        return replace(self, rows=rows, targets=targets)

    def shuffled(self) -> "TrainingSet":
        """The set in memory with its rows in random order."""
        return self.reordered(generator(self.rows.seed, 3).permutation(len(self)))

    def reordered(self, order: Indices) -> "TrainingSet":
        """The set in memory with its rows in this order."""
        rows, X = self.rows, self.table
        moved = replace(
            rows,
            rows=Rows.of(X[order]),
            indices=rows.indices[order],
            weight=rows.weight[order],
            sample=Sample.of(X[order], rows.sample.size, rows.seed),
        )
        return replace(self, rows=moved, targets=self.targets[order])

    def subset(self, chosen: Indices) -> "TrainingSet":
        """Some of the rows, ascending."""
        rows = self.rows.subset(chosen)
        return replace(self, rows=rows, targets=self.targets[chosen])

    def joined(self, *others: "TrainingSet") -> "TrainingSet":
        """Join this set with disjoint others, in memory."""
        sets = [one for one in (self, *others) if len(one)]
        if len(sets) <= 1:
            return sets[0] if sets else self
        X = np.concatenate([one.table for one in sets])
        rows = replace(
            self.rows,
            rows=Rows.of(X),
            indices=np.concatenate([one.rows.indices for one in sets]),
            weight=np.concatenate([one.weight for one in sets]),
            sample=Sample.of(X, self.rows.sample.size, self.rows.seed),
            in_memory=True,
            spread=None,
        )
        targets = np.concatenate([one.targets for one in sets])
        return replace(self, rows=rows, targets=targets)

    def folds(self, number: int) -> list[tuple["TrainingSet", "TrainingSet"]]:
        """Pairs of rows to fit and rows to test; every row is tested once."""
        drawing = generator(self.rows.seed)
        label = drawing.permutation(len(self)) % number
        judged = [self.subset(np.flatnonzero(label == k)) for k in range(number)]
        fitted = [self.subset(np.flatnonzero(label != k)) for k in range(number)]
        return list(zip(fitted, judged, strict=True))

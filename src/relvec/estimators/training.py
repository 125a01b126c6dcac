"""The rows to fit, in memory or read from a source again and again."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.data import Block, RowBlocks
from relvec.design import Rows
from relvec.parameters import as_weights
from relvec.typing import AnyArray, Array, Indices

_LARGEST_FEATURE = 1e152
_TEMPORARIES = 8  # numbers per entry of X while its variance is computed


@dataclass(frozen=True)
class Spread:
    """Weight, mean and variance of all entries of X seen so far."""

    weight: float = 0.0
    mean: float = 0.0
    variance: float = 0.0

    @classmethod
    def of(cls, X: AnyArray, sample_weight: Array) -> "Spread":
        """Of some rows."""
        weight = float(sample_weight.sum())
        if weight == 0:
            return cls()
        peak = float(np.max(np.abs(X))) or 1.0
        share = sample_weight / (weight * X.shape[1])
        unit = np.asarray(X, dtype=np.float64) / peak
        mean = float(np.sum(share @ unit))
        variance = float(np.sum(share @ (unit - mean) ** 2))
        return cls(weight, mean * peak, variance * peak * peak)

    def joined(self, other: "Spread") -> "Spread":
        """Of both."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        part = other.weight / weight
        apart = other.mean - self.mean
        within = (1 - part) * self.variance + part * other.variance
        between = part * (1 - part) * apart * apart
        return Spread(weight, self.mean + part * apart, within + between)


@dataclass(frozen=True)
class Training:
    """What one look at all rows tells."""

    rows: Rows  # those of positive weight
    numbers: Indices  # of these rows among all
    y: AnyArray  # (rows,) as given
    weight: Array  # (rows,)
    spread: Spread | None  # where it is known already
    n_features: int
    drawn: Indices  # places in ``rows`` of those drawn by chance, ascending
    drawn_rows: AnyArray
    in_memory: bool
    seed: int

    @property
    def variance(self) -> float:
        """Of all entries of X."""
        if self.spread is not None:
            return self.spread.variance
        spread = Spread()
        for part, rows in self.rows.blocks(_TEMPORARIES * self.n_features):
            spread = spread.joined(Spread.of(rows, self.weight[part]))
        return spread.variance

    def some(self, count: int) -> Indices:
        """Places of at most so many rows in memory, drawn by chance, ascending."""
        known = np.arange(len(self.y)) if self.in_memory else self.drawn
        if len(known) == 0:
            msg = (
                "kernel_learning needs some rows in memory, and of these blocks none "
                "was drawn: leave candidates at 'auto' or set it to a number"
            )
            raise ValueError(msg)
        keys = np.random.default_rng(self.seed).random(len(known))
        return known[_smallest(keys, count)]

    def part(self, places: Indices) -> "Training":
        """Rows at these places, which must be in memory, by themselves."""
        if self.in_memory:
            X = self.rows.whole()[places]
        else:
            X = self.drawn_rows[np.searchsorted(self.drawn, places)]
        # As many candidates as of all rows, spread evenly.
        count = min(len(places), len(self.drawn))
        drawn = np.arange(count) * len(places) // max(count, 1)
        return replace(
            self,
            rows=Rows.of(X),
            numbers=self.numbers[places],
            y=self.y[places],
            weight=self.weight[places],
            drawn=drawn,
            drawn_rows=X if count == len(places) else X[drawn],
            in_memory=True,
        )

    @classmethod
    def in_arrays(
        cls, X: AnyArray, y: AnyArray, sample_weight: Array, n_drawn: int, seed: int
    ) -> "Training":
        """Rows in memory."""
        check_magnitude(X)
        present = np.flatnonzero(sample_weight)
        if len(present) < len(X):
            X, y, sample_weight = X[present], y[present], sample_weight[present]
        keys = np.random.default_rng(seed).random(len(X))
        drawn = _smallest(keys, n_drawn)
        return cls(
            rows=Rows.of(X),
            numbers=present,
            y=y,
            weight=sample_weight,
            spread=None,
            n_features=X.shape[1],
            drawn=drawn,
            drawn_rows=X if len(drawn) == len(X) else X[drawn],
            in_memory=True,
            seed=seed,
        )

    @classmethod
    def in_blocks(cls, blocks: RowBlocks, n_drawn: int, seed: int) -> "Training":
        """One pass over a source, of which targets, weights and drawn rows stay."""
        if not blocks.repeatable:
            msg = (
                "fit goes over the rows several times, and these blocks can be read "
                "only once: scan a file, a list of blocks, or a function that returns "
                "a fresh iterator; or use RVR.partial_fit on each block"
            )
            raise ValueError(msg)
        gathered = _Gathered(n_drawn, seed)
        for block in blocks:
            gathered.add(block)
        return gathered.training(blocks)


class _Gathered:
    """What a pass over blocks has collected."""

    def __init__(self, n_drawn: int, seed: int) -> None:
        self.n_drawn = n_drawn
        self.seed = seed
        self.generator = np.random.default_rng(seed)
        self.y: list[AnyArray] = []
        self.weight: list[Array] = []
        self.spread = Spread()
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
        self.spread = self.spread.joined(Spread.of(block.X, weight))
        self._draw(block.X[weight > 0])

    def _draw(self, X: AnyArray) -> None:
        """Keep the rows with the smallest random numbers, whatever the blocks are."""
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

    def training(self, blocks: RowBlocks) -> Training:
        if not self.y or self.drawn is None:
            msg = "the blocks hold no rows"
            raise ValueError(msg)
        weight = as_weights(np.concatenate(self.weight), sum(map(len, self.weight)))
        y, present = np.concatenate(self.y), weight > 0
        everything = bool(present.all())
        return Training(
            rows=Rows(blocks, self.counted, None if everything else present),
            numbers=np.flatnonzero(present),
            y=y if everything else y[present],
            weight=weight if everything else weight[present],
            spread=self.spread,
            n_features=blocks.n_features,
            drawn=self.places,
            drawn_rows=self.drawn,
            in_memory=False,
            seed=self.seed,
        )


def targets_of(block: Block) -> AnyArray:
    """Its targets, if it has any."""
    if block.y is None:
        msg = (
            "the blocks have no target: name its column, as in "
            "scan('rows.parquet', target='y')"
        )
        raise ValueError(msg)
    return np.asarray(block.y)


def check_magnitude(X: AnyArray) -> None:
    """Refuse features whose squares are out of range."""
    if X.dtype == object:
        return
    largest = max(float(np.max(X, initial=0.0)), -float(np.min(X, initial=0.0)))
    if largest > _LARGEST_FEATURE:
        msg = (
            f"X reaches {largest:.0e}, whose square floating point cannot hold: scale "
            "the features"
        )
        raise ValueError(msg)


def _smallest(keys: Array, count: int) -> Indices:
    """Places of so many smallest numbers, ascending."""
    if len(keys) <= count:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, count)[:count])

"""One look at rows that stay where they are."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from relvec.data import Block, RowBlocks, each_block
from relvec.modelling import Spread, check_magnitude, targets_of
from relvec.parameters import as_floats
from relvec.typing import AnyArray


@dataclass(frozen=True)
class PartSurvey:
    """Of one part."""

    n_rows: int  # those of weight zero included
    n_counted: int
    spread: Spread  # of X
    targets: Spread | None  # of numbers
    labels: Counter[Any] | None  # of classes, how many rows each has

    @classmethod
    def of(cls, classes: bool, numbered: tuple[int, Block]) -> "PartSurvey":
        """Checked, too: what is wrong with a block is told before any fit."""
        number, block = numbered
        y = targets_of(block)
        check_magnitude(block.X)
        weight = np.ones(len(block.X)) if block.weight is None else block.weight
        counted = int(np.count_nonzero(weight))
        values = labels = None
        if classes:
            labels = _labels(y[weight > 0], number)
        elif len(y):
            values = Spread.of(as_floats("y", y, 1)[:, None], weight)
        spread = Spread.of(block.X, weight) if len(block.X) else Spread()
        return cls(len(y), counted, spread, values or Spread(), labels)


def _labels(y: AnyArray, number: int) -> Counter[Any]:
    if y.dtype.kind == "f" and not np.all(y == np.round(y)):
        raise ValueError(
            f"block {number + 1}: the targets are numbers with fractions, and classes "
            "are not; use RVR for them, or round them"
        )
    found, counts = np.unique(y, return_counts=True)
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))


@dataclass(frozen=True)
class Survey:
    """Of all rows."""

    parts: tuple[PartSurvey, ...]

    @classmethod
    def of(cls, blocks: RowBlocks, *, classes: bool) -> "Survey":
        """One pass over the blocks."""
        if not blocks.repeatable:
            raise ValueError(
                "fit goes over the rows several times, and these blocks can be read "
                "only once: scan a file, a list of blocks, or a function that returns "
                "a fresh iterator"
            )
        work: Callable[..., PartSurvey] = partial(PartSurvey.of, classes)
        found = cls(tuple(each_block(blocks, work)))
        if found.n_counted == 0:
            raise ValueError("the blocks hold no rows of positive weight")
        return found

    @property
    def starts(self) -> tuple[int, ...]:
        """The number of the first row of every part."""
        ends = np.cumsum([0, *(part.n_rows for part in self.parts[:-1])])
        return tuple(int(end) for end in ends)

    @property
    def n_rows(self) -> int:
        """Those of weight zero included."""
        return sum(part.n_rows for part in self.parts)

    @property
    def n_counted(self) -> int:
        """Rows of positive weight."""
        return sum(part.n_counted for part in self.parts)

    @property
    def spread(self) -> Spread:
        """Of X."""
        return reduce(Spread.joined, (part.spread for part in self.parts))

    @property
    def targets(self) -> Spread:
        """Of targets that are numbers."""
        known = [part.targets for part in self.parts if part.targets is not None]
        return reduce(Spread.joined, known)

    @property
    def labels(self) -> AnyArray:
        """Of the classes, in their order."""
        every: Counter[Any] = Counter()
        for part in self.parts:
            every.update(part.labels or {})
        return np.array(sorted(every))

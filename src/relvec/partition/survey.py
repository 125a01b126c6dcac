"""One look at rows that stay where they are."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from relvec.data import Block, RowBlocks, each_block, same_kind
from relvec.modelling import Spread, check_magnitude, targets_of
from relvec.parameters import as_floats
from relvec.typing import AnyArray


@dataclass(frozen=True)
class PartSurvey:
    """Of one part."""

    n_rows: int  # those of weight zero included
    n_counted: int
    spread: Spread  # of X
    targets: Spread  # where they are numbers
    labels: AnyArray | None  # that occur, where they are classes
    counts: AnyArray | None  # how often each does
    target: AnyArray  # one of them at most, to see of what kind they are

    @classmethod
    def of(cls, classes: bool, numbered: tuple[int, Block]) -> "PartSurvey":
        """Checked, too: what is wrong with a block is told before any fit."""
        number, block = numbered
        y = targets_of(block)
        check_magnitude(block.X)
        weight = np.ones(len(block.X)) if block.weight is None else block.weight
        counted = int(np.count_nonzero(weight))
        values, labels, counts = Spread(), None, None
        if classes:
            labels, counts = _labels(y[weight > 0], number)
        elif len(y):
            values = Spread.of(as_floats("y", y, 1)[:, None], weight)
        spread = Spread.of(block.X, weight) if len(block.X) else Spread()
        return cls(len(y), counted, spread, values, labels, counts, y[:1])


def _labels(y: AnyArray, number: int) -> tuple[AnyArray, AnyArray]:
    if y.dtype.kind == "f" and not np.all(y == np.round(y)):
        raise ValueError(
            f"block {number + 1}: the targets are numbers with fractions, and classes "
            "are not; use RVR for them, or round them"
        )
    return np.unique(y, return_counts=True)


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
        found.check_kinds()
        if found.n_counted == 0:
            raise ValueError("the blocks hold no rows of positive weight")
        found.spread.check_span()
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
        return reduce(Spread.joined, (part.targets for part in self.parts))

    @property
    def labels(self) -> AnyArray:
        """Of the classes, in their order."""
        found = [part.labels for part in self.parts if part.labels is not None]
        return np.unique(np.concatenate([one for one in found if len(one)]))

    def check_kinds(self) -> None:
        """Refuse targets that are text here and numbers there."""
        kind = None
        for number, part in enumerate(self.parts):
            if part.n_rows:
                kind = same_kind(kind, part.target, f"block {number + 1}")

"""Rows in parts, in memory or elsewhere, and the order in which they are dealt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from relvec.blockwise import engine
from relvec.chance import generator
from relvec.linalg import one_thread
from relvec.modelling import TrainingSet
from relvec.typing import AnyArray, Array, Indices

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")

# Rows that a set which is not the last one is fitted to: from their errors the noise is
# known to 1 %.
MOST_AROUND = 8192


class Parts(Protocol):
    """Rows in parts, each of which has its targets and weights.

    Whoever asks gets small results, in the order of the parts; never the rows.
    """

    def each(self, work: Callable[[TrainingSet], Result]) -> Iterator[Result]:
        """The work on all parts, by whoever does it in this context."""

    def fold(
        self,
        work: Callable[[State, TrainingSet], State],
        state: State,
        stop: Callable[[], bool],
    ) -> State:
        """The work on one part after another, each beginning with what is so far.

        It is over when ``stop`` says so.
        """


@dataclass(frozen=True)
class InMemory:
    """Parts of rows that are in memory."""

    data: TrainingSet
    part_rows: int

    def each(self, work: Callable[[TrainingSet], Result]) -> Iterator[Result]:
        return engine().map(partial(alone, work), self._parts())

    def fold(
        self,
        work: Callable[[State, TrainingSet], State],
        state: State,
        stop: Callable[[], bool],
    ) -> State:
        for part in self._parts():
            if stop():
                break
            state = work(state, part)
        return state

    def _parts(self) -> Iterator[TrainingSet]:
        return consecutive(self.data, self.part_rows)


def alone(work: Callable[[Item], Result], part: Item) -> Result:
    """With one thread, so that workers do not disturb each other and bits agree."""
    with one_thread():
        return work(part)


def consecutive(data: TrainingSet, size: int) -> Iterator[TrainingSet]:
    """So many rows at a time; the last may be fewer."""
    for start in range(0, len(data), size):
        yield data.subset(np.arange(start, min(start + size, len(data))))


def dealt(data: TrainingSet, *, by_class: bool) -> TrainingSet:
    """In an order by chance in which classes, if there are such, come evenly."""
    order = generator(data.rows.seed, 5).permutation(len(data))
    if by_class:
        order = order[np.argsort(_share_before(classes_of(data)[order]), kind="stable")]
    return data.reordered(order)


def classes_of(data: TrainingSet) -> Indices:
    """Numbers (rows,) that are equal where targets are."""
    return np.unique(data.targets, axis=0, return_inverse=True)[1].ravel()


def _share_before(classes: AnyArray) -> Array:
    """Of every row, which share of its class comes before it."""
    share = np.empty(len(classes))
    for one in np.unique(classes):
        mine = np.flatnonzero(classes == one)
        share[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return share

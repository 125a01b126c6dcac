"""The same rows with other targets, where they are: in memory or in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.data import Block, RowBlocks
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True)
class Labels:
    """Targets and weights of some rows; all others have weight zero.

    So every row keeps its number, and a precomputed kernel its columns.
    """

    numbers: Indices  # ascending
    y: AnyArray
    weight: Array

    def among(self, start: int, stop: int) -> tuple[AnyArray, Array]:
        """Targets and weights of the rows from ``start`` to ``stop``."""
        part = slice(*np.searchsorted(self.numbers, (start, stop)))
        y, weight = np.zeros(stop - start, self.y.dtype), np.zeros(stop - start)
        y[self.numbers[part] - start] = self.y[part]
        weight[self.numbers[part] - start] = self.weight[part]
        return y, weight


@dataclass(frozen=True)
class RelabelledBlocks:
    """Blocks of another source with these targets and weights."""

    source: RowBlocks
    labels: Labels

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @property
    def feature_names(self) -> list[str] | None:
        return self.source.feature_names

    @property
    def repeatable(self) -> bool:
        return self.source.repeatable

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for block in self.source:
            stop = start + len(block.X)
            yield Block(block.X, *self.labels.among(start, stop))
            start = stop


def relabelled(X: Any, labels: Labels, n_rows: int) -> tuple[Any, Any, Any]:
    """What ``fit`` takes: rows, targets and weights, or blocks that have all."""
    if isinstance(X, RowBlocks):
        return RelabelledBlocks(X, labels), None, None
    return X, *labels.among(0, n_rows)

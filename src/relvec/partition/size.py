"""How many rows a partition has (thesis, 4.2.1 and 5.2.1.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.modelling import Specification, has_width, logger, maximised
from relvec.partition.source import Source

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

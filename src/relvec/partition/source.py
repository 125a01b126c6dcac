"""All rows of a fit, wherever they are."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from relvec.evidence import BottomUp
from relvec.modelling import (
    FittedModel,
    Monitor,
    Specification,
    TrainingSet,
    calibrated,
    fit,
)
from relvec.partition.parts import InMemory, Parts, classes_of, dealt
from relvec.partition.sets import MOST_AROUND
from relvec.typing import Array

# Rows of a part, where there are more of them than sets are fitted to: enough for the
# noise to be known to 2 % from their errors, and sets whose number is a power of two,
# so that pairs are those of all sets.
_PART_ROWS, _PART_SETS = 2048, 16


class Source(Protocol):
    """All rows, wherever they are."""

    @property
    def most_sets(self) -> float:
        """For which it may be asked for all rows again."""

    @property
    def n_rows(self) -> int:
        """That count."""

    @property
    def n_features(self) -> int:
        """Columns of X."""

    def drawn(self, count: int) -> TrainingSet:
        """So many rows by chance, in memory."""

    def parts(self, size: int) -> Parts:
        """All rows, in parts for sets of this size."""

    def check_sets(self, size: int) -> None:
        """Refuse sets that could not be fitted."""

    def polished(
        self,
        spec: Specification,
        model: FittedModel,
        rows: TrainingSet,
        noise: Array,
        monitor: Monitor,
    ) -> FittedModel:
        """The model after a look at all rows and candidates.

        ``rows`` are those that its functions are centred on, and perhaps others.
        """


@dataclass(frozen=True)
class HeldRows:
    """Rows in memory."""

    data: TrainingSet
    by_class: bool
    most_sets: float = np.inf

    @classmethod
    def of(cls, data: TrainingSet, spec: Specification) -> "HeldRows":
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

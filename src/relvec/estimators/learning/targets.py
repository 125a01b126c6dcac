"""What a model is fitted to, beside its kernel."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.estimators.callbacks import Task
from relvec.estimators.training import Training
from relvec.likelihoods import Likelihood
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class Targets:
    """All that a search needs beside the kernel."""

    training: Training
    values: Array  # (rows, outputs)
    likelihood: Likelihood
    task: Task
    offset: float

    @property
    def n_rows(self) -> int:
        """Of those that count."""
        return len(self.values)

    @property
    def spread(self) -> Array:
        """Root mean squares of the outputs (K,)."""
        squares = np.average(self.values**2, axis=0, weights=self.training.weight)
        return np.asarray(np.sqrt(squares))

    def some(self, count: int) -> "Targets":
        """At most so many rows, drawn by chance, in memory; all of them if they are."""
        if self.training.in_memory and count >= self.n_rows:
            return self
        places = self.training.some(count)
        return self.part(places)

    def part(self, places: Indices) -> "Targets":
        """Rows at these places, which must be in memory."""
        part = self.training.part(places)
        return replace(self, training=part, values=self.values[places])

    def folds(self, number: int) -> list[tuple["Targets", "Targets"]]:
        """Rows to fit and rows to judge, each judged once."""
        generator = np.random.default_rng(self.training.seed)
        label = generator.permutation(self.n_rows) % number
        return [
            (
                self.part(np.flatnonzero(label != k)),
                self.part(np.flatnonzero(label == k)),
            )
            for k in range(number)
        ]

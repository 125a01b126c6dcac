"""Rows with their targets, as a likelihood sees them."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.chance import generator
from relvec.design import Rows
from relvec.likelihoods import Likelihood
from relvec.modelling.training_rows import Sample, TrainingRows
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True)
class TrainingSet:
    """All that a model is fitted to."""

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
        """Of the rows."""
        return self.rows.weight

    @property
    def root_mean_squares(self) -> Array:
        """Of the outputs (K,)."""
        squares = np.average(self.targets**2, axis=0, weights=self.weight)
        return np.asarray(np.sqrt(squares))

    def with_parameters(self, log_parameters: Array) -> "TrainingSet":
        """With other parameters of the likelihood to begin with."""
        likelihood = self.likelihood.with_parameters(log_parameters)
        return replace(self, likelihood=likelihood)

    def drawn(self, count: int) -> "TrainingSet":
        """At most so many rows, drawn by chance, in memory; all of them if they are."""
        if self.rows.in_memory and count >= len(self):
            return self
        chosen = self.rows.drawn(count)
        rows, targets = self.rows.loaded(chosen), self.targets[chosen]
        return replace(self, rows=rows, targets=targets)

    def shuffled(self) -> "TrainingSet":
        """The same in memory, its rows in an order by chance."""
        return self.reordered(generator(self.rows.seed, 3).permutation(len(self)))

    def reordered(self, order: Indices) -> "TrainingSet":
        """The same in memory, its rows in this order."""
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
        """With the rows of others, which none of them shares, in memory."""
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
        """Rows to fit and rows to judge, each judged once."""
        drawing = generator(self.rows.seed)
        label = drawing.permutation(len(self)) % number
        judged = [self.subset(np.flatnonzero(label == k)) for k in range(number)]
        fitted = [self.subset(np.flatnonzero(label != k)) for k in range(number)]
        return list(zip(fitted, judged, strict=True))

"""Backward elimination: models of ever fewer functions, and which of them is kept.

Scales of their own are there to say the same with fewer functions. So the kernel as it
was given, fitted by itself, is what a model with them is measured by.
"""

from dataclasses import dataclass, field

import numpy as np

from relvec.kernel_learning import Observations, ScalableBasis, sparsest
from relvec.kernel_search.trials import Trial
from relvec.typing import Array

# Nats per observation of generalised cross-validation, at which elimination ends, to
# save time: other values are not on record.
_MUCH_WORSE = 0.15
# Nats per observation: half the squared error. Chosen with the table of "The measure"
# in docs/theory/kernel_learning.md in view; 0.25 differs from it in one line.
_HALVED = 0.5 * np.log(2.0)


@dataclass(frozen=True)
class EliminationStep:
    """A model on the path."""

    basis: ScalableBasis
    observations: Observations
    n_vectors: int
    gcv: float
    loo_rows: Array


@dataclass
class EliminationPath:
    """All models, one after another."""

    sample_weight: Array
    by_rows: bool  # whether leave-one-out judges, or generalised cross-validation
    given: Trial | None  # the kernel as it was given, judged in the same way
    models: list[EliminationStep] = field(default_factory=list)

    def ends_with(self, step: EliminationStep) -> bool:
        """Take in a model; whether fewer functions would be of no use."""
        self.models.append(step)
        least = min(each.gcv for each in self.models)
        return step.gcv > least + _MUCH_WORSE and not self._goes_on(step)

    def chosen(self) -> EliminationStep:
        """The one with fewest functions within a standard error of the best.

        Only leave-one-out has a standard error: by other criteria it is the best.
        It goes on from there to fewer functions than the kernel given has.
        """
        index = self._first_choice()
        for fewer in self.models[index + 1 :]:
            if not self._goes_on(self.models[index]) or self._is_worse(fewer):
                break
            index += 1
        return self.models[index]

    def _first_choice(self) -> int:
        if self.by_rows:
            rows = [step.loo_rows for step in self.models]
            return sparsest(rows, self.sample_weight)
        losses = [step.gcv for step in reversed(self.models)]
        return len(losses) - 1 - int(np.argmin(losses))

    def _goes_on(self, step: EliminationStep) -> bool:
        """Whether a model should have fewer functions because the kernel given has.

        Not where scales of their own halve the squared error: that is not the same.
        """
        if self.given is None or step.n_vectors < self.given.n_vectors:
            return False
        least = min(map(self._loss, self.models))
        return least >= self.given.loss - _HALVED and not self._is_worse(step)

    def _is_worse(self, step: EliminationStep) -> bool:
        """Than the kernel given."""
        return self.given is not None and self._loss(step) > self.given.loss

    def _loss(self, step: EliminationStep) -> float:
        if not self.by_rows:
            return step.gcv
        weight = self.sample_weight
        return float(weight @ step.loo_rows / weight.sum())

"""Models of ever fewer functions, and which of them is kept.

Scales of their own are there to say the same with fewer functions. So the kernel as it
was given, fitted by itself, is what a model with them is measured by.
"""

from dataclasses import dataclass, field

import numpy as np

from relvec.kernel_learning import Observed, Placed, sparsest
from relvec.kernel_search.trials import Trial
from relvec.typing import Array

_MUCH_WORSE = 0.15  # nats per observation of the charged loss, at which thinning ends
_HALVED = 0.5 * np.log(2.0)  # nats per observation: half the squared error


@dataclass(frozen=True)
class Left:
    """A model on the way of a dictionary that is thinned out."""

    functions: Placed
    observed: Observed
    n_vectors: int
    charged: float
    left_out_rows: Array


@dataclass
class EliminationPath:
    """All that are left one after another."""

    sample_weight: Array
    by_rows: bool  # whether rows left out judge, or the charge
    given: Trial | None  # the kernel as it was given, judged in the same way
    models: list[Left] = field(default_factory=list)

    def ends_with(self, left: Left) -> bool:
        """Take in a model; whether fewer functions would be of no use."""
        self.models.append(left)
        least = min(each.charged for each in self.models)
        return left.charged > least + _MUCH_WORSE and not self._goes_on(left)

    def chosen(self) -> Left:
        """The one with fewest functions that rows left out do not tell from the best.

        Other criteria than theirs have no differences of rows: there it is the charge.
        It goes on from there to fewer functions than the kernel given has.
        """
        place = self._first_choice()
        for fewer in self.models[place + 1 :]:
            if not self._goes_on(self.models[place]) or self._is_worse(fewer):
                break
            place += 1
        return self.models[place]

    def _first_choice(self) -> int:
        if self.by_rows:
            rows = [left.left_out_rows for left in self.models]
            return sparsest(rows, self.sample_weight)
        charges = [left.charged for left in reversed(self.models)]
        return len(charges) - 1 - int(np.argmin(charges))

    def _goes_on(self, left: Left) -> bool:
        """Whether a model should have fewer functions because the kernel given has.

        Not where scales of their own halve the squared error: that is not the same.
        """
        if self.given is None or left.n_vectors < self.given.n_vectors:
            return False
        least = min(map(self._loss, self.models))
        return least >= self.given.loss - _HALVED and not self._is_worse(left)

    def _is_worse(self, left: Left) -> bool:
        """Than the kernel given."""
        return self.given is not None and self._loss(left) > self.given.loss

    def _loss(self, left: Left) -> float:
        if not self.by_rows:
            return left.charged
        weight = self.sample_weight
        return float(weight @ left.left_out_rows / weight.sum())

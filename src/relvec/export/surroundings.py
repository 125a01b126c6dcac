"""What a model does not know far from its data, as expressions."""

from dataclasses import dataclass

import numpy as np

from relvec.basis import Basis
from relvec.export.expressions import Expression, at_least, matmul, power, squared
from relvec.export.functions import FunctionValues
from relvec.export.kernels import values
from relvec.export.pairs import Pairs
from relvec.modelling.surroundings import Surroundings

# Beside which a prior variance counts as zero.
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class Unknown:
    """As ``Surroundings`` has it, at a row."""

    found: Surroundings
    squares: Expression  # (m,) of z
    prior: Expression  # (1,) k(x, x)

    @classmethod
    def of(
        cls, found: Surroundings, functions: FunctionValues, pairs: Pairs
    ) -> "Unknown":
        """By functions of the model that are known, and others."""
        pivots = FunctionValues.of(Basis((found.pivots,), bias=False), pairs)
        turned = pivots.times(found.by_pivots.T)
        shared = found.by_functions.T
        if len(shared):
            without = np.zeros((int(functions.bias), shared.shape[1]))
            turned = turned + functions.times(np.vstack([without, shared]))
        prior = values(found.pivots.kernel, pairs.itself())
        return cls(found, squared(turned), prior)

    def mean(self, known: Expression) -> Expression:
        """With what latent values gain where nothing is known."""
        if self.found.mean is None:
            return known
        explained = matmul(self.squares, 1 / self.found.determined[:, None])
        share = self._left(explained, self.found.mean_power)
        return known + share * self.found.mean

    def variance(self, known: Expression) -> Expression:
        """The model's, or more."""
        share = self._left(self.squares.sum().wider(0), self.found.power)
        return at_least(known, share * self.prior * self.found.amplitude)

    def _left(self, explained: Expression, exponent: float) -> Expression:
        share = at_least(1.0 - explained / at_least(self.prior, _TINY), 0.0)
        return power(share, exponent)

"""The multinomial probit with moments matched row by row (expectation propagation).

Laplace's approximation looks at the mode alone. Where classes can be separated the
posterior reaches far beyond it on one side, to weights that fit as well: its evidence
is underestimated, and its probabilities are too cautious. Here every row is replaced by
the Gaussian observation that leaves mean and variance of η as they are with the row
itself, given all the others; the variance is the mean over outputs.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from relvec.likelihoods.comparisons import Comparisons
from relvec.likelihoods.multinomial_probit import MultinomialProbit
from relvec.likelihoods.probit_rows import CavityRows
from relvec.typing import Array

# Of the posterior precision of a row without its own, a difference: rounding.
_LEAST_LEFT = 1e-12


@dataclass(frozen=True, eq=False)
class MatchedProbit(MultinomialProbit):
    """``cavity`` (N,) is the variance of η from all but the row; nothing at first."""

    cavity: Array | float = 0.0
    _asked: list["_Question"] = field(default_factory=list, init=False, repr=False)

    @property
    def matching(self) -> "MatchedProbit":
        return self

    @property
    def coarse(self) -> "MatchedProbit":
        return self

    def correction(self, y: Array, eta: Array, sample_weight: Array) -> float:
        return float(sample_weight @ self._rows(y, eta, sample_weight).correction)

    def cavities(
        self, y: Array, eta: Array, variance: Array, sample_weight: Array
    ) -> Array:
        rows = self._rows(y, eta, sample_weight)
        own = np.minimum(sample_weight, 1) * rows.precision
        return variance / np.maximum(1 - own * variance, _LEAST_LEFT)

    def with_cavity(self, cavity: Array) -> "MatchedProbit":
        other = replace(self, cavity=cavity)
        other._asked[:] = self._asked
        return other

    def rescaled(self, scale: float | Array) -> "MatchedProbit":
        # After the fit it may be asked of other rows, whose cavities are not known.
        return MatchedProbit(self.coding)

    def _rows(self, y: Array, eta: Array, sample_weight: Array) -> CavityRows:
        last = self._asked[0] if self._asked and self._asked[0].y is y else None
        if last and last.eta is eta and last.cavity is self.cavity:
            return last.rows
        cavity = np.broadcast_to(self.cavity, len(eta))
        pull = np.minimum(sample_weight, 1) * cavity
        # A search that ran away is nowhere to begin.
        if last and np.all(np.isfinite(last.rows.mean)):
            rows = last.rows.moved(eta, cavity, pull)
        else:
            rows = CavityRows.at(Comparisons.of(self.coding, y), eta, cavity, pull)
        self._asked[:] = [_Question(y, eta, self.cavity, rows)]
        return rows


@dataclass(frozen=True, eq=False)
class _Question:
    """What was asked last, and the answer."""

    y: Array
    eta: Array
    cavity: Array | float
    rows: CavityRows

"""How far rows are off that are predicted without themselves, in deviations promised.

Were rows left out exactly, an interval of the ⌈(n + 1)·coverage⌉-th smallest of the n
standardised residuals |y − mean|/std, times the std of a new row, would hold its target
with this probability whatever the noise is like, as conformal prediction has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relvec.modelling.predictive import TargetDistribution
from relvec.parameters import check_fraction
from relvec.typing import Array

# Of coverage, from one quantile that is kept to the next: half a per cent.
_STEPS = 200
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Residuals:
    """Quantiles of the sizes of standardised residuals."""

    quantiles: Array  # (m,) for a coverage of 1/m, 2/m, …, 1; or (m, outputs)
    count: float  # n, each row as often as it counts

    @classmethod
    def of(cls, errors: Array, promised: Array, weight: Array) -> "Residuals":
        """Of errors (n,) with these standard deviations."""
        sizes = np.abs(errors) / np.maximum(promised, np.finfo(float).tiny)
        order = np.argsort(sizes)
        counted = np.cumsum(weight[order])
        count = float(counted[-1])
        wanted = (count + 1) * np.arange(1, _STEPS + 1) / _STEPS
        places = np.searchsorted(counted, wanted * (1 - _ROUNDING))
        return cls(sizes[order[np.minimum(places, len(order) - 1)]], count)

    @classmethod
    def of_outputs(cls, each: Sequence["Residuals"]) -> "Residuals":
        """Of several outputs, side by side."""
        return cls(np.column_stack([one.quantiles for one in each]), each[0].count)

    def quantile(self, coverage: float) -> Array:
        """The ⌈(n + 1)·coverage⌉-th smallest; the next that is kept, or refuse."""
        check_fraction("coverage", coverage)
        most = self.count / (self.count + 1)
        if coverage > most:
            raise ValueError(
                f"coverage={coverage!r} is more than {self.count:.4g} rows left out "
                f"can tell of: lower it to {most:.4g}, or leave out calibration"
            )
        steps = len(self.quantiles)
        place = int(np.ceil(steps * coverage - _ROUNDING)) - 1
        return np.asarray(self.quantiles[place])

    def interval(
        self, found: TargetDistribution, coverage: float
    ) -> tuple[Array, Array]:
        """Bounds between which such a share of targets lies."""
        half = self.quantile(coverage) * found.std
        return found.mean - half, found.mean + half

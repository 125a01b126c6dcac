"""Counts: Poisson variables whose log rate is a latent value."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.likelihoods import Gaussian, Poisson
from relvec.modelling.families.base import LeftOut, OneTarget
from relvec.modelling.predictive import CountDistribution
from relvec.modelling.residuals import LEVEL, Calibration
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.parameters import as_floats
from relvec.typing import AnyArray, Array

# Counts that all rows together have where none was seen, or a row, by Jeffreys' prior.
_HALF = 0.5
_LARGEST = 300.0  # η whose exponential still has a finite square
_ROUNDING = 1e-9  # of a logarithm that a mode was searched for: no signal
_STANDARD_ERROR = 0.5  # in nats of all rows
# Of log rates: none, and from what no count can tell to a factor of e².
_DISPERSIONS = [0.0, *np.geomspace(1e-3, 4.0, 40).tolist()]


@dataclass(frozen=True)
class Counts(OneTarget):
    """y ~ Poisson(e^η)."""

    centred: bool = True  # log rates, by the logarithm of the mean count
    dispersion: float = 0.0  # variance of log rates beside the model's own

    def offset(self, mean: float, weight: float) -> float:
        if not self.centred:
            return 0.0
        return float(np.log(mean if mean > 0 else _HALF / weight))

    def targets(self, y: AnyArray, offset: float) -> Array:
        counts = as_floats("y", y, 1)
        if np.any(counts < 0):
            raise ValueError(
                f"y has {counts.min():g}, and noise='poisson' is for counts, which are "
                "not negative: use noise='gaussian' for targets of either sign"
            )
        return counts[:, None]

    def given(self, targets: Array, offset: Any) -> AnyArray:
        return targets[:, 0]

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        targets, total = self.targets(y, 0.0), rows.weight.sum()
        offset = self.offset(float(rows.weight @ targets[:, 0] / total), total)
        likelihood = self.starting_likelihood(targets, rows.weight, offset)
        return TrainingSet(rows, targets, likelihood, offset)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> Poisson:
        return Poisson(float(np.exp(offset)))

    def regressed(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        """Pseudo-observations about log rates; to begin with, about each row's own."""
        if latent is None:
            latent = np.log(data.targets + _HALF) - data.offset
        seen = data.likelihood.pseudo_observations(data.targets, latent, data.weight)
        rows = replace(data.rows, weight=seen.precision[:, 0])
        target = np.where(np.abs(seen.target) > _ROUNDING, seen.target, 0.0)
        return replace(data, rows=rows, targets=target, likelihood=Gaussian.known(1.0))

    def calibrated(self, left_out: LeftOut) -> "Counts":
        """With log rates as uncertain as rows left out allow, to half a nat.

        That is one standard error more than what is best for rows left out, whose
        functions were chosen with them.
        """
        counts, variance = left_out.targets[:, 0], left_out.variance[:, 0]
        if not counts.any():
            return self
        rate = _rate(left_out.mean[:, 0] + left_out.offset)

        def loss(dispersion: float) -> float:
            found = CountDistribution(rate, variance + dispersion)
            return -float(left_out.weight @ found.log_density(counts))

        losses = np.array([loss(each) for each in _DISPERSIONS])
        last = int(np.flatnonzero(losses <= losses.min() + _STANDARD_ERROR)[-1])
        return replace(self, dispersion=_DISPERSIONS[last])

    def calibration(self, left_out: LeftOut) -> Calibration:
        mean, counts = left_out.mean + left_out.offset, left_out.targets[:, 0]
        lower, upper = self.predictive(mean, left_out.variance).interval(LEVEL)
        covered = (lower <= counts) & (counts <= upper)
        return Calibration.of_intervals(left_out.method, covered, left_out.weight)

    def expected(self, mean: Array, variance: Array) -> Array:
        return _rate(mean)  # of the mean count

    def response(self, latent: Array) -> Array:
        return _rate(latent)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"dispersion_": self.dispersion}

    def predictive(self, mean: Array, variance: Array) -> CountDistribution:
        return CountDistribution(_rate(mean[:, 0]), variance[:, 0] + self.dispersion)


def _rate(latent: Array) -> Array:
    """e^η, as long as it has a square."""
    return np.exp(np.minimum(latent, _LARGEST))

"""Real targets with noise of heavy tails."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.likelihoods import Likelihood, StudentT, weighted_median
from relvec.likelihoods.student_t import FEWEST
from relvec.modelling.families.base import LeftOut, OneTarget, within
from relvec.modelling.families.noise import corrected_scale, noise_factor
from relvec.modelling.families.regression import centred_targets
from relvec.modelling.predictive import HeavyTailedDistribution
from relvec.modelling.residuals import Calibration, Residuals
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.parameters import as_floats
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class RobustRegression(OneTarget):
    """y = f(x) + ε, ε from Student's t distribution of unknown scale."""

    degrees_of_freedom: float = FEWEST
    centred: bool = True  # targets, by their weighted median
    initial_noise_variance: float | None = None
    freedom_estimated: bool = True
    scale_variance: float = 1.0  # σ², of which the variance is ν/(ν − 2) times as much

    @property
    def noise_variance(self) -> float:
        """Of the noise, tails included."""
        return self.scale_variance * self._to_variance

    @property
    def likelihood(self) -> StudentT:
        """With the scale that was found."""
        precision = np.array([1 / self.scale_variance])
        return StudentT(precision, self.degrees_of_freedom)

    @property
    def _to_variance(self) -> float:
        return self.degrees_of_freedom / (self.degrees_of_freedom - 2)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "noise_variance_": self.noise_variance,
            "degrees_of_freedom_": self.degrees_of_freedom,
        }

    def targets(self, y: AnyArray, offset: float) -> Array:
        return centred_targets(as_floats("y", y, 1), offset)[:, None]

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        values = as_floats("y", y, 1)
        offset = weighted_median(values, rows.weight) if self.centred else 0.0
        targets = self.targets(values, offset)
        noise = self.starting_likelihood(targets, rows.weight, offset)
        return TrainingSet(rows, targets, noise, offset)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> StudentT:
        if not len(targets):
            return self.likelihood  # nothing to begin with but what was found
        noise = StudentT.starting(
            targets,
            weight,
            self.degrees_of_freedom,
            freedom_estimated=self.freedom_estimated,
        )
        if self.initial_noise_variance is None:
            return noise
        scale_variance = self.initial_noise_variance / self._to_variance
        return noise.with_parameters(-np.log(np.array([scale_variance])))

    def fitted(
        self, likelihood: Likelihood, noise_freedom: float
    ) -> "RobustRegression":
        assert isinstance(likelihood, StudentT)
        return replace(
            self,
            scale_variance=1 / float(likelihood.noise_precision[0]),
            degrees_of_freedom=likelihood.degrees_of_freedom,
        )

    def calibrated(self, left_out: LeftOut) -> "RobustRegression":
        """With noise as large as errors of rows left out ask for, outliers aside."""
        if left_out.repeated:
            factor = noise_factor(
                lambda times: (
                    self._with_scale_times(times).calibration(left_out).shares[0]
                ),
                float(left_out.weight.sum()),
            )
            return self._with_scale_times(factor)
        scale = corrected_scale(
            self.scale_variance, left_out, degrees_of_freedom=self.degrees_of_freedom
        )
        return replace(self, scale_variance=scale)

    def _with_scale_times(self, factor: float) -> "RobustRegression":
        return replace(self, scale_variance=factor * self.scale_variance)

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        return likelihood.with_parameters(-np.log(np.array([self.scale_variance])))

    def residuals(self, left_out: LeftOut) -> Residuals:
        errors = (left_out.targets - left_out.mean)[:, 0]
        promised = self.predictive(left_out.mean, left_out.variance).std
        return Residuals.of(errors, promised, left_out.weight)

    def calibration(self, left_out: LeftOut) -> Calibration:
        found = self.predictive(left_out.mean, left_out.variance)
        covered = within(found, (left_out.targets - left_out.mean)[:, 0])
        return Calibration.of_intervals(left_out.method, covered, left_out.weight)

    def expected(self, mean: Array, variance: Array) -> Array:
        return mean

    def predictive(self, mean: Array, variance: Array) -> HeavyTailedDistribution:
        return HeavyTailedDistribution(
            mean[:, 0], variance[:, 0], self.scale_variance, self.degrees_of_freedom
        )

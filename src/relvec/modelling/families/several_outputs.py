"""Several real targets of a row, whose functions share vectors and prior precisions."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from relvec.likelihoods import Gaussian, Likelihood, SharedGaussian
from relvec.modelling.families.base import LeftOut
from relvec.modelling.families.noise import corrected_noise, noise_factor
from relvec.modelling.families.regression import Regression, centred_targets
from relvec.modelling.predictive import TargetDistribution, variance_factor
from relvec.modelling.residuals import Residuals
from relvec.modelling.training_rows import TrainingRows
from relvec.modelling.training_set import TrainingSet
from relvec.parameters import as_floats
from relvec.typing import AnyArray, Array


@dataclass(frozen=True, eq=False)
class SeveralOutputs(Regression):
    """y_c = f_c(x) + ε_c, each with noise of its own, in whose units all share α."""

    noise_variance: Any = "estimate"  # (K,), or one for all outputs
    initial_noise_variance: Any = None

    @property
    def units(self) -> Array:
        return np.asarray(np.sqrt(self.noise_variance))

    @property
    def in_units(self) -> "SeveralOutputs":
        return replace(self, noise_variance=np.ones(len(self.units)))

    def targets(self, y: AnyArray, offset: Any) -> Array:
        values = as_floats("y", y, 2)
        pairs = zip(values.T, np.broadcast_to(offset, values.shape[1]), strict=True)
        return np.column_stack([centred_targets(*each) for each in pairs])

    def given(self, targets: Array, offset: Any) -> AnyArray:
        return targets + offset

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        values = as_floats("y", y, 2)
        offset = np.zeros(values.shape[1])
        if self.centred:
            offset = (values * rows.weight[:, None]).sum(axis=0) / rows.weight.sum()
        targets = self.targets(values, offset)
        noise = self.starting_likelihood(targets, rows.weight, offset)
        return TrainingSet(rows, targets, noise, offset)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: Any
    ) -> Gaussian:
        given = self.noise_variance, offset, self.initial_noise_variance
        noise = SharedGaussian.of(targets, weight, *given)
        # Of one output the prior may as well be in the units that it has.
        return noise if targets.shape[1] > 1 else noise.in_target_units

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "SeveralOutputs":
        assert isinstance(likelihood, Gaussian)
        freedom = noise_freedom if likelihood.estimated else np.inf
        return replace(
            self,
            noise_variance=likelihood.noise_variance * variance_factor(freedom),
            degrees_of_freedom=freedom,
            estimated=likelihood.estimated,
        )

    def calibrated(self, left_out: LeftOut) -> "SeveralOutputs":
        if not self.estimated:
            return self
        if left_out.repeated:
            return self._widened(left_out)
        noise = [
            corrected_noise(
                float(variance),
                left_out.of_output(number),
                centred=self.centred,
                degrees_of_freedom=self.degrees_of_freedom,
            )
            for number, variance in enumerate(self.noise_variance)
        ]
        return replace(self, noise_variance=np.array(noise))

    def _widened(self, left_out: LeftOut) -> "SeveralOutputs":
        def coverage(times: float, output: int) -> float:
            widened = self._with_noise_times(times, left_out)
            return float(widened.calibration(left_out).shares[output])

        n_rows = float(left_out.weight.sum())
        factors = np.array(
            [
                noise_factor(partial(coverage, output=number), n_rows)
                for number in range(len(self.noise_variance))
            ]
        )
        if np.all(factors == 1):
            return self
        return self._with_noise_times(factors, left_out)

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        return likelihood.with_parameters(-np.log(self.noise_variance))

    def residuals(self, left_out: LeftOut) -> Residuals:
        errors = left_out.errors(centred=self.centred)
        promised = self.predictive(left_out.mean, left_out.variance).std
        pairs = zip(errors.T, promised.T, strict=True)
        each = [Residuals.of(*pair, left_out.weight) for pair in pairs]
        return Residuals.of_outputs(each)

    def output_weights(self, mean: Array) -> Array:
        return mean

    def predictive(self, mean: Array, variance: Array) -> TargetDistribution:
        return TargetDistribution(
            mean, variance, self.noise_variance, self.degrees_of_freedom
        )

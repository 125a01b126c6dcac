"""Real targets with Gaussian noise: one, or several that share their functions."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from relvec.likelihoods import Gaussian, Likelihood, SharedGaussian, gaussian_noise
from relvec.modelling.families.base import (
    LeftOut,
    OneTarget,
    corrected_noise,
    freedom_left,
    noise_factor,
    within,
)
from relvec.modelling.predictive import (
    Calibration,
    Residuals,
    TargetDistribution,
    variance_factor,
)
from relvec.modelling.training_rows import TrainingRows, TrainingSet
from relvec.parameters import as_floats
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class Regression(OneTarget):
    """y = f(x) + ε, ε Gaussian; of unknown variance by default."""

    noise_variance: float | str = "estimate"
    centred: bool = True  # targets, by their weighted mean
    initial_noise_variance: float | None = None
    degrees_of_freedom: float = np.inf  # of a noise that is integrated out
    estimated: bool = False  # whether the noise was

    def offset(self, mean: float, weight: float) -> float:
        return mean if self.centred else 0.0

    def targets(self, y: AnyArray, offset: Any) -> Array:
        return centred_targets(as_floats("y", y, 1), offset)[:, None]

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        values, total = as_floats("y", y, 1), rows.weight.sum()
        offset = self.offset(float((values * rows.weight).sum() / total), total)
        targets = self.targets(values, offset)
        noise = self.starting_likelihood(targets, rows.weight, offset)
        return TrainingSet(rows, targets, noise, offset)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: Any
    ) -> Gaussian:
        initial = self.initial_noise_variance
        return gaussian_noise(targets, weight, self.noise_variance, offset, initial)

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "Regression":
        assert isinstance(likelihood, Gaussian)
        freedom = noise_freedom if likelihood.estimated else np.inf
        # From 1/E[β] to E[1/β].
        variance = float(likelihood.noise_variance[0]) * variance_factor(freedom)
        found = self.with_noise(variance, freedom)
        return replace(found, estimated=likelihood.estimated)

    def with_noise(self, variance: float, freedom: float) -> "Regression":
        """With the noise that was found."""
        return replace(self, noise_variance=variance, degrees_of_freedom=freedom)

    def calibrated(self, left_out: LeftOut) -> "Regression":
        """With as much noise as errors of rows left out have, if it was estimated."""
        assert not isinstance(self.noise_variance, str)
        if not self.estimated:
            return self
        if left_out.repeated:
            return self._widened(left_out)
        noise = corrected_noise(
            self.noise_variance,
            left_out,
            centred=self.centred,
            degrees_of_freedom=self.degrees_of_freedom,
        )
        return replace(self, noise_variance=noise)

    def _widened(self, left_out: LeftOut) -> "Regression":
        """With the noise that errors of rows never seen ask for, if it is more."""
        factor = noise_factor(
            lambda times: (
                self._with_noise_times(times, left_out).calibration(left_out).shares[0]
            ),
            float(left_out.weight.sum()),
        )
        return self if factor == 1 else self._with_noise_times(factor, left_out)

    def _with_noise_times(self, factor: Any, left_out: LeftOut) -> Self:
        """With so many times the noise, of which rows left out are observations."""
        noise: Any = self.noise_variance
        freedom = self.degrees_of_freedom
        if np.any(factor > 1):
            freedom = max(freedom, freedom_left(float(left_out.weight.sum()) - 1))
        return replace(self, noise_variance=factor * noise, degrees_of_freedom=freedom)

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        assert not isinstance(self.noise_variance, str)
        # What is left of its noise is in range, as that of the fit was.
        precision = np.array([1 / self.noise_variance])
        return likelihood.with_parameters(np.log(precision))

    def residuals(self, left_out: LeftOut) -> Residuals:
        errors = left_out.errors(centred=self.centred)[:, 0]
        promised = self._promised(left_out).std
        return Residuals.of(errors, promised, left_out.weight)

    def calibration(self, left_out: LeftOut) -> Calibration:
        found, errors = self._promised(left_out), left_out.errors(centred=self.centred)
        covered = within(found, errors.reshape(found.mean.shape))
        return Calibration.of_intervals(left_out.method, covered, left_out.weight)

    def _promised(self, left_out: LeftOut) -> TargetDistribution:
        """The distribution of targets by which rows left out are judged."""
        found = self.predictive(left_out.mean, left_out.variance)
        if left_out.noise is None:
            return found
        return replace(found, noise_variance=left_out.noise)

    def expected(self, mean: Array, variance: Array) -> Array:
        return mean

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "noise_variance_": self.noise_variance,
            "degrees_of_freedom_": self.degrees_of_freedom,
        }

    def predictive(self, mean: Array, variance: Array) -> TargetDistribution:
        assert not isinstance(self.noise_variance, str)
        return TargetDistribution(
            mean[:, 0], variance[:, 0], self.noise_variance, self.degrees_of_freedom
        )


def centred_targets(y: Array, offset: float) -> Array:
    """y − offset; exactly zero where only rounding is left of it."""
    targets = y - offset
    largest = np.max(np.abs(y), initial=0.0)
    if np.max(np.abs(targets), initial=0.0) <= 8 * np.finfo(float).eps * largest:
        return np.zeros_like(targets)
    return targets


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

"""Noise that varies with the rows: a model of the mean and one of its variance in turn.

Solves   y = f(x) + ε, ε ~ N(0, e^−η(x)), with f and η sparse models of their own
By       rounds, from a model of constant noise on:
         η   fitted to the squares of errors of rows left out, as far as these are noise
         f   fitted with known noise: a row of variance s² is one of weight c/s² beside
             noise of variance c
Until    a round gains less than a nat, or there were four. If none has gained what its
         functions cost, the noise stays constant.

Gains are those of log densities of rows that both models predict without them.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.likelihoods import Gaussian, HeldObservations, at_ceiling
from relvec.modelling.families import NoiseLevels, Regression
from relvec.modelling.families.base import within
from relvec.modelling.fitted import FittedModel
from relvec.modelling.leave_one_out import judged
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.pairwise import Fit
from relvec.modelling.predictive import Calibration, Residuals, TargetDistribution
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingSet
from relvec.typing import Array

_MOST_ROUNDS = 4
_LEAST_GAIN = 1.0  # nats of all rows: less is no evidence for anything
# Nats that a function of the noise has to be worth: with none, on 200 rows of constant
# noise, up to 17 of them cost 0.16 nats of each new row.
_PRICE = 3.0
_LEAST_SHARE = 1e-6  # of the mean variance, that the noise of a row has
_MOST_STEPS, _SAME = 100, 1e-9  # of a factor that is one in the end


def fit_varying_noise(
    fit: Fit,
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of the mean with that of its noise, or with constant noise.

    Each is fitted by ``fit``, which may learn their kernels.
    """
    constant = fit(spec, data, start=start, monitor=monitor)
    if at_ceiling(constant.fit.likelihood) or not data.targets.any():
        return constant
    rounds = _Rounds(fit, spec, data, constant, monitor)
    first = best = last = rounds.begun()
    for _ in range(_MOST_ROUNDS):
        if spec.deadline.passed:
            break
        last = rounds.after(last)
        logger.info("noise that varies: %.3f nats", last.worth - first.worth)
        if last.worth < best.worth + _LEAST_GAIN:
            break
        best = last
    return constant if best is first else rounds.described(best)


@dataclass(frozen=True, eq=False)
class _Round:
    """Both models, and rows as these predict them without themselves."""

    mean: FittedModel
    noise: FittedModel | None
    variance: Array  # (N,) s², that the mean was fitted with
    error: Array  # (N,) of rows left out
    spread: Array  # (N,) variance of the function there
    worth: float  # log density of all rows left out, less the price of functions


@dataclass(frozen=True, eq=False)
class _Rounds:
    """What all rounds have in common."""

    fit: Fit
    spec: Specification
    data: TrainingSet
    constant: FittedModel
    monitor: Monitor

    def begun(self) -> _Round:
        """With constant noise."""
        family = self.constant.family
        assert isinstance(family, Regression)
        variance = np.full(len(self.data), float(family.noise_variance))
        error, spread = self._left_out(self.constant, variance)
        worth = self._log_density(error, spread + variance)
        return _Round(self.constant, None, variance, error, spread, worth)

    def after(self, last: _Round) -> _Round:
        """One round more."""
        noise, levels = self._noise(last)
        variance = noise.values(self.data.table)[:, 0]
        variance = np.maximum(variance, _LEAST_SHARE * self._average(variance))
        mean = self._mean(variance)
        error, spread = self._left_out(mean, variance)
        factor = self._factor(error, spread, levels)
        noise = replace(noise, family=NoiseLevels(factor))
        worth = self._log_density(error, spread + factor * levels)
        worth -= _PRICE * len(noise.indices)
        return _Round(mean, noise, factor * variance, error, spread, worth)

    def described(self, found: _Round) -> FittedModel:
        """The model of the mean, which knows of its noise."""
        assert found.noise is not None
        noise = found.noise.values(self.data.table)[:, 0]
        freedom = self.constant.family.degrees_of_freedom  # type: ignore[attr-defined]
        family = found.mean.family
        assert isinstance(family, Regression)
        # Of rows that count c/s² times the density has c in the place of s².
        change = np.log(self._common(found.variance) / found.variance)
        nothing = np.zeros(len(noise))
        promised = TargetDistribution(nothing, found.spread, noise, freedom)
        covered, weight = within(promised, found.error), self.data.weight
        evidence = found.mean.log_evidence + 0.5 * float(self.data.weight @ change)
        return replace(
            found.mean,
            family=family.with_noise(self._average(noise), freedom),
            fit=replace(found.mean.fit, log_evidence=evidence),
            noise_model=found.noise,
            residuals=Residuals.of(found.error, promised.std, weight),
            calibration=Calibration.of_intervals("leave-one-out", covered, weight),
        )

    def _noise(self, last: _Round) -> tuple[FittedModel, Array]:
        """The model of the noise, and what it says of rows left out."""
        # E[ε²] of an error that is noise and function: the E step of EM.
        share = last.variance / (last.variance + last.spread)
        squares = share**2 * last.error**2 + share * last.spread
        family = NoiseLevels()
        data = family.encoded(self.data.rows, squares)
        spec = replace(self.spec, family=family, augmented=False)
        model = self.fit(spec, data, monitor=self.monitor)
        seen = judged(model, data, columns_are_rows=self.spec.centres.are_rows)
        return model, family.response(seen.without_rows[0] + data.offset)[:, 0]

    def _mean(self, variance: Array) -> FittedModel:
        """That of rows with this noise."""
        common, rows = self._common(variance), self.data.rows
        known = Gaussian.known(common)
        rows = replace(rows, weight=rows.weight * common / variance)
        data = replace(self.data, rows=rows, likelihood=known)
        centred = self.spec.family.centred  # type: ignore[attr-defined]
        spec = replace(self.spec, family=Regression(common, centred))
        return self.fit(spec, data, monitor=self.monitor)

    def _common(self, variance: Array) -> float:
        """c, with which weights add up to as many rows as there are."""
        return 1 / self._average(1 / variance)

    def _left_out(self, model: FittedModel, variance: Array) -> tuple[Array, Array]:
        """Errors of rows by the others, and variances of the function there.

        A row is one observation of its own noise, not c/s² of them.
        """
        seen = judged(model, self.data, columns_are_rows=self.spec.centres.are_rows)
        held = HeldObservations(1 / variance[:, None])
        mean, spread = replace(seen, likelihood=held).without_rows
        return (self.data.targets - mean)[:, 0], spread[:, 0]

    def _factor(self, error: Array, spread: Array, levels: Array) -> float:
        """Of levels, with which squared errors are as large as they should be."""
        factor = 1.0
        for _ in range(_MOST_STEPS):
            ratio = self._average(error**2 / (spread + factor * levels))
            factor *= ratio
            if abs(ratio - 1) < _SAME:
                break
        return factor

    def _log_density(self, error: Array, variance: Array) -> float:
        terms = np.log(2 * np.pi * variance) + error**2 / variance
        return -0.5 * float(self.data.weight @ terms)

    def _average(self, values: Array) -> float:
        return float(np.average(values, weights=self.data.weight))

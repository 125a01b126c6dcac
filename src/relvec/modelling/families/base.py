"""The interface of a family of targets, and noise estimated from rows left out.

Functions are chosen for the rows they sit on, so residuals are too small. Rows that are
predicted without themselves and without their own function tell by how much: the ratio
of their squared error to the promised variance is one on average if nothing needs to be
corrected, and the noise is raised until it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from relvec.likelihoods import Likelihood
from relvec.modelling.predictive import LEVEL, Calibration, Residuals
from relvec.modelling.training_rows import TrainingRows, TrainingSet
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class LeftOut:
    """Predictions of training rows by a model that has not seen them."""

    targets: Array  # (N, outputs)
    mean: Array  # (N, outputs) of latent values
    variance: Array  # (N, outputs)
    fitted: tuple[Array, Array]  # mean and variance by the model of all rows
    weight: Array  # (N,)
    n_functions: int  # of the model
    n_parameters: float  # effective parameters of each output
    n_observations: float  # that the model was fitted to
    offset: Array | float = 0.0  # that was subtracted from latent values
    # Whether the functions were selected again without these rows, each row by a model
    # that has never seen it. Otherwise rows are left out in closed form.
    repeated: bool = False
    noise: Array | None = None  # (N,) variance of each row's noise, where it varies

    @property
    def method(self) -> str:
        """How the rows were left out: the ``method`` of a calibration."""
        return "folds" if self.repeated else "leave-one-out"

    def errors(self, *, centred: bool) -> Array:
        """Errors (N, outputs) of targets that may be ``centred`` by their mean."""
        if self.repeated:
            return self.targets - self.mean
        # The mean of the targets has seen every row, too.
        count = self.n_observations
        centring = count / max(count - 1, 1.0) if centred else 1.0
        return centring * (self.targets - self.mean)

    def of_output(self, number: int) -> "LeftOut":
        """The predictions of one output."""
        one = slice(number, number + 1)
        return replace(
            self,
            targets=self.targets[:, one],
            mean=self.mean[:, one],
            variance=self.variance[:, one],
            fitted=(self.fitted[0][:, one], self.fitted[1][:, one]),
        )


def within(found: Any, errors: Array) -> AnyArray:
    """Whether errors lie in the 90 % intervals of a symmetric distribution."""
    lower, upper = found.interval(LEVEL)
    return np.asarray(np.abs(errors) <= 0.5 * (upper - lower))


class Family(Protocol):
    """Targets ↔ likelihood ↔ predictive distribution."""

    @property
    def labels(self) -> AnyArray | None:
        """Labels of the classes; None for real targets."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the noise, by the names of an estimator's attributes."""

    @property
    def price(self) -> float:
        """Nats of evidence that a function has to gain to stay in the model."""

    @property
    def coupled(self) -> bool:
        """Whether predictions need the covariance of all outputs together."""

    @property
    def units(self) -> Array | None:
        """Scales (K,) of outputs whose noise differs; None if there is one scale."""

    @property
    def in_units(self) -> "Family":
        """The family for targets divided by ``units``; itself without units."""

    def offset(self, mean: float, weight: float) -> float:
        """The offset of latent values, for targets of this mean and total weight."""

    def targets(self, y: AnyArray, offset: Any) -> Array:
        """Convert targets ``y`` to outputs (N, outputs) less an offset."""

    def given(self, targets: Array, offset: Any) -> AnyArray:
        """Convert outputs less an offset back to targets that ``encoded`` takes."""

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: Any
    ) -> Likelihood:
        """Likelihood of targets less an offset, with its first parameters."""

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        """The training set of rows and targets, with a first likelihood."""

    def gaussian_targets(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        """Targets for a Gaussian process: real numbers with Gaussian noise.

        For some that is about latent values (N, outputs) less the offset, if these are
        known already; for others it is the data themselves.
        """

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "Family":
        """The family with the parameters that a fit has found."""

    def calibrated(self, left_out: LeftOut) -> "Family":
        """The family with the uncertainty that rows left out ask for."""

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        """The fitted likelihood with the noise of this family."""

    def residuals(self, left_out: LeftOut) -> Residuals | None:
        """Standardised errors of rows left out; None for classes.

        By the variance of latent values that they are said to have.
        """

    def calibration(self, left_out: LeftOut) -> Calibration | None:
        """How well predictions hold for rows left out; None if not computed."""

    def prior_mean(self, left_out: LeftOut, at: Array, variance: Array) -> Array | None:
        """The shift (K,) of latent values where the data say nothing.

        They are ``at`` there, and as uncertain as ``variance`` (K,) says. None is
        nothing at all.
        """

    def output_weights(self, mean: Array) -> Array:
        """Weights (outputs, n) that users see, with functions along the last axis."""

    def expected(self, mean: Array, variance: Array) -> Array:
        """Expected outputs (N, outputs) for latent values with this uncertainty."""

    def response(self, latent: Array) -> Array:
        """Expected targets (N, outputs) from the means of latent values alone."""

    def predictive(self, mean: Array, variance: Array) -> Any:
        """The distribution of targets for latent values (N, outputs).

        If they are coupled, covariances (N, outputs, outputs) stand for variances.
        """


class OneTarget:
    """Defaults for families of one target per row."""

    labels: ClassVar[None] = None
    price: ClassVar[float] = 0.0
    coupled: ClassVar[bool] = False

    @property
    def units(self) -> Array | None:
        return None

    @property
    def in_units(self) -> Self:
        return self

    def offset(self, mean: float, weight: float) -> float:
        return 0.0

    def given(self, targets: Array, offset: Any) -> AnyArray:
        return np.asarray((targets + offset)[:, 0])

    def gaussian_targets(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        return data

    def response(self, latent: Array) -> Array:
        return latent

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> Self:
        return self

    def calibrated(self, left_out: LeftOut) -> Self:
        return self

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        return likelihood

    def residuals(self, left_out: LeftOut) -> Residuals | None:
        return None

    def calibration(self, left_out: LeftOut) -> Calibration | None:
        return None

    def prior_mean(self, left_out: LeftOut, at: Array, variance: Array) -> Array | None:
        return None

    def output_weights(self, mean: Array) -> Array:
        return mean[0]


# Generalised cross-validation with Friedman's cost of a function, as in
# ``relvec.kernel_learning.criteria``. Its square is the most that is corrected: where
# there is hardly any noise no function can do without another, and rows under them seem
# lost that new rows are not.
_COST_PER_FUNCTION = 3.0
# Nats of all rows together: less is no evidence for anything.
_LEAST_GAIN = 1.0
# Of a noise that is estimated: from so many on Student's distribution is as good as
# Gaussian, its intervals 1.6 % wider; with fewer than three it has no variance.
_MANY, _LEAST_FREEDOM = 60, 3.0
# Of the logarithm of a factor of the noise: a percent of its deviation, and beyond all
# that numbers can be apart.
_LOG_STEP, _LARGEST_LOG = 0.02, 512.0
# Observations that the variance of the targets counts for, in logarithms, where rows
# are few: without it intervals of five rows were too narrow, from 1 to 4 they were not.
_PRIOR_WEIGHT = 2.0
_MOST_STEPS, _CLOSE = 100, 1e-6  # of a ratio, which takes ten


def corrected_noise(
    noise: float, left_out: LeftOut, *, centred: bool, degrees_of_freedom: float
) -> float:
    """The noise variance that rows left out ask for, at least ``noise``."""
    count, weight = left_out.n_observations, left_out.weight
    errors = left_out.errors(centred=centred)[:, 0]
    variance = left_out.variance[:, 0]
    ratio = min(_ratio(errors, variance + noise, weight), _most(left_out))
    if ratio > 1 and 0.5 * count * (ratio - 1 - np.log(ratio)) > _LEAST_GAIN:
        within = float(np.average(variance, weights=weight))
        noise = ratio * (noise + within) - within
    if np.isinf(degrees_of_freedom):
        return noise
    prior = float(np.average(left_out.targets[:, 0] ** 2, weights=weight))
    share = _PRIOR_WEIGHT / (_PRIOR_WEIGHT + degrees_of_freedom)
    return max(noise, noise ** (1 - share) * prior**share)


def noise_factor(coverage: Callable[[float], float], n_rows: float) -> float:
    """The factor of the noise, at least 1, with which 90 % intervals hold.

    ``coverage`` tells what the intervals of ``n_rows`` rows cover that were never seen,
    for so many times the noise. Where it is 90 % to a standard error, nothing changes.
    """
    if coverage(1.0) >= LEVEL - np.sqrt(LEVEL * (1 - LEVEL) / n_rows):
        return 1.0
    least, enough = 0.0, 1.0
    while coverage(np.exp(enough)) < LEVEL:
        if enough > _LARGEST_LOG:
            return 1.0  # rows lie outside whatever the noise is
        least, enough = enough, 2 * enough
    while enough - least > _LOG_STEP:
        middle = 0.5 * (least + enough)
        if coverage(np.exp(middle)) < LEVEL:
            least = middle
        else:
            enough = middle
    return float(np.exp(enough))


def freedom_left(observations: float) -> float:
    """Degrees of freedom of the noise variance; infinite from 60 observations on."""
    left = max(observations, _LEAST_FREEDOM)
    return left if left < _MANY else np.inf


def corrected_scale(
    scale: float, left_out: LeftOut, *, degrees_of_freedom: float
) -> float:
    """σ² of Student's t that rows left out ask for, at least ``scale``.

    The scale of most likelihood takes the place of the mean square: an error counts for
    at most ν + 1 of its variances, so a few errors cannot raise it.
    """
    errors = (left_out.targets - left_out.mean)[:, 0]
    variance = left_out.variance[:, 0]
    squares = errors**2 / np.maximum(variance + scale, np.finfo(float).tiny)
    ratio, gain = _scale_of_most_likelihood(
        squares, left_out.weight, degrees_of_freedom
    )
    ratio = min(ratio, _most(left_out))
    if ratio <= 1 or gain * left_out.n_observations <= _LEAST_GAIN:
        return scale
    within = float(np.average(variance, weights=left_out.weight))
    return float(ratio * (scale + within) - within)


def _scale_of_most_likelihood(
    squares: Array, weight: Array, freedom: float
) -> tuple[float, float]:
    """Scale of squared errors that should be one, and its gain in nats per row."""
    if not squares.any():
        return 0.0, 0.0
    ratio = 1.0
    for _ in range(_MOST_STEPS):
        scales = (freedom + 1) / (freedom + squares / ratio)
        before = ratio
        # Over the mean of the scales, not the number of rows: that is faster.
        ratio = float(weight @ (scales * squares) / (weight @ scales))
        if abs(ratio - before) < _CLOSE * before:
            break
    terms = np.log1p(squares / freedom) - np.log1p(squares / (freedom * ratio))
    gain = 0.5 * ((freedom + 1) * np.average(terms, weights=weight) - np.log(ratio))
    return ratio, float(gain)


def _ratio(errors: Array, promised: Array, weight: Array) -> float:
    """Mean ratio of squared errors to the promised variances."""
    least = np.finfo(float).tiny
    return float(np.average(errors**2 / np.maximum(promised, least), weights=weight))


def _most(left_out: LeftOut) -> float:
    """The largest correction: the square of generalised cross-validation's."""
    count, n_functions = left_out.n_observations, left_out.n_functions
    left = count - _COST_PER_FUNCTION * n_functions
    return ((count - n_functions) / left) ** 2 if left > 0 else np.inf

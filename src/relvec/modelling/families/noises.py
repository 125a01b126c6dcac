"""Other noise than Gaussian: counts, heavy tails, and noise whose level varies."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma

from relvec.likelihoods import (
    Gaussian,
    Likelihood,
    LogPrecision,
    Poisson,
    weighted_median,
)
from relvec.likelihoods import StudentT as StudentTLikelihood
from relvec.likelihoods.student_t import FEWEST
from relvec.modelling.families.base import (
    LeftOut,
    OneTarget,
    corrected_scale,
    noise_factor,
    within,
)
from relvec.modelling.families.regression import Regression, centred_targets
from relvec.modelling.predictive import (
    LEVEL,
    Calibration,
    CountDistribution,
    HeavyTailedDistribution,
    Residuals,
    TargetDistribution,
)
from relvec.modelling.training_rows import TrainingRows, TrainingSet
from relvec.parameters import as_floats, check_choice, check_number
from relvec.parametric import Parametric
from relvec.typing import AnyArray, Array

# Counts that all rows together have where none was seen, or a row, by Jeffreys' prior.
_HALF = 0.5
_LARGEST_LOG_MEAN = 300.0  # η whose exponential still has a finite square
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

    def gaussian_targets(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
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
    return np.exp(np.minimum(latent, _LARGEST_LOG_MEAN))


# Of log χ²: its mean, and its variance π²/2.
_LOG_MEAN, _LOG_VARIANCE = float(digamma(0.5) + np.log(2)), np.pi**2 / 2
_LEAST = 1e-6  # of the mean square, where logarithms are taken


@dataclass(frozen=True)
class NoiseLevels(OneTarget):
    """ε² with ε ~ N(0, e^−η)."""

    factor: float = 1.0  # of variances, that rows left out ask for

    def offset(self, mean: float, weight: float) -> float:
        return -float(np.log(mean)) if mean > 0 else 0.0

    def targets(self, y: AnyArray, offset: float) -> Array:
        return np.asarray(y * np.exp(offset))[:, None]

    def given(self, targets: Array, offset: Any) -> AnyArray:
        return np.asarray(targets * np.exp(-offset))[:, 0]

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        mean = float(np.average(y, weights=rows.weight))
        offset = self.offset(mean, rows.weight.sum())
        targets = self.targets(y, offset)
        likelihood = self.starting_likelihood(targets, rows.weight, offset)
        return TrainingSet(rows, targets, likelihood, offset)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> LogPrecision:
        return LogPrecision()

    def gaussian_targets(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        """Fisher's expansion, of information ½; to begin with, logarithms of squares.

        Newton's has most of its weight where a square is large by chance.
        """
        if latent is None:
            squares = np.maximum(data.targets, _LEAST)
            seen, variance = _LOG_MEAN - np.log(squares), _LOG_VARIANCE
        else:
            latent = np.clip(latent, -_LARGEST_LOG_MEAN, _LARGEST_LOG_MEAN)
            seen, variance = latent + 1 - data.targets * np.exp(latent), 2.0
        known = Gaussian.known(variance)
        return replace(data, targets=seen, likelihood=known)

    def expected(self, mean: Array, variance: Array) -> Array:
        return self.response(mean)

    def response(self, latent: Array) -> Array:
        return self.factor * np.exp(
            -np.clip(latent, -_LARGEST_LOG_MEAN, _LARGEST_LOG_MEAN)
        )

    def predictive(self, mean: Array, variance: Array) -> TargetDistribution:
        """The distribution of the errors themselves, whose mean is zero."""
        levels = self.response(mean)[:, 0]
        nothing = np.zeros_like(levels)
        return TargetDistribution(nothing, nothing, levels)


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
        """Variance of the noise, tails included."""
        return self.scale_variance * self._to_variance

    @property
    def likelihood(self) -> StudentTLikelihood:
        """With the scale that was found."""
        precision = np.array([1 / self.scale_variance])
        return StudentTLikelihood(precision, self.degrees_of_freedom)

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
    ) -> StudentTLikelihood:
        if not len(targets):
            return self.likelihood  # nothing to begin with but what was found
        noise = StudentTLikelihood.starting(
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
        assert isinstance(likelihood, StudentTLikelihood)
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


NOISES = ("gaussian", "student-t", "heteroscedastic", "poisson")


@dataclass(frozen=True, eq=False, repr=False)
class StudentT(Parametric):
    """Settings of ``noise="student-t"``.

    Parameters
    ----------
    degrees_of_freedom : "estimate" or float, default="estimate"
        How heavy the tails are, more than 2: the fewer the heavier; from 30 on they are
        as good as Gaussian, and 4 serves most data, as [1]_ have found. An estimate is
        from 2.2 to 100.

    References
    ----------
    .. [1] K. L. Lange, R. J. A. Little and J. M. G. Taylor (1989), "Robust statistical
       modeling using the t distribution", Journal of the American Statistical
       Association 84, 881-896.

    Examples
    --------
    >>> from relvec import RVR, StudentT
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> y[::10] += 5
    >>> model = RVR(noise=StudentT(degrees_of_freedom=3)).fit(X, y)
    >>> bool(abs(model.predict([[0.0]])[0] - 1) < 0.1)
    True
    """

    degrees_of_freedom: Any = "estimate"

    def __post_init__(self) -> None:
        if self.estimated:
            return
        check_number("degrees_of_freedom", self.degrees_of_freedom)
        if self.degrees_of_freedom <= 2:
            raise ValueError(
                f"degrees_of_freedom must be above 2; got {self.degrees_of_freedom!r}: "
                "with fewer the noise has no variance"
            )

    @property
    def estimated(self) -> bool:
        """Whether the degrees of freedom are."""
        given = self.degrees_of_freedom
        return isinstance(given, str) and given == "estimate"


def check_noise(noise: Any) -> None:
    """Refuse what is no kind of noise."""
    if not isinstance(noise, StudentT):
        check_choice("noise", noise, NOISES)


def regression_family(
    noise: Any,
    noise_variance: Any,
    centred: bool,
    initial_noise_variance: float | None = None,
) -> Counts | Regression | RobustRegression:
    """The family of targets with this kind of noise."""
    if isinstance(noise, str) and noise == "poisson":
        return Counts(centred)
    if isinstance(noise, str) and noise == "student-t":
        noise = StudentT()
    if isinstance(noise, StudentT):
        estimated = noise.estimated
        freedom = FEWEST if estimated else float(noise.degrees_of_freedom)
        return RobustRegression(freedom, centred, initial_noise_variance, estimated)
    return Regression(noise_variance, centred, initial_noise_variance)

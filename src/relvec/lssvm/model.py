"""A fitted LS-SVM: its targets, its evidence, and how it predicts.

The prior of an LS-SVM is a Gaussian process: y ~ N(b, I/ζ + K/μ) with C = ζ/μ, b with
a flat prior (section 2.1 of the note, whose (17) is another model's evidence). Given C,
both the mean and the ratio of all variances follow; what is left is one scale, 1/μ.

The link of classes is the Bayesian one of section 2.1: with targets t = f + ε the
density of a code ±1 is N(±1 | f, S), so by Bayes' rule the log odds of two classes are
2f/S, and those of several, each against the rest, a softmax of 2f/S. Targets ±1 have no
Gaussian noise, so S is estimated: it minimises the log loss of rows left out. It
changes no decision. The variance of f itself is not included: far from the data f
returns to b anyway, and with a variance of each row the log loss was higher on 10 of 14
tables (tuned by "loo", 5 folds).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax
from scipy.stats import t as student_t

from relvec.basis import Basis, as_rows, blocks
from relvec.data import RowBlocks, is_row_blocks
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.likelihoods import gaussian_noise
from relvec.modelling import (
    LEVEL,
    Calibration,
    ClassDistribution,
    Features,
    Regression,
    Residuals,
    TargetDistribution,
    TrainingRows,
    TrainingSet,
    latent_of,
    variance_factor,
)
from relvec.parameters import check_fraction
from relvec.precision import NOISE_FLOOR, TINY
from relvec.typing import AnyArray, Array, Indices

# A smaller 1 − h is rounding: only the row itself determines its prediction.
_LEAST_KEPT = 1e-14


@dataclass(frozen=True)
class Evidence:
    """log N(y | b, I/ζ + K/μ), b integrated out, at its best scale.

    −½[ν log 2π − ν log(μC) + volume + μ·energy] for each of K outputs.
    """

    freedom: float  # ν: observations, less one if there is a b
    C: float
    volume: float  # log |I + CV^½KV^½|, and log uq of b; nan if it has none
    energy: Array  # (K,) (y − b)ᵀα
    squares: Array  # (K,) mean squares of centred targets

    @cached_property
    def scale(self) -> float:
        """The 1/μ of largest evidence, the same for all outputs."""
        found = float(np.sum(self.energy)) / max(self.freedom, 1.0) / len(self.energy)
        return max(found, self._least) if np.isfinite(found) else self._least

    @property
    def _least(self) -> float:
        """C times the smallest allowed noise variance."""
        return max(NOISE_FLOOR * self.C * float(np.mean(self.squares)), TINY)

    @property
    def log_density(self) -> float:
        """Log evidence of all targets."""
        n_outputs, nu = len(self.energy), self.freedom
        constant = nu * (np.log(2 * np.pi) - np.log(self.C) + np.log(self.scale))
        each = constant + self.volume
        total = n_outputs * each + float(np.sum(self.energy)) / self.scale
        return float(-0.5 * total)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out errors in closed form.

    Of a row of weight v > 1, which stands for several, one is left out; a row of weight
    v ≤ 1 is left out as a whole.
    """

    residual: Array  # (N, K) y − f with all rows
    remaining: Array  # (N,) 1 − vh, with h the leverage of one of v such rows
    weight: Array  # (N,) v
    missing: Array | float = 0.0  # (N,) C·d, of which landmarks know nothing

    @cached_property
    def _kept(self) -> Array:
        """1 − δh, with δ of a row of weight v left out."""
        share = np.minimum(1.0, self.weight) / self.weight
        kept = (1 - share) + share * self.remaining
        return np.where(np.abs(kept) < _LEAST_KEPT, _LEAST_KEPT, kept)

    @cached_property
    def errors(self) -> Array:
        """(N, K) targets minus their predictions from the other rows."""
        return self.residual / self._kept[:, None]

    @cached_property
    def inflation(self) -> Array:
        """(N,) variance of these errors relative to the noise."""
        leverage = (1 - self.remaining) / self.weight
        return np.asarray(1 + leverage / self._kept + self.missing)

    @property
    def mean_square(self) -> float:
        """Mean squared error, PRESS."""
        with np.errstate(over="ignore"):
            return _average(self.errors**2, self.weight)

    @property
    def noise_variance(self) -> float:
        """The noise variance that explains the errors."""
        with np.errstate(over="ignore"):
            squares = self.errors**2 / np.maximum(self.inflation, 1.0)[:, None]
            return _average(squares, self.weight)


def _average(values: Array, weight: Array) -> float:
    return float(np.average(values.mean(axis=1), weights=weight))


# Range of log S; it is 0 if the noise equals the targets ±1, and e⁷ is a thousand.
_RANGE = 7.0
# Number of pseudo-rows drawn from the class frequencies: without any, the best S of
# separated classes would be 0. Platt (1999) changes his targets for the same reason.
_DOUBTED = 1.0


class CommonScale(TargetDistribution):
    """Predictive distribution with one common scale of function and noise."""

    def interval(self, coverage: float) -> tuple[Array, Array]:
        check_fraction("coverage", coverage)
        unit = self.std / np.sqrt(variance_factor(self.degrees_of_freedom))
        half = student_t.ppf(0.5 + coverage / 2, self.degrees_of_freedom) * unit
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class RealTargets(Regression):
    """y = f(x) + ε, ε Gaussian, as in relevance vector regression."""

    needs_left_out: ClassVar[bool] = False
    has_bars: ClassVar[bool] = True

    def predictive(self, mean: Array, variance: Array) -> TargetDistribution:
        """Student's distribution if the common scale is uncertain.

        Both parts of its variance are multiplied by the same factor.
        """
        assert not isinstance(self.noise_variance, str)
        freedom = self.degrees_of_freedom
        wider = variance_factor(freedom)
        return CommonScale(
            mean[:, 0], wider * variance[:, 0], wider * self.noise_variance, freedom
        )

    def calibrated_on(self, targets: Array, left_out: LeaveOneOut) -> "RealTargets":
        """Return self, since the noise is already estimated."""
        return self

    def standardised(self, left_out: LeaveOneOut) -> Residuals:
        """Leave-one-out errors relative to their predicted size."""
        promised = self._promised_to(left_out).std
        return Residuals.of(left_out.errors[:, 0], promised, left_out.weight)

    def calibration_on(self, targets: Array, left_out: LeaveOneOut) -> Calibration:
        """Coverage of the 90 % intervals of rows left out."""
        lower, upper = self._promised_to(left_out).interval(LEVEL)
        covered = (lower <= left_out.errors[:, 0]) & (left_out.errors[:, 0] <= upper)
        return Calibration.of_intervals("leave-one-out", covered, left_out.weight)

    def _promised_to(self, left_out: LeaveOneOut) -> TargetDistribution:
        """The predicted distribution of leave-one-out errors."""
        noise: Any = self.noise_variance
        inflation = np.maximum(left_out.inflation, 1.0)
        latent = noise * (inflation - 1)[:, None]
        return self.predictive(np.zeros_like(latent), latent)


@dataclass(frozen=True, eq=False)
class SignedClasses:
    """Classes, whose rows have class indices as targets."""

    labels: AnyArray  # (K,)
    noise_variance: float = 1.0
    link_variance: float = 1.0  # S
    needs_left_out: ClassVar[bool] = True
    has_bars: ClassVar[bool] = False

    def encoded(self, rows: TrainingRows, indices: Indices) -> TrainingSet:
        """Encode rows by ±1 for each class, or for the second of two."""
        codes = 2 * np.eye(len(self.labels))[indices] - 1
        targets = codes[:, 1:] if len(self.labels) == 2 else codes
        likelihood = gaussian_noise(targets, rows.weight, "estimate")
        return TrainingSet(rows, targets, likelihood)

    def with_noise(self, noise_variance: float, freedom: float) -> "SignedClasses":
        """Set the estimated variance."""
        return replace(self, noise_variance=noise_variance)

    def calibrated_on(self, targets: Array, left_out: LeaveOneOut) -> "SignedClasses":
        """Choose the link variance that minimises the leave-one-out log loss."""
        values, weight = self._both(targets - left_out.errors), left_out.weight
        classes = np.argmax(self._both(targets), axis=1)
        frequencies = np.bincount(classes, weight, len(self.labels)) / weight.sum()

        def gradient(log_variance: float) -> float:
            """Gradient of the log loss by 2/S, in which it is convex."""
            p = softmax(2 * np.exp(-log_variance) * values, axis=1)
            expected = np.sum(p * values, axis=1)
            known = values[np.arange(len(values)), classes]
            doubted = np.average(expected - values @ frequencies, weights=weight)
            return float(weight @ (expected - known) + _DOUBTED * doubted)

        return replace(self, link_variance=float(np.exp(_root(gradient))))

    def calibration_on(self, targets: Array, left_out: LeaveOneOut) -> Calibration:
        """Log loss of rows left out."""
        log_p = log_softmax(
            2 / self.link_variance * self._both(targets - left_out.errors), axis=1
        )
        classes = np.argmax(self._both(targets), axis=1)
        return Calibration.of_classes("leave-one-out", log_p, classes, left_out.weight)

    def predictive(self, mean: Array, variance: Array) -> ClassDistribution:
        """Class distribution of latent values (N, 1) or (N, K)."""
        odds = 2 / self.link_variance * self._both(mean)
        if mean.shape[1] == 1:
            return ClassDistribution(self.labels, odds[:, 1])
        return ClassDistribution(self.labels, log_softmax(odds, axis=1))

    def _both(self, values: Array) -> Array:
        """(N, K), with zeros for the first of two classes."""
        if values.shape[1] > 1:
            return values
        return np.hstack([np.zeros_like(values), values])


def _root(gradient: Callable[[float], float]) -> float:
    """The root in log S, or the nearest end of the range."""
    narrow, wide = gradient(-_RANGE), gradient(_RANGE)
    if narrow <= 0 or wide >= 0:
        return -_RANGE if narrow <= 0 else _RANGE
    return float(brentq(gradient, -_RANGE, _RANGE, xtol=1e-14))


class LatentVariance(Protocol):
    """The variance of latent values."""

    def variance(self, rows: AnyArray) -> Array:
        """Variance of the values at rows (n,), times μ."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a fit ended."""

    method: str
    log_evidence: float
    status: Status = Status.CONVERGED
    n_iter: int = 1  # systems that were solved, or steps of conjugate gradients
    history: dict[str, AnyArray] | None = None  # of tuning
    left_out: LeaveOneOut | None = None
    calibration: Calibration | None = None  # by the rows left out, if they are known
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LeastSquaresModel:
    """f(x) = b + Σᵢ αᵢk(x, xᵢ) for each output, with its variance if known."""

    basis: Basis  # kernel functions, without a constant
    coefficients: Array  # (n, K)
    bias: Array  # (K,) offset included
    spread: LatentVariance | None
    scale: float  # 1/μ
    C: float
    family: Any
    indices: Indices  # of the functions' rows; -1 for none
    features: Features
    fit: Outcome = field(repr=False)

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of f, (n_rows, outputs) each, in blocks of rows."""
        X = self.features.checked(X)
        mean = self.values(X)
        variance = np.zeros(mean.shape)
        if self.spread is not None:
            for part, rows in self._rows(X):
                variance[part] = self.scale * self.spread.variance(rows)[:, None]
        return mean, variance

    def values(self, X: AnyArray | RowBlocks) -> Array:
        """Mean of f only, which is faster."""
        if is_row_blocks(X):
            return np.concatenate([self.values(block.X) for block in X])
        X = self.features.checked(np.asarray(X))
        mean = np.empty((len(X), len(self.bias)))
        for part, rows in self._rows(X):
            mean[part] = self.basis(rows) @ self.coefficients + self.bias
        return mean

    def predicted(self, X: AnyArray | RowBlocks) -> Array:
        """Mean of a single target (n_rows,)."""
        return self.values(X)[:, 0]

    def _rows(self, X: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
        """Blocks of rows in the form that kernels take."""
        for part in blocks(len(X), max(len(self.basis), X.shape[1])):
            yield part, as_rows(X[part])

    def predictive(self, X: AnyArray | RowBlocks) -> Any:
        """Predictive distribution of the targets of some rows."""
        return self.family.predictive(*latent_of(self, X))

    @property
    def residuals(self) -> Residuals | None:
        """Standardised leave-one-out errors, if known."""
        left_out = self.fit.left_out
        return None if left_out is None else self.family.standardised(left_out)

    @property
    def calibration(self) -> Calibration | None:
        """How well predictions hold for rows left out, if known."""
        return self.fit.calibration

    @property
    def kernel(self) -> Kernel:
        """The kernel with its tuned width."""
        return self.basis.groups[0].kernel

    @property
    def labels(self) -> AnyArray | None:
        """Class labels; None for regression."""
        return self.family.labels

    @property
    def centres(self) -> AnyArray:
        """Centres of the kernel functions; empty if functions are columns."""
        centres = self.basis.groups[0].centres
        if centres.ndim == 1:
            return np.empty((0, 0))
        single = centres.dtype == object and centres.shape[1] == 1
        return centres[:, 0] if single else centres

    @property
    def weights(self) -> Array:
        """α (n,), or (K, n) of several classes."""
        return self.coefficients[:, 0] if len(self.bias) == 1 else self.coefficients.T

    @property
    def intercept(self) -> Any:
        """b, or one for each class."""
        return float(self.bias[0]) if len(self.bias) == 1 else self.bias

    @property
    def status(self) -> Status:
        """How the fit ended."""
        return self.fit.status

    @property
    def outcome(self) -> str:
        """The status in words."""
        return self.status.value

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings for the user."""
        return self.fit.remarks

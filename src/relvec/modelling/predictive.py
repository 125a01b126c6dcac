"""Predictive distributions of targets, and how well they hold on rows left out.

If rows were left out exactly, multiply the standard deviation of a new row by the
⌈(n + 1)·coverage⌉-th smallest of the n standardised residuals |y − mean|/std. The
interval then holds its target with this probability whatever the noise is like, as
in conformal prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaln, expit, xlogy
from scipy.stats import nbinom
from scipy.stats import t as student_t

from relvec.likelihoods.student_t import central_quantile
from relvec.parameters import check_fraction
from relvec.precision import ROUNDING
from relvec.typing import AnyArray, Array, Indices

# Of the logarithm of a rate: less is none, and with more the upper quantiles of a gamma
# distribution of given mean would fall again.
_LOG_VARIANCES = 1e-12, 5.0
_EVEN = 32 * np.finfo(float).eps


@dataclass(frozen=True)
class TargetDistribution:
    """Real targets: Gaussian, or Student's t if the noise is integrated out."""

    mean: Array  # (n_rows,)
    variance: Array  # (n_rows,) of the function
    noise_variance: float | Array  # (n_rows,) if it varies
    degrees_of_freedom: float = np.inf

    @property
    def std(self) -> Array:
        """Standard deviation of the targets, noise included."""
        return np.sqrt(self.variance + self.noise_variance)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds between which a target lies with probability ``coverage``."""
        check_fraction("coverage", coverage)
        freedom = self.degrees_of_freedom
        noise = self.noise_variance / variance_factor(freedom)
        quantile = student_t.ppf(0.5 + coverage / 2, freedom)
        half = quantile * np.sqrt(self.variance + noise)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class CountDistribution:
    """Counts whose rate is uncertain: negative binomial.

    A gamma distribution of shape 1/v and mean e^m is, as one of the rate's logarithm,
    about N(m, v) by Laplace's approximation, which is all that a model tells of it.
    """

    mean: Array  # (n_rows,) e^m
    variance: Array  # (n_rows,) v, of the logarithm

    def log_density(self, counts: Array) -> Array:
        """log p (n_rows,), for numbers in between, too."""
        k, y = 1 / np.maximum(self.variance, _LOG_VARIANCES[0]), counts
        total = self.mean + k
        chosen = -np.log(k + y) - betaln(k, y + 1)
        spread = k * np.log1p(self.mean / k)
        return np.asarray(chosen + xlogy(y, self.mean) - y * np.log(total) - spread)

    @property
    def std(self) -> Array:
        """Standard deviation of the counts."""
        return np.sqrt(self.mean + self.variance * self.mean**2)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Whole numbers that hold a count with at least this probability."""
        check_fraction("coverage", coverage)
        v = np.clip(self.variance, *_LOG_VARIANCES)
        counts = nbinom(1 / v, 1 / (1 + v * self.mean))
        lower, upper = 0.5 - coverage / 2, 0.5 + coverage / 2
        return np.asarray(counts.ppf(lower)), np.asarray(counts.ppf(upper))


@dataclass(frozen=True)
class HeavyTailedDistribution:
    """Real targets with heavy-tailed noise: the sum of a Gaussian and a Student's t."""

    mean: Array  # (n_rows,)
    variance: Array  # (n_rows,) of the function
    scale_variance: float  # σ² of Student's t
    degrees_of_freedom: float

    @property
    def std(self) -> Array:
        """Standard deviation of the targets, noise included."""
        noise = self.scale_variance * variance_factor(self.degrees_of_freedom)
        return np.sqrt(self.variance + noise)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds between which a target lies with probability ``coverage``."""
        check_fraction("coverage", coverage)
        scale = float(np.sqrt(self.scale_variance))
        half = central_quantile(coverage, self.variance, scale, self.degrees_of_freedom)
        return self.mean - half, self.mean + half


def variance_factor(degrees_of_freedom: float) -> float:
    """Variance of a Student-t distribution of unit scale, where it has one."""
    if np.isinf(degrees_of_freedom) or degrees_of_freedom <= 2:
        return 1.0
    return degrees_of_freedom / (degrees_of_freedom - 2)


class ClassPrediction:
    """Probabilities and predicted labels from a decision."""

    labels: AnyArray  # (K,)
    decision: (
        Array  # (n_rows,) log odds of the second, or (n_rows, K) log probabilities
    )

    @cached_property
    def probabilities(self) -> Array:
        """(n_rows, K). Largest ones that differ by rounding alone are equal."""
        if self.decision.ndim == 1:
            p = expit(np.column_stack([-self.decision, self.decision]))
        else:
            p = np.exp(self.decision)
            p /= p.sum(axis=1, keepdims=True)
        largest = p.max(axis=1, keepdims=True, initial=0.0)
        return np.where(p >= largest * (1 - ROUNDING), largest, p)

    @property
    def predicted(self) -> AnyArray:
        """(n_rows,) labels; the first of those that are equally probable."""
        return self.labels[np.argmax(self.probabilities, axis=1)]


@dataclass(frozen=True)
class ClassDistribution(ClassPrediction):
    """Class labels, by a decision that was computed already."""

    labels: AnyArray
    decision: Array


@dataclass(frozen=True)
class ClassVotes:
    """Votes of several models, which have no probabilities."""

    labels: AnyArray  # (K,)
    decision: Array  # (n_rows, K) votes, and less than half a one to break ties

    @property
    def predicted(self) -> AnyArray:
        """(n_rows,) labels of most votes."""
        return self.labels[np.argmax(self.decision, axis=1)]


def decision_of(p: Array) -> Array:
    """Log odds of two classes, or log probabilities of more, from probabilities."""
    log_p = np.log(np.maximum(p, np.finfo(float).tiny))
    if p.shape[1] > 2:
        return log_p
    odds = log_p[:, 1] - log_p[:, 0]
    # Odds that probabilities, averages over some nodes, cannot tell from even ones.
    return np.where(np.abs(odds) < _EVEN, 0.0, odds)


# Of coverage, from one quantile that is kept to the next: half a per cent.
_STEPS = 200
_ROUNDING = 1e-9
LEVEL = 0.9  # nominal coverage of the intervals that a calibration checks
# Intervals are called too narrow if they miss the nominal coverage by five points and
# by two standard errors of a share of so many rows.
_LEAST_SHORTFALL, _STANDARD_ERRORS = 0.05, 2.0
_LEAST_LOSS = 1.0  # nats of all rows together: less is no evidence for anything


@dataclass(frozen=True, eq=False)
class Residuals:
    """Quantiles of the sizes of standardised residuals."""

    quantiles: Array  # (m,) for a coverage of 1/m, 2/m, …, 1; or (m, outputs)
    count: float  # n, each row as often as it counts

    @classmethod
    def of(cls, errors: Array, promised: Array, weight: Array) -> "Residuals":
        """Quantiles of errors (n,) divided by the standard deviations promised."""
        sizes = np.abs(errors) / np.maximum(promised, np.finfo(float).tiny)
        order = np.argsort(sizes)
        counted = np.cumsum(weight[order])
        count = float(counted[-1])
        wanted = (count + 1) * np.arange(1, _STEPS + 1) / _STEPS
        places = np.searchsorted(counted, wanted * (1 - _ROUNDING))
        return cls(sizes[order[np.minimum(places, len(order) - 1)]], count)

    @classmethod
    def of_outputs(cls, each: Sequence["Residuals"]) -> "Residuals":
        """Put the quantiles of several outputs side by side."""
        return cls(np.column_stack([one.quantiles for one in each]), each[0].count)

    def quantile(self, coverage: float) -> Array:
        """The ⌈(n + 1)·coverage⌉-th smallest size, or the next one that is kept."""
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
        """Bounds that hold this share of the targets."""
        half = self.quantile(coverage) * found.std
        return found.mean - half, found.mean + half


@dataclass(frozen=True)
class Calibration:
    """How well the predictions of a model hold for training rows that were left out.

    Numbers have a coverage and classes have log losses; the others are None.
    """

    method: str  # "leave-one-out", in closed form; or "folds", each fitted again
    n_rows: float  # rows that were left out, each as often as it counts
    # Share of the targets in their 90 % intervals; of several outputs one each.
    coverage: float | tuple[float, ...] | None = None
    # Mean of minus the log probability of a row's class, by the model and by the
    # frequencies of the classes.
    log_loss: float | None = None
    baseline_log_loss: float | None = None

    @classmethod
    def of_intervals(
        cls, method: str, covered: AnyArray, weight: Array
    ) -> "Calibration":
        """Count the rows (N,) or (N, outputs) whose targets lie in their intervals."""
        share = np.average(covered, axis=0, weights=weight)
        several = np.ndim(share) > 0
        coverage = tuple(share.tolist()) if several else float(share)
        return cls(method, float(weight.sum()), coverage=coverage)

    @classmethod
    def of_classes(
        cls, method: str, log_p: Array, classes: Indices, weight: Array
    ) -> "Calibration":
        """Average the log probabilities (N, K) of the classes (N,) of the rows."""
        total, n_classes = float(weight.sum()), log_p.shape[1]
        own = log_p[np.arange(len(log_p)), classes]
        # The frequencies have not seen the row either; half a row is added to each.
        others = np.bincount(classes, weight, n_classes)[classes]
        once = np.minimum(weight, 1.0)
        frequency = (others - once + 0.5) / (total - once + 0.5 * n_classes)
        return cls(
            method,
            total,
            log_loss=-float(weight @ own) / total,
            baseline_log_loss=-float(weight @ np.log(frequency)) / total,
        )

    @classmethod
    def of_models(cls, each: Sequence["Calibration | None"]) -> "Calibration | None":
        """Join those of several models: a coverage for each, or mean log losses."""
        known = [one for one in each if one is not None]
        if not known or len(known) < len(each):
            return None
        methods = {one.method for one in known}
        method = "folds" if "folds" in methods else known[0].method
        n_rows = min(one.n_rows for one in known)
        if known[0].coverage is not None:
            coverage = np.concatenate([one.shares for one in known]).tolist()
            return cls(method, n_rows, coverage=tuple(coverage))
        losses = [(one.log_loss, one.baseline_log_loss) for one in known]
        loss, baseline = np.mean(np.array(losses, dtype=np.float64), axis=0)
        return cls(
            method, n_rows, log_loss=float(loss), baseline_log_loss=float(baseline)
        )

    @property
    def shares(self) -> Array:
        """The coverage of each output (outputs,); empty for classes."""
        known = self.coverage is not None
        return np.atleast_1d(np.asarray(self.coverage)) if known else np.empty(0)

    @property
    def too_narrow(self) -> bool:
        """Whether intervals cover clearly less than 90 % of the rows left out."""
        error = np.sqrt(LEVEL * (1 - LEVEL) / self.n_rows)
        missed = LEVEL - float(np.min(self.shares, initial=1.0))
        return bool(missed > max(_LEAST_SHORTFALL, _STANDARD_ERRORS * error))

    @property
    def no_better_than_frequencies(self) -> bool:
        """Whether the frequencies of the classes predict rows left out better."""
        if self.log_loss is None or self.baseline_log_loss is None:
            return False
        return self.n_rows * (self.log_loss - self.baseline_log_loss) > _LEAST_LOSS

    def clearly_worse_than(self, other: "Calibration") -> bool:
        """Whether another model of the same classes gains a nat of all rows or more."""
        if self.log_loss is None or other.log_loss is None:
            return False
        return self.n_rows * (self.log_loss - other.log_loss) > _LEAST_LOSS

    @property
    def words(self) -> str:
        """The figures in one sentence."""
        if self.coverage is not None:
            shares = ", ".join(f"{100 * share:.0f}" for share in self.shares)
            return (
                f"the {100 * LEVEL:.0f} % intervals cover {shares} % of the "
                f"{self.n_rows:.6g} training rows that were left out"
            )
        return (
            f"the log loss of the {self.n_rows:.6g} training rows that were left out "
            f"is {self.log_loss:.3g}, and {self.baseline_log_loss:.3g} by the "
            "frequencies of the classes"
        )

    @property
    def warning(self) -> str | None:
        """A warning if predictions do not hold; otherwise None."""
        if self.too_narrow:
            return (
                f"{self.words}, so error bars are too narrow: for real targets use "
                "predict_interval(X, calibration='loo'), whose widths come from these "
                "rows; give more rows; or offer fewer candidates (features, centres, "
                "kernels) to choose from. If the noise was given, it may be too small"
            )
        if self.no_better_than_frequencies:
            return (
                f"{self.words}, so probabilities are too certain: give more rows, or "
                "offer fewer candidates (features, centres, kernels) to choose from"
            )
        return None

    def as_dict(self) -> dict[str, Any]:
        """The figures that exist, by name, as plain numbers and lists."""
        several = self.coverage
        named = {
            "method": self.method,
            "n_rows": self.n_rows,
            "coverage_of_90_percent_intervals": list(several)
            if isinstance(several, tuple)
            else several,
            "log_loss": self.log_loss,
            "baseline_log_loss": self.baseline_log_loss,
        }
        return {name: value for name, value in named.items() if value is not None}

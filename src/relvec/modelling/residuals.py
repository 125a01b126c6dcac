"""What rows that are left out tell: quantiles of residuals, coverage, log loss.

Were rows left out exactly, an interval of the ⌈(n + 1)·coverage⌉-th smallest of the n
standardised residuals |y − mean|/std, times the std of a new row, would hold its target
with this probability whatever the noise is like, as conformal prediction has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.modelling.predictive import TargetDistribution
from relvec.parameters import check_fraction
from relvec.typing import AnyArray, Array, Indices

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
        """What a user must know before trusting the predictions; None if all holds."""
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
        """The figures by name, those that there are, as plain numbers and lists."""
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

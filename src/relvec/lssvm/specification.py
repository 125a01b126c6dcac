"""What LS-SVM to fit: every choice, and the settings that users give."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.design import Budget
from relvec.design.choose import in_words
from relvec.kernels import Kernel
from relvec.modelling import TrainingRows
from relvec.parameters import as_floats, check_choice
from relvec.parametric import Parametric
from relvec.typing import Array

METHODS = ("auto", "exact", "nystrom", "cholesky", "cg")
CRITERIA = ("loo", "evidence")


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Parametric):
    """Settings of ``tune``.

    Parameters
    ----------
    criterion : {"loo", "evidence"}, default="loo"
        The criterion: the leave-one-out mean squared error, in closed form, or the
        evidence.
    C : array of float, optional
        Values of ``C`` to try. By default half decades from 1e-3 to 1e7, divided by the
        mean of k(x, x).
    widths : array of float, optional
        Multiples of the kernel's length scale to try. By default five from a third to
        twelve, and two more next to the best; only 1 for kernels without a length
        scale.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec import LSSVR, Tuning
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> tuning = Tuning("loo", C=np.logspace(-1, 3, 9), widths=[0.3, 1, 3])
    >>> model = LSSVR(tune=tuning).fit(X, y)
    >>> bool(model.C_ in tuning.C)
    True
    """

    criterion: str = "loo"
    C: Any = None
    widths: Any = None

    def __post_init__(self) -> None:
        check_choice("criterion", self.criterion, CRITERIA)
        for name in ("C", "widths"):
            if getattr(self, name) is not None:
                as_path(name, getattr(self, name))


def as_path(name: str, given: Any) -> Array:
    """Distinct positive numbers in ascending order."""
    path = np.unique(as_floats(name, given, 1))
    if len(path) == 0 or path[0] <= 0:
        raise ValueError(f"{name} must hold positive numbers to try; got {given!r}")
    return path


def as_tuning(value: Any) -> Tuning | None:
    """Interpret the parameter ``tune``."""
    if value is None or isinstance(value, Tuning):
        return value
    if isinstance(value, str) and value in CRITERIA:
        return Tuning(value)
    words = ", ".join(repr(name) for name in CRITERIA)
    raise ValueError(f"tune must be None, {words} or a Tuning; got {value!r}")


# Number of rows up to which a factor takes seconds, and all that uses it a minute.
_MOST_EXACT = 10_000
# Default number of landmarks: as many as take some seconds, O(r²N), in this range.
MOST_RANK, _LEAST_RANK, _WORK = 1500, 500, 5e10
# Floats for every pair of rows: a factor with its temporaries; an inverse for
# leave-one-out errors; a second factor while tuning; and all products for pruning.
_COPIES, _COPIES_LEFT_OUT, _COPIES_TUNING, _COPIES_PRUNING = 1.25, 1.0, 1.0, 6.0
_DEFAULT_BUDGET = Budget(2e9)  # as the estimators have it
# Floats for every pair of landmarks, and, with "cg", for every row and landmark.
_SQUARES, _FEATURES = 6, 3


@dataclass(frozen=True)
class LeastSquares:
    """An LS-SVM without its data."""

    kernel: Kernel
    family: Any
    precomputed: bool = False  # whether X are the kernel's values between all rows
    C: float = 1.0
    intercept: bool = True
    method: str = "auto"
    rank: int | None = None  # landmarks; None is what suits
    landmarks: Any = "uniform"  # a rule, or rows
    tuning: Tuning | None = None
    n_support: float | None = None  # rows, or a share of them
    tol: float = 1e-6
    max_iter: int = 1000
    budget: Budget = _DEFAULT_BUDGET

    @property
    def wants_left_out(self) -> bool:
        """Whether leave-one-out errors are needed, to tune or to calibrate."""
        tuned = self.tuning is not None and self.tuning.criterion == "loo"
        return tuned or self.family.needs_left_out

    @property
    def largest_weight(self) -> float:
        """The largest C that may be used."""
        if self.tuning is None:
            return self.C
        path = self.tuning.C
        return np.inf if path is None else float(as_path("C", path)[-1])

    def method_for(self, rows: TrainingRows) -> str:
        """The method by name, or a suitable one for "auto"."""
        definite, method = self.kernel.positive_definite, self._suiting(len(rows))
        if self.n_support is not None:
            self._check_pruning(method, definite)
        if method == "exact":
            self._check_exact(len(rows), definite)
        elif not definite:
            raise ValueError(
                f"method={method!r} needs a kernel known to be positive definite, such "
                "as 'rbf': use method='exact'; a kernel of one's own says so by an "
                "attribute positive_definite"
            )
        else:
            self._check_rank(rows, method)
        return method

    def _suiting(self, n_rows: int) -> str:
        """The method that "auto" selects."""
        if self.method != "auto":
            return self.method
        if not isinstance(self.landmarks, str) or self.landmarks != "uniform":
            return "nystrom"
        few = n_rows <= _MOST_EXACT and self.budget.holds(self._exact_entries(n_rows))
        return "exact" if few or not self.kernel.positive_definite else "cholesky"

    def _check_rank(self, rows: TrainingRows, method: str) -> None:
        rank = self.rank_for(rows)
        drawn = rank if isinstance(self.landmarks, str) else len(self.landmarks)
        needed = _SQUARES * float(max(rank, drawn)) ** 2
        if method == "cg":  # which holds rows, and their features several times
            needed += len(rows) * (rows.n_features + _FEATURES * float(rank))
        if not self.budget.holds(needed):
            raise ValueError(
                f"rank={max(rank, drawn):,} takes {in_words(8 * needed)} for "
                f"method={method!r}, and memory_budget is {self.budget.words}: lower "
                "it or raise memory_budget"
            )

    @staticmethod
    def _check_pruning(method: str, definite: bool) -> None:
        if method != "exact":
            raise ValueError(
                f"n_support prunes an exact fit, and method is {method!r}: set "
                "method='exact', or leave n_support out and set rank to the number of "
                "functions to keep"
            )
        if not definite:
            raise ValueError(
                "n_support needs rows and a kernel known to be positive definite, such "
                "as 'rbf': leave it out for this one"
            )

    def _check_exact(self, n_rows: int, definite: bool) -> None:
        needed = self._exact_entries(n_rows)
        if self.budget.holds(needed):
            return
        other = "use method='nystrom', 'cholesky' or 'cg', or " if definite else ""
        raise ValueError(
            f"an exact fit of {n_rows:,} rows takes {in_words(8 * needed)}, and "
            f"memory_budget is {self.budget.words}: {other}raise memory_budget"
        )

    def _exact_entries(self, n_rows: int) -> float:
        copies = _COPIES + _COPIES_LEFT_OUT * self.wants_left_out
        copies += _COPIES_TUNING * (self.tuning is not None)
        copies += _COPIES_PRUNING * (self.n_support is not None)
        return copies * float(n_rows) ** 2

    def rank_for(self, rows: TrainingRows) -> int:
        """Maximal number of landmarks."""
        if self.rank is not None:
            return min(self.rank, len(rows))
        if not isinstance(self.landmarks, str):
            return len(self.landmarks)
        suits = np.clip(np.sqrt(_WORK / len(rows)), _LEAST_RANK, MOST_RANK)
        each = _SQUARES * suits + _FEATURES * len(rows) * (self.method == "cg")
        affordable = min(self.budget.bytes / 8 / each, suits)
        return int(np.clip(affordable, 1, len(rows)))

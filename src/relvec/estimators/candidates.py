"""From the parameters of an estimator to its dictionary of candidate functions."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.design import Dictionary
from relvec.estimators.training import Training
from relvec.kernels import (
    Checked,
    Columns,
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Sigmoid,
)
from relvec.parameters import as_floats, check_count, check_number, check_positive
from relvec.typing import AnyArray, Array, Indices

# Rows drawn as centres by candidates="auto"; all of them up to here.
MOST_CANDIDATES = 10_000
# Of partial_fit, which keeps the Gram matrix of all candidates.
MOST_FIXED_CANDIDATES = 2000
# Where neither low rank nor dense is possible, time grows with the square of these.
_FEWER_CANDIDATES = 2000

KERNEL_NAMES = ("rbf", "linear", "poly", "sigmoid", "precomputed")


@dataclass(frozen=True)
class KernelChoice:
    """The kernel parameters an estimator was given, as SVR has them."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any

    def check(self) -> None:
        """Refuse what no data could make valid."""
        known = isinstance(self.kernel, str) and self.kernel in KERNEL_NAMES
        if not (known or callable(self.kernel) or self.kernel is None):
            words = ", ".join(repr(name) for name in KERNEL_NAMES)
            msg = (
                f"kernel must be one of {words}, a callable or None; got "
                f"{self.kernel!r}"
            )
            raise ValueError(msg)
        if not (isinstance(self.gamma, str) and self.gamma in {"scale", "auto"}):
            if isinstance(self.gamma, str):
                msg = f"gamma must be 'scale', 'auto' or positive; got {self.gamma!r}"
                raise ValueError(msg)
            check_positive("gamma", self.gamma)
        check_count("degree", self.degree)
        check_number("coef0", self.coef0)

    @property
    def selects_columns(self) -> bool:
        """Whether the columns of X themselves are the dictionary."""
        return self.kernel is None or self.precomputed

    @property
    def precomputed(self) -> bool:
        """Whether X is a matrix of kernel values."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def resolve(self, training: Training) -> Kernel:
        """The kernel itself, with what ``gamma`` means for these data."""
        if self.selects_columns:
            return Columns()
        if not isinstance(self.kernel, str):
            return Checked(self.kernel)
        if self.kernel == "linear":
            return Checked(Linear())
        gamma = self._gamma(training)
        if self.kernel == "rbf":
            return Gaussian.from_gamma(gamma)
        if self.kernel == "sigmoid":
            return Checked(Sigmoid(gamma, self.coef0))
        return Checked(Polynomial(self.degree, gamma, self.coef0))

    def _gamma(self, training: Training) -> float:
        if self.gamma == "auto":
            return 1 / training.n_features
        if self.gamma != "scale":
            return float(self.gamma)
        # As scikit-learn: the variance of all entries of X, here of weighted rows.
        variance = training.variance
        gamma = 1 / (training.n_features * variance) if variance > 0 else 1.0
        return float(gamma) if np.isfinite(gamma) else 1.0


@dataclass(frozen=True)
class Candidates:
    """A dictionary and what its kernel functions are called in ``relevance_``."""

    basis: Basis
    numbers: Indices  # of rows, or of features where these are the dictionary

    @classmethod
    def of(
        cls, choice: KernelChoice, wanted: Any, training: Training, *, bias: bool
    ) -> "Candidates":
        """One function per distinct row drawn, per centre given, or per feature.

        Of equal rows the first stands for all: their functions are the same.
        """
        kernel = choice.resolve(training)
        if choice.kernel is None:
            numbers = np.arange(training.n_features)
        elif choice.precomputed:
            numbers = training.numbers
        elif is_centres(wanted):
            centres = as_centres(wanted, training.n_features)
            return cls(Basis(kernel, centres, bias), np.full(len(centres), -1))
        else:
            rows = training.drawn_rows
            first = _first_of_equals(rows)
            centres = rows if len(first) == len(rows) else rows[first]
            numbers = training.numbers[training.drawn[first]]
            return cls(Basis(kernel, centres, bias), numbers)
        return cls(Basis(kernel, numbers, bias), numbers)

    def fewer(self, count: int) -> "Candidates":
        """So many of them, spread evenly over all."""
        chosen = np.arange(count) * len(self.numbers) // count
        basis = self.basis
        smaller = Basis(basis.kernel, basis.centres[chosen], basis.bias)
        return Candidates(smaller, self.numbers[chosen])


def fewer_candidates(
    candidates: Candidates, dictionary: Dictionary, *, by_rule: bool
) -> Candidates:
    """As many as the budget holds, if it was for us to choose them; or refuse."""
    affordable = min(_FEWER_CANDIDATES, dictionary.most_functions - 1)
    if affordable < 1 or not by_rule:
        msg = (
            f"nothing of {dictionary.words} fits into a memory_budget of "
            f"{dictionary.budget.words}, which allows {max(affordable, 0)} candidates: "
            "raise it, or set candidates to fewer; for kernel=None, leave out features"
        )
        raise ValueError(msg)
    return candidates.fewer(min(affordable, len(candidates.numbers)))


def check_candidates(value: Any) -> None:
    """A word, a number, or an array of centres."""
    if is_centres(value) or (isinstance(value, str) and value in {"auto", "all"}):
        return
    if isinstance(value, str):
        msg = (
            "candidates must be 'auto', 'all', a number of rows or an array of "
            f"centres; got {value!r}"
        )
        raise ValueError(msg)
    check_count("candidates", value)


def n_drawn(candidates: Any) -> int:
    """How many rows are to be drawn as centres."""
    if is_centres(candidates):
        return 0
    if isinstance(candidates, str):
        return sys.maxsize if candidates == "all" else MOST_CANDIDATES
    return int(candidates)


def is_centres(candidates: Any) -> bool:
    """Whether centres were given rather than a rule."""
    return not isinstance(candidates, str) and hasattr(candidates, "__len__")


def as_centres(candidates: Any, n_features: int) -> Array:
    """A checked array of centres."""
    centres = as_floats("candidates", candidates, 2)
    if len(centres) == 0 or centres.shape[1] != n_features:
        msg = (
            f"candidates has shape {centres.shape}: give at least one centre, each "
            f"with the {n_features} features of X"
        )
        raise ValueError(msg)
    return centres


def _first_of_equals(rows: AnyArray) -> Indices:
    """Numbers of the rows that equal no earlier one, ascending."""
    if rows.shape[1] and len(np.unique(rows[:, 0])) == len(rows):
        return np.arange(len(rows))
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])

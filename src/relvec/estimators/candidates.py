"""From the parameters of an estimator to its dictionary of candidate functions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.kernels import (
    Checked,
    Columns,
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Sigmoid,
)
from relvec.parameters import check_count, check_number, check_positive
from relvec.typing import Array, Indices

_LARGEST_FEATURE = 1e152

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

    def resolve(self, X: Array, sample_weight: Array) -> Kernel:
        """The kernel itself, with what ``gamma`` means for these data."""
        if self.selects_columns:
            return Columns()
        if not isinstance(self.kernel, str):
            return Checked(self.kernel)
        if self.kernel == "linear":
            return Checked(Linear())
        gamma = self._gamma(X, sample_weight)
        if self.kernel == "rbf":
            return Gaussian.from_gamma(gamma)
        if self.kernel == "sigmoid":
            return Checked(Sigmoid(gamma, self.coef0))
        return Checked(Polynomial(self.degree, gamma, self.coef0))

    def _gamma(self, X: Array, sample_weight: Array) -> float:
        if self.gamma == "auto":
            return 1 / X.shape[1]
        if self.gamma != "scale":
            return float(self.gamma)
        # As scikit-learn: the variance of all entries of X, here of weighted rows.
        peak = np.max(np.abs(X)) or 1.0
        share = sample_weight / (sample_weight.sum() * X.shape[1])
        unit = X / peak
        mean = np.sum(share @ unit)
        variance = np.sum(share @ (unit - mean) ** 2) * peak**2
        gamma = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        return float(gamma) if np.isfinite(gamma) else 1.0


@dataclass(frozen=True)
class Candidates:
    """A dictionary and what its kernel functions are called in ``relevance_``."""

    basis: Basis
    numbers: Indices  # of training rows, or of features where these are the dictionary

    @classmethod
    def from_rows(
        cls, choice: KernelChoice, X: Array, sample_weight: Array, *, bias: bool
    ) -> "Candidates":
        """One function per distinct row of positive weight; for no kernel per feature.

        Of equal rows the first stands for all: their functions are the same.
        """
        if choice.precomputed and len(X) != X.shape[1]:
            msg = (
                "kernel='precomputed' needs a square matrix to fit on, the kernel "
                f"between all training rows; got X of shape {X.shape}"
            )
            raise ValueError(msg)
        if np.max(np.abs(X), initial=0.0) > _LARGEST_FEATURE:
            msg = (
                f"X reaches {np.max(np.abs(X)):.0e}, whose square floating point "
                "cannot hold: scale the features"
            )
            raise ValueError(msg)
        present = np.flatnonzero(sample_weight)
        kernel = choice.resolve(X[present], sample_weight[present])
        if choice.kernel is None:
            numbers = np.arange(X.shape[1])
        elif choice.precomputed:
            numbers = present
        else:
            numbers = present[_first_of_equals(X[present])]
        centres = numbers if choice.selects_columns else X[numbers]
        return cls(Basis(kernel, centres, bias), numbers)


def _first_of_equals(rows: Array) -> Indices:
    """Numbers of the rows that equal no earlier one, ascending."""
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])

"""A fitted LS-SVM: all that predicting, describing and exporting it needs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from relvec.basis import Basis, as_rows, blocks
from relvec.data import RowBlocks, is_row_blocks
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.lssvm.evidence import LeftOut
from relvec.modelling import Calibration, Features, Residuals, latent_of
from relvec.typing import AnyArray, Array, Indices


class Spread(Protocol):
    """How uncertain values are."""

    def variance(self, rows: AnyArray) -> Array:
        """Of the values at some rows (n,), times μ."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a fit came about."""

    method: str
    log_evidence: float
    status: Status = Status.CONVERGED
    n_iter: int = 1  # systems that were solved, or steps of conjugate gradients
    history: dict[str, AnyArray] | None = None  # of tuning
    left_out: LeftOut | None = None
    calibration: Calibration | None = None  # by the rows left out, if they are known
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LeastSquaresModel:
    """f(x) = b + Σᵢ αᵢk(x, xᵢ) for each output, and its variance where it has one."""

    basis: Basis  # kernel functions, without a constant
    coefficients: Array  # (n, K)
    bias: Array  # (K,) offset included
    spread: Spread | None
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
        """f alone, which takes less."""
        if is_row_blocks(X):
            return np.concatenate([self.values(block.X) for block in X])
        X = self.features.checked(np.asarray(X))
        mean = np.empty((len(X), len(self.bias)))
        for part, rows in self._rows(X):
            mean[part] = self.basis(rows) @ self.coefficients + self.bias
        return mean

    def predicted(self, X: AnyArray | RowBlocks) -> Array:
        """The same of the one target that there is (n_rows,)."""
        return self.values(X)[:, 0]

    def _rows(self, X: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
        """Some rows at a time, as kernels take them."""
        for part in blocks(len(X), max(len(self.basis), X.shape[1])):
            yield part, as_rows(X[part])

    def predictive(self, X: AnyArray | RowBlocks) -> Any:
        """The distribution of the targets of some rows, by the family."""
        return self.family.predictive(*latent_of(self, X))

    @property
    def residuals(self) -> Residuals | None:
        """Of rows left out, if they are known."""
        left_out = self.fit.left_out
        return None if left_out is None else self.family.standardised(left_out)

    @property
    def calibration(self) -> Calibration | None:
        """What rows left out say of predictions, if they are known."""
        return self.fit.calibration

    @property
    def kernel(self) -> Kernel:
        """With the width that was found."""
        return self.basis.groups[0].kernel

    @property
    def labels(self) -> AnyArray | None:
        """Of the classes, if there are such."""
        return self.family.labels

    @property
    def centres(self) -> AnyArray:
        """Of the kernel functions, as rows were given; empty if they are columns."""
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
        """The same in words."""
        return self.status.value

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should be told besides."""
        return self.fit.remarks

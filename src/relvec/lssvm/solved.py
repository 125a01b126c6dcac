"""What every method of solving comes to, and the model that is made of it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.lssvm.evidence import Evidence, LeftOut
from relvec.lssvm.model import LeastSquaresModel, Outcome, Spread
from relvec.lssvm.specification import LeastSquares
from relvec.modelling import TrainingSet
from relvec.precision import NOISE_FLOOR, TINY
from relvec.typing import AnyArray, Array, Indices

# Rows from which on Student's distribution is as good as Gaussian, its intervals 1.6 %
# wider; with fewer than three it has no variance.
_MANY, _LEAST_FREEDOM = 60, 3.0


@dataclass(frozen=True, eq=False)
class Solved:
    """A system that was solved."""

    spec: LeastSquares
    data: TrainingSet
    kernel: Kernel
    C: float
    centres: Any
    indices: Indices
    coefficients: Array  # (n, K)
    bias: Array  # (K,)
    spread: Spread | None
    evidence: Evidence
    left_out: LeftOut | None
    n_iter: int = 1
    history: dict[str, AnyArray] | None = None  # of tuning
    converged: bool = True
    remarks: tuple[str, ...] = ()

    def model(self) -> LeastSquaresModel:
        """With noise, and probabilities that are calibrated."""
        scale, noise = self._variances()
        freedom = max(self.evidence.freedom, _LEAST_FREEDOM)
        freedom = freedom if freedom < _MANY else np.inf
        family = self.spec.family.with_noise(noise, freedom)
        calibration = None
        if self.left_out is not None:
            family = family.calibrated_on(self.data.targets, self.left_out)
            calibration = family.calibration_on(self.data.targets, self.left_out)
        order = np.argsort(self.indices, kind="stable")  # as a user reads them
        return LeastSquaresModel(
            basis=Basis.of(self.kernel, self.centres[order], bias=False),
            coefficients=self.coefficients[order],
            bias=self.bias + self.data.offset,
            spread=self.spread if family.has_bars else None,
            scale=scale,
            C=self.C,
            family=family,
            indices=self.indices[order],
            features=self.data.rows.features,
            fit=replace(self._outcome(), calibration=calibration),
        )

    def _variances(self) -> tuple[float, float]:
        """1/μ and 1/ζ: of rows left out if they are known, else of most evidence."""
        if self.left_out is None:
            scale = self.evidence.scale
            return scale, scale / self.evidence.C
        least = NOISE_FLOOR * float(np.mean(self.evidence.squares))
        noise = max(self.left_out.noise_variance, least, TINY)
        return noise * self.evidence.C, noise

    def _outcome(self) -> Outcome:
        status = Status.CONVERGED if self.converged else Status.UNSOLVED
        if not np.any(self.evidence.squares):
            status = Status.CONSTANT_TARGET
        return Outcome(
            method=self.spec.method,
            log_evidence=self.evidence.log_density,
            status=status,
            n_iter=self.n_iter,
            history=self.history,
            left_out=self.left_out,
            remarks=self.remarks,
        )

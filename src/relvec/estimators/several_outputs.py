"""Targets that are several numbers for each row."""

from typing import Any

import numpy as np

from relvec.estimators.base import SparseKernelModel
from relvec.evidence import Deadline
from relvec.kernel_search import LengthScales
from relvec.modelling import (
    FittedModel,
    IndependentModel,
    Monitor,
    Regression,
    SeveralOutputs,
    TrainingRows,
    fit_independent,
)
from relvec.parameters import check_choice
from relvec.typing import AnyArray, Array

OUTPUTS = ("shared", "independent")


class SeveralTargets(SparseKernelModel):
    """With targets of shape (n_samples,) or (n_samples, n_outputs)."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("outputs", self.outputs, OUTPUTS)

    def _as_given(self, values: Array) -> Array:
        """Predictions (n_rows, n_outputs) in the shape that targets had."""
        return values if np.ndim(self.intercept_) else values[:, 0]

    def _fitted_to_several(
        self, rows: TrainingRows, y: AnyArray, deadline: Deadline, monitor: Monitor
    ) -> FittedModel | IndependentModel:
        """The model of targets (N, K)."""
        if self.partition is not None:
            raise ValueError(
                f"partition={self.partition!r} takes one target for each row, and y "
                f"has {y.shape[1]}: leave partition out, or fit a model for each output"
            )
        n_given = np.size(self.noise_variance)
        if np.ndim(self.noise_variance) and n_given != y.shape[1]:
            raise ValueError(
                f"noise_variance holds {n_given} numbers and y has {y.shape[1]} "
                "outputs: give one for each, or one for all"
            )
        if self.outputs == "independent":
            return self._fitted_apart(rows, y, deadline, monitor)
        if y.shape[1] > 1:
            self._check_shared()
        start, initial = self._begun(y.shape[1])
        family = SeveralOutputs(
            self.noise_variance,
            centred=bool(self.fit_intercept),
            initial_noise_variance=initial,
        )
        spec = self._specification(rows, family, deadline)
        fit = self._fit_function(self._learning)
        return fit(spec, family.encoded(rows, y), start=start, monitor=monitor)

    def _fitted_apart(
        self, rows: TrainingRows, y: AnyArray, deadline: Deadline, monitor: Monitor
    ) -> IndependentModel:
        given: Any = self.noise_variance
        noise = [given] * y.shape[1]
        if not isinstance(given, str):
            noise = np.broadcast_to(given, y.shape[1]).tolist()
        families = [
            Regression(
                one,
                centred=bool(self.fit_intercept),
                initial_noise_variance=self._noise_before(number),
            )
            for number, one in enumerate(noise)
        ]
        return fit_independent(
            self._fit_function(self._learning),
            self._specification(rows, families[0], deadline),
            rows,
            y,
            families,
            shared=self._learning is None,
            start=self._start,
            monitor=monitor,
        )

    def _begun(self, *n_outputs: int) -> tuple[FittedModel | None, Any]:
        """The earlier model of targets of this shape that a fit begins with; the noise.

        None where a fit begins with nothing.
        """
        start = self._start()
        if start is None or np.shape(self.intercept_) != n_outputs:
            return None, self._solver().initial_noise_variance
        noise = start.fit.likelihood.scale**2
        return start, noise if n_outputs else float(noise[0])

    def _noise_before(self, number: int) -> float | None:
        """Of an output of its own, if a fit begins with that."""
        start = self._start(number)
        if start is None:
            return self._solver().initial_noise_variance
        return float(start.fit.likelihood.scale[0] ** 2)

    def _attributes(self, model: Any) -> dict[str, Any]:
        noise = getattr(model, "family", model)  # of several models by themselves
        return {
            **super()._attributes(model),
            "noise_variance_": noise.noise_variance,
            "degrees_of_freedom_": noise.degrees_of_freedom,
        }

    def _check_shared(self) -> None:
        """Refuse what does not know of a prior in units of the noise."""
        remedy = "set outputs='independent', or leave it out"
        learning, solver = self._learning, self._solver()
        if not (learning is None or isinstance(learning, LengthScales)) or (
            learning is not None and learning.mode not in ("width", "ard", "auto")
        ):
            raise ValueError(
                f"kernel_learning={self.kernel_learning!r} learns from one output, and "
                f"outputs='shared' has several: {remedy}"
            )
        prior = solver.prior
        told = prior.a or prior.b or prior.c or prior.d
        if told or np.isfinite(solver.noise_freedom(1.0)):
            raise ValueError(
                f"solver={self.solver!r} has a prior over the noise or the precisions, "
                f"which outputs='shared' measures by the noise: {remedy}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

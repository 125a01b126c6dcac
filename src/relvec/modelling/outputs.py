"""How several targets of a row are modelled: together, or each by itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.evidence import Solver
from relvec.modelling.families import Regression, SeveralOutputs
from relvec.modelling.fitted import FittedModel
from relvec.modelling.independent import IndependentModel, fit_independent
from relvec.modelling.monitor import Monitor
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray

OUTPUTS = ("shared", "independent")


@dataclass(frozen=True)
class Targets:
    """What is known of real targets before they are seen."""

    outputs: str  # one of the above
    noise_variance: Any  # "estimate", or a number, or one for each output
    centred: bool
    solver: Solver
    start: Callable[..., FittedModel | None]  # of an output, or of all together

    def regression(self) -> tuple[Regression, FittedModel | None]:
        """The family of one target, and the earlier model that a fit begins with."""
        start = self._alike(())
        return self._of_one(self.noise_variance, start), start

    def fitted(
        self,
        fit: Callable[..., FittedModel],
        specified: Callable[[Any], Specification],
        rows: TrainingRows,
        y: AnyArray,
        *,
        monitor: Monitor,
    ) -> FittedModel | IndependentModel:
        """The model of targets (N, K), with the specification of a family."""
        size = y.shape[1]
        self._check_noise(size)
        if self.outputs == "shared":
            start = self._alike((size,))
            begun: Any = self.solver.initial_noise_variance
            begun = begun if start is None else start.fit.likelihood.scale**2
            family = SeveralOutputs(self.noise_variance, self.centred, begun)
            data = family.encoded(rows, y)
            return fit(specified(family), data, start=start, monitor=monitor)
        noise = np.broadcast_to(np.asarray(self.noise_variance, dtype=object), size)
        starts = [self.start(number) for number in range(size)]
        each = [self._of_one(*pair) for pair in zip(noise, starts, strict=True)]
        spec = specified(each[0])
        return fit_independent(fit, spec, rows, y, each, starts=starts, monitor=monitor)

    def _of_one(self, noise_variance: Any, start: FittedModel | None) -> Regression:
        begun = self.solver.initial_noise_variance
        if start is not None:
            begun = float(start.fit.likelihood.scale[0] ** 2)
        return Regression(noise_variance, self.centred, begun)

    def _alike(self, shape: tuple[int, ...]) -> FittedModel | None:
        """The earlier model, if its targets had this shape."""
        start = self.start()
        known = start is not None and np.shape(start.intercept) == shape
        return start if known else None

    def _check_noise(self, size: int) -> None:
        given = np.size(self.noise_variance)
        if np.ndim(self.noise_variance) and given != size:
            raise ValueError(
                f"noise_variance holds {given} numbers and y has {size} outputs: give "
                "one for each, or one for all"
            )


def has_prior(solver: Solver) -> bool:
    """Over precisions or the noise, and not in units of the latter."""
    prior = solver.prior
    told = prior.a or prior.b or prior.c or prior.d
    return bool(told) or bool(np.isfinite(solver.noise_freedom(1.0)))

"""How several targets of a row are modelled: together, or each by itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.evidence import Solver
from relvec.modelling.families import SeveralOutputs
from relvec.modelling.fitted import FittedModel
from relvec.modelling.independent import IndependentModel, fit_independent
from relvec.modelling.known_noise import KnownNoise
from relvec.modelling.monitor import Monitor
from relvec.modelling.noise_model import NoiseModel
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray

OUTPUTS = ("shared", "independent")


@dataclass(frozen=True)
class Targets:
    """What is known of real targets before they are seen."""

    outputs: str  # one of the above
    noise: NoiseModel  # its variance "estimate", a number, or one for each output
    centred: bool
    start: Callable[..., FittedModel | None]  # of an output, or of all together

    def regression(self, known: KnownNoise | None) -> tuple[Any, FittedModel | None]:
        """The family of one target, and the earlier model that a fit begins with."""
        start = self._alike(())
        variance = self.noise.variance if known is None else known.noise_variance
        return self.noise.family(variance, start, centred=self.centred), start

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
            begun: Any = self.noise.solver.initial_noise_variance
            begun = begun if start is None else start.fit.likelihood.scale**2
            family = SeveralOutputs(self.noise.variance, self.centred, begun)
            data = family.encoded(rows, y)
            return fit(specified(family), data, start=start, monitor=monitor)
        noise = np.broadcast_to(np.asarray(self.noise.variance, dtype=object), size)
        starts = [self.noise.alike(self.start(number)) for number in range(size)]
        pairs = zip(noise, starts, strict=True)
        each = [self.noise.family(*pair, centred=self.centred) for pair in pairs]
        spec = specified(each[0])
        return fit_independent(fit, spec, rows, y, each, starts=starts, monitor=monitor)

    def _alike(self, shape: tuple[int, ...]) -> FittedModel | None:
        """The earlier model, if its targets had this shape and this kind of noise."""
        start = self.start()
        known = start is not None and np.shape(start.intercept) == shape
        if shape:
            return start if known else None
        return self.noise.alike(start) if known else None

    def _check_noise(self, size: int) -> None:
        given = np.size(self.noise.variance)
        if np.ndim(self.noise.variance) and given != size:
            raise ValueError(
                f"noise_variance holds {given} numbers and y has {size} outputs: give "
                "one for each, or one for all"
            )


def has_prior(solver: Solver) -> bool:
    """Over precisions or the noise, and not in units of the latter."""
    prior = solver.prior
    told = prior.a or prior.b or prior.c or prior.d
    return bool(told) or solver.integrates_noise

"""What an estimator is told of the noise, and what does not go together with it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relvec.data import is_row_blocks
from relvec.evidence import Solver, check_noise_settings
from relvec.modelling.families import check_noise, regression_family
from relvec.modelling.fitted import FittedModel
from relvec.modelling.known_noise import KnownNoise
from relvec.modelling.pairwise import Fit
from relvec.modelling.reweighting import fit_reweighted
from relvec.modelling.varying_noise import fit_varying_noise
from relvec.parameters import check_noise_variances

# Noise that rows have each for itself: its models are made of several fits.
_OF_ROWS: dict[str, Callable[..., FittedModel]] = {
    "heteroscedastic": fit_varying_noise,
    "student-t": fit_reweighted,
}


@dataclass(frozen=True)
class NoiseModel:
    """A kind of noise, its variance if that is known, and what is beside both."""

    kind: Any
    variance: Any
    solver: Solver
    partition: Any = None

    @property
    def name(self) -> str:
        """Of the kind."""
        return self.kind if isinstance(self.kind, str) else "student-t"

    @property
    def gaussian(self) -> bool:
        """Whether it is that of the papers."""
        return self.name == "gaussian"

    def check(self) -> None:
        """Refuse what is no kind of noise, and what it cannot do."""
        check_noise(self.kind)
        check_noise_variances(self.variance)
        known = f"noise_variance={self.variance!r} is known"
        if self._known:
            check_noise_settings(self.solver, known)
        if self.gaussian:
            return
        if self._known:
            raise ValueError(
                f"{known}, which is that of Gaussian noise, and noise is "
                f"{self.kind!r}: leave noise_variance at 'estimate' or noise at "
                "'gaussian'"
            )
        varies = self.name in _OF_ROWS
        if self.solver.noise_settings or (varies and self.solver.integrates_noise):
            raise ValueError(
                f"solver={self.solver!r} has its own idea of Gaussian noise, and noise "
                f"is {self.kind!r}: use 'sequential', 'mackay' or 'em' as they are, or "
                "noise='gaussian'"
            )
        if self.partition is not None and varies:
            raise self._at_once(f"noise={self.kind!r}")

    @property
    def _known(self) -> bool:
        return not isinstance(self.variance, str)

    def check_rows(self, *, held: bool) -> None:
        """Refuse rows that would have to be read again and again, if they are not."""
        if not held and self.name in _OF_ROWS:
            raise self._at_once(f"noise={self.kind!r}")

    def known(self, y_std: Any, X: Any, y: Any, sample_weight: Any) -> KnownNoise:
        """That of each row, unless it is at odds with what else was given."""
        check_noise_settings(self.solver, "y_std is known")
        if self._known:
            raise ValueError(
                f"noise_variance={self.variance!r} and y_std both say what the noise "
                "is: leave noise_variance at 'estimate', or leave out y_std"
            )
        if not self.gaussian:
            raise ValueError(
                f"y_std are deviations of Gaussian noise, and noise is {self.kind!r}: "
                "set noise='gaussian', or leave out y_std"
            )
        if is_row_blocks(X) or self.partition is not None:
            raise self._at_once("y_std")
        if np.asarray(y).ndim > 1:
            raise ValueError(
                f"y_std is the noise of one target for each row, and y has the shape "
                f"{np.asarray(y).shape}: fit its columns one by one, or leave out y_std"
            )
        known = KnownNoise.of(y_std, sample_weight)
        if hasattr(y, "__len__") and len(y) != len(known.weight):
            raise ValueError(
                f"y_std must hold one number per row, {len(y)} in all; got "
                f"{len(known.weight)}"
            )
        return known

    def family(self, variance: Any, start: FittedModel | None, *, centred: bool) -> Any:
        """Of targets with this noise, to begin with that of an earlier model."""
        initial = self.solver.initial_noise_variance
        if start is not None:
            initial = float(start.fit.likelihood.scale[0] ** 2)
        return regression_family(self.kind, variance, centred, initial)

    def alike(self, start: FittedModel | None) -> FittedModel | None:
        """An earlier model, unless its weights are those of something else."""
        wanted = type(regression_family(self.kind, "estimate", True))
        return start if start is not None and type(start.family) is wanted else None

    def fitting(self, fit: Fit) -> Fit:
        """What fits models of this noise, by what fits those of Gaussian noise."""
        wrapped = _OF_ROWS.get(self.name)
        return fit if wrapped is None else partial(wrapped, fit)

    @staticmethod
    def _at_once(what: str) -> ValueError:
        return ValueError(
            f"{what} is for rows in memory, all at once: give X and y as arrays, of "
            "fewer rows if these are too many, and leave out partition"
        )

"""What an estimator is told of the noise, and what does not go together with it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from relvec.data import is_row_blocks
from relvec.evidence import Solver, check_noise_settings
from relvec.modelling.families import (
    Regression,
    RobustRegression,
    check_noise,
    regression_family,
)
from relvec.modelling.fitted import FittedModel
from relvec.modelling.known_noise import KnownNoise
from relvec.modelling.pairwise import Fit
from relvec.modelling.reweighting import fit_reweighted
from relvec.parameters import check_noise_variance


@dataclass(frozen=True)
class NoiseModel:
    """A kind of noise, its variance if that is known, and what is beside both."""

    kind: Any
    variance: Any
    solver: Solver
    partition: Any = None

    @property
    def gaussian(self) -> bool:
        """Whether it is that of the papers."""
        return isinstance(self.kind, str) and self.kind == "gaussian"

    def check(self) -> None:
        """Refuse what is no kind of noise, and what it cannot do."""
        check_noise(self.kind)
        check_noise_variance(self.variance)
        known = f"noise_variance={self.variance!r} is known"
        if self.variance != "estimate":
            check_noise_settings(self.solver, known)
        if self.gaussian:
            return
        if self.variance != "estimate":
            raise ValueError(
                f"noise={self.kind!r} estimates its scale, and {known}: leave "
                "noise_variance at 'estimate' or noise at 'gaussian'"
            )
        if self.solver.noise_settings or self.solver.integrates_noise:
            raise ValueError(
                f"solver={self.solver!r} has its own idea of Gaussian noise, and noise "
                f"is {self.kind!r}: use 'sequential', 'mackay' or 'em' as they are, or "
                "noise='gaussian'"
            )
        if self.partition is not None:
            raise self._at_once(f"noise={self.kind!r}")

    def check_rows(self, *, held: bool) -> None:
        """Refuse rows that would have to be read again and again, if they are not."""
        if not (held or self.gaussian):
            raise self._at_once(f"noise={self.kind!r}")

    def known(self, y_std: Any, X: Any, y: Any, sample_weight: Any) -> KnownNoise:
        """That of each row, unless it is at odds with what else was given."""
        check_noise_settings(self.solver, "y_std is known")
        if self.variance != "estimate":
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
        known = KnownNoise.of(y_std, sample_weight)
        if hasattr(y, "__len__") and len(y) != len(known.weight):
            raise ValueError(
                f"y_std must hold one number per row, {len(y)} in all; got "
                f"{len(known.weight)}"
            )
        return known

    def family(
        self,
        start: FittedModel | None,
        known: KnownNoise | None = None,
        *,
        centred: bool,
    ) -> Regression | RobustRegression:
        """Of targets with this noise, to begin with that of an earlier model."""
        initial = self.solver.initial_noise_variance
        if start is not None:
            initial = float(start.fit.likelihood.scale[0] ** 2)
        variance = self.variance if known is None else known.noise_variance
        return regression_family(
            self.kind, variance, centred=centred, initial_noise_variance=initial
        )

    def fitting(self, fit: Fit) -> Fit:
        """What fits models of this noise, by what fits those of Gaussian noise."""
        return fit if self.gaussian else partial(fit_reweighted, fit)

    @staticmethod
    def _at_once(what: str) -> ValueError:
        return ValueError(
            f"{what} is for rows in memory, all at once: give X and y as arrays, of "
            "fewer rows if these are too many, and leave out partition"
        )

"""Noise of a known standard deviation for each row, as weights of the rows.

Gaussian noise of variance sₙ² is noise of one variance c with the precision of row n
multiplied by c/sₙ². Sample weights vₙ multiply precisions, too, so that rows of weight
vₙc/sₙ² say the same of the function, and with

    c = Σv / Σ(v/s²)

these weights add up to the number of observations. Taken as repetitions they have the
log density ½Σ(vₙc/sₙ²) log(1/c), where ½Σvₙ log(1/sₙ²) belongs: ½Σvₙ log(c/sₙ²) more.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.likelihoods import HeldObservations
from relvec.modelling.calibration import checked_by_folds, described, rows_left_out
from relvec.modelling.families import Regression
from relvec.modelling.fitted import FittedModel
from relvec.modelling.leave_one_out import judged
from relvec.modelling.pairwise import Fit
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingSet
from relvec.parameters import as_floats, as_weights
from relvec.typing import Array

# Between the largest and the smallest standard deviation: the squares of weights then
# have as many digits as any.
_MOST_APART = 1e6


@dataclass(frozen=True)
class KnownNoise:
    """What rows weigh beside each other, and their noise."""

    weight: Array  # (N,)
    noise_variance: float  # c, of a row of relative precision one
    mean_square: float  # of the standard deviations
    density_shift: float  # nats of each observation
    variance: Array  # (N,) of each row's noise, rows as they were given

    @classmethod
    def of(cls, y_std: Any, sample_weight: Any) -> "KnownNoise":
        """From what a user has given; rows of weight zero stay absent."""
        std = as_floats("y_std", y_std, 1)
        if not np.all(std > 0):
            raise ValueError(
                f"y_std must be positive; got {std.min()}: leave out rows whose noise "
                "is not known, or give it as exactly as it is"
            )
        repeated = as_weights(sample_weight, len(std))
        if std.max() > _MOST_APART * std.min():
            raise ValueError(
                f"y_std goes from {std.min():.1e} to {std.max():.1e}, which floating "
                f"point cannot hold beside each other: raise the smallest to "
                f"{std.max() / _MOST_APART:.1e}"
            )
        count = repeated.sum()
        # In units of the smallest: squares stay in range.
        relative = (std / std.min()) ** 2
        common = count / np.sum(repeated / relative)
        shift = 0.5 * float(repeated @ np.log(common / relative)) / count
        unit = float(std.min()) ** 2
        return cls(
            weight=repeated * common / relative,
            noise_variance=float(common) * unit,
            mean_square=float(repeated @ relative / count) * unit,
            density_shift=float(shift),
            variance=relative * unit,
        )

    def fitted(self, fit: Fit, spec: Specification, data: TrainingSet) -> FittedModel:
        """The model of rows that were given these weights.

        The noise of new rows is taken to be as that of those on average.
        """
        data = replace(data, density_shift=self.density_shift)
        model = self._described(fit(spec, data), spec, data)
        noise = self.variance[data.rows.indices]
        model = checked_by_folds(model, fit, spec, data, noise)
        assert isinstance(model.family, Regression)
        family = replace(model.family, noise_variance=self.mean_square)
        return replace(model, family=family)

    def _described(
        self, model: FittedModel, spec: Specification, data: TrainingSet
    ) -> FittedModel:
        """The model with what rows left out say of it.

        A row is one observation of its own noise, not c/s² of them.
        """
        noise = self.variance[data.rows.indices]
        weight = data.weight * noise / self.noise_variance
        rows = replace(data, rows=replace(data.rows, weight=weight))
        seen = judged(model, rows, columns_are_rows=spec.centres.are_rows)
        held = HeldObservations(1 / noise[:, None])
        left_out = rows_left_out(model, replace(seen, likelihood=held), rows)
        return described(model, replace(left_out, noise=noise))

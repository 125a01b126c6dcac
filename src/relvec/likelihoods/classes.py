"""What likelihoods of classes have in common: no noise, no unit, no parameters."""

from collections.abc import Callable
from typing import Self

import numpy as np

from relvec.likelihoods.base import Matching
from relvec.precision import TINY
from relvec.typing import Array


class ClassLikelihood:
    """A likelihood that is not conjugate, with nothing to estimate."""

    @property
    def conjugate(self) -> bool:
        return False

    @property
    def matching(self) -> Matching | None:
        return None

    @property
    def steady(self) -> bool:
        return False

    @property
    def log_parameters(self) -> Array:
        return np.empty(0)

    @property
    def noise_variance(self) -> Array:
        return np.full(1, np.nan)

    @property
    def noise_ceiling(self) -> Array | None:
        return None

    @property
    def noiseless(self) -> bool:
        return False

    def natural_scale(self, y: Array, sample_weight: Array) -> float:
        return 1.0

    def rescaled(self, scale: float) -> Self:
        return self

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array] | None:
        return None

    def refit(
        self,
        y: Array,
        eta: Array,
        sample_weight: Array,
        freedom: Array,
        extra: Array | float = 0.0,
    ) -> Self:
        return self

    def with_parameters(self, log_parameters: Array) -> Self:
        return self


def log_of_own(probabilities: Array, scores: Array) -> Array:
    """log p (N,) of the class of each row, that of the largest score (N, K)."""
    own = np.argmax(scores, axis=1)[:, None]
    p = np.take_along_axis(probabilities, own, axis=1)[:, 0]
    return np.log(np.maximum(p, TINY))

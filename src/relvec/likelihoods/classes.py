"""What likelihoods of classes and counts have in common: no unit, no parameters."""

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
    def coarse(self) -> Self:
        return self

    @property
    def log_parameters(self) -> Array:
        return np.empty(0)

    @property
    def parameter_ceiling(self) -> Array | None:
        return None

    @property
    def scale(self) -> Array:
        return np.full(1, np.nan)

    @property
    def unit(self) -> Array | None:
        return None

    @property
    def absolute(self) -> Self:
        return self

    def rescaled(self, scale: float | Array) -> Self:
        return self

    def curvature(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> Callable[[Array], Array] | None:
        return None

    def sufficient_statistics(
        self, y: Array, eta: Array, sample_weight: Array
    ) -> tuple[Array, Array]:
        return np.empty(0), np.empty(0)

    def with_parameters(self, log_parameters: Array, *, fixed: bool = False) -> Self:
        return self


def log_of_own(probabilities: Array, scores: Array) -> Array:
    """log p (N,) of the class of each row, that of the largest score (N, K)."""
    own = np.argmax(scores, axis=1)[:, None]
    p = np.take_along_axis(probabilities, own, axis=1)[:, 0]
    return np.log(np.maximum(p, TINY))

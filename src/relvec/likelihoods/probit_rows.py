"""What every row says of its linear predictor ζ, through the multinomial probit.

By itself, a row says log Z(ζ). Where moments are matched (expectation propagation) it
is asked beside what all other rows say of it, its *cavity* N(m, v): then

    log Ẑ(m) = log ∫ Z(ζ) N(ζ | m, v) dζ = log Z(m/√(1 + v)),

with gradient g and curvature −H by m. The posterior mean is the mean with the row,

    ζ = m + vg,

and as a function of it the row's term is F(ζ) = log Ẑ(m) + ½v|g|², with gradient g and
curvature −H(I − vH)⁻¹. The row acts as an observation whose precision is h/(1 − vh),
with h the mean of H over outputs, since all of them share one posterior covariance.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from relvec.likelihoods.probit_integrals import Orthant, orthant
from relvec.typing import Array

# With a cavity: nodes of the quadrature, for five digits while the search goes on; how
# far ζ may be from m + vg in units of √(1 + v), F being corrected to second order; and
# how often m is corrected.
_NODES = 12
_NEAR = 0.3
_MOST_CORRECTIONS = 20


class Terms(Protocol):
    """The terms of rows in the log posterior, and their derivatives by ζ."""

    @property
    def log_density(self) -> Array:
        """(N,)."""

    @property
    def gradient(self) -> Array:
        """(N, outputs)."""

    @property
    def precision(self) -> Array:
        """Of the observations that the rows amount to (N,)."""

    @property
    def curvature(self) -> Array:
        """Minus the second derivatives (N, outputs, outputs)."""


@dataclass(frozen=True)
class ProbitRows:
    """log Z and its derivatives, by differences from the class of each row."""

    contrast: Array  # (N, K − 1, outputs): differences are contrast · ζ
    integrals: Orthant

    @classmethod
    def at(cls, contrast: Array, eta: Array) -> "ProbitRows":
        distance = np.einsum("njc,nc->nj", contrast, eta)
        return cls(contrast, orthant(distance))

    @property
    def log_density(self) -> Array:
        """log Z (N,)."""
        return self.integrals.log_z

    @property
    def gradient(self) -> Array:
        """∂log Z/∂ζ (N, outputs)."""
        return np.einsum("njc,nj->nc", self.contrast, self.integrals.gradient)

    @property
    def precision(self) -> Array:
        """−∂²log Z/∂ζ², averaged over outputs (N,)."""
        return np.trace(self.curvature, axis1=1, axis2=2) / self.contrast.shape[2]

    @cached_property
    def curvature(self) -> Array:
        """−∂²log Z/∂ζ² (N, outputs, outputs)."""
        D = self.contrast
        return np.swapaxes(D, 1, 2) @ (self.integrals.curvature @ D)


@dataclass(frozen=True)
class CavityRows:
    """F and its derivatives by the posterior mean ζ.

    A row that counts for less than one has taken less than itself out of its cavity:
    ``pull`` is v times that share, and stands for v but in log Ẑ.
    """

    eta: Array  # (N, outputs) ζ
    mean: Array  # (N, outputs) m
    cavity: Array  # (N,) v
    pull: Array  # (N,)
    alone: ProbitRows  # log Z at m/√(1 + v)

    @classmethod
    def at(
        cls, contrast: Array, eta: Array, cavity: Array, pull: Array
    ) -> "CavityRows":
        return cls._asked(contrast, (eta, cavity, pull), eta)._corrected()

    def moved(self, eta: Array, cavity: Array, pull: Array) -> "CavityRows":
        """The same rows elsewhere, from where they are now."""
        goal = eta - pull[:, None] * self._gradient
        mean = self.mean + self._grown(goal - self.mean)
        contrast = self.alone.contrast
        return CavityRows._asked(contrast, (eta, cavity, pull), mean)._corrected()

    @classmethod
    def _asked(
        cls, contrast: Array, at: tuple[Array, Array, Array], mean: Array
    ) -> "CavityRows":
        eta, cavity, pull = at
        distance = np.einsum("njc,nc->nj", contrast, mean)
        distance /= np.sqrt(1 + cavity)[:, None]
        alone = ProbitRows(contrast, orthant(distance, n_nodes=_NODES))
        return cls(eta, mean, cavity, pull, alone)

    def _corrected(self) -> "CavityRows":
        rows, at = self, (self.eta, self.cavity, self.pull)
        for _ in range(_MOST_CORRECTIONS):
            squares = np.max(rows._left**2, axis=1, initial=0.0)
            if np.all(squares <= _NEAR**2 * (1 + rows.cavity)):
                break
            mean = rows.mean + rows._grown(rows._left)
            rows = CavityRows._asked(rows.alone.contrast, at, mean)
        return rows

    @cached_property
    def _gradient(self) -> Array:
        """g (N, outputs)."""
        return self.alone.gradient / np.sqrt(1 + self.cavity)[:, None]

    @cached_property
    def _steepness(self) -> Array:
        """H (N, outputs, outputs)."""
        return self.alone.curvature / (1 + self.cavity)[:, None, None]

    @cached_property
    def _mean_steepness(self) -> Array:
        """h (N,)."""
        return self.alone.precision / (1 + self.cavity)

    @cached_property
    def _left(self) -> Array:
        """ζ − m − vg, what of the moments does not match yet (N, outputs)."""
        return self.eta - self.mean - self.pull[:, None] * self._gradient

    def _grown(self, change: Array) -> Array:
        """(I − vH)⁻¹ = I + vH(I − vH)⁻¹ times a change of ζ: that of m."""
        bent = (self.curvature @ change[:, :, None])[:, :, 0]
        return change + self.pull[:, None] * bent

    @cached_property
    def curvature(self) -> Array:
        """−∂²F/∂ζ² = H(I − vH)⁻¹ (N, outputs, outputs)."""
        H = self._steepness
        left = np.eye(H.shape[1]) - self.pull[:, None, None] * H
        return np.asarray(np.linalg.solve(left, H), dtype=np.float64)

    @cached_property
    def _bend(self) -> Array:
        return (self.curvature @ self._left[:, :, None])[:, :, 0]

    @property
    def gradient(self) -> Array:
        """∂F/∂ζ (N, outputs)."""
        return self._gradient - self._bend

    @property
    def log_density(self) -> Array:
        """F (N,)."""
        g = self._gradient
        matched = self.alone.log_density + 0.5 * self.pull * np.sum(g * g, axis=1)
        return matched + np.sum(self._left * (g - 0.5 * self._bend), axis=1)

    @property
    def precision(self) -> Array:
        """Of the observation that a row amounts to (N,)."""
        return self._mean_steepness / (1 - self.pull * self._mean_steepness)

    @property
    def correction(self) -> Array:
        """What the evidence has besides F: −½ log(1 − vh) for each output (N,)."""
        lost = np.log1p(-self.pull * self._mean_steepness)
        return -0.5 * self.eta.shape[1] * lost

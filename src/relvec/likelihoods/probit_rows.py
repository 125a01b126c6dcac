"""Log likelihood of each row through the multinomial probit, as a function of ζ.

Laplace's approximation uses log Z(ζ) of the row alone. Expectation propagation uses the
*cavity* N(m, v), which is what all other rows say about this one:

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

from relvec.likelihoods.probit_integrals import N_NODES, Orthant, orthant
from relvec.typing import Array, Indices

# Beyond this difference probabilities are zero: Φ(−100).
_OUT_OF_REACH = 100.0


@dataclass(frozen=True)
class Comparisons:
    """Compare each row's class with all classes, from outputs ζ: η = ζCᵀ.

    Differences are η_own − η_j. The difference of a row's class to itself is set so
    large that it has no effect.
    """

    coding: Array  # (K, outputs) C
    own: Indices  # (N,)

    @classmethod
    def of(cls, coding: Array, y: Array) -> "Comparisons":
        """Build from rows y (N, outputs) of the coding."""
        return cls(coding, np.argmax(y @ coding.T, axis=1))

    def differences(self, zeta: Array) -> Array:
        """Differences (N, K), zero for the row's class."""
        eta = zeta @ self.coding.T
        return np.asarray(_sums(self._indicator * eta) - eta)

    def by_outputs(self, slopes: Array) -> Array:
        """Convert slopes (N, K) by differences to slopes by ζ (N, outputs)."""
        return (self._indicator * _sums(slopes) - slopes) @ self.coding

    def integrals_of(self, differences: Array, n_nodes: int) -> Orthant:
        """The integrals from differences (N, K); one difference if K = 2."""
        if len(self.coding) > 2:
            differences += _OUT_OF_REACH * self._indicator
            return orthant(differences, n_nodes=n_nodes)
        # A row's difference to its own class is zero.
        alone, rival = orthant(_sums(differences)), 1 - self._indicator
        nothing = np.empty((len(differences), 0, 2))
        gradient, slopes = rival * alone.gradient, rival * alone.slopes
        return Orthant(alone.log_z, gradient, slopes, nothing)

    @cached_property
    def _indicator(self) -> Array:
        """One for the class of each row, zero for all others (N, K)."""
        return np.eye(len(self.coding))[self.own]


def _sums(rows: Array) -> Array:
    """Row sums (N, 1), by a product, which is faster for short rows."""
    return rows @ np.ones((rows.shape[1], 1))


# EP: nodes of the quadrature, for six digits during a search; the tolerance of
# ζ = m + vg in units of √(1 + v), where F is corrected to second order; and the number
# of corrections of m.
_NODES = 10
_NEAR = 0.3
_MOST_CORRECTIONS = 20
# Number of classes up to which the matrix of a row has fewer entries than its
# deviations at the nodes, which are read twice.
_SMALL_MATRIX = 2 * N_NODES


class Terms(Protocol):
    """The rows' terms in the log posterior, and their derivatives by ζ."""

    @property
    def log_density(self) -> Array:
        """(N,)."""

    @property
    def gradient(self) -> Array:
        """(N, outputs)."""

    @property
    def precision(self) -> Array:
        """Precisions (N,) of the equivalent observations."""

    def product(self, vectors: Array) -> Array:
        """Multiply vectors (N, outputs) by minus the second derivatives."""


@dataclass(frozen=True)
class ProbitRows:
    """log Z and its derivatives, from differences to the class of each row."""

    contrast: Comparisons
    integrals: Orthant

    @classmethod
    def at(
        cls, contrast: Comparisons, eta: Array, n_nodes: int = N_NODES
    ) -> "ProbitRows":
        return cls(contrast, contrast.integrals_of(contrast.differences(eta), n_nodes))

    @property
    def log_density(self) -> Array:
        """log Z (N,)."""
        return self.integrals.log_z

    @cached_property
    def gradient(self) -> Array:
        """∂log Z/∂ζ (N, outputs)."""
        return self.contrast.by_outputs(self.integrals.gradient)

    @cached_property
    def precision(self) -> Array:
        """−∂²log Z/∂ζ², averaged over outputs (N,).

        With M = diag(s) − DᵀD by differences, the trace is ΣMⱼⱼ + 1ᵀM1, as differences
        do not depend on the mean of η, which outputs omit.
        """
        s, D = self.integrals.slopes, self.integrals.deviations
        squares = np.einsum("nqj,nqj->n", D, D)
        sums = D @ np.ones(D.shape[2])
        trace = 2 * s.sum(axis=1) - squares - np.einsum("nq,nq->n", sums, sums)
        return np.asarray(trace / self.contrast.coding.shape[1])

    @cached_property
    def curvature(self) -> Array:
        """−∂²log Z/∂ζ² (N, outputs, outputs)."""
        C, own = self.contrast.coding, self.contrast.own
        M, rows = self.integrals.curvature.copy(), np.arange(len(own))
        # Rows and columns of the own class are still empty.
        total = M.sum(axis=2)
        M[rows, own] = M[rows, :, own] = -total
        M[rows, own, own] = total.sum(axis=1)
        return np.asarray(C.T @ (M @ C))

    def product(self, vectors: Array) -> Array:
        """Multiply by the curvature, without a matrix if it is large."""
        if len(self.contrast.coding) <= _SMALL_MATRIX:
            return np.asarray((self.curvature @ vectors[:, :, None])[:, :, 0])
        images = self.integrals.product(self.contrast.differences(vectors))
        return self.contrast.by_outputs(images)


@dataclass(frozen=True)
class CavityRows:
    """F and its derivatives by the posterior mean ζ.

    If a row's weight is below one, its cavity lacks only that share of the row:
    ``pull`` is v times the share, and replaces v except in log Ẑ.
    """

    eta: Array  # (N, outputs) ζ
    mean: Array  # (N, outputs) m
    cavity: Array  # (N,) v
    pull: Array  # (N,)
    alone: ProbitRows  # log Z at m/√(1 + v)

    @classmethod
    def at(
        cls, contrast: Comparisons, eta: Array, cavity: Array, pull: Array
    ) -> "CavityRows":
        return cls._at_mean(contrast, (eta, cavity, pull), eta)._corrected()

    def moved(self, eta: Array, cavity: Array, pull: Array) -> "CavityRows":
        """The same rows at another ζ, starting from the present one."""
        goal = eta - pull[:, None] * self._gradient
        mean = self.mean + self._mean_change(goal - self.mean)
        contrast = self.alone.contrast
        return CavityRows._at_mean(contrast, (eta, cavity, pull), mean)._corrected()

    @classmethod
    def _at_mean(
        cls, contrast: Comparisons, at: tuple[Array, Array, Array], mean: Array
    ) -> "CavityRows":
        eta, cavity, pull = at
        alone = ProbitRows.at(contrast, mean / np.sqrt(1 + cavity)[:, None], _NODES)
        return cls(eta, mean, cavity, pull, alone)

    def _corrected(self) -> "CavityRows":
        rows, at = self, (self.eta, self.cavity, self.pull)
        for _ in range(_MOST_CORRECTIONS):
            squares = np.max(rows._mismatch**2, axis=1, initial=0.0)
            if np.all(squares <= _NEAR**2 * (1 + rows.cavity)):
                break
            mean = rows.mean + rows._mean_change(rows._mismatch)
            rows = CavityRows._at_mean(rows.alone.contrast, at, mean)
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
    def _mismatch(self) -> Array:
        """ζ − m − vg, the mismatch of the means (N, outputs)."""
        return self.eta - self.mean - self.pull[:, None] * self._gradient

    def _mean_change(self, change: Array) -> Array:
        """(I − vH)⁻¹ = I + vH(I − vH)⁻¹ times a change of ζ, which is that of m."""
        return change + self.pull[:, None] * self.product(change)

    def product(self, vectors: Array) -> Array:
        """−∂²F/∂ζ² times vectors (N, outputs)."""
        return np.asarray((self.curvature @ vectors[:, :, None])[:, :, 0])

    @cached_property
    def curvature(self) -> Array:
        """−∂²F/∂ζ² = H(I − vH)⁻¹ (N, outputs, outputs)."""
        H = self._steepness
        left = np.eye(H.shape[1]) - self.pull[:, None, None] * H
        return np.asarray(np.linalg.solve(left, H), dtype=np.float64)

    @cached_property
    def _bend(self) -> Array:
        return self.product(self._mismatch)

    @property
    def gradient(self) -> Array:
        """∂F/∂ζ (N, outputs)."""
        return self._gradient - self._bend

    @property
    def log_density(self) -> Array:
        """F (N,)."""
        g = self._gradient
        matched = self.alone.log_density + 0.5 * self.pull * np.sum(g * g, axis=1)
        return matched + np.sum(self._mismatch * (g - 0.5 * self._bend), axis=1)

    @property
    def precision(self) -> Array:
        """Precisions (N,) of the equivalent observations."""
        return self._mean_steepness / (1 - self.pull * self._mean_steepness)

    @property
    def correction(self) -> Array:
        """Terms of the evidence besides F: −½ log(1 − vh) for each output (N,)."""
        lost = np.log1p(-self.pull * self._mean_steepness)
        return -0.5 * self.eta.shape[1] * lost

"""Differences between the class of each row and all others, and slopes by them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relvec.likelihoods.probit_integrals import Orthant, orthant
from relvec.typing import Array, Indices

# A difference that no probability feels: Φ(−100) is 0.
_OUT_OF_REACH = 100.0


@dataclass(frozen=True)
class Comparisons:
    """Of the class of every row with all classes, by outputs ζ: η = ζCᵀ.

    Differences are η_own − η_j; the row's own class, which is no rival of itself, is
    put out of reach.
    """

    coding: Array  # (K, outputs) C
    own: Indices  # (N,)

    @classmethod
    def of(cls, coding: Array, y: Array) -> "Comparisons":
        """For rows y (N, outputs) of the coding."""
        return cls(coding, np.argmax(y @ coding.T, axis=1))

    def differences(self, zeta: Array) -> Array:
        """(N, K), zero for the own class."""
        eta = zeta @ self.coding.T
        return np.asarray(_sums(self._indicator * eta) - eta)

    def pulled(self, slopes: Array) -> Array:
        """By ζ (N, outputs), of slopes (N, K) by differences."""
        return (self._indicator * _sums(slopes) - slopes) @ self.coding

    def integrated(self, differences: Array, n_nodes: int) -> Orthant:
        """The integrals by differences (N, K); of two classes, by the one that is."""
        if len(self.coding) > 2:
            differences += _OUT_OF_REACH * self._indicator
            return orthant(differences, n_nodes=n_nodes)
        # That of a row with its own class is zero.
        alone, rival = orthant(_sums(differences)), 1 - self._indicator
        nothing = np.empty((len(differences), 0, 2))
        gradient, slopes = rival * alone.gradient, rival * alone.slopes
        return Orthant(alone.log_z, gradient, slopes, nothing)

    @cached_property
    def _indicator(self) -> Array:
        """One for the class of each row, zero for all others (N, K)."""
        return np.eye(len(self.coding))[self.own]


def _sums(rows: Array) -> Array:
    """Of every row (N, 1); few numbers each are added faster by a product."""
    return rows @ np.ones((rows.shape[1], 1))

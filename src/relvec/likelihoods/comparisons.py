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
        return np.asarray(eta[self._rows, self.own][:, None] - eta)

    def pulled(self, slopes: Array) -> Array:
        """By ζ (N, outputs), of slopes (N, K) by differences."""
        by_class = -slopes
        by_class[self._rows, self.own] += slopes.sum(axis=1)
        return by_class @ self.coding

    def integrated(self, differences: Array, n_nodes: int) -> Orthant:
        """The integrals by differences (N, K); of two classes, by the one that is."""
        if len(self.coding) > 2:
            differences[self._rows, self.own] = _OUT_OF_REACH
            return orthant(differences, n_nodes=n_nodes)
        # That of a row with its own class is zero.
        alone = orthant(differences.sum(axis=1, keepdims=True))
        gradient, slopes = self._rival * alone.gradient, self._rival * alone.slopes
        nothing = np.empty((len(differences), 0, 2))
        return Orthant(alone.log_z, gradient, slopes, nothing)

    @cached_property
    def _rows(self) -> Indices:
        return np.arange(len(self.own))

    @cached_property
    def _rival(self) -> Array:
        """One for the other of two classes (N, 2)."""
        return np.eye(2)[1 - self.own]

"""Inner products of all functions, given those of the features they are made of.

With Φ = F·C and FᵀWF = RᵀR, functions have the inner products of the columns of R·C:
vectors as long as there are features stand for columns as long as there are rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from relvec.linalg import wide_product
from relvec.precision import LOST_TO_ROUNDING
from relvec.typing import Array, Indices


class InnerProducts(Protocol):
    """ΦᵀWΦ, of which only what is asked for need be computed."""

    @property
    def squares(self) -> Array:
        """Its diagonal (M,)."""

    def across(self, indices: Indices) -> Array:
        """Some rows (n, M)."""

    def among(self, indices: Indices) -> Array:
        """The same columns of these (n, n)."""


@dataclass(frozen=True)
class Known:
    """All of them, computed already."""

    gram: Array  # (M, M)

    @property
    def squares(self) -> Array:
        return self.gram.diagonal()

    def across(self, indices: Indices) -> Array:
        return self.gram[indices]

    def among(self, indices: Indices) -> Array:
        return self.gram[indices[:, None], indices]


@dataclass(frozen=True)
class OfVectors:
    """Those of vectors that stand for the functions."""

    vectors: Array  # (M, r)

    @cached_property
    def squares(self) -> Array:
        return np.einsum("mr,mr->m", self.vectors, self.vectors)

    def across(self, indices: Indices) -> Array:
        return wide_product(self.vectors[indices], self.vectors.T)

    def among(self, indices: Indices) -> Array:
        chosen = self.vectors[indices]
        return chosen @ chosen.T


def upper_factor(gram: Array) -> Array:
    """R of FᵀWF = RᵀR; of a matrix a little larger where rounding left none."""
    shift = LOST_TO_ROUNDING * len(gram) * gram.diagonal().max(initial=0.0)
    factor, failed = lapack.dpotrf(gram.T, lower=0, clean=1)
    while failed:
        larger = gram.T + shift * np.eye(len(gram))
        factor, failed = lapack.dpotrf(larger, lower=0, clean=1)
        shift *= 10
    return factor

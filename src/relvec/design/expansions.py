"""How the functions of a dictionary depend on features: Φ = F·C.

F holds the features of every row, C their coefficients in every function.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from relvec.basis import Basis
from relvec.design.pivots import Pivots, choose_pivots, first_batch, worst_rows
from relvec.design.rows import Rows
from relvec.linalg import wide_product
from relvec.typing import AnyArray, Array, Indices

_LEAST_TOLERANCE = 1e-11
# Where the residuals of centres are this share of the tolerance, those of rows may be
# as many times the tolerance: an entry is off by the root of their product.
_MARGIN = 0.3
# Rows become pivots as long as there are not so many times as many then.
_MOST_GROWTH = 2


class Expansion(Protocol):
    """Features of rows and what they say about every function."""

    @property
    def n_features(self) -> int:
        """Columns of F."""
        ...

    @property
    def constant(self) -> bool:
        """Whether a column of ones goes before those that ``features`` returns."""
        ...

    def features(self, X: AnyArray) -> Array:
        """F of some rows, but for the ones."""
        ...

    def known(self, rows: Rows) -> Array | None:
        """F of all rows, if it is at hand."""
        ...

    def combine(self, products: Array, functions: Indices | None = None) -> Array:
        """``products @ C``, of all functions by default: (..., r) -> (..., M)."""
        ...

    def transposed(self, gram: Array) -> Array:
        """Cᵀ gram: (r, r) -> (M, r)."""
        ...

    def diagonal(self, half: Array) -> Array:
        """diag(half C) for ``half`` (K, M, r): (K, M)."""
        ...

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        """Of these rows the worst whose functions are off by more than stated."""
        ...

    def repaired(self, rows: AnyArray) -> "Expansion":
        """With features enough for these rows too; itself if that takes too many."""
        ...

    def refined(self) -> "Expansion | None":
        """A more accurate one; None if there is none."""
        ...


@dataclass(frozen=True)
class Whole:
    """Every function is its own feature: C = I, exact for any dictionary."""

    basis: Basis

    @property
    def n_features(self) -> int:
        return len(self.basis)

    @property
    def constant(self) -> bool:
        return False

    def features(self, X: AnyArray) -> Array:
        return self.basis(X)

    def known(self, rows: Rows) -> None:
        return None

    def combine(self, products: Array, functions: Indices | None = None) -> Array:
        return products if functions is None else products[..., functions]

    def transposed(self, gram: Array) -> Array:
        return gram

    def diagonal(self, half: Array) -> Array:
        return np.diagonal(half, axis1=1, axis2=2)

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        return X[:0]

    def repaired(self, rows: AnyArray) -> "Whole":
        return self

    def refined(self) -> None:
        return None


@dataclass(frozen=True)
class LowRank:
    """Features of a few pivots, and the constant, if it is in the basis, as another.

    No entry of Φ is off by more than ``tol`` times the largest k(x, x).
    """

    basis: Basis
    pivots: Pivots
    tol: float
    scale: float  # the largest k(x, x)
    most: int  # pivots
    finer: float  # no centre's residual is larger

    @classmethod
    def of(cls, basis: Basis, *, tol: float, most: int, seed: int) -> "LowRank | None":
        """Pivots among the centres; None if there would have to be too many."""
        centres = np.asarray(basis.centres, dtype=np.float64)
        scale = float(np.max(basis.kernel.diagonal(centres)))
        if most < 1 or not (np.isfinite(scale) and scale > 0):
            return None
        start = Pivots.none(basis.kernel, centres)
        first = first_batch(len(centres), most, seed)
        finer = _MARGIN * tol * scale
        pivots, features = choose_pivots(start, centres, finer, most, first)
        if len(pivots) > most:
            return None
        found = cls(basis, pivots, tol, scale, most, finer)
        vars(found)["_centre_features"] = features  # no need to evaluate them again
        return found

    @property
    def n_features(self) -> int:
        return len(self.pivots) + self.basis.bias

    @property
    def constant(self) -> bool:
        return self.basis.bias

    def features(self, X: AnyArray) -> Array:
        return self.pivots.features(X)

    def known(self, rows: Rows) -> Array | None:
        return self._centre_features if rows.are(self.basis.centres) else None

    @cached_property
    def _centre_features(self) -> Array:
        return self.features(np.asarray(self.basis.centres, dtype=np.float64))

    @cached_property
    def _coefficients(self) -> Array:
        """C (r, M) in column-major order, whose columns are gathered."""
        bias = int(self.basis.bias)
        coefficients = np.zeros((self.n_features, len(self.basis)), order="F")
        coefficients[bias:, bias:] = self._centre_features.T
        coefficients[:bias, :bias] = 1.0
        return coefficients

    def combine(self, products: Array, functions: Indices | None = None) -> Array:
        if functions is None:
            return wide_product(products, self._coefficients)
        return products @ self._coefficients[:, functions]

    def transposed(self, gram: Array) -> Array:
        return wide_product(gram.T, self._coefficients).T

    def diagonal(self, half: Array) -> Array:
        return np.einsum("rm,kmr->km", self._coefficients, half)

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        residual = self.pivots.residual(X, features)
        return X[worst_rows(residual, (self.tol * self.scale) ** 2 / self.finer)]

    def repaired(self, rows: AnyArray) -> "LowRank":
        most = min(self.most, _MOST_GROWTH * len(self.pivots))
        pivots, _ = choose_pivots(self.pivots, rows, self.finer, most)
        if len(pivots) <= most:
            return replace(self, pivots=pivots)
        # Too many rows are far from all centres to describe each of them. It is enough
        # to describe the centres so well that the residuals of rows do not matter.
        largest = np.max(self.pivots.residual(rows, self.features(rows)))
        least = _MARGIN * _LEAST_TOLERANCE * self.scale
        finer = max(least, (self.tol * self.scale) ** 2 / largest)
        if finer >= self.finer:
            return self
        centres = np.asarray(self.basis.centres, dtype=np.float64)
        pivots, _ = choose_pivots(self.pivots, centres, finer, self.most)
        if len(pivots) > self.most:
            return self
        return replace(self, pivots=pivots, finer=finer)

    def refined(self) -> "LowRank | None":
        tol = 1e-2 * self.tol
        if tol < _LEAST_TOLERANCE:
            return None
        return LowRank.of(self.basis, tol=tol, most=self.most, seed=0)

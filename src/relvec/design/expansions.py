"""How the functions of a dictionary depend on features: Φ = F·C.

F holds the features of every row, C their coefficients in every function.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import blas

from relvec.basis import Basis, blocks
from relvec.blockwise import in_order
from relvec.design.inner_products import InnerProducts, Known, OfVectors, upper_factor
from relvec.design.reduced import Reduced
from relvec.design.rows import Rows
from relvec.linalg import available_threads, wide_product
from relvec.precision import LEAST_TOLERANCE
from relvec.typing import AnyArray, Array, Indices


class Expansion(Protocol):
    """Features of rows and what they say about every function."""

    @property
    def n_features(self) -> int:
        """Columns of F."""

    @property
    def approximate(self) -> bool:
        """Whether functions are not quite what features say."""

    @property
    def constant(self) -> bool:
        """Whether a column of ones goes before those that ``features`` returns."""

    def features(self, X: AnyArray) -> Array:
        """F of some rows, but for the ones."""

    def known(self, rows: Rows) -> Array | None:
        """F of all rows, if it is at hand."""

    def combine(self, products: Array, functions: Indices | None = None) -> Array:
        """``products @ C``, of all functions by default: (..., r) -> (..., M)."""

    def inner_products(self, gram: Array, divisors: Array) -> InnerProducts:
        """Of all functions, divided by these numbers, given FᵀWF (r, r)."""

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        """Of these rows the worst whose functions are off by more than stated."""

    def repaired(self, rows: AnyArray) -> "Expansion":
        """With features enough for these rows too; itself if that takes too many."""

    def refined(self) -> "Expansion | None":
        """A more accurate one; None if there is none."""


@dataclass(frozen=True)
class Whole:
    """Every function is its own feature: C = I, exact for any dictionary."""

    basis: Basis
    approximate = constant = False

    @property
    def n_features(self) -> int:
        return len(self.basis)

    def features(self, X: AnyArray) -> Array:
        return self.basis(X)

    def known(self, rows: Rows) -> None:
        return None

    def combine(self, products: Array, functions: Indices | None = None) -> Array:
        return products if functions is None else products[..., functions]

    def inner_products(self, gram: Array, divisors: Array) -> Known:
        return Known(gram / (divisors[:, None] * divisors))

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        return X[:0]

    def repaired(self, rows: AnyArray) -> "Whole":
        return self

    def refined(self) -> None:
        return None


@dataclass(frozen=True)
class LowRank:
    """Features of a few pivots per kernel; the constant, if there is one, is another.

    No entry of Φ is off by more than ``tol`` times the largest k(x, x) of its kernel.
    """

    basis: Basis
    parts: tuple[Reduced, ...]  # one per kernel
    tol: float
    most: int  # pivots, of all kernels
    approximate = True

    @classmethod
    def of(cls, basis: Basis, *, tol: float, most: int, seed: int) -> "LowRank | None":
        """Pivots among the centres; None if there would have to be too many."""
        parts: list[Reduced] = []
        for group in basis.groups:
            left = most - sum(part.rank for part in parts)
            part = Reduced.of(group, tol=tol, most=left, seed=seed)
            if part is None:
                return None
            parts.append(part)
        return cls(basis, tuple(parts), tol, most)

    @property
    def n_features(self) -> int:
        return self.rank + self.basis.bias

    @property
    def rank(self) -> int:
        """Pivots of all kernels."""
        return sum(part.rank for part in self.parts)

    @property
    def constant(self) -> bool:
        return self.basis.bias

    def features(self, X: AnyArray) -> Array:
        return _beside([part.features(X) for part in self.parts])

    def known(self, rows: Rows) -> Array | None:
        if not all(rows.are(group.centres) for group in self.basis.groups):
            return None
        return _beside([part.centre_features for part in self.parts])

    @property
    def _blocks(self) -> list[tuple[slice, slice, Array]]:
        """Of C, which is block diagonal: features, functions, (r, M) coefficients.

        The constant, a feature and a function of its own, goes before them.
        """
        found, start = [], int(self.basis.bias)
        for part, functions in zip(self.parts, self.basis.parts, strict=True):
            features = slice(start, start + part.rank)
            found.append((features, functions, part.centre_features.T))
            start = features.stop
        return found

    def combine(self, products: Array, functions: Indices | None = None) -> Array:
        if functions is not None:
            return products @ self._coefficients(functions)
        combined = np.empty((*products.shape[:-1], len(self.basis)))
        if self.constant:
            combined[..., 0] = products[..., 0]
        for features, part, block in self._blocks:
            wide_product(products[..., features], block, out=combined[..., part])
        return combined

    def _coefficients(self, functions: Indices) -> Array:
        """Of some functions, (r, n)."""
        chosen = np.zeros((self.n_features, len(functions)), order="F")
        if self.constant:
            chosen[0] = functions == 0
        for features, part, block in self._blocks:
            own = np.flatnonzero((functions >= part.start) & (functions < part.stop))
            chosen[features, own] = block[:, functions[own] - part.start]
        return chosen

    def inner_products(self, gram: Array, divisors: Array) -> OfVectors:
        R = upper_factor(gram)
        vectors = np.zeros((len(self.basis), len(R)))
        if self.constant:
            vectors[0, 0] = R[0, 0] / divisors[0]
        for features, functions, block in self._blocks:
            own = (block.T, divisors[functions])
            _combine_columns(R, features, *own, out=vectors[functions])
        return OfVectors(vectors)

    def poor(self, X: AnyArray, features: Array) -> AnyArray:
        found, start = X[:0], 0
        for part in self.parts:
            own = features[:, start : start + part.rank]
            found = np.concatenate([found, part.poor(X, own)])
            start += part.rank
        return found

    def repaired(self, rows: AnyArray) -> "LowRank":
        parts = list(self.parts)
        for place, part in enumerate(parts):
            left = self.most - sum(other.rank for other in parts) + part.rank
            parts[place] = part.repaired(rows, left)
        same = all(new is old for new, old in zip(parts, self.parts, strict=True))
        return self if same else replace(self, parts=tuple(parts))

    def refined(self) -> "LowRank | None":
        tol = 1e-2 * self.tol
        if tol < LEAST_TOLERANCE:
            return None
        for part in self.parts:
            part.forget()  # its memory may be needed
        return LowRank.of(self.basis, tol=tol, most=self.most, seed=0)


def _combine_columns(
    R: Array, chosen: slice, coefficients: Array, divisors: Array, out: Array
) -> None:
    """coefficients R[:, chosen]ᵀ, its rows divided, for an upper triangular R."""
    corner = np.asfortranarray(R[chosen, chosen].T)
    above = R[: chosen.start, chosen].T

    def fill(part: slice) -> None:
        own = coefficients[part] / divisors[part, None]
        out[part, : chosen.start] = own @ above
        own = blas.dtrmm(1.0, corner, own.T, lower=1, trans_a=1, overwrite_b=1).T
        out[part, chosen] = own

    parts = blocks(len(coefficients), len(R))
    for _ in in_order(fill, parts, available_threads()):
        pass


def _beside(arrays: list[Array]) -> Array:
    """Side by side; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)

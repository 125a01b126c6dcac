"""A positive semi-definite kernel as inner products of a few features.

Pivoted partial Cholesky: with pivot rows Z and CCᵀ = k(Z, Z), the features
f(x) = C⁻¹k(Z, x) reproduce the kernel, k(x, z) ≈ f(x)ᵀf(z), with an error of at most
√(d(x)d(z)), where d(x) = k(x, x) − ‖f(x)‖² ≥ 0 is known for every row. Pivots are added
where d exceeds the tolerance: in batches of the worst rows, each batch factored by
LAPACK's own pivoted Cholesky; or a few, one at a time.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas, lapack

from relvec.basis import blocks, evaluated
from relvec.blockwise import in_order
from relvec.chance import generator
from relvec.kernels import Kernel
from relvec.linalg import available_threads
from relvec.typing import AnyArray, Array, Indices

_FIRST_BATCH = 1000  # centres by chance to begin with; not varied
_BATCH = 500  # then the worst described at a time; not varied
_ROOM = 100  # columns to spare for pivots of later batches


@dataclass(frozen=True)
class Pivots:
    """Pivot rows and the factor of their kernel matrix."""

    kernel: Kernel
    rows: AnyArray  # (r, n_features)
    factor: Array  # (r, r) lower
    # The inverse of the factor: products with it are several times faster than
    # solves, and the tolerance bounds its condition.
    whitener: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        inverse = np.zeros((0, 0))
        if len(self.rows):
            inverse = lapack.dtrtri(self.factor, lower=1)[0]
        object.__setattr__(self, "whitener", inverse)

    @classmethod
    def none(cls, kernel: Kernel, like: AnyArray) -> "Pivots":
        """Before the first."""
        return cls(kernel, like[:0], np.empty((0, 0)))

    def __len__(self) -> int:
        return len(self.rows)

    def features(self, X: AnyArray) -> Array:
        """f(x) of every row, (n, r)."""
        if len(self) == 0:
            return np.empty((len(X), 0))
        values = np.ascontiguousarray(evaluated(self.kernel, X, self.rows))
        return blas.dtrmm(1.0, self.whitener, values.T, lower=1, overwrite_b=1).T

    def residual(self, X: AnyArray, features: Array) -> Array:
        """d(x) of every row, given its features."""
        explained = np.einsum("nr,nr->n", features, features)
        return self.kernel.diagonal(X) - explained

    def truncated(self, most: int) -> "Pivots":
        """The first of them."""
        if len(self) <= most:
            return self
        factor = np.ascontiguousarray(self.factor[:most, :most])
        return Pivots(self.kernel, self.rows[:most], factor)

    def greedy(self, X: AnyArray, most: int, tol: float) -> "Pivots":
        """With rows of X, one at a time where most is left, until there are so many."""
        size = len(self)
        features = np.empty((len(X), max(most, size)))
        features[:, :size] = self.features(X)
        residual = self.residual(X, features[:, :size])
        chosen: list[int] = []
        while size < most and len(X):
            worst = int(np.argmax(residual))
            if residual[worst] <= tol:
                break
            values = evaluated(self.kernel, X, X[worst : worst + 1])[:, 0]
            values -= features[:, :size] @ features[worst, :size]
            features[:, size] = values / np.sqrt(residual[worst])
            residual -= features[:, size] ** 2
            chosen.append(worst)
            size += 1
        factor = np.zeros((size, size))
        factor[: len(self), : len(self)] = self.factor
        factor[len(self) :] = np.tril(features[chosen, :size], len(self))
        return Pivots(self.kernel, np.concatenate([self.rows, X[chosen]]), factor)

    def extended(self, X: AnyArray, features: Array, tol: float) -> "Pivots":
        """With those of the rows X that bring all their d(x) below the tolerance."""
        left = np.ascontiguousarray(evaluated(self.kernel, X, X))
        if len(self):
            left -= features @ features.T
        # Symmetric: its transpose is what LAPACK calls column-major.
        lower, order, rank, _ = lapack.dpstrf(left.T, tol=tol, lower=1, overwrite_a=1)
        chosen = order[:rank] - 1
        size = len(self)
        factor = np.zeros((size + rank, size + rank))
        factor[:size, :size] = self.factor
        factor[size:, :size] = features[chosen]
        factor[size:, size:] = np.tril(lower[:rank, :rank])
        return Pivots(self.kernel, np.concatenate([self.rows, X[chosen]]), factor)


def choose_pivots(
    pivots: Pivots, X: AnyArray, tol: float, most: int, first: Indices | None = None
) -> tuple[Pivots, Array]:
    """Pivots among the rows X, until d ≤ tol for all of them, and their features.

    Gives up once there are more than ``most``, before their features take memory.
    ``first`` are rows to begin with.
    """
    features = pivots.features(X)
    residual = pivots.residual(X, features)
    batch = first if first is not None else worst_rows(residual, tol)
    while len(batch):
        size = len(pivots)
        pivots = pivots.extended(X[batch], features[batch], tol)
        if len(pivots) == size or len(pivots) > most:
            break
        features = _grown(features, len(pivots))
        _add_features(pivots, size, X, features, residual)
        batch = worst_rows(residual, tol)
    return pivots, features


def first_batch(n_rows: int, most: int, seed: int) -> Indices:
    """Some rows to begin with, by chance: twice as many as there may be pivots."""
    order = generator(seed).permutation(n_rows)
    return np.sort(order[: min(_FIRST_BATCH, 2 * most)])


def worst_rows(residual: Array, tol: float) -> Indices:
    """Those with the largest d above the tolerance, a batch of them at most."""
    over = np.flatnonzero(residual > tol)
    if len(over) <= _BATCH:
        return over
    return over[np.argsort(-residual[over], kind="stable")[:_BATCH]]


def _grown(features: Array, size: int) -> Array:
    """With room for further columns; what is at hand already is used up first."""
    room = features.base
    if not isinstance(room, np.ndarray) or room.ndim != 2 or room.shape[1] < size:
        room = np.empty((len(features), size + _ROOM))
        room[:, : features.shape[1]] = features
    return room[:, :size]


def _add_features(
    pivots: Pivots, known: int, X: AnyArray, features: Array, residual: Array
) -> None:
    """Fill in the columns of pivots beyond those known, and take them from d."""
    corner = np.asfortranarray(pivots.whitener[known:, known:])
    across = pivots.factor[known:, :known].T

    def fill(part: slice) -> None:
        values = evaluated(pivots.kernel, X[part], pivots.rows[known:])
        values -= features[part, :known] @ across
        fresh = blas.dtrmm(1.0, corner, values.T, lower=1, overwrite_b=1).T
        features[part, known:] = fresh
        residual[part] -= np.einsum("nr,nr->n", fresh, fresh)

    parts = blocks(len(X), len(pivots))
    for _ in in_order(fill, parts, available_threads()):
        pass

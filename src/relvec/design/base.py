"""What the engine asks of a dictionary Φ: a handful of products, never its entries.

Columns are presented with unit norm under the sample weights; ``column_norms`` says
what they were divided by. Row weights of shape (N, 1) are shared by all outputs.
"""

from collections.abc import Sequence
from itertools import cycle
from typing import Protocol

import numpy as np

from relvec.typing import Array, Indices


def each_output(prior_precision: Array, precision: Array) -> tuple[Array, Array]:
    """α (K, n) and B (K, N) of every output, one of each where all share both."""
    alphas, weights = np.atleast_2d(prior_precision), precision.T
    if len(alphas) < len(weights):
        return np.broadcast_to(alphas, (len(weights), alphas.shape[1])), weights
    return alphas, np.broadcast_to(weights, (len(alphas), weights.shape[1]))


def mixed_targets(mixed: Sequence[Array], target: Array) -> Array:
    """Vᵀ target (K, n) for columns V of each output, or those that all share."""
    each = zip(cycle(mixed), target.T)
    return np.stack([one @ columns for columns, one in each])


class DesignMatrix(Protocol):
    """A dictionary of basis functions evaluated on the training rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_basis)."""

    @property
    def column_norms(self) -> Array:
        """Norms of the original columns; 0 for a column that vanishes."""

    @property
    def held(self) -> bool:
        """Whether products of all columns cost little; else a search takes views."""

    @property
    def most_entries(self) -> float:
        """Numbers that a view may hold."""

    @property
    def most_columns(self) -> int:
        """Columns that a view may have."""

    def view(
        self, columns: Indices, rows: Indices | None = None, *, lazy: bool = False
    ) -> "DesignMatrix":
        """Some columns (ascending) on some rows (ascending), all by default.

        A ``lazy`` one is not evaluated before it is asked for products.
        """

    def matvec(self, weights: Array, indices: Indices) -> Array:
        """Φ[:, indices] weightsᵀ: (K, n) -> (N, K)."""

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        """Φ[:, indices]ᵀ values, all columns by default: (N, K) -> (K, n)."""

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        """Φ[:, indices]ᵀ diag(row_weights) Φ: (K, n, M)."""

    def beside(
        self, indices: Indices, mixing: Array, row_weights: Array, target: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Products of all columns and of a few mixed ones V = Φ[:, indices] mixing.

        diag(ΦᵀWΦ), ΦᵀW target, VᵀWΦ and VᵀW target: (K or 1, M), (K, M),
        (K or 1, n, M) and (K, n), from one pass over the dictionary, for mixing
        (K or 1, n, n).
        """

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        """Φ[:, indices]ᵀ diag(row_weights) Φ[:, indices]: (K, n, n)."""

    def coordinates(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array]:
        """V (r, n) and z (r, K) with the inner products of W^½[Φ[:, indices] target].

        For row weights (N,), with all digits: rows rotated until few of them are left.
        """

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        """diag(ΦᵀWΦ) and ΦᵀW target of all columns, (K or 1, M) and (K, M)."""

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        """Lower Cholesky factors of I + A^(-1/2)ΦᵀBΦA^(-1/2): (K or 1, n, n).

        One for outputs that share both ``prior_precision``, (n,) or (K, n), and
        ``precision``, (N, K or 1).
        """

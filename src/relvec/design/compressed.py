"""A Gaussian problem of which only inner products are left.

With [Φ t]ᵀW[Φ t] factored, its triangle stands for all rows: every product of columns
and targets is what it was. Its rows get equal weights that add up to those of the rows
they stand for, so that the compressed problem is a problem like any other.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack, solve_triangular

from relvec.design.held import DenseDesign
from relvec.precision import DEPENDENT
from relvec.typing import Array


@dataclass(frozen=True)
class Inner:
    """Inner products of functions and targets, which add up over rows."""

    gram: Array  # (M, M) ΦᵀWΦ
    target: Array  # (M,) ΦᵀWt, or (M, K) of several
    target_squares: float | Array  # tᵀWt, or (K,)
    weight: float  # Σv

    @classmethod
    def of(cls, functions: Array, target: Array, sample_weight: Array) -> "Inner":
        """Of some rows."""
        root = np.sqrt(sample_weight)
        rows, values = functions * root[:, None], target * root
        weight = float(sample_weight.sum())
        return cls(rows.T @ rows, values @ rows, float(values @ values), weight)

    def __add__(self, other: "Inner") -> "Inner":
        return Inner(
            self.gram + other.gram,
            self.target + other.target,
            self.target_squares + other.target_squares,
            self.weight + other.weight,
        )

    def shifted(self, offset: float, ones: Array, total: float) -> "Inner":
        """For targets less an offset, given ΦᵀW1 and Σvt."""
        squares = self.target_squares - offset * (2 * total - offset * self.weight)
        target = self.target - offset * ones
        return Inner(self.gram, target, max(squares, 0.0), self.weight)


def compressed(inner: Inner) -> tuple[DenseDesign, Array, Array]:
    """Design, targets (rows, K) and weights of as few rows as there are functions.

    And one for each target, for what functions do not tell of it: products of targets
    among each other are not kept.
    """
    size = np.sqrt(np.maximum(inner.gram.diagonal(), 0.0))
    divisors = np.where(size > 0, size, 1.0)
    unit = inner.gram / divisors / divisors[:, None]
    lower, order, rank, _ = lapack.dpstrf(unit, tol=DEPENDENT, lower=1)
    order = order - 1
    factor = np.tril(lower)[:, :rank]
    target = inner.target.reshape(len(size), -1)
    n_targets = target.shape[1]
    rows = np.zeros((rank + n_targets, len(size)))
    rows[:rank, order] = factor.T
    pivots = (target / divisors[:, None])[order[:rank]]
    values = np.zeros((rank + n_targets, n_targets))
    values[:rank] = solve_triangular(factor[:rank], pivots, lower=True)
    rest = inner.target_squares - np.array([float(one @ one) for one in values.T])
    values[rank:] = np.diag(np.sqrt(np.maximum(rest, 0.0)))
    stand_in = in_place_of_rows(rows * divisors, values, inner.weight)
    return replace(stand_in[0], products=unit), *stand_in[1:]


def in_place_of_rows(
    functions: Array, target: Array, weight: float
) -> tuple[DenseDesign, Array, Array]:
    """Design, targets and weights of rows (r, M), (r, K) that stand for so many."""
    each = weight / len(functions)
    weights, root = np.full(len(functions), each), np.sqrt(each)
    design = DenseDesign.weighted(np.asfortranarray(functions / root), weights)
    return design, target / root, weights

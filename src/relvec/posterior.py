"""The Gaussian posterior over the weights of the active basis functions.

Σ = (A + H)⁻¹ with H = ΦᵀBΦ and A = diag(α), (6) and (12), is kept as the Cholesky
factor L of I + A^(-1/2) H A^(-1/2), whose eigenvalues are at least one however
dependent the columns are. The factor does not change when columns or targets are
rescaled; only α and μ do.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from relvec.linalg import solve_graded, solve_lower, solve_upper
from relvec.precision import DIFFERENCE_LIMIT
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class Posterior:
    """N(mean, Σ) over the weights of the ``active`` columns, one per output.

    Outputs that have α and H in common share one Σ.
    """

    active: Indices  # (n,) columns of the dictionary
    prior_precision: Array  # (n,) α, shared by the outputs, or (K, n)
    mean: Array  # (K, n)
    factor: Array  # (K or 1, n, n) lower Cholesky factor of I + A^(-1/2) H A^(-1/2)

    def solve(self, right: Array) -> Array:
        """Σ right for right sides (K, n)."""
        root = 1 / np.sqrt(self.prior_precision)
        if len(self.factor) == 1 < len(right) and right.size:
            # LAPACK reads columns: what is lower to us is upper to it.
            L = self.factor[0]
            return root * lapack.dpotrs(L.T, (root * right).T, lower=0)[0].T
        half = solve_lower(self.factor, (root * right)[:, :, None])
        return root * solve_upper(self.factor, half)[:, :, 0]

    @property
    def condition(self) -> float:
        """Largest diagonal element of I + A^(-1/2) H A^(-1/2)."""
        squares = self.factor * self.factor
        return float(squares.sum(axis=-1).max(initial=1.0))

    @cached_property
    def whitener(self) -> Array:
        """L⁻¹A^(-1/2), or a rotation of it; its Gram matrix is Σ (K or 1, n, n)."""
        root = 1 / np.sqrt(np.atleast_2d(self.prior_precision))
        right = root[:, :, None] * np.eye(root.shape[1])
        if self.condition < DIFFERENCE_LIMIT:
            return solve_lower(self.factor, right)
        # Neighbours side by side in L cost digits, and none in falling order.
        return solve_graded(self.factor, right)

    @cached_property
    def covariance(self) -> Array:
        """Σ (K or 1, n, n)."""
        return np.swapaxes(self.whitener, 1, 2) @ self.whitener

    @property
    def log_determinant(self) -> float:
        """log |I + A^(-1/2) H A^(-1/2)|, summed over outputs."""
        diagonals = np.diagonal(self.factor, axis1=1, axis2=2)
        shared = len(self.mean) / len(self.factor)
        return float(2 * shared * np.log(diagonals).sum())

    @property
    def penalty(self) -> float:
        """wᵀAw at the mean, summed over outputs."""
        return float(np.sum(self.prior_precision * self.mean**2))

    @cached_property
    def variances(self) -> Array:
        """Σᵢᵢ (K, n)."""
        squares = np.einsum("krn,krn->kn", self.whitener, self.whitener)
        return np.broadcast_to(squares, self.mean.shape)

    @property
    def effective_parameters(self) -> Array:
        """Σᵢγᵢ with γᵢ = 1 − αᵢΣᵢᵢ, per output."""
        return np.sum(1 - self.prior_precision * self.variances, axis=-1)

    def predict(self, functions: Any) -> tuple[Array, Array]:
        """Mean and variance of η (N, K) from rows of the active functions (N, n).

        These may be a sparse array.
        """
        whitened = [functions @ whitener.T for whitener in self.whitener]
        variance = [np.einsum("nr,nr->n", rows, rows) for rows in whitened]
        mean = functions @ self.mean.T
        return mean, np.broadcast_to(np.column_stack(variance), mean.shape)

    def reordered(self, order: Indices) -> "Posterior":
        """The same distribution over the same weights in another order."""
        # Rows of a factor in another order are one but for a rotation.
        upper = np.linalg.qr(np.swapaxes(self.factor[:, order], 1, 2), mode="r")
        signs = np.sign(np.diagonal(upper, axis1=1, axis2=2))
        return Posterior(
            active=self.active[order],
            prior_precision=self.prior_precision[..., order],
            mean=self.mean[:, order],
            factor=np.swapaxes(signs[:, :, None] * upper, 1, 2),
        )

    def rescaled(self, weights: Array) -> "Posterior":
        """The same distribution over weights multiplied by ``weights`` (n,)."""
        # A precision beyond the range of float64 is as good as infinite.
        with np.errstate(over="ignore"):
            precision = self.prior_precision / weights / weights
        return replace(self, mean=self.mean * weights, prior_precision=precision)

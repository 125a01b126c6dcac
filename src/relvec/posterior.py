"""The Gaussian posterior over the weights of the active basis functions.

Σ = (A + H)⁻¹ with H = ΦᵀBΦ and A = diag(α), (6) and (12), is kept as the Cholesky
factor L of I + A^(-1/2) H A^(-1/2), whose eigenvalues are at least one however
dependent the columns are. The factor does not change when columns or targets are
rescaled; only α and μ do.

Outputs have a Σ each, or one in common; or all weights together have one, with what
couples two outputs.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

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
        if len(self.factor) < len(root):
            return self._turned(np.eye(root.shape[1])[None]) * root[:, None, :]
        return self._turned(root[:, :, None] * np.eye(root.shape[1]))

    def _turned(self, right: Array) -> Array:
        """L⁻¹ right, or a rotation of it."""
        if self.condition < DIFFERENCE_LIMIT:
            return solve_lower(self.factor, right)
        # Neighbours side by side in L cost digits, and none in falling order.
        return solve_graded(self.factor, right)

    @cached_property
    def covariance(self) -> Array:
        """Σ (K or 1, n, n)."""
        each = self.whitener[: len(self.factor)]
        covariance = np.swapaxes(each, 1, 2) @ each
        if len(each) == len(self.whitener):
            return covariance
        return self.proportions[:, None, None] * covariance

    @cached_property
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
    def proportions(self) -> Array:
        """(K,) of Σ beside that of the first output, with which others share L."""
        alpha = self.prior_precision
        if alpha.size == 0:
            return np.ones(len(alpha))
        least = int(np.argmin(alpha[0]))  # others may be out of range
        return np.asarray(alpha[0, least] / alpha[:, least])

    @property
    def information(self) -> Array:
        """φᵀBφ of every function (K or 1, n)."""
        diagonal = np.einsum("kij,kij->ki", self.factor, self.factor)
        return self.prior_precision * (diagonal - 1)

    @property
    def separated(self) -> "Posterior":
        """Without what couples two outputs."""
        return self

    @property
    def coupled(self) -> bool:
        """Whether outputs have covariances."""
        return False

    @property
    def spread_shape(self) -> tuple[int, ...]:
        """Of what ``predict`` says of a row beside its mean."""
        return (len(self.mean),)

    @property
    def effective_parameters(self) -> Array:
        """Σᵢγᵢ with γᵢ = 1 − αᵢΣᵢᵢ, per output."""
        return np.sum(1 - self.prior_precision * self.variances, axis=-1)

    def predict(self, functions: Any) -> tuple[Array, Array]:
        """Mean and variance of η (N, K) from rows of the active functions (N, n).

        These may be a sparse array.
        """
        mean = functions @ self.mean.T
        each = self.whitener[: len(self.factor)]
        # One output after another: what is whitened is as large as the functions.
        variance = np.array([_row_squares(functions @ one.T) for one in each])
        if len(each) < len(self.whitener):
            variance = np.outer(self.proportions, variance[0])
        # Assigned, what outputs share goes to all; ``broadcast_to`` takes far longer.
        spread = np.empty(mean.shape)
        spread.T[:] = variance
        return mean, spread

    def drawn(self, normal: Array) -> Array:
        """Weights (count, K, n) from as many standard normal numbers."""
        each = np.broadcast_to(
            self.whitener, (len(self.mean), *self.whitener.shape[1:])
        )
        return self.mean + np.einsum("ckr,krn->ckn", normal, each)

    def reordered(self, order: Indices) -> Self:
        """The same distribution over the same weights in another order."""
        return replace(
            self,
            active=self.active[order],
            prior_precision=self.prior_precision[..., order],
            mean=self.mean[:, order],
            factor=_reordered(self.factor, order),
        )

    def rescaled(self, weights: Array) -> Self:
        """The same distribution over weights multiplied by ``weights`` (n,)."""
        # A precision beyond the range of float64 is as good as infinite.
        with np.errstate(over="ignore", under="ignore"):
            precision = self.prior_precision / weights / weights
        if np.any(precision < np.finfo(np.float64).tiny):
            raise ValueError(
                "the functions of the model are so small that their weights reach "
                f"{np.max(weights):.0e}, and floating point cannot hold the variance "
                "of such weights: scale the features to larger numbers"
            )
        return replace(self, mean=self.mean * weights, prior_precision=precision)


@dataclass(frozen=True)
class CoupledPosterior(Posterior):
    """The same of the weights of all outputs together.

    The factor is one of all weights, (1, Kn, Kn), an output after the other; α is
    (K, n). Rows are predicted with a covariance of their outputs, (N, K, K).
    """

    uncoupled: Posterior  # the same without what couples outputs

    def solve(self, right: Array) -> Array:
        root = 1 / np.sqrt(self.prior_precision)
        half = solve_lower(self.factor, (root * right).reshape(1, -1, 1))
        return root * solve_upper(self.factor, half).reshape(right.shape)

    @cached_property
    def whitener(self) -> Array:
        root = 1 / np.sqrt(self.prior_precision.reshape(1, -1, 1))
        return solve_lower(self.factor, root * np.eye(root.size))

    @cached_property
    def log_determinant(self) -> float:
        return float(2 * np.log(np.diagonal(self.factor[0])).sum())

    @cached_property
    def variances(self) -> Array:
        squares = np.einsum("rn,rn->n", self.whitener[0], self.whitener[0])
        return squares.reshape(self.mean.shape)

    @property
    def information(self) -> Array:
        diagonal = np.einsum("ij,ij->i", self.factor[0], self.factor[0])
        return self.prior_precision * (diagonal.reshape(self.mean.shape) - 1)

    @property
    def separated(self) -> Posterior:
        return self.uncoupled

    def drawn(self, normal: Array) -> Array:
        found = normal.reshape(len(normal), -1) @ self.whitener[0]
        return self.mean + found.reshape(normal.shape)

    def reordered(self, order: Indices) -> Self:
        n_outputs, size = self.mean.shape
        places = (size * np.arange(n_outputs)[:, None] + order).ravel()
        return replace(
            self,
            active=self.active[order],
            prior_precision=self.prior_precision[:, order],
            mean=self.mean[:, order],
            factor=_reordered(self.factor, places),
            uncoupled=self.uncoupled.reordered(order),
        )

    def rescaled(self, weights: Array) -> Self:
        uncoupled = self.uncoupled.rescaled(weights)
        return replace(super().rescaled(weights), uncoupled=uncoupled)

    @property
    def coupled(self) -> bool:
        return True

    @property
    def spread_shape(self) -> tuple[int, ...]:
        return (len(self.mean), len(self.mean))

    def predict(self, functions: Any) -> tuple[Array, Array]:
        """Mean (N, K) and covariance (N, K, K) of η from rows of the functions."""
        n_outputs, size = self.mean.shape
        blocks = self.covariance[0].reshape(n_outputs, size, n_outputs, size)
        dense = functions.toarray() if hasattr(functions, "toarray") else functions
        covariance = np.empty((dense.shape[0], n_outputs, n_outputs))
        for k in range(n_outputs):
            for j in range(k + 1):
                between = np.einsum("nr,nr->n", dense @ blocks[k, :, j], dense)
                covariance[:, k, j] = covariance[:, j, k] = between
        return dense @ self.mean.T, covariance


def _row_squares(rows: Array) -> Array:
    """Σ of the squares of each row."""
    return np.asarray(np.einsum("nr,nr->n", rows, rows))


def _reordered(factors: Array, order: Indices) -> Array:
    """Cholesky factors of matrices with rows and columns in another order."""
    # Rows of a factor in another order are one but for a rotation.
    upper = np.linalg.qr(np.swapaxes(factors[:, order], 1, 2), mode="r")
    signs = np.sign(np.diagonal(upper, axis1=1, axis2=2))
    return np.swapaxes(signs[:, :, None] * upper, 1, 2)

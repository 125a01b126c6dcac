"""Basis functions of one kernel, each with its own length scales.

With s = Σⱼ (xⱼ − zⱼ)²/ℓⱼ² and k = f(s), the derivatives are

    ∂k/∂log ℓⱼ = −2 f′(s)·(xⱼ − zⱼ)²/ℓⱼ²        ∂k/∂xⱼ = 2 f′(s)·(xⱼ − zⱼ)/ℓⱼ²

They are never formed for all pairs and features: only their sums over rows or centres
are needed, which are products of matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relvec.kernels.stationary import Radial, apply, squared_distances
from relvec.typing import AnyArray, Array, Indices

# Up to this many features differences are exact, as in ``squared_distances``.
_FEW_FEATURES = 4


@dataclass(frozen=True)
class PerCentreScale:
    """Basis functions x ↦ f(‖(x − zₘ)/ℓₘ‖²) for every centre zₘ."""

    kernel: Radial  # but for its length scale
    centres: AnyArray  # (n, n_features)
    scales: Array  # (n, 1), or (n, d) for the d features that the kernel sees

    positive_definite = False  # each centre has its own kernel
    compact = False

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def process_kernel(self) -> Radial | None:
        """The kernel with the median length scales; None without functions."""
        if not (len(self) and self.kernel.positive_definite):
            return None
        scales = np.exp(np.mean(np.log(self.scales), axis=0))
        scale = scales if len(scales) > 1 else float(scales[0])
        return replace(self.kernel, length_scale=scale, width=None)

    def values(self, X: AnyArray) -> Array:
        """Values (n_rows, n)."""
        return apply(self.kernel._profile, self._squares(X))

    def fill(self, X: AnyArray, functions: Array) -> None:
        """Evaluate into an array of shape (n_rows, n)."""
        functions[...] = self.values(X)

    def subset(self, chosen: Indices) -> "PerCentreScale":
        """A subset of the functions."""
        return PerCentreScale(self.kernel, self.centres[chosen], self.scales[chosen])

    def with_gradient(self, X: AnyArray) -> tuple[Array, Callable[[Array], Array]]:
        """Values, and a function from their gradient to that by log ℓ.

        The argument of the function is the gradient by the values, (n_rows, n); its
        result has the shape of the scales.
        """
        squares = self._squares(X)
        values = apply(self.kernel._profile, squares.copy())

        def by_log_scales(gradient: Array) -> Array:
            pulled = gradient * self.kernel._derivative_beside(values, squares)
            pulled *= -2
            if self.scales.shape[1] == 1:
                return np.einsum("nm,nm->m", pulled, squares)[:, None]
            return self._by_feature(X, pulled)

        return values, by_log_scales

    def input_gradient(self, X: AnyArray, weights: Array) -> Array:
        """∂/∂x Σₘ weightsₘ kₘ(x) at every row, (n_rows, features seen)."""
        rows, centres = self._centred(X)
        inverse = np.broadcast_to(self.scales**-2.0, centres.shape)
        steep = 2 * self.kernel._derivative(self._squares(X)) * weights
        return np.asarray(rows * (steep @ inverse) - steep @ (centres * inverse))

    def _centred(self, X: AnyArray) -> tuple[Array, Array]:
        """The used features, relative to an origin among the centres."""
        rows, centres, _ = self.kernel.seen(X, self.centres)
        origin = centres.mean(axis=0) if len(centres) else 0.0
        return rows - origin, centres - origin

    def _squares(self, X: AnyArray) -> Array:
        """s (n_rows, n)."""
        rows, centres = self._centred(X)
        exact = self.kernel._rough
        if self.scales.shape[1] == 1:
            # Scaling first keeps squares in range for features of any magnitude.
            unit = np.exp(np.mean(np.log(self.scales))) if len(self) else 1.0
            squares = squared_distances(rows / unit, centres / unit, exact=exact)
            return np.asarray(squares / (self.scales[:, 0] / unit) ** 2)
        if exact or rows.shape[1] <= _FEW_FEATURES:
            squares = np.zeros((len(rows), len(centres)))
            for x, z, scales in zip(rows.T, centres.T, self.scales.T, strict=True):
                squares += (np.subtract.outer(x, z) / scales) ** 2
            return squares
        inverse = self.scales**-2.0
        squares = rows**2 @ inverse.T - 2 * rows @ (centres * inverse).T
        squares += np.sum(centres**2 * inverse, axis=1)
        return np.maximum(squares, 0, out=squares)

    def _by_feature(self, X: AnyArray, pulled: Array) -> Array:
        """Σ over rows of pulled·(xⱼ − zⱼ)²/ℓⱼ², (n, d)."""
        rows, centres = self._centred(X)
        if rows.shape[1] <= _FEW_FEATURES:
            pairs = zip(rows.T, centres.T, strict=True)
            sums = [
                np.einsum("nm,nm->m", pulled, np.subtract.outer(x, z) ** 2)
                for x, z in pairs
            ]
            return np.column_stack(sums) / self.scales**2
        sums_of_rows = pulled.T @ rows
        total = pulled.sum(axis=0)[:, None]
        sums = pulled.T @ rows**2 - 2 * centres * sums_of_rows + centres**2 * total
        return np.asarray(sums / self.scales**2)

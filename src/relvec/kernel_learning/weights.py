"""Weights of a convex combination of kernels that raise the evidence of a model.

Solves   max over θ on the simplex of the log evidence, Φ = Σₛ θₛΦₛ
Given    the columns Φₛ of a model's functions by every kernel, its α and its
         pseudo-observations, which are held
By       quasi-Newton steps on z with θ = softmax z and, for every output,
             ∂L/∂Φ = B(t̂ − Φμ)μᵀ − BΦΣ
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from relvec.evidence.moments import Moments, Solution, solve
from relvec.likelihoods import PseudoObservations
from relvec.typing import Array

_MOST_STEPS = 30
_LEAST_WEIGHT = 1e-12  # to begin with: a weight of zero would never move


@dataclass(frozen=True)
class Mixed:
    """A model whose functions are mixed of several kernels."""

    parts: Array  # (S, N, n) its functions by every kernel
    constant: Array  # (N, 0 or 1)
    prior_precision: Array  # (0 or 1 + n,)
    seen: PseudoObservations
    count: float  # Σv

    def log_evidence(self, weights: Array) -> tuple[float, Array]:
        """Of the pseudo-observations, and its slope by the weights (S,)."""
        kernel = np.tensordot(weights, self.parts, axes=1)
        functions = np.hstack([self.constant, kernel])
        model = solve(self._moments(functions), self.prior_precision, self._noise)
        slope = self._slope(functions, model)[:, self.constant.shape[1] :]
        return model.log_evidence, np.tensordot(self.parts, slope, axes=2)

    @property
    def _noise(self) -> Array:
        return self.seen.noise_precision

    def _moments(self, functions: Array) -> Moments:
        rows, target = self.seen.row_weights, self.seen.target
        weighted = [functions * w[:, None] for w in rows.T]
        gram = np.stack([part.T @ functions for part in weighted])
        squares = np.sum(rows * target**2, axis=0)
        return Moments(gram, (rows * target).T @ functions, squares, self.count)

    def _slope(self, functions: Array, model: Solution) -> Array:
        """∂L/∂Φ, summed over outputs."""
        root = 1 / np.sqrt(self.prior_precision)
        left = self.seen.target - functions @ model.mean.T
        slope = (self.seen.precision * left) @ model.mean
        sharing = len(model.mean) / len(model.shrinkage)
        for precision, P in zip(self.seen.precision.T, model.shrinkage, strict=True):
            Sigma = root[:, None] * P * root
            slope -= sharing * precision[:, None] * (functions @ Sigma)
        return slope


def better_weights(model: Mixed, weights: Array) -> Array:
    """Weights at which the evidence is higher, if any are near."""

    def falling(z: Array) -> tuple[float, Array]:
        theta = softmax(z)
        value, slope = model.log_evidence(theta)
        return -value, -theta * (slope - theta @ slope)

    start = np.log(np.maximum(weights, _LEAST_WEIGHT))
    found = minimize(
        falling, start, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS}
    )
    return np.asarray(softmax(found.x))

"""A model of fixed basis functions, and the gradient of its evidence by their values.

Given    functions Φ, precisions α and pseudo-observations t̂ with precision B
Gives    the log evidence L and, summed over outputs,

    ∂L/∂Φ      = B(t̂ − Φμ)μᵀ − BΦΣ
    ∂L/∂log αᵢ = ½(1 − pᵢ − mᵢ²)                (P and m as in ``evidence.newton``)
    ∂L/∂log β  = ½(N − Σ(1 − pᵢ) − ρ)           ρ = β·residual

The first is (27) of Yuan et al. with the factor σ⁻² that it lacks. Outputs share α, or
each has its own; then so does ∂L/∂log α.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.evidence.newton import Ascent, Moments, Solution, ascend
from relvec.kernel_learning.bound import WeightBound
from relvec.likelihoods import PseudoObservations
from relvec.typing import Array


@dataclass(frozen=True)
class Observations:
    """The data as a model sees them, fixed while its functions move."""

    seen: PseudoObservations
    count: float  # Σv
    ceiling: Array | None = None  # of the noise precision; None: it is not estimated
    bound: WeightBound | None = None  # on weights of functions whose scales move

    def moments(self, functions: Array) -> Moments:
        """The sufficient statistics: inner products with and of functions (N, n)."""
        rows, target = self.seen.row_weights, self.seen.target
        gram = np.stack([functions.T @ (functions * w[:, None]) for w in rows.T])
        squares = np.sum(rows * target**2, axis=0)
        products = np.broadcast_to(rows * target, target.shape).T @ functions
        return Moments(gram, products, squares, self.count)


@dataclass(frozen=True)
class FixedBasisModel:
    """Functions with the precisions of their weights and of the noise."""

    functions: Array  # (N, n)
    prior_precision: Array  # (n,) α, shared by the outputs, or (K, n)
    noise_precision: Array  # (K or 1,)
    observations: Observations

    @cached_property
    def solution(self) -> Solution:
        """The posterior."""
        moments = self.observations.moments(self.functions)
        return moments.solved(self.prior_precision, self.noise_precision)

    @property
    def log_evidence(self) -> float:
        """Of the pseudo-observations."""
        return self.solution.log_evidence

    @property
    def eta(self) -> Array:
        """Φμ (N, K)."""
        return self.functions @ self.solution.mean.T

    @property
    def _shrinkage(self) -> Array:
        """p (K, n)."""
        p = self.solution.shrinkage.diagonal(axis1=1, axis2=2)
        return np.broadcast_to(p, self.solution.mean.shape)

    @property
    def gradient(self) -> Array:
        """∂L/∂Φ (N, n)."""
        model, seen = self.solution, self.observations.seen
        precision = seen.row_weights * self.noise_precision
        gradient = (precision * (seen.target - self.eta)) @ model.mean
        n_groups, n_functions = model.shrinkage.shape[:2]  # of outputs that share Σ
        sharing = len(model.mean) / n_groups
        root = 1 / np.sqrt(self.prior_precision)
        roots = np.broadcast_to(root, (n_groups, n_functions))
        rows = np.broadcast_to(precision, (len(precision), n_groups)).T
        for b, r, P in zip(rows, roots, model.shrinkage, strict=True):
            Sigma = r[:, None] * P * r
            gradient -= sharing * b[:, None] * (self.functions @ Sigma)
        return gradient

    @property
    def precision_gradient(self) -> Array:
        """∂L/∂log α (n,), or (K, n) where outputs have their own."""
        terms = 0.5 * (1 - self._shrinkage - self.solution.scaled_mean**2)
        own = self.prior_precision.ndim == 2
        return np.asarray(terms if own else terms.sum(axis=0))

    @property
    def noise_gradient(self) -> Array:
        """∂L/∂log β (K,)."""
        left = self.observations.count - np.sum(1 - self._shrinkage, axis=1)
        return 0.5 * np.asarray(left - self.noise_precision * self.solution.residual)

    @property
    def deletion_cost(self) -> Array:
        """Nats lost without each function (n,), all else fixed, by Tipping & Faul."""
        p = self._shrinkage
        terms = self.solution.scaled_mean**2 / p + np.log(p)  # eq. 37
        return 0.5 * np.asarray(terms.sum(axis=0))

    def maximised(
        self, tol: float, most: int, max_prior_std: Array | None = None
    ) -> Ascent:
        """α, which outputs share, and the noise at a local maximum of the evidence.

        Functions without a finite optimum leave; ``chosen`` are those left. Prior
        standard deviations of weights are at most ``max_prior_std`` (n,).
        """
        norms = np.linalg.norm(self.functions, axis=0)
        norms[norms == 0] = 1.0
        moments = self.observations.moments(self.functions / norms)
        found = ascend(
            moments,
            self.prior_precision / norms**2,
            self.noise_precision,
            ceiling=self.observations.ceiling,
            tol=tol,
            most=most,
            least=None if max_prior_std is None else (max_prior_std * norms) ** -2,
        )
        precision = found.prior_precision * norms[found.chosen] ** 2
        return replace(found, prior_precision=precision)

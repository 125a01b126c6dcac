"""A model of fixed basis functions, and gradients of its evidence.

Given    functions Φ, precisions α and pseudo-observations t̂ with precision B
Gives    the log evidence L and, summed over outputs,

    ∂L/∂Φ      = B(t̂ − Φμ)μᵀ − BΦΣ
    ∂L/∂log αᵢ = ½(1 − pᵢ − mᵢ²)                (P and m as in ``evidence.newton``)
    ∂L/∂log β  = ½(N − Σ(1 − pᵢ) − ρ)           ρ = β·residual

The first is (27) of Yuan et al. with the factor σ⁻² that it lacks. Outputs share α, or
each has its own; then so does ∂L/∂log α.

**Weights of kernels.** For a convex combination of kernels, Φ = Σₛ θₛΦₛ, the evidence
is maximised over θ on the simplex, given the columns Φₛ of a model's functions by every
kernel, its α and its pseudo-observations, which are fixed; by quasi-Newton steps on z
with θ = softmax z and

    ∂L/∂θₛ = tr Φₛᵀ ∂L/∂Φ = Σ_c [ μ_cᵀΦₛᵀB_c(t̂_c − Φμ_c) − tr Φₛᵀ B_cΦΣ_c ]

with α and Σ of each output's own, or shared. For a lower bound with auxiliary
variables, whose means are t̂ and whose precision is one, this is the gradient of the
bound itself at its maximum over their distribution, which need not move (the envelope
theorem).

**Bounds on weights.** Two functions side by side with large weights of opposite sign
are a steep gradient where there are rows, and run wild where there are none. Wide
functions need such weights, since they hardly differ from a constant over the rows.
Narrow functions with learned length scales do not: a function of another scale says
the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from relvec.evidence.newton import Ascent, Moments, Solution, ascend
from relvec.likelihoods import PseudoObservations
from relvec.typing import Array

# How fast the bound gives way to functions that are wide: so steep that narrow ones do
# not feel it. Other powers are not on record.
_POWER = 4


@dataclass(frozen=True)
class WeightBound:
    """Upper bound on prior standard deviations, which grows with length scales."""

    narrow: float  # of functions far narrower than ``wide``
    wide: Array  # (1 or d,) length scales at which it has doubled

    def max_prior_std(self, scales: Array) -> Array:
        """Bounds for functions with these length scales (n, 1 or d)."""
        logarithm = np.mean(np.log(scales / self.wide), axis=1)
        return np.asarray(self.narrow * (1 + np.exp(_POWER * logarithm)))


@dataclass(frozen=True)
class Observations:
    """Pseudo-observations that stay fixed while the functions move."""

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
        """The posterior of the weights."""
        moments = self.observations.moments(self.functions)
        return moments.solved(self.prior_precision, self.noise_precision)

    @property
    def log_evidence(self) -> float:
        """Log evidence of the pseudo-observations."""
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


_MOST_STEPS = 30  # of few weights; α is fixed meanwhile, so more digits are of no use
_LEAST_WEIGHT = 1e-12  # to begin with: a weight of zero would never move


@dataclass(frozen=True)
class Mixed:
    """A model whose functions are mixtures of several kernels."""

    parts: Array  # (S, N, n) its functions by every kernel
    constant: Array  # (N, 0 or 1)
    prior_precision: Array  # (0 or 1 + n,), or (K, 0 or 1 + n)
    seen: PseudoObservations
    count: float  # Σv

    def log_evidence(self, weights: Array) -> tuple[float, Array]:
        """Log evidence of the pseudo-observations; its gradient by weights (S,)."""
        kernel = np.tensordot(weights, self.parts, axes=1)
        model = FixedBasisModel(
            functions=np.hstack([self.constant, kernel]),
            prior_precision=self.prior_precision,
            noise_precision=self.seen.noise_precision,
            observations=Observations(self.seen, self.count),
        )
        gradient = model.gradient[:, self.constant.shape[1] :]
        return model.log_evidence, np.tensordot(self.parts, gradient, axes=2)


def better_weights(
    model: Mixed, weights: Array, ended: Callable[[], bool] = lambda: False
) -> Array:
    """Weights of the kernels with higher evidence, found from these.

    There are fewer steps where ``ended`` tells that there is no time for more.
    """

    def objective(z: Array) -> tuple[float, Array]:
        theta = softmax(z)
        value, gradient = model.log_evidence(theta)
        return -value, -theta * (gradient - theta @ gradient)

    def after_step(intermediate_result: Any) -> None:
        if ended():
            raise StopIteration

    start = np.log(np.maximum(weights, _LEAST_WEIGHT))
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxiter": _MOST_STEPS},
    )
    return np.asarray(softmax(found.x))

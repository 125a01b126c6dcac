"""Weights of a convex combination of kernels that raise the evidence of a model.

Solves   max over θ on the simplex of the log evidence, Φ = Σₛ θₛΦₛ
Given    the columns Φₛ of a model's functions by every kernel, its α and its
         pseudo-observations, which are fixed
By       quasi-Newton steps on z with θ = softmax z

    ∂L/∂θₛ = tr Φₛᵀ ∂L/∂Φ = Σ_c [ μ_cᵀΦₛᵀB_c(t̂_c − Φμ_c) − tr Φₛᵀ B_cΦΣ_c ]

with α and Σ of each output's own, or shared. Of a lower bound with auxiliary variables,
whose means are t̂ and whose precision is one, this is the gradient of the bound itself
at its maximum over their distribution, which need not move (the envelope theorem).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from relvec.kernel_learning.fixed_basis import FixedBasisModel, Observations
from relvec.likelihoods import PseudoObservations
from relvec.typing import Array

_MOST_STEPS = 30  # of few weights; α is fixed meanwhile, so more digits are of no use
_LEAST_WEIGHT = 1e-12  # to begin with: a weight of zero would never move


@dataclass(frozen=True)
class Mixed:
    """A model whose functions are mixed of several kernels."""

    parts: Array  # (S, N, n) its functions by every kernel
    constant: Array  # (N, 0 or 1)
    prior_precision: Array  # (0 or 1 + n,), or (K, 0 or 1 + n)
    seen: PseudoObservations
    count: float  # Σv

    def log_evidence(self, weights: Array) -> tuple[float, Array]:
        """Of the pseudo-observations, and its gradient by the weights (S,)."""
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
    """Weights at which the evidence is higher, if any are near.

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

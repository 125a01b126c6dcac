"""A Gaussian model in the space of a few columns: what is left of the rows.

Everything the evidence asks of the rows is ΦᵀWΦ, ΦᵀWt̂, t̂ᵀWt̂ and their number. With
weights measured in prior standard deviations, A^½w, nothing depends on units:

    P = (I + A^(-1/2) βΦᵀWΦ A^(-1/2))⁻¹ = A^½ΣA^½     αᵢΣᵢᵢ = Pᵢᵢ,  γᵢ = 1 − Pᵢᵢ
    m = A^½μ                                           αᵢμᵢ² = mᵢ²
"""

from dataclasses import dataclass

import numpy as np

from relvec.linalg import cholesky_and_inverse
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class Moments:
    """Inner products of some columns and the pseudo-observations."""

    gram: Array  # (K or 1, n, n) ΦᵀWΦ
    target: Array  # (K, n) ΦᵀWt̂
    target_squares: Array  # (K,) t̂ᵀWt̂
    count: float  # Σv, the number of observations per output

    def subset(self, chosen: Indices) -> "Moments":
        """Of some of the columns."""
        gram = self.gram[:, chosen[:, None], chosen]
        return Moments(gram, self.target[:, chosen], self.target_squares, self.count)


@dataclass(frozen=True)
class Solution:
    """The posterior for given α and β, and its log evidence."""

    factor: Array  # (K or 1, n, n) lower Cholesky factor of P⁻¹
    shrinkage: Array  # (K or 1, n, n) P
    scaled_mean: Array  # (K, n) m
    mean: Array  # (K, n) μ
    residual: Array  # (K,) (t̂ − Φμ)ᵀW(t̂ − Φμ)
    log_evidence: float  # of the Gaussian model

    @property
    def condition(self) -> float:
        """Largest diagonal element of P⁻¹."""
        squares = self.factor * self.factor
        return float(squares.sum(axis=-1).max(initial=1.0))


def solve(moments: Moments, prior_precision: Array, noise_precision: Array) -> Solution:
    """(6) and (7) in Gram form."""
    root = 1 / np.sqrt(prior_precision)
    size = len(root)
    scaled = noise_precision[:, None] * root
    inner = moments.gram * (scaled[:, :, None] * root)
    diagonals = inner.reshape(len(inner), size * size)[:, :: size + 1]
    diagonals += 1
    factor, P = cholesky_and_inverse(inner)
    m = (P @ (scaled * moments.target)[:, :, None])[:, :, 0]
    mean = root * m
    # Not by the shorter tᵀWt − μᵀΦᵀWt − mᵀm/β: only this form, minimal at μ, forgives
    # what was lost in solving for μ.
    twice = (moments.gram @ mean[:, :, None])[:, :, 0] - 2 * moments.target
    residual = moments.target_squares + (mean * twice).sum(axis=1)
    residual = np.maximum(residual, 0.0)
    shared = len(mean) / len(noise_precision)
    density = shared * moments.count * np.log(noise_precision / (2 * np.pi)).sum()
    density -= (noise_precision * residual).sum() + np.vdot(m, m)
    log_root = len(mean) / len(inner) * np.log(diagonals).sum()
    evidence = float(0.5 * density - log_root)
    return Solution(factor, P, m, mean, residual, evidence)

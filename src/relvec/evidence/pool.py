"""The sequential algorithm inside a pool of functions, on small arrays alone.

The pool keeps T = ΦᵀC⁻¹Φ and Q = ΦᵀC⁻¹t̂ of its functions, the noise fixed. With
ν = 1/α, zero for a function out of the model, a change of one ν by δ is

    C → C + δφφᵀ,    T → T − c TᵢTᵢᵀ,    Q → Q − c QᵢTᵢ,    c = δ/(1 + δTᵢᵢ),
    ΔL = ½[δQᵢ²/(1 + δTᵢᵢ) − log(1 + δTᵢᵢ)]:

adding, re-estimating and deleting are one formula, (27), (32) and (37) its cases.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from relvec.evidence.selection import best_precision
from relvec.typing import Array

# 1 − νS is what the prior still says of a weight. Below this it is rounding: such a
# function is determined by its data alone and left to Newton's method.
_DETERMINED = 1e-10


@dataclass(frozen=True)
class Pool:
    """Changed in place: steps take microseconds."""

    overlap: Array  # (K, P, P) T
    quality: Array  # (K, P) Q
    prior_variance: Array  # (P,) ν
    least_sparsity: Array  # (K, P) an S up to here is rounding

    @property
    def sparsity(self) -> Array:
        """S (K, P)."""
        return np.diagonal(self.overlap, axis1=1, axis2=2)

    def move(self, index: int, prior_variance: float) -> None:
        """To another ν of one function."""
        change = prior_variance - self.prior_variance[index]
        for k, T in enumerate(self.overlap):
            row, factor = T[index].copy(), change / (1 + change * T[index, index])
            self.quality[k] -= factor * self.quality[k, index] * row
            # T is symmetric: its transpose is what BLAS calls column-major.
            blas.dger(-factor, row, row, a=T.T, overwrite_a=1)
        self.prior_variance[index] = prior_variance


def climb(pool: Pool, tol: float, most: int) -> int:
    """The action that gains most, again and again, then pairs; how many were taken."""
    propose = _propose_one if len(pool.quality) == 1 else _propose
    taken = 0
    # What is not usable is computed all the same, and not looked at.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        while taken < most and len(pool.prior_variance):
            target, gain = propose(pool)
            best = int(gain.argmax())
            if gain[best] > tol:
                pool.move(best, target[best])
            elif most - taken < 2 or not _exchange(pool, tol):
                break
            taken += 1
    return taken


def _propose(pool: Pool) -> tuple[Array, Array]:
    """The best ν of every function and what it gains."""
    nu, S, Q = pool.prior_variance, pool.sparsity, pool.quality
    left = np.maximum(1 - nu * S, _DETERMINED)  # s = S/left, q = Q/left: eq. 23
    target = 1 / best_precision(S / left, Q / left)
    usable = np.all((pool.least_sparsity < S) & (left > _DETERMINED), axis=0)
    change = np.where(usable, target - nu, 0.0)
    growth = 1 + change * S
    gain = 0.5 * np.sum(change * Q**2 / growth - np.log(growth), axis=0)
    return target, gain


def _propose_one(pool: Pool) -> tuple[Array, Array]:
    """The same for one output, where the best ν is (q² − s)/s²: eqs. 20, 21."""
    nu, S, Q = pool.prior_variance, pool.overlap[0].diagonal(), pool.quality[0]
    squares = Q * Q
    left = 1 - nu * S
    usable = (pool.least_sparsity[0] < S) & (left > _DETERMINED)
    target = np.maximum(squares - S * left, 0.0) / (S * S)
    change = np.where(usable, target - nu, 0.0)
    growth = 1 + change * S
    return target, 0.5 * (change * squares / growth - np.log(growth))


def _exchange(pool: Pool, tol: float) -> bool:
    """Delete one function and add another at once (6.2), if some pair gains."""
    nu, S = pool.prior_variance, pool.sparsity
    inside, outside = np.flatnonzero(nu), np.flatnonzero(nu == 0)
    if len(inside) == 0 or len(outside) == 0:
        return False
    left = 1 - nu[inside] * S[:, inside]
    judged = np.all(left > _DETERMINED, axis=0)
    inside, left = inside[judged], left[:, judged]
    if len(inside) == 0:
        return False
    weight = (nu[inside] / left)[:, :, None]
    Q = pool.quality
    lost = 0.5 * np.sum(nu[inside] * Q[:, inside] ** 2 / left + np.log(left), axis=0)
    overlap = pool.overlap[:, inside[:, None], outside]
    # S and Q of each outsider once each insider has left, (K, inside, outside).
    sparsity = S[:, None, outside] + weight * overlap**2
    quality = Q[:, None, outside] + weight * overlap * Q[:, inside, None]
    usable = np.all(pool.least_sparsity[:, None, outside] < sparsity, axis=0)
    shape = (len(sparsity), -1)
    s, q = sparsity.reshape(shape), np.where(usable, quality, 0.0).reshape(shape)
    target = 1 / best_precision(s, q)
    growth = 1 + target * s
    won = 0.5 * np.sum(target * q**2 / growth - np.log(growth), axis=0)
    gain = won.reshape(usable.shape) - lost[:, None]
    leaver, entrant = np.unravel_index(np.argmax(gain), gain.shape)
    if gain[leaver, entrant] <= tol:
        return False
    pool.move(int(inside[leaver]), 0.0)
    pool.move(int(outside[entrant]), float(target.reshape(gain.shape)[leaver, entrant]))
    return True

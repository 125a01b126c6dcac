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

    overlap: Array  # (K or 1, P, P) T
    quality: Array  # (K, P) Q
    prior_variance: Array  # (P,) ν
    least_sparsity: Array  # (K or 1, P) an S up to here is rounding
    price: float = 0.0  # nats that every function in the model has to be worth

    @property
    def sparsity(self) -> Array:
        """S (K or 1, P)."""
        return self.overlap.diagonal(axis1=1, axis2=2)

    def move(self, index: int, prior_variance: float) -> None:
        """To another ν of one function."""
        change = prior_variance - self.prior_variance[index]
        shared = len(self.quality) // len(self.overlap)
        for k, T in enumerate(self.overlap):
            row, factor = T[index].copy(), change / (1 + change * T[index, index])
            Q = self.quality[k * shared : (k + 1) * shared]
            Q -= factor * Q[:, index, None] * row
            # T is symmetric: its transpose is what BLAS calls column-major.
            blas.dger(-factor, row, row, a=T.T, overwrite_a=1)
        self.prior_variance[index] = prior_variance


def climb(pool: Pool, tol: float, most: int) -> int:
    """The action that gains most, again and again, then pairs; how many were taken."""
    taken = 0
    # What is not usable is computed all the same, and not looked at.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        while taken < most and len(pool.prior_variance):
            target, gain = _propose(pool)
            best = int(gain.argmax())
            if gain[best] > tol:
                pool.move(best, target[best])
            elif most - taken < 2 or not _exchange(pool, tol):
                break
            taken += 1
    return taken


def _propose(pool: Pool) -> tuple[Array, Array]:
    """The best ν of every function and what it gains."""
    S = pool.sparsity
    left = 1 - pool.prior_variance * S
    usable = ((pool.least_sparsity < S) & (left > _DETERMINED)).all(axis=0)
    target, gain = _best(S, pool.quality, left)
    if pool.price:
        target, gain = _priced(pool, left, target, gain)
    return target, np.where(usable, gain, 0.0)


def _priced(pool: Pool, left: Array, target: Array, gain: Array) -> tuple[Array, Array]:
    """The best ν and its gain, less the price of those in the model afterwards."""
    inside = pool.prior_variance > 0
    entering = ~inside & (target > 0)
    weight = pool.prior_variance / left
    lost = 0.5 * (weight * pool.quality**2 + np.log(left)).sum(axis=0)  # eq. 37
    saved = pool.price - lost
    leaving = inside & (saved > gain)
    gain = np.where(leaving, saved, gain - pool.price * entering)
    return np.where(leaving, 0.0, target), gain


def _best(S: Array, Q: Array, left: Array) -> tuple[Array, Array]:
    """The best ν of functions (K, P) of which 1 − νS is ``left``, and what it gains."""
    if len(S) > 1:
        return _best_many(S, Q, left)
    # Outputs that share S are so many times one with their mean square of Q.
    size = Q[0] if len(Q) == 1 else np.sqrt((Q * Q).mean(axis=0))
    target, gain = _best_one(S[0], size, left[0])
    return target, len(Q) * gain


def _best_many(S: Array, Q: Array, left: Array) -> tuple[Array, Array]:
    """With s = S/left and q = Q/left, eq. 23."""
    left = np.maximum(left, _DETERMINED)
    target = 1 / best_precision(S / left, Q / left)
    growth, ratio = left + target * S, Q * Q / S
    return target, 0.5 * (ratio - ratio / growth - np.log(growth)).sum(axis=0)


def _best_one(S: Array, Q: Array, left: Array) -> tuple[Array, Array]:
    """For one output 1 + δS is Q²/S where the best ν is positive: eqs. 20, 21."""
    ratio = Q * Q / S
    growth = np.maximum(ratio, left)
    return (growth - left) / S, 0.5 * (ratio - ratio / growth - np.log(growth))


def _exchange(pool: Pool, tol: float) -> bool:
    """Delete one function and add another at once (6.2), if some pair gains."""
    nu, S, Q = pool.prior_variance, pool.sparsity, pool.quality
    left = 1 - nu * S
    inside = np.flatnonzero((nu > 0) & (left > _DETERMINED).all(axis=0))
    outside = np.flatnonzero(nu == 0)
    if len(inside) == 0 or len(outside) == 0:
        return False
    left = left[:, inside]
    weight = nu[inside] / left
    lost = 0.5 * (weight * Q[:, inside] ** 2 + np.log(left)).sum(axis=0)
    overlap = pool.overlap[:, inside[:, None], outside]
    weighted = weight[:, :, None] * overlap
    # S and Q of each outsider once each insider has left, (K, inside, outside).
    sparsity = S[:, None, outside] + weighted * overlap
    quality = Q[:, None, outside] + weighted * Q[:, inside, None]
    usable = (pool.least_sparsity[:, None, outside] < sparsity).all(axis=0)
    flat = sparsity.reshape(len(sparsity), -1), quality.reshape(len(quality), -1)
    target, won = _best(*flat, np.ones((len(sparsity), 1)))
    gain = np.where(usable, won.reshape(usable.shape) - lost[:, None], -np.inf)
    place = int(gain.argmax())
    if gain.flat[place] <= tol:
        return False
    leaver, entrant = divmod(place, len(outside))
    pool.move(int(inside[leaver]), 0.0)
    pool.move(int(outside[entrant]), float(target[place]))
    return True

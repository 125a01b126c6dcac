"""The sequential algorithm inside a pool of functions, on small arrays alone.

The pool keeps T = ΦᵀC⁻¹Φ and Q = ΦᵀC⁻¹t̂ of its functions, the noise fixed. With
ν = 1/α, zero for a function out of the model, a change of one ν by δ is

    C → C + δφφᵀ,    T → T − c TᵢTᵢᵀ,    Q → Q − c QᵢTᵢ,    c = δ/(1 + δTᵢᵢ),
    ΔL = ½[δQᵢ²/(1 + δTᵢᵢ) − log(1 + δTᵢᵢ)]:

adding, re-estimating and deleting are one formula, (27), (32) and (37) its cases.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from relvec.evidence.selection import best_precision
from relvec.typing import AnyArray, Array

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

    @cached_property
    def sparsity(self) -> Array:
        """S (K or 1, P), a view that moves follow."""
        return self.overlap.diagonal(axis1=1, axis2=2)

    @property
    def left(self) -> Array:
        """1 − νS (K or 1, P)."""
        return 1 - self.prior_variance * self.sparsity

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
            left = pool.left
            gain = _gains(pool, left)
            best = int(gain.argmax())
            if gain[best] > tol:
                pool.move(best, _target_of(pool, best, left))
            elif most - taken < 2 or not _exchange(pool, tol):
                break
            taken += 1
    return taken


def _gains(pool: Pool, left: Array) -> Array:
    """What moving each function to its best ν gains; 0 where that is not to be told.

    Less the price of those in the model afterwards.
    """
    usable = (pool.least_sparsity < pool.sparsity) & (left > _DETERMINED)
    gain = _gain(pool.sparsity, pool.quality, left)
    if pool.price:
        saved = pool.price - _loss(pool.prior_variance, pool.quality, left)
        entering = gain - pool.price * (gain > 0)
        gain = np.where(pool.prior_variance > 0, np.maximum(gain, saved), entering)
    return np.where(_of_all(usable), gain, 0.0)


def _target_of(pool: Pool, index: int, left: Array) -> float:
    """The best ν of one function."""
    one = slice(index, index + 1)
    S, Q, left = pool.sparsity[:, one], pool.quality[:, one], left[:, one]
    if pool.price and pool.prior_variance[index] > 0:
        saved = pool.price - _loss(pool.prior_variance[one], Q, left)
        if saved[0] > _gain(S, Q, left)[0]:
            return 0.0
    return float(_target(S, Q, left)[0])


def _of_all(outputs: AnyArray) -> AnyArray:
    """What holds for all outputs (K, ...)."""
    return np.asarray(outputs[0] if len(outputs) == 1 else outputs.all(axis=0))


def _mean_square(Q: Array) -> Array:
    """Outputs that share S are so many times one with this Q²."""
    return Q[0] * Q[0] if len(Q) == 1 else np.asarray((Q * Q).mean(axis=0))


def _target(S: Array, Q: Array, left: Array) -> Array:
    """The best ν of functions (K, P) of which 1 − νS is ``left``: eqs. 20, 21.

    With s = S/left and q = Q/left, eq. 23; for one S 1 + δS is then Q²/S, unless the
    best ν is zero.
    """
    if len(S) > 1:
        left = np.maximum(left, _DETERMINED)
        return 1 / best_precision(S / left, Q / left)
    return (np.maximum(_mean_square(Q) / S[0], left[0]) - left[0]) / S[0]


def _gain(S: Array, Q: Array, left: Array) -> Array:
    """What moving functions (K, P) to their best ν gains."""
    if len(S) > 1:
        ratio = Q * Q / S
        growth = np.maximum(left, _DETERMINED) + _target(S, Q, left) * S
        return 0.5 * (ratio - ratio / growth - np.log(growth)).sum(axis=0)
    ratio = _mean_square(Q) / S[0]
    growth = np.maximum(ratio, left[0])
    return 0.5 * len(Q) * (ratio - ratio / growth - np.log(growth))


def _loss(prior_variance: Array, Q: Array, left: Array) -> Array:
    """What taking functions (K, P) out of the model costs: eq. 37."""
    return 0.5 * (prior_variance / left * Q * Q + np.log(left)).sum(axis=0)


def _exchange(pool: Pool, tol: float) -> bool:
    """Delete one function and add another at once (6.2), if some pair gains."""
    nu, S, Q, left = pool.prior_variance, pool.sparsity, pool.quality, pool.left
    inside = np.flatnonzero((nu > 0) & _of_all(left > _DETERMINED))
    outside = np.flatnonzero(nu == 0)
    if len(inside) == 0 or len(outside) == 0:
        return False
    left = left[:, inside]
    weight = nu[inside] / left
    lost = _loss(nu[inside], Q[:, inside], left)
    overlap = pool.overlap[:, inside[:, None], outside]
    weighted = weight[:, :, None] * overlap
    # S and Q of each outsider once each insider has left, (K, inside, outside).
    sparsity = S[:, None, outside] + weighted * overlap
    quality = Q[:, None, outside] + weighted * Q[:, inside, None]
    usable = _of_all(pool.least_sparsity[:, None, outside] < sparsity)
    entrant = np.where(usable, _promise(sparsity, quality), -np.inf).argmax(axis=1)
    pairs = (slice(None), np.arange(len(inside)), entrant)
    sparsity, quality = sparsity[pairs], quality[pairs]
    new = np.ones_like(sparsity)
    gain = np.where(usable[pairs[1:]], _gain(sparsity, quality, new) - lost, -np.inf)
    leaver = int(gain.argmax())
    if gain[leaver] <= tol:
        return False
    target = _target(sparsity, quality, new)[leaver]
    pool.move(int(inside[leaver]), 0.0)
    pool.move(int(outside[entrant[leaver]]), float(target))
    return True


def _promise(S: Array, Q: Array) -> Array:
    """What grows with the gain of functions (K, n, m) out of the model."""
    if len(S) == 1:
        return _mean_square(Q) / S[0]
    flat = S.reshape(len(S), -1), Q.reshape(len(Q), -1)
    return _gain(*flat, np.ones((len(S), 1))).reshape(S.shape[1:])

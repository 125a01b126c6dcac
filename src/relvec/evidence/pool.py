"""The sequential algorithm inside a pool of functions, on small arrays alone.

The pool keeps T = ΦᵀC⁻¹Φ and Q = ΦᵀC⁻¹t̂ of its functions, the noise fixed. With
ν = 1/α, zero for a function out of the model, a change of one ν by δ is

    C → C + δφφᵀ,    T → T − c TᵢTᵢᵀ,    Q → Q − c QᵢTᵢ,    c = δ/(1 + δTᵢᵢ),
    ΔL = ½[δQᵢ²/(1 + δTᵢᵢ) − log(1 + δTᵢᵢ)]:

adding, re-estimating and deleting are one formula, (27), (32) and (37) its cases.
Q is kept below T in one array, which changes as a whole, by one call. Outputs that
share C share T, which then has no axis of outputs: small arrays are all overhead.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from relvec.blockwise import check_time
from relvec.evidence.moments import Overlaps
from relvec.evidence.selection import best_precision
from relvec.precision import DETERMINED
from relvec.typing import AnyArray, Array

# Actions per function of a pool, a few of which are usual. Updated in place, T and Q
# lose digits with each; without noise, pairs then seem to gain for ever.
_MOST_ACTIONS = 10


@dataclass(frozen=True)
class Pool:
    """Changed in place: steps take microseconds."""

    products: Array  # (P + K, P) T above Q, or (K, P + 1, P)
    prior_variance: Array  # (P,) ν
    least_sparsity: Array  # (P,) or (K, P) an S up to here is rounding
    price: float = 0.0  # nats that every function in the model has to be worth
    most_variance: Array | None = None  # (P,) that ν may become

    @classmethod
    def of(
        cls,
        overlaps: Overlaps,
        prior_variance: Array,
        least_precision: Array,
        price: float,
    ) -> "Pool":
        """Of functions beside the model of those with a ν > 0."""
        overlap, quality = overlaps.overlap, overlaps.quality
        least = overlaps.least_sparsity
        if len(overlap) == 1:
            products, least = np.concatenate([overlap[0], quality]), least[0]
        else:
            products = np.concatenate([overlap, quality[:, None]], axis=1)
        # BLAS changes rows of a row-major array in place, and a copy of any other.
        products = np.ascontiguousarray(products)
        return cls(products, prior_variance, least, price, 1 / least_precision)

    @property
    def shared(self) -> bool:
        """Whether all outputs have one T."""
        return self.products.ndim == 2

    @cached_property
    def overlap(self) -> Array:
        """T (P, P) or (K, P, P), a view."""
        return self.products[..., : len(self.prior_variance), :]

    @cached_property
    def quality(self) -> Array:
        """Q (K, P), a view."""
        size = len(self.prior_variance)
        return self.products[size:] if self.shared else self.products[:, size]

    @cached_property
    def sparsity(self) -> Array:
        """S (P,) or (K, P), which moves keep up to date."""
        return self._diagonal.copy()

    @cached_property
    def _diagonal(self) -> Array:
        return self.overlap.diagonal(axis1=-2, axis2=-1)

    @property
    def left(self) -> Array:
        """1 − νS (P,) or (K, P)."""
        return 1 - self.prior_variance * self.sparsity

    def of_all(self, outputs: AnyArray) -> AnyArray:
        """What holds for all outputs."""
        return outputs if self.shared else np.asarray(outputs.all(axis=0))

    def move(self, index: int, prior_variance: float) -> None:
        """To another ν of one function."""
        change = prior_variance - self.prior_variance[index]
        for products in (self.products,) if self.shared else self.products:
            column = products[:, index].copy()
            row = column[: products.shape[1]]  # T is symmetric
            factor = change / (1 + change * row[index])
            # What is row-major to us is transposed to BLAS.
            blas.dger(-factor, row, column, a=products.T, overwrite_a=1)
        self.prior_variance[index] = prior_variance
        np.copyto(self.sparsity, self._diagonal)


def climb(pool: Pool, tol: float, most: float) -> int:
    """The action that gains most, again and again, then pairs; how many were taken."""
    taken, most = 0, min(most, _MOST_ACTIONS * len(pool.prior_variance))
    # What cannot be told is computed all the same, and not looked at.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        while taken < most and len(pool.prior_variance):
            left = pool.left
            growth, gain = _options(pool, left)
            best = int(gain.argmax())
            if not _is_told(pool, left, best):
                gain = np.where(_told(pool, left), gain, 0.0)
                best = int(gain.argmax())
            if gain[best] > tol:
                pool.move(best, _target(pool, left, growth, gain, best))
            elif most - taken < 2 or not _exchange(pool, tol):
                break
            else:
                check_time()
            taken += 1
    return taken


def _options(pool: Pool, left: Array) -> tuple[Array, Array]:
    """1 + δS and the gain of every function's best move, where that can be told.

    Less the price of those in the model afterwards.
    """
    growth, gain = _moves(pool.sparsity, pool.quality, left, pool.most_variance)
    if pool.price:
        entering = gain - pool.price * (gain > 0)
        staying = np.maximum(gain, _saved(pool, left))
        gain = np.where(pool.prior_variance > 0, staying, entering)
    return growth, gain


def _saved(pool: Pool, left: Array) -> Array:
    """What taking functions out of the model saves, less what it costs."""
    return pool.price - _loss(pool.prior_variance, pool.quality, left)


def _target(pool: Pool, left: Array, growth: Array, gain: Array, index: int) -> float:
    """The best ν of one function, which gains so much."""
    inside = pool.prior_variance[index] > 0
    if pool.price and inside and _saved(pool, left)[index] >= gain[index]:
        return 0.0
    at = index if pool.shared else (0, index)
    return float((growth[at] - left[at]) / pool.sparsity[at])


def _told(pool: Pool, left: Array) -> AnyArray:
    """Whether functions (P,) stand out of rounding, for all outputs."""
    return pool.of_all((pool.least_sparsity < pool.sparsity) & (left > DETERMINED))


def _is_told(pool: Pool, left: Array, index: int) -> bool:
    """The same of one function."""
    if not pool.shared:
        return bool(_told(pool, left)[index])
    enough = pool.least_sparsity[index] < pool.sparsity[index]
    return bool(enough and left[index] > DETERMINED)


def _mean_square(Q: Array) -> Array:
    """Outputs that share S are so many times one with this Q²."""
    return Q[0] * Q[0] if len(Q) == 1 else np.asarray((Q * Q).mean(axis=0))


def _moves(
    S: Array, Q: Array, left: Array, most: Array | None = None
) -> tuple[Array, Array]:
    """1 + δS when functions of which 1 − νS is ``left`` move to their best ν; the gain.

    The best ν is that of eqs. 20, 21 with s = S/left and q = Q/left, eq. 23; for one S,
    which has no axis of outputs, 1 + δS is Q²/S unless the best ν is zero. No ν becomes
    larger than ``most``.
    """
    if S.ndim < Q.ndim:
        ratio = _mean_square(Q) / S
        growth = np.maximum(ratio, left)
        if most is not None:
            growth = np.fmin(growth, left + most * S)
        return growth, 0.5 * len(Q) * (ratio - ratio / growth - np.log(growth))
    left = np.maximum(left, DETERMINED)
    variance = 1 / best_precision(S / left, Q / left)
    growth = left + S * (variance if most is None else np.minimum(variance, most))
    ratio = Q * Q / S
    return growth, 0.5 * (ratio - ratio / growth - np.log(growth)).sum(axis=0)


def _loss(prior_variance: Array, Q: Array, left: Array) -> Array:
    """What taking functions out of the model costs: eq. 37."""
    return 0.5 * (prior_variance / left * Q * Q + np.log(left)).sum(axis=0)


def _exchange(pool: Pool, tol: float) -> bool:
    """Delete one function and add another at once (6.2), if some pair gains."""
    nu, S, Q, left = pool.prior_variance, pool.sparsity, pool.quality, pool.left
    inside = np.flatnonzero((nu > 0) & pool.of_all(left > DETERMINED))
    outside = np.flatnonzero(nu == 0)
    if len(inside) == 0 or len(outside) == 0:
        return False
    left = left[..., inside]
    weight = nu[inside] / left
    lost = _loss(nu[inside], Q[:, inside], left)
    overlap = pool.overlap[..., inside[:, None], outside]
    weighted = weight[..., None] * overlap
    # S and Q of each outsider once each insider has left, (..., inside, outside).
    sparsity = S[..., None, outside] + weighted * overlap
    quality = Q[:, None, outside] + weighted * Q[:, inside, None]
    usable = pool.of_all(pool.least_sparsity[..., None, outside] < sparsity)
    entrant = np.where(usable, _promise(sparsity, quality), -np.inf).argmax(axis=1)
    pairs = (..., np.arange(len(inside)), entrant)
    sparsity, quality = sparsity[pairs], quality[pairs]
    most = pool.most_variance
    most = most if most is None else most[outside][entrant]
    growth, gain = _moves(sparsity, quality, np.ones_like(sparsity), most)
    gain = np.where(usable[pairs], gain - lost, -np.inf)
    leaver = int(gain.argmax())
    if gain[leaver] <= tol:
        return False
    target = ((growth - 1) / sparsity)[..., leaver]
    pool.move(int(inside[leaver]), 0.0)
    pool.move(int(outside[entrant[leaver]]), float(target.ravel()[0]))
    return True


def _promise(S: Array, Q: Array) -> Array:
    """What grows with the gain of functions (n, m) out of the model."""
    if S.ndim < Q.ndim:
        return _mean_square(Q) / S
    flat = S.reshape(len(S), -1), Q.reshape(len(Q), -1)
    return _moves(*flat, np.ones((len(S), 1)))[1].reshape(S.shape[1:])

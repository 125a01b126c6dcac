"""The integrals of the multinomial probit, by quadrature around their peak.

The probability that the first of K independent unit normals with means η is the
largest is, with d_j = η₁ − η_j,

    Z = ∫ N(u) ∏ⱼ Φ(u + d_j) du.                                    (1) of the paper

The logarithm ℓ of the integrand is concave, with its peak at u₀ and ℓ″(u₀) = −1/w²; it
leans to the right, ℓ‴ > 0, the more the more classes there are. With

    u(t) = u₀ + w(e^{bt} − 1)/b,   b = w³ℓ‴(u₀)/3,

ℓ has no third derivative by t, and the rule of Gauss and Hermite, moved to the peak of
ℓ + log u′ at t = b, has seven digits and more with few nodes, however many classes
there are and however far apart.
With two classes Z is Φ(d/√2), and nothing is left to integrate.
All is done with logarithms. With r = φ/Φ and averages over the integrand,

    ∂log Z/∂d_j = E[r_j]
    ∂²log Z/∂d_j∂d_k = Cov(r_j, r_k) − δ_jk E[r_j(u + d_j + r_j)].

The covariance is a sum over nodes: products with it need no matrix of all pairs.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from relvec.blockwise import in_order
from relvec.likelihoods.normal_tails import (
    log_cdf_and_ratio,
    ratio_and_scaled,
    steepness,
)
from relvec.linalg import available_threads
from relvec.typing import Array

N_NODES = 14  # of the quadrature, for eight digits
FEW_NODES = 8  # for six digits of most rows, and four of all
# By which nodes are drawn together: what is left of ℓ by t falls off faster than at its
# peak. Of 0.9 to 1.15, for 3 to 100 classes, the error is least here.
_CLOSER = 0.93
# Steps of Newton's method, which need not end: the rule is centred there. Three for few
# classes, one more beyond each of these numbers: with more the error is the same.
_PEAK_STEPS, _MORE_STEPS = 3, (25, 100)
_ENTRIES = 32_000  # rows × classes × nodes at a time: four such arrays stay in cache
# Limits of b. Below the first, (e^{bt} − 1)/b is t to six digits. The second is beyond
# what any number of classes has: 0.33 for a hundred, 0.65 for a million.
_LEAST_SKEW, _MOST_SKEW = 1e-6, 1.0
# Distances are limited to this: log Z is then −1e23, and φ/Φ soon has no digits left.
_FURTHEST = 1e12
_LOG_NORMAL = -0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Orthant:
    """log Z (N,), its gradient (N, J) and minus its curvature by d.

    That is diag(slopes) − DᵀD for deviations D of r at the nodes.
    """

    log_z: Array
    gradient: Array
    slopes: Array  # (N, J) E[r(u + d + r)]
    deviations: Array  # (N, q, J) √weight·(r − E[r])

    @cached_property
    def curvature(self) -> Array:
        """(N, J, J)."""
        D = self.deviations
        curvature = np.swapaxes(D, 1, 2) @ D
        np.negative(curvature, out=curvature)
        own = np.arange(self.slopes.shape[1])
        curvature[:, own, own] += self.slopes
        return curvature

    def product(self, vectors: Array) -> Array:
        """Of minus the curvature with vectors (N, J)."""
        D = self.deviations
        at_nodes = np.einsum("nqj,nj->nq", D, vectors)
        product = self.slopes * vectors
        product -= np.einsum("nqj,nq->nj", D, at_nodes)
        return product


def orthant(distance: Array, *, n_nodes: int = N_NODES) -> Orthant:
    """For distances (N, J), in blocks of rows."""
    n_rows, n_others = distance.shape
    if n_others == 1:
        return _half_line(distance)
    log_z, deviations = np.empty(n_rows), np.empty((n_rows, n_nodes, n_others))
    gradient, slopes = np.empty((2, n_rows, n_others))
    at = _Lines.of(distance)

    def integrate(rows: slice, room: Array) -> None:
        nodes = _Nodes.of(at.part(rows), n_nodes, room)
        log_z[rows] = nodes.log_z
        gradient[rows], slopes[rows] = nodes.slopes(out=deviations[rows])

    _in_blocks(integrate, n_rows, n_others * n_nodes)
    return Orthant(log_z, gradient, slopes, deviations)


def _half_line(d: Array) -> Orthant:
    """∫ N(u) Φ(u + d) du = Φ(d/√2), for one other class."""
    z = d / np.sqrt(2.0)
    log_cdf, ratio = log_cdf_and_ratio(z)
    slopes = 0.5 * ratio * (z + ratio)
    nothing = np.empty((len(d), 0, 1))
    return Orthant(log_cdf[:, 0], ratio / np.sqrt(2.0), slopes, nothing)


@dataclass(frozen=True)
class _Lines:
    """Distances (J, N), and where on its line u every row is looked at."""

    d: Array
    peak: Array  # (N,) u₀
    width: Array  # (N,) w
    skew: Array  # (N,) b

    @classmethod
    def of(cls, distance: Array) -> "_Lines":
        n_rows, n_others = distance.shape
        d = np.clip(distance.T, -_FURTHEST, _FURTHEST, order="C")
        places = np.empty((3, n_rows))

        def find(rows: slice, room: Array) -> None:
            places[:, rows] = _peak(d[:, rows], room)

        _in_blocks(find, n_rows, n_others)
        return cls(d, *places)

    def part(self, rows: slice) -> "_Lines":
        places = self.peak[rows], self.width[rows], self.skew[rows]
        return _Lines(self.d[:, rows], *places)


@dataclass(frozen=True)
class _Nodes:
    """What the integrand is made of at the nodes of some rows."""

    log_z: Array  # (n,)
    weights: Array  # (q, n) of averages over the integrand
    z: Array  # (J, q, n)
    ratio: Array  # (J, q, n) r

    @classmethod
    def of(cls, at: _Lines, n_nodes: int, room: Array) -> "_Nodes":
        """Arrays over all classes are made in ``room``, for the next block to reuse."""
        u, log_terms = _placed(at, n_nodes)
        shape = len(at.d), *u.shape
        room = room[:, : np.prod(shape)].reshape(4, *shape)
        z = np.add(u, at.d[:, None], out=room[0])
        ratio, scaled = ratio_and_scaled(z, room[1:])
        below = np.minimum(z, 0.0, out=room[1])
        below *= below
        below *= 0.5
        logs = np.log(scaled, out=scaled)
        logs -= below
        log_terms += logs.sum(axis=0)
        largest = log_terms.max(axis=0)
        weights = np.exp(log_terms - largest)
        total = weights.sum(axis=0)
        return cls(largest + np.log(total), weights / total, z, ratio)

    def slopes(self, out: Array) -> tuple[Array, Array]:
        """E[r] and E[r(z + r)] (n, J); deviations go ``out`` (n, q, J)."""
        z, ratio = self.z, self.ratio
        gradient = np.einsum("jqn,qn->jn", ratio, self.weights)
        bend = steepness(z, ratio, out=z)
        slopes = np.einsum("jqn,qn->jn", bend, self.weights)
        ratio -= gradient[:, None]
        ratio *= np.sqrt(self.weights)
        out[:] = ratio.transpose(2, 1, 0)
        return gradient.T, slopes.T


def _placed(at: _Lines, n_nodes: int) -> tuple[Array, Array]:
    """Nodes u (q, n), and log N(u) with logarithms of weights for plain integrals."""
    nodes, log_weights = _rule(n_nodes)
    bt = at.skew * (nodes[:, None] + at.skew)
    u = at.peak + at.width * np.expm1(bt) / at.skew
    return u, bt - 0.5 * u * u + np.log(at.width) + log_weights[:, None]


def _peak(d: Array, room: Array) -> tuple[Array, Array, Array]:
    """u₀, w and b (n,) each.

    Newton's method, from where the peak would be if Φ were a step with a Gaussian tail:
    a start without jumps, for what it has not found by the end is to have none either.
    """
    room = room[:, : d.size].reshape(4, *d.shape)
    below = np.maximum(-d, 0.0)
    u = below.sum(axis=0) / (1 + np.minimum(below, 1.0).sum(axis=0))
    for _ in range(_PEAK_STEPS + bisect_left(_MORE_STEPS, len(d))):
        z = np.add(u, d, out=room[0])
        ratio, _ = ratio_and_scaled(z, room[1:])
        bend = steepness(z, ratio)
        curve = 1 + np.sum(bend, axis=0)
        u = u + (np.sum(ratio, axis=0) - u) / curve
    width = curve**-0.5
    # (log Φ)‴ = r((z + r)(z + 2r) − 1)
    third = np.sum(bend * (z + 2 * ratio) - ratio, axis=0)
    return u, width, np.clip(third * width**3 / 3, _LEAST_SKEW, _MOST_SKEW)


@cache
def _rule(n_nodes: int) -> tuple[Array, Array]:
    """Nodes, and logarithms of weights for plain integrals beside N(u)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_weights = np.log(_CLOSER * weights) + 0.5 * nodes**2
    return _CLOSER * nodes, log_weights + _LOG_NORMAL


def _in_blocks(
    work: Callable[[slice, Array], None], n_rows: int, for_each_row: int
) -> None:
    """``work`` on rows, a cache full at a time, with room for four arrays of them."""
    step = max(1, _ENTRIES // max(1, for_each_row))
    n_threads = min(-(-n_rows // step), available_threads())
    share = -(-n_rows // max(1, n_threads))

    def several(start: int) -> None:
        stop = min(n_rows, start + share)
        room = np.empty((4, min(step, share) * for_each_row))
        for first in range(start, stop, step):
            work(slice(first, min(stop, first + step)), room)

    for _ in in_order(several, range(0, n_rows, max(1, share)), n_threads):
        pass

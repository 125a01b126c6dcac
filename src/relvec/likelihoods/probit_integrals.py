"""Integrals of the multinomial probit, by quadrature around their peak.

The probability that the first of K independent unit normals with means η is the
largest is, with d_j = η₁ − η_j,

    Z = ∫ N(u) ∏ⱼ Φ(u + d_j) du.                                    (1) of the paper

The logarithm ℓ of the integrand is concave, with its peak at u₀ and ℓ″(u₀) = −1/w². It
leans to the right, ℓ‴ > 0, more so with more classes. With

    u(t) = u₀ + w(e^{bt} − 1)/b,   b = w³ℓ‴(u₀)/3,

ℓ has no third derivative by t, and the rule of Gauss and Hermite, moved to the peak of
ℓ + log u′ at t = b, has seven digits and more with few nodes, however many classes
there are and however far apart. With two classes Z is Φ(d/√2), without any integral.
All is computed with logarithms. With r = φ/Φ and averages over the integrand,

    ∂log Z/∂d_j = E[r_j]
    ∂²log Z/∂d_j∂d_k = Cov(r_j, r_k) − δ_jk E[r_j(u + d_j + r_j)].

The covariance is a sum over nodes, so products with it need no matrix of all pairs.

*Normal tails.* With a = |z| the tail is Φ(−a) = e^(−a²/2)·m(a), where m(a) =
½erfcx(a/√2) falls slowly and smoothly: (a + k)m(a) is a polynomial in t = (a − k)/(a +
k), which maps all a ≥ 0 to −1 ≤ t < 1 (Shepherd & Laframboise 1981). Sums and products
remain, which processors vectorise; scipy's functions take ten times longer. With z₊ =
max(z, 0), z₋ = min(z, 0) and c = ½ + sign(z)(½ − e^(−z₊²/2)m), that is m or 1 − Φ(−a),
both sides are log Φ(z) = log c − ½z₋² and φ(z)/Φ(z) = e^(−z₊²/2)/(c√(2π)).

*The largest of several independent normal variables*, with moments (mⱼ, sⱼ²). With
zⱼ = (v − mⱼ)/sⱼ, the largest is v and variable c with the density

    N(v | m_c, s_c²) ∏_{j≠c} Φ(zⱼ) = r(z_c)/s_c · ∏ⱼ Φ(zⱼ),   r = φ/Φ:

one grid of v serves all c. The integrand is smooth and vanishes at both ends, so the
trapezium rule converges faster than any power of its step.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import erfcx, log_ndtr

from relvec.blockwise import in_order
from relvec.linalg import available_threads
from relvec.precision import TINY
from relvec.typing import Array

_MIDDLE = 3.75 * np.sqrt(2.0)  # k, the paper's
_DEGREE = 16  # for relative errors of 4e-12 of m, far below those of quadrature
# Below −300, φ/Φ and −z agree in so many digits that their difference has few left.
_FAR = 300.0
_LOG_NORMAL = -0.5 * np.log(2 * np.pi)
_DENSITY = float(np.exp(_LOG_NORMAL))  # φ(0)


def log_cdf_and_ratio(z: Array) -> tuple[Array, Array]:
    """log Φ(z) and φ(z)/Φ(z), to full relative accuracy on both sides."""
    log_cdf = log_ndtr(z)
    return log_cdf, np.exp(_LOG_NORMAL - 0.5 * z * z - log_cdf)


def ratio_and_scaled(z: Array, room: Array) -> tuple[Array, Array]:
    """φ(z)/Φ(z) and c, whose logarithm is log Φ(z) + ½z₋².

    All intermediate arrays and the results are parts of ``room`` (3, *shape of z),
    since allocating memory takes longer than the arithmetic.
    """
    share, t, tail = room
    np.abs(z, out=share)
    share += _MIDDLE
    np.divide(1.0, share, out=share)
    np.multiply(share, -2 * _MIDDLE, out=t)
    t += 1
    coefficients = _coefficients()
    np.multiply(t, coefficients[0], out=tail)
    for coefficient in coefficients[1:-1]:
        tail += coefficient
        tail *= t
    tail += coefficients[-1]
    tail *= share  # m
    peak = np.maximum(z, 0.0, out=t)
    peak *= peak
    peak *= -0.5
    np.exp(peak, out=peak)
    tail *= peak
    np.subtract(0.5, tail, out=tail)
    scaled = np.copysign(tail, z, out=tail)
    scaled += 0.5
    peak *= _DENSITY
    return np.divide(peak, scaled, out=peak), scaled


def steepness(z: Array, ratio: Array, out: Array | None = None) -> Array:
    """−(log Φ)″ = r(z + r), between 0 and 1, for the ratio r = φ(z)/Φ(z).

    An error of r is multiplied by z², so the expansion 1 − 1/z² + 6/z⁴ is used far
    below zero. ``out`` may be z itself.
    """
    far = z < -_FAR if z.size and z.min() < -_FAR else None
    squares = None if far is None else z[far] ** -2.0
    bend = np.add(z, ratio, out=out)
    bend *= ratio
    if squares is not None:
        bend[far] = 1 - squares * (1 - 6 * squares)
    return bend


@cache
def _coefficients() -> list[float]:
    """Coefficients of (a + k)m(a) in powers of t, highest first, by interpolation."""
    chebyshev = np.polynomial.chebyshev
    t = chebyshev.chebpts1(_DEGREE + 1)
    a = _MIDDLE * (1 + t) / (1 - t)
    values = 0.5 * (a + _MIDDLE) * erfcx(a / np.sqrt(2.0))
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, values, _DEGREE))
    return [float(c) for c in powers[::-1]]


N_NODES = 14  # of the quadrature, for eight digits
FEW_NODES = 8  # for six digits of most rows, and four of all
# Contraction of the nodes: away from its peak ℓ falls off faster in t. Of 0.9 to 1.15,
# this has the smallest error for 3 to 100 classes.
_CLOSER = 0.93
# Steps of Newton's method, which only centres the rule and need not converge: three for
# few classes, and one more beyond each of these numbers. More do not reduce the error.
_PEAK_STEPS, _MORE_STEPS = 3, (25, 100)
_ENTRIES = 32_000  # rows × classes × nodes at a time: four such arrays stay in cache
# Limits of b. Below the first, (e^{bt} − 1)/b is t to six digits. The second is never
# reached: b is 0.33 for a hundred classes and 0.65 for a million.
_LEAST_SKEW, _MOST_SKEW = 1e-6, 1.0
# Limit of distances: log Z is then −1e23, and further out φ/Φ has no digits left.
_FURTHEST = 1e12


@dataclass(frozen=True)
class Orthant:
    """log Z (N,), its gradient (N, J) and minus its curvature by d.

    The curvature is diag(slopes) − DᵀD for deviations D of r at the nodes.
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
        """Multiply vectors (N, J) by minus the curvature."""
        D = self.deviations
        at_nodes = np.einsum("nqj,nj->nq", D, vectors)
        product = self.slopes * vectors
        product -= np.einsum("nqj,nq->nj", D, at_nodes)
        return product


def orthant(distance: Array, *, n_nodes: int = N_NODES) -> Orthant:
    """Integrals for distances (N, J), in blocks of rows."""
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
    """Distances (J, N), and the quadrature's placement on the line u of every row."""

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
    """The integrand at the nodes of some rows."""

    log_z: Array  # (n,)
    weights: Array  # (q, n) of averages over the integrand
    z: Array  # (J, q, n)
    ratio: Array  # (J, q, n) r

    @classmethod
    def of(cls, at: _Lines, n_nodes: int, room: Array) -> "_Nodes":
        """Evaluate in ``room``, which the next block reuses."""
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
        """E[r] and E[r(z + r)] (n, J); deviations are written to ``out`` (n, q, J)."""
        z, ratio = self.z, self.ratio
        gradient = np.einsum("jqn,qn->jn", ratio, self.weights)
        bend = steepness(z, ratio, out=z)
        slopes = np.einsum("jqn,qn->jn", bend, self.weights)
        ratio -= gradient[:, None]
        ratio *= np.sqrt(self.weights)
        out[:] = ratio.transpose(2, 1, 0)
        return gradient.T, slopes.T


def _placed(at: _Lines, n_nodes: int) -> tuple[Array, Array]:
    """Nodes u (q, n), and log N(u) plus the logarithms of the weights."""
    nodes, log_weights = _rule(n_nodes)
    bt = at.skew * (nodes[:, None] + at.skew)
    u = at.peak + at.width * np.expm1(bt) / at.skew
    return u, bt - 0.5 * u * u + np.log(at.width) + log_weights[:, None]


def _peak(d: Array, room: Array) -> tuple[Array, Array, Array]:
    """u₀, w and b (n,) each.

    Newton's method starts from the peak of a step function with a Gaussian tail. The
    start is continuous in d, so that the error of an unconverged result is continuous,
    too.
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
    """Nodes, and logarithms of weights for integrals times N(u)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_weights = np.log(_CLOSER * weights) + 0.5 * nodes**2
    return _CLOSER * nodes, log_weights + _LOG_NORMAL


def _in_blocks(
    work: Callable[[slice, Array], None], n_rows: int, for_each_row: int
) -> None:
    """Call ``work`` on blocks of rows that fit the cache, with room for four arrays."""
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


# Step of the grid in units of the smallest s. The error for a Gaussian of width w is
# 2exp(−2π²w²/h²); the largest of a thousand variables has w = 1/3, hence 1e-7.
_STEP = 0.35
# Margin of the grid in units of s: Φ(−7) is 1e-12.
_BEYOND = 7.0
_MOST_NODES = 2000  # where s differ by much
# Means are limited to this distance below the largest one, in standard deviations of
# the difference: Φ(−60) is 1e-784, so the grid need not reach down to the mean.
_FURTHEST_BEHIND = 60.0


def log_probabilities(mean: Array, std: Array) -> Array:
    """log P(variable is the largest) (N, K), from moments (N, K)."""
    mean = _within_reach(mean, std)
    low, high = _ends(mean, std)
    n_nodes = np.ceil((high - low) / (_STEP * std.min(axis=1))).astype(np.intp) + 1
    n_nodes = np.minimum(n_nodes, _MOST_NODES)
    order = np.argsort(n_nodes, kind="stable")
    log_p = np.empty(mean.shape)
    start = 0
    while start < len(order):
        step = max(1, _ENTRIES // (mean.shape[1] * int(n_nodes[order[start]])))
        rows = order[start : start + step]
        # All rows of a block have as many nodes as its last row, which needs the most.
        shares = np.linspace(0, 1, int(n_nodes[rows[-1]]))[:, None]
        v = low[rows] + shares * (high - low)[rows]
        log_p[rows] = _on_grid(mean[rows].T, std[rows].T, v).T
        start += step
    return log_p


def _within_reach(mean: Array, std: Array) -> Array:
    """Means relative to the largest of each row, with a lower limit (N, K)."""
    top = np.argmax(mean, axis=1)[:, None]
    behind = mean - np.take_along_axis(mean, top, axis=1)
    spread = np.hypot(std, np.take_along_axis(std, top, axis=1))
    return np.maximum(behind, -_FURTHEST_BEHIND * spread)


def _ends(mean: Array, std: Array) -> tuple[Array, Array]:
    """The range of the largest variable (N,) each.

    A variable that exceeds the one of the largest mean most likely does so between both
    means, each weighted by its precision.
    """
    rows, top = np.arange(len(mean)), np.argmax(mean, axis=1)
    best, spread = mean[rows, top][:, None], std[rows, top][:, None]
    meeting = (mean / std**2 + best / spread**2) / (std**-2 + spread**-2)
    low = np.min(meeting - _BEYOND / np.sqrt(std**-2 + spread**-2), axis=1)
    return low, np.max(mean + _BEYOND * std, axis=1)


def _on_grid(mean: Array, std: Array, v: Array) -> Array:
    """log P (K, n) from moments (K, n) on a grid (q, n) of even steps."""
    z = (v - mean[:, None]) / std[:, None]
    room = np.empty((3, *z.shape))
    ratio, scaled = ratio_and_scaled(z, room)
    below = np.minimum(z, 0.0, out=z)
    below *= below
    logs = np.log(scaled, out=scaled)
    logs -= 0.5 * below
    log_all = logs.sum(axis=0)
    # Each variable has its own peak, which may be far below the common one.
    log_terms = np.log(np.maximum(ratio, TINY, out=ratio), out=ratio)
    log_terms += log_all
    largest = log_terms.max(axis=1)
    total = np.exp(log_terms - largest[:, None]).sum(axis=1)
    log_p = largest + np.log(total) - np.log(std)
    log_p -= log_p.max(axis=0)
    return np.asarray(log_p - np.log(np.exp(log_p).sum(axis=0)))

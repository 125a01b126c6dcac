"""The integrals of the multinomial probit, by quadrature around their peak.

The probability that the first of K independent unit normals with means η is the
largest is, with d_j = η₁ − η_j,

    Z = ∫ N(u) ∏ⱼ Φ(u + d_j) du.                                    (1) of the paper

The integrand is log-concave: with the nodes of Gauss and Hermite moved to its peak and
scaled by its width there, few of them give seven digits and more, however many classes
there are and however far apart.
With two classes Z is Φ(d/√2), and nothing is left to integrate.
All is done with logarithms. With r = φ/Φ and averages over the integrand,

    ∂log Z/∂d_j = E[r_j]
    ∂²log Z/∂d_j∂d_k = Cov(r_j, r_k) − δ_jk E[r_j(u + d_j + r_j)].
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import erfcx, log_ndtr

from relvec.blockwise import in_order
from relvec.linalg import available_threads
from relvec.typing import Array

N_NODES = 20  # of the quadrature, for eight digits
_PEAK_STEPS = 4  # of Newton's method, which need not end: the rule is centred there
_ENTRIES = 50_000  # rows × classes × nodes at a time, to stay in cache
_ROOT_2 = np.sqrt(2.0)
_RATIO = np.sqrt(2 / np.pi)
_LOG_NORMAL = -0.5 * np.log(2 * np.pi)
_ONE = np.ones((1, 1))  # the rate of all rows and classes


@dataclass(frozen=True)
class Orthant:
    """log Z (N,), its gradient (N, J) and minus its curvature (N, J, J) by d."""

    log_z: Array
    gradient: Array
    curvature: Array


def orthant(
    distance: Array, rate: Array | None = None, *, n_nodes: int = N_NODES
) -> Orthant:
    """For distances (N, J), in blocks of rows; with ``rate`` (N, J) Φ(rate·u + d)."""
    n_rows, n_others = distance.shape
    if n_others == 1:
        return _half_line(distance, _ONE if rate is None else rate)
    log_z, gradient = np.empty(n_rows), np.empty((n_rows, n_others))
    curvature = np.empty((n_rows, n_others, n_others))

    def integrate(rows: slice) -> None:
        part = _orthant(distance[rows], _ONE if rate is None else rate[rows], n_nodes)
        log_z[rows], gradient[rows], curvature[rows] = part

    parts = _row_blocks(n_rows, n_others)
    for _ in in_order(integrate, parts, min(len(parts), available_threads())):
        pass
    return Orthant(log_z, gradient, curvature)


def _half_line(d: Array, rate: Array) -> Orthant:
    """∫ N(u) Φ(rate·u + d) du = Φ(d/√(1 + rate²)), for one other class."""
    scale = np.sqrt(1 + rate**2)
    z = d / scale
    log_cdf, ratio = log_cdf_and_ratio(z)
    curvature = ratio * (z + ratio) / scale**2
    return Orthant(log_cdf[:, 0], ratio / scale, curvature[:, :, None])


def _orthant(d: Array, rate: Array, n_nodes: int) -> tuple[Array, Array, Array]:
    peak, width = _peak(d, rate)
    nodes, log_weights = _rule(n_nodes)
    u = peak[:, None] + width[:, None] * nodes  # (N, q)
    z = rate[:, :, None] * u[:, None, :] + d[:, :, None]  # (N, J, q)
    log_cdf, ratio = log_cdf_and_ratio(z)
    log_terms = log_cdf.sum(axis=1) - 0.5 * u * u + _LOG_NORMAL + log_weights
    log_terms += np.log(width)[:, None]
    largest = log_terms.max(axis=1, keepdims=True)
    weights = np.exp(log_terms - largest)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    log_z = (largest + np.log(total))[:, 0]
    weighted = ratio * weights[:, None, :]
    gradient = weighted.sum(axis=2)
    curvature = gradient[:, :, None] * gradient[:, None, :]
    curvature -= weighted @ np.swapaxes(ratio, 1, 2)
    own = np.arange(d.shape[1])
    curvature[:, own, own] += np.einsum("njq,njq->nj", weighted, z + ratio)
    return log_z, gradient, curvature


def log_cdf_and_ratio(z: Array) -> tuple[Array, Array]:
    """log Φ(z) and φ(z)/Φ(z), to full relative accuracy on both sides."""
    log_cdf = log_ndtr(z)
    return log_cdf, np.exp(_LOG_NORMAL - 0.5 * z * z - log_cdf)


def _peak(d: Array, rate: Array) -> tuple[Array, Array]:
    """Where the integrand is largest, and a width to scale the nodes by (N,) each.

    Newton's method, from where it would be if Φ were a step with a Gaussian tail.
    """
    below = np.minimum(d, 0.0)
    u = -np.sum(rate * below, axis=1) / (1 + np.sum(rate**2 * (d < 0), axis=1))
    for _ in range(_PEAK_STEPS):
        z = rate * u[:, None] + d
        ratio = _RATIO / erfcx(-z / _ROOT_2)
        curve = 1 + np.sum(rate**2 * ratio * (z + ratio), axis=1)
        u = u + (np.sum(rate * ratio, axis=1) - u) / curve
    return u, curve**-0.5


@cache
def _rule(n_nodes: int) -> tuple[Array, Array]:
    """Nodes, and logarithms of weights for plain integrals."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, np.log(weights) + 0.5 * nodes**2


def _row_blocks(n_rows: int, n_others: int) -> list[slice]:
    step = max(1, _ENTRIES // (N_NODES * max(1, n_others)))
    return [slice(start, start + step) for start in range(0, n_rows, step)]

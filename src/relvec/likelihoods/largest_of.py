"""Which of several independent normal variables is the largest, of many rows at once.

With zⱼ = (v − mⱼ)/sⱼ, the largest is v and variable c with the density

    N(v | m_c, s_c²) ∏_{j≠c} Φ(zⱼ) = r(z_c)/s_c · ∏ⱼ Φ(zⱼ),   r = φ/Φ:

one grid of v serves all c. For a smooth integrand that vanishes at both ends the
trapezium rule converges faster than any power of its step.
"""

import numpy as np

from relvec.likelihoods.normal_tails import ratio_and_scaled
from relvec.precision import TINY
from relvec.typing import Array

# Of the grid, in units of the smallest s: for a Gaussian of width w the error is
# 2exp(−2π²w²/h²), and the largest of a thousand variables has w = 1/3: 1e-7.
_STEP = 0.35
# How far it reaches beyond where anything may happen, in units of s: Φ(−7) is 1e-12.
_BEYOND = 7.0
_MOST_NODES = 2000  # where s differ by much
# Means are at most this far behind the largest one, in units of the deviation of the
# difference: Φ(−60) is 1e-784, and the grid need not reach down to the mean itself.
_FURTHEST_BEHIND = 60.0
_ENTRIES = 32_000  # rows × variables × nodes at a time: four such arrays stay in cache


def log_probabilities(mean: Array, std: Array) -> Array:
    """log P(variable is the largest) (N, K), of their moments (N, K); sums are one."""
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
        # Rows of a block share the number of nodes of its last, which has the most.
        shares = np.linspace(0, 1, int(n_nodes[rows[-1]]))[:, None]
        v = low[rows] + shares * (high - low)[rows]
        log_p[rows] = _on_grid(mean[rows].T, std[rows].T, v).T
        start += step
    return log_p


def _within_reach(mean: Array, std: Array) -> Array:
    """Means beside the largest of each row, those far behind brought nearer (N, K)."""
    top = np.argmax(mean, axis=1)[:, None]
    behind = mean - np.take_along_axis(mean, top, axis=1)
    spread = np.hypot(std, np.take_along_axis(std, top, axis=1))
    return np.maximum(behind, -_FURTHEST_BEHIND * spread)


def _ends(mean: Array, std: Array) -> tuple[Array, Array]:
    """Between which any variable is the largest, if it is (N,) each.

    One that is to exceed the one of the largest mean meets it between both means, each
    drawn by its precision.
    """
    rows, top = np.arange(len(mean)), np.argmax(mean, axis=1)
    best, spread = mean[rows, top][:, None], std[rows, top][:, None]
    meeting = (mean / std**2 + best / spread**2) / (std**-2 + spread**-2)
    low = np.min(meeting - _BEYOND / np.sqrt(std**-2 + spread**-2), axis=1)
    return low, np.max(mean + _BEYOND * std, axis=1)


def _on_grid(mean: Array, std: Array, v: Array) -> Array:
    """(K, n) from moments (K, n) and a grid (q, n) of even steps."""
    z = (v - mean[:, None]) / std[:, None]
    room = np.empty((3, *z.shape))
    ratio, scaled = ratio_and_scaled(z, room)
    below = np.minimum(z, 0.0, out=z)
    below *= below
    logs = np.log(scaled, out=scaled)
    logs -= 0.5 * below
    log_all = logs.sum(axis=0)
    # Each variable has its own peak, which may be far down that of all.
    log_terms = np.log(np.maximum(ratio, TINY, out=ratio), out=ratio)
    log_terms += log_all
    largest = log_terms.max(axis=1)
    total = np.exp(log_terms - largest[:, None]).sum(axis=1)
    log_p = largest + np.log(total) - np.log(std)
    log_p -= log_p.max(axis=0)
    return np.asarray(log_p - np.log(np.exp(log_p).sum(axis=0)))

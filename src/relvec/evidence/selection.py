"""What each basis function would gain by moving to its best prior precision.

With all other functions fixed the evidence depends on one α as

    ℓ(α) = ½ Σₖ [log α − log(α + sₖ) + qₖ²/(α + sₖ)],                          (18)

whose maximum is (20)-(21) for one output. Several outputs share α and are solved by
Newton's method on log α.
"""

from dataclasses import dataclass

import numpy as np

from relvec.chance import generator
from relvec.evidence.statistics import Statistics
from relvec.precision import LEAST_PRIOR_SHARE, TIE, TINY
from relvec.typing import Array, Indices

_MAX_NEWTON = 30  # of steps up to two in log α, hence 26 decades


@dataclass(frozen=True)
class Proposals:
    """The best single action for every basis function."""

    current: Array  # (M,) α as it is; inf: out of the model
    precision: Array  # (M,) α to move to
    gain: Array  # (M,) evidence gained thereby; 0 for a function that stays out
    change: Array  # (M,) |Δ log α|; inf for additions and deletions, 0 for staying out


def proposals(stats: Statistics, least: Array | None = None) -> Proposals:
    """For all functions; ``least`` (M,) is how small α may become."""
    S, Q = stats.sparsity_in, stats.quality_in
    usable = (stats.least_sparsity < S).all(axis=0)
    precision = best_precision(np.where(usable, S, 1.0), np.where(usable, Q, 0.0))
    smallest = _least_precision(stats, least)
    precision = np.maximum(precision, smallest)
    gain = addition_gain(precision, S, Q)
    change = np.where(np.isfinite(precision), np.inf, 0.0)
    current = np.full(len(gain), np.inf)
    inside = stats.active
    if len(inside):
        current[inside] = stats.prior_precision
        active = _active_proposals(stats, smallest[inside])
        precision[inside], gain[inside], change[inside] = active
    return Proposals(current, precision, gain, change)


def _active_proposals(stats: Statistics, smallest: Array) -> tuple[Array, Array, Array]:
    """Re-estimation or deletion of each active function."""
    alpha, variance, mu = stats.prior_precision, stats.variances, stats.mean
    # γ = 1 − αΣ = S/α: each form is exact where the other one cancels.
    product, ratio = alpha * variance, stats.sparsity_in[:, stats.active] / alpha
    shrinks = product < 0.5
    gamma = np.where(shrinks, 1 - product, ratio.clip(0, 1))
    shrunk = np.where(shrinks, product, 1 - gamma)
    best = best_precision(gamma / variance, mu / variance)  # s, q by eq. 23
    precision = np.maximum(best, smallest)
    stays = np.isfinite(precision)
    target = np.where(stays, precision, alpha)
    gain = np.where(
        stays,
        reestimation_gain(alpha, target, shrunk, mu),
        deletion_gain(shrunk, mu, variance),
    )
    change = np.where(stays, np.abs(np.log(target / alpha)), np.inf)
    return precision, gain, change


def _least_precision(stats: Statistics, least: Array | None) -> Array:
    """(M,) that rounding bears, or more if that is asked for."""
    borne = float(LEAST_PRIOR_SHARE * stats.noise_precision.max())
    if least is None:
        return np.full(stats.sparsity_in.shape[1], borne)
    return np.maximum(least, borne)


def best_precision(sparsity_out: Array, quality_out: Array) -> Array:
    """argmax ℓ(α) per column of s (K or 1, M), q (K, M); inf where nothing gains."""
    n_outputs = len(quality_out)
    total = sparsity_out.sum(axis=0) * (n_outputs / len(sparsity_out))
    theta = (quality_out * quality_out).sum(axis=0) - total
    pays = (theta > 0) & (total > 0)
    mean_square = total * total / n_outputs
    alpha = np.where(pays, mean_square / np.where(pays, theta, 1.0), np.inf)
    if len(sparsity_out) == 1:
        return alpha  # eqs. 20, 21; (14), (15) of the multi-class paper
    return _common_precision(alpha, sparsity_out, quality_out)


def _common_precision(start: Array, s: Array, q: Array) -> Array:
    """Newton's method on log α from the optimum for equal sparsity factors."""
    chosen = np.flatnonzero(np.isfinite(start) & (start > 0))
    log_alpha, s, q = np.log(start[chosen]), s[:, chosen], q[:, chosen]
    for _ in range(_MAX_NEWTON):
        total = np.exp(log_alpha) + s
        share = s / total  # 1 − α/(α + s)
        pull = q**2 * np.exp(log_alpha) / total**2
        gradient = np.sum(share - pull, axis=0)
        curvature = np.sum(-share * (1 - share) - pull * (2 * share - 1), axis=0)
        concave = curvature < 0
        step = np.where(
            concave, -gradient / np.where(concave, curvature, 1), np.sign(gradient)
        )
        log_alpha = log_alpha + np.clip(step, -2, 2)
        if np.max(np.abs(step), initial=0.0) < 1e-12:
            break
    alpha = start.copy()
    alpha[chosen] = np.exp(log_alpha)
    return alpha


def addition_gain(alpha: Array, S: Array, Q: Array) -> Array:
    """ℓ(α), which is eq. (27) for the best α; 0 where α is infinite."""
    out = ~np.isfinite(alpha)
    safe, S = np.where(out, 1.0, alpha), np.abs(S)
    terms = Q * Q / (safe + S) - np.log1p(S / safe)
    return np.where(out, 0.0, 0.5 * terms.sum(axis=0))


def reestimation_gain(alpha: Array, target: Array, shrunk: Array, mu: Array) -> Array:
    """eq. (32), with Q = αμ and S = α − α²Σ inserted; ``shrunk`` is αΣ.

    1 + S(1/α̃ − 1/α) is a weighted mean of 1 and α/α̃: no sum that could cancel.
    """
    ratio = alpha / target
    growth = (1 - shrunk) * (ratio - 1)
    left = shrunk + (1 - shrunk) * ratio
    logarithm = np.where(np.abs(growth) < 0.5, np.log1p(growth), np.log(left))
    return 0.5 * (alpha * mu * mu * (ratio - 1) / left - logarithm).sum(axis=0)


def deletion_gain(shrunk: Array, mu: Array, variance: Array) -> Array:
    """eq. (37), with Q = αμ and S = α − α²Σ inserted; ``shrunk`` is αΣ."""
    return -0.5 * (mu * mu / variance + np.log(np.maximum(shrunk, TINY))).sum(axis=0)


def falling(values: Array) -> Indices:
    """Places of positive values, the largest first; ties in the order of places.

    Values that differ by rounding are ties, so that the order of the sums in them does
    not decide.
    """
    order = np.argsort(-values, kind="stable")
    drops = values[order][:-1] > (1 + TIE) * values[order][1:]
    ranks = np.concatenate([[0], np.cumsum(drops)]) if len(order) else order
    return order[np.lexsort((order, ranks))]


def choose(
    options: Proposals, worthwhile: Indices, rule: str, turn: int, seed: int
) -> int:
    """One of the ``worthwhile`` functions (ascending) by the rule of section 4.2."""
    if rule == "random":
        return int(generator(seed, turn).choice(worthwhile))
    if rule == "cyclic":
        later = worthwhile[worthwhile >= turn]
        return int(later[0] if len(later) else worthwhile[0])
    gain = options.gain[worthwhile]
    best = worthwhile[gain >= gain.max() - TIE * abs(gain.max())]
    # A copy of an active column gains exactly what re-estimating that column does:
    # the copy must not enter. Other ties go to the lowest index.
    inside = best[np.isfinite(options.current[best])]
    return int(inside[0] if inside.size else best[0])

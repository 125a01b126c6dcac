"""From latent values to probabilities of classes, as expressions.

Integrals that the library takes row by row, with as many nodes as the row asks for, are
taken here with a number that is fixed before and enough for all rows.
"""

from itertools import combinations

import numpy as np

from relvec.export.expressions import (
    Expression,
    at_least,
    concatenated,
    constant,
    elementwise,
    exp,
    if_negative,
    log,
    matmul,
    shortened,
    sqrt,
    squared,
)
from relvec.export.special import (
    divided_by_sum,
    log_normal_cdf,
    log_sum_exp,
    normal_cdf,
    normal_tail,
    normalised,
    rows_of,
    softmax,
    solved_for_ones,
)
from relvec.likelihoods.averages import scattered
from relvec.likelihoods.logistic_integral import kolmogorov_rule
from relvec.modelling.families import Doubt
from relvec.precision import ROUNDING
from relvec.typing import Array

# Of a grid, in units of the smallest deviation, and how far beyond means it reaches:
# those of ``relvec.likelihoods.largest_of``.
_STEP, _BEYOND = 0.35, 7.0
_MOST_NODES = 2000
_LEAST_SHARE = 1e-300  # that a logarithm can take, and that is nothing
_LOG_DENSITY = -0.5 * np.log(2 * np.pi)


def moderated(
    mean: Expression, variance: Expression, doubt: Doubt | None
) -> Expression:
    """P of the first and second of two classes (2,), for η of these moments (1,)."""
    nodes, weights = kolmogorov_rule()
    std = sqrt(variance + 4 * nodes**2)
    tail = matmul(normal_tail(mean / std), weights[:, None])
    rest = 1.0 - tail
    p = concatenated([if_negative(mean, rest, tail), if_negative(mean, tail, rest)])
    # By the error function of z/√2, whose average is p₁ − p₀.
    sure, shares = _shares(doubt, 2)
    sides = constant(0.5 * sure * weights[:, None] * np.array([-1.0, 1.0]))
    even = constant(0.5 * sure + shares)
    short = mean * np.sqrt(0.5) / std
    return shortened("both_sides", doubted(p, doubt), short, sides, even)


def _shares(doubt: Doubt | None, n_classes: int) -> tuple[float, Array]:
    """Of the model, and of the frequencies."""
    if doubt is None:
        return 1.0, np.zeros(n_classes)
    return 1 - doubt.share, doubt.share * doubt.frequencies


def log_moderated(mean: Expression, variance: Expression) -> Expression:
    """log P (M,) of the second of two classes, where it may be very small."""
    nodes, weights = kolmogorov_rule()
    z = mean.wider(-1) / sqrt(variance.wider(-1) + 4 * nodes**2)
    return log_sum_exp(log_normal_cdf(z) + np.log(weights))


def doubted(p: Expression, doubt: Doubt | None) -> Expression:
    """With the share of the classes' frequencies."""
    sure, shares = _shares(doubt, p.shape[-1])
    return p * sure + shares


def log_doubted(
    log_p: Expression, doubts: list[Doubt | None], place: int
) -> Expression:
    """The same of logarithms (M,) for one of two classes of several models."""
    if not any(doubts):
        return log_p
    each = [_shares(doubt, 2) for doubt in doubts]
    sure = np.log([share for share, _ in each])
    known = np.log(np.maximum([shares[place] for _, shares in each], _LEAST_SHARE))
    found = log_p + sure
    most = at_least(found, known)
    return most + log(exp(found - most) + exp(constant(known) - most))


def probit_of_two(mean: Expression, variance: Expression) -> Expression:
    """P (2,) of classes whose means are (2,), with variances (2,) or one for both."""
    spread = variance + 1.0
    total = spread.sum() if spread.shape == (2,) else spread.sum() * 2.0
    odds = (mean.take([1]) - mean.take([0])) / sqrt(total).wider(0)
    return normal_cdf(concatenated([-odds, odds]))


def largest(mean: Expression, std: Expression, n_nodes: int) -> Expression:
    """P(variable is the largest) (…, K), for independent normal ones, by a grid."""
    if std.shape[-1] == 1:
        return _largest_of_equals(mean, std, n_nodes)
    low = (mean - std * _BEYOND).max().wider(-1)
    high = (mean + std * _BEYOND).max().wider(-1)
    v = low + (high - low) * np.linspace(0, 1, n_nodes)
    z = (v.wider(-1) - mean.wider(-2)) / std.wider(-2)
    log_cdf = log_normal_cdf(z)
    log_density = squared(z) * -0.5 - log(std).wider(-2)
    terms = exp(log_cdf.sum().wider(-1) - log_cdf + log_density + _LOG_DENSITY)
    return normalised(terms.sum(axis=-2))


def _largest_of_equals(mean: Expression, std: Expression, n_nodes: int) -> Expression:
    """The same of variables with one deviation, in units of it."""
    behind = (mean.max().wider(-1) - mean) / std
    grid = np.linspace(-_BEYOND, _BEYOND, n_nodes)[:, None]
    z = behind.wider(-2) + grid
    log_cdf = log_normal_cdf(z)
    terms = exp(log_cdf.sum().wider(-1) - log_cdf + squared(z) * -0.5 + _LOG_DENSITY)
    value = normalised(terms.sum(axis=-2))
    near = mean * np.sqrt(0.5)
    short = ((near.max().wider(-1) - near) / std).wider(-2) + grid * np.sqrt(0.5)
    return shortened("largest", value, short)


def nodes_for(ratio: float) -> int:
    """Of the grid, if deviations of a row differ by no more than a ratio."""
    return int(min(np.ceil(2 * _BEYOND * ratio / _STEP) + 1, _MOST_NODES))


def averaged_softmax(mean: Expression, deviation: Expression) -> Expression:
    """E[softmax(mean ± deviation)] (K,), over points in deviations (draws, K)."""
    each = [softmax(mean.wider(0) + one).sum(axis=0) for one in (deviation, -deviation)]
    return normalised(each[0] + each[1])


def softmax_of_variances(mean: Expression, variance: Expression) -> Expression:
    """E[softmax η] (K,) for outputs with variances of their own."""
    deviation = sqrt(variance).wider(0) * half_of_points(mean.shape[0])
    return averaged_softmax(mean, deviation)


def half_of_points(n_outputs: int) -> Array:
    """Those whose mirror images are the other half."""
    points, _ = scattered(n_outputs)
    return points[: len(points) // 2]


def pairs_coupled(p: list[Expression], n_classes: int) -> Expression:
    """P (K,) from those of all pairs, as ``relvec.modelling.coupling.coupled`` has it.

    With Q of its quadratic form, p is proportional to the solution of (Q + 11ᵀ)p = 1:
    Q is singular where pairs agree, and the sum is not.
    """
    both = concatenated([*p, constant(np.zeros(1))])
    places = np.full((n_classes, n_classes), 2 * len(p))
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        places[i, j], places[j, i] = 2 * number, 2 * number + 1
    wins, losses = rows_of(both, places), rows_of(both, places.T)
    unit = np.eye(n_classes)
    rows = [
        squared(losses[i]).sum().wider(0) * unit[i] - wins[i] * losses[i] + 1.0
        for i in range(n_classes)
    ]
    found = divided_by_sum(solved_for_ones(rows))
    return normalised(at_least(found, np.finfo(np.float64).eps))


def votes(odds: Expression, n_classes: int) -> Expression:
    """Votes (K,) from log odds (pairs,), as ``relvec.modelling.coupling.voted``."""
    first, second = (np.eye(n_classes)[side] for side in np.triu_indices(n_classes, 1))
    lost = if_negative(ROUNDING - odds, 0.0, 1.0)
    counted = matmul(lost, first - second) + second.sum(axis=0)
    confidence = matmul(odds, second - first)
    size = elementwise("absolute", confidence)
    return counted + confidence / ((size + 1.0) * 3.0)

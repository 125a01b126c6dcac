"""Class probabilities from latent values, as expressions.

The library integrates row by row, with as many nodes as a row needs. An export uses a
fixed number of nodes that is enough for all rows. Covariances of several classes are
handled entry by entry, with the formulas of ``relvec.likelihoods.averages``.
"""

from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import erfcx

from relvec.export.expressions import (
    Expression,
    at_least,
    at_most,
    concatenated,
    constant,
    elementwise,
    exp,
    if_negative,
    log,
    matmul,
    polynomial,
    shortened,
    sqrt,
    squared,
)
from relvec.likelihoods.averages import COMMON_SHARE, LEAST_PIVOT, scattered
from relvec.likelihoods.bernoulli import kolmogorov_rule
from relvec.likelihoods.multinomial import coupled_rule
from relvec.modelling.families import Doubt
from relvec.precision import ROUNDING
from relvec.typing import Array

# Of the tail of the normal distribution, as in ``probit_integrals``: for
# relative errors of 1e-15.
_MIDDLE, _DEGREE = 3.75 * np.sqrt(2.0), 21
# Squares of what is further out would leave the range of single precision.
_FURTHEST = 1e9


def normal_tail(z: Expression) -> Expression:
    """Φ(−|z|), with all digits; a language may have a shorter way to most of them."""
    return shortened("normal_tail", exp(squared(z) * -0.5) * _scaled_tail(z), z)


def normal_cdf(z: Expression) -> Expression:
    """Φ(z), with all digits where it is small."""
    tail = normal_tail(z)
    return if_negative(z, tail, 1.0 - tail)


def log_normal_cdf(z: Expression) -> Expression:
    """log Φ(z)."""
    z = _limited(z)
    above, below = at_least(z, 0.0), at_most(z, 0.0)
    tail = _scaled_tail(z)
    scaled = if_negative(z, tail, 1.0 - exp(squared(above) * -0.5) * tail)
    return log(scaled) - squared(below) * 0.5


def _limited(z: Expression) -> Expression:
    return at_most(at_least(z, -_FURTHEST), _FURTHEST)


def _scaled_tail(z: Expression) -> Expression:
    """exp(z²/2)·Φ(−|z|), by a polynomial in (|z| − k)/(|z| + k)."""
    share = constant(1.0) / (elementwise("absolute", z) + _MIDDLE)
    t = 1.0 - share * (2 * _MIDDLE)
    return polynomial(t, _coefficients()) * share


@cache
def _coefficients() -> tuple[float, ...]:
    """Of (a + k)·exp(a²/2)·Φ(−a) by powers of t, highest first."""
    chebyshev = np.polynomial.chebyshev
    t = chebyshev.chebpts1(_DEGREE + 1)
    a = _MIDDLE * (1 + t) / (1 - t)
    values = 0.5 * (a + _MIDDLE) * erfcx(a / np.sqrt(2.0))
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, values, _DEGREE))
    return tuple(float(c) for c in powers[::-1])


def log_sum_exp(values: Expression) -> Expression:
    """log Σ exp over the last axis."""
    largest = values.max()
    return largest + log(exp(values - largest.wider(-1)).sum())


def softmax(values: Expression) -> Expression:
    """Of the last axis."""
    value = normalised(exp(values - values.max().wider(-1)))
    return shortened("softmax", value, values)


def normalised(values: Expression) -> Expression:
    """Divided by the sum over the last axis, of values that are not negative."""
    return shortened("normalised", divided_by_sum(values), values)


def divided_by_sum(values: Expression) -> Expression:
    """The same, whatever the values are."""
    return values / values.sum().wider(-1)


def solved_for_ones(rows: list[Expression]) -> Expression:
    """p with Ap = 1, for a positive definite A given by its rows, by elimination."""
    size = len(rows)
    sides = [constant(np.ones(1)) for _ in rows]
    rows = list(rows)
    for i in range(size):
        for j in range(i + 1, size):
            factor = rows[j].take([i]) / rows[i].take([i])
            rows[j] = rows[j] - factor * rows[i]
            sides[j] = sides[j] - factor * sides[i]
    found: dict[int, Expression] = {}
    for i in reversed(range(size)):
        rest = sides[i]
        for j in range(i + 1, size):
            rest = rest - rows[i].take([j]) * found[j]
        found[i] = rest / rows[i].take([i])
    return concatenated([found[i] for i in range(size)])


def rows_of(values: Expression, places: Array) -> list[Expression]:
    """Vectors gathered from the last axis, by (n, m) places in it."""
    return [values.take(row) for row in places]


# Of a grid, in units of the smallest deviation, and how far beyond means it reaches:
# those of ``relvec.likelihoods.probit_integrals``.
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


Matrix = list[list[Expression]]  # of entries that are numbers each
_TINY = 1e-30  # beside a pivot, in either precision


def softmax_of_covariance(mean: Expression, covariance: Matrix) -> Expression:
    """E[softmax η] (K,)."""
    deviation = _deviations(_lower_root(covariance), half_of_points(len(covariance)))
    return averaged_softmax(mean, deviation)


def probit_of_covariance(
    mean: Expression, covariance: Matrix, coding: Array
) -> Expression:
    """P (K,) of classes by outputs of a coding, as the likelihood itself has it."""
    common = _common_variance(covariance)
    rest = [
        [entry - common if i == j else entry for j, entry in enumerate(row)]
        for i, row in enumerate(covariance)
    ]
    points, weights = coupled_rule(len(coding))
    root = _line_root(rest) if len(coding) == 3 else _lower_root(rest)
    zeta = mean.wider(0) + _deviations(root, points)
    std = sqrt(common + 1.0).wider(0)
    each = largest(matmul(zeta, coding.T), std, nodes_for(1.0))
    return normalised((each * weights[:, None]).sum(axis=0))


def _deviations(root: Matrix, points: Array) -> Expression:
    """Points (draws, K) times the transpose of a root."""
    columns = []
    for row in root:
        entries = concatenated([entry.wider(0) for entry in row])
        columns.append((entries.wider(0) * points).sum().wider(-1))
    return concatenated(columns)


def _lower_root(covariance: Matrix) -> Matrix:
    size = len(covariance)
    zero = constant(0.0)
    L = [[zero] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            left = covariance[i][j]
            for k in range(j):
                left = left - L[i][k] * L[j][k]
            if i == j:
                L[i][j] = sqrt(at_least(left, 0.0))
            else:
                share = left / _floored(L[j][j], covariance[j][j])
                # Where variances are too small for single precision, it could be any.
                most = sqrt(at_least(covariance[i][i], 0.0))
                L[i][j] = at_most(at_least(share, -most), most)
    return L


def _line_root(covariance: Matrix) -> Matrix:
    (first, across), (_, second) = covariance
    behind = first - second
    variance = at_least(if_negative(behind, second, first), _TINY)
    scale = constant(1.0) / sqrt(variance)
    columns = [
        if_negative(behind, across, first),
        if_negative(behind, second, across),
    ]
    return [[column * scale, constant(0.0)] for column in columns]


def _floored(pivot: Expression, variance: Expression) -> Expression:
    """A pivot to divide by."""
    return at_least(pivot, sqrt(at_least(variance, 0.0)) * LEAST_PIVOT + _TINY)


def _common_variance(covariance: Matrix) -> Expression:
    size, L = len(covariance), _lower_root(covariance)
    inverse = [[constant(0.0)] * size for _ in range(size)]
    for i in range(size):
        pivot = _floored(L[i][i], covariance[i][i])
        for j in range(i + 1):
            entry = constant(float(i == j))
            for k in range(j, i):
                entry = entry - L[i][k] * inverse[k][j]
            inverse[i][j] = entry / pivot
    rows = [concatenated([entry.wider(0) for entry in row]) for row in inverse]
    # In units of the largest entry: single precision could not hold its fourth power.
    unit = elementwise("absolute", concatenated(rows)).max()
    rows = [row / unit.wider(0) for row in rows]
    columns = [[row.take([j]) for row in rows] for j in range(size)]
    precision = [
        _total([(one * two).sum() for one, two in zip(left, right, strict=True)])
        for left in columns
        for right in columns
    ]
    first = _total(precision[:: size + 1])
    second = _total([squared(entry) for entry in precision])
    spread = at_least(second * float(size) - squared(first), 0.0)
    bound = constant(float(size)) / (first + sqrt(spread * (size - 1.0)))
    return bound * COMMON_SHARE / unit / unit


def _total(parts: list[Expression]) -> Expression:
    return sum(parts[1:], start=parts[0])

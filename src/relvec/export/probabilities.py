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
    concatenate,
    constant,
    elementwise,
    exp,
    if_negative,
    log,
    matmul,
    maximum,
    minimum,
    named,
    polynomial,
    sqrt,
    square,
)
from relvec.likelihoods.averages import COMMON_SHARE, LEAST_PIVOT, scattered
from relvec.likelihoods.bernoulli import kolmogorov_rule
from relvec.likelihoods.multinomial import coupled_rule
from relvec.modelling.families import ClassPriorMixing
from relvec.precision import ROUNDING
from relvec.typing import Array

# Expansion of the normal tail as in ``likelihoods.probit_integrals``, here with a
# degree for relative errors of 1e-15.
_MIDDLE, _DEGREE = 3.75 * np.sqrt(2.0), 21
# ExcessVariance, squares exceed the range of single precision.
_FURTHEST = 1e9


def normal_tail(z: Expression) -> Expression:
    """Φ(−|z|) with all digits; some languages compute most of them faster."""
    return named("normal_tail", exp(square(z) * -0.5) * _scaled_tail(z), z)


def normal_cdf(z: Expression) -> Expression:
    """Φ(z), with all digits where it is small."""
    tail = normal_tail(z)
    return if_negative(z, tail, 1.0 - tail)


def log_normal_cdf(z: Expression) -> Expression:
    """log Φ(z)."""
    z = minimum(maximum(z, -_FURTHEST), _FURTHEST)
    above, below = maximum(z, 0.0), minimum(z, 0.0)
    tail = _scaled_tail(z)
    scaled = if_negative(z, tail, 1.0 - exp(square(above) * -0.5) * tail)
    return log(scaled) - square(below) * 0.5


def _scaled_tail(z: Expression) -> Expression:
    """exp(z²/2)·Φ(−|z|), by a polynomial in (|z| − k)/(|z| + k)."""
    share = constant(1.0) / (elementwise("absolute", z) + _MIDDLE)
    t = 1.0 - share * (2 * _MIDDLE)
    return polynomial(t, _coefficients()) * share


@cache
def _coefficients() -> tuple[float, ...]:
    """Coefficients of (a + k)·exp(a²/2)·Φ(−a) in powers of t, highest first."""
    chebyshev = np.polynomial.chebyshev
    t = chebyshev.chebpts1(_DEGREE + 1)
    a = _MIDDLE * (1 + t) / (1 - t)
    values = 0.5 * (a + _MIDDLE) * erfcx(a / np.sqrt(2.0))
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, values, _DEGREE))
    return tuple(float(c) for c in powers[::-1])


def log_sum_exp(values: Expression) -> Expression:
    """log Σ exp over the last axis."""
    peak = values.max()
    return peak + log(exp(values - peak.expand_dims(-1)).sum())


def softmax(values: Expression) -> Expression:
    """Softmax over the last axis."""
    value = normalised(exp(values - values.max().expand_dims(-1)))
    return named("softmax", value, values)


def normalised(values: Expression) -> Expression:
    """Divide non-negative values by their sum over the last axis."""
    return named("normalised", divided_by_sum(values), values)


def divided_by_sum(values: Expression) -> Expression:
    """Divide values by their sum over the last axis."""
    return values / values.sum().expand_dims(-1)


def solve_for_ones(rows: list[Expression]) -> Expression:
    """Solve Ap = 1 by elimination, for a positive definite A given by its rows."""
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
    return concatenate([found[i] for i in range(size)])


def gathered(values: Expression, places: Array) -> list[Expression]:
    """Select (n, m) entries of the last axis, as n vectors."""
    return [values.take(row) for row in places]


# Step of a grid in units of the smallest standard deviation, and how far it reaches
# beyond the means, as in ``likelihoods.probit_integrals``.
_STEP, _BEYOND = 0.35, 7.0
_MOST_NODES = 2000
_LEAST_SHARE = 1e-300  # a share of zero, for a logarithm
_LOG_DENSITY = -0.5 * np.log(2 * np.pi)


def averaged_sigmoid(
    mean: Expression, variance: Expression, doubt: ClassPriorMixing | None
) -> Expression:
    """P (2,) of two classes, averaged over η with these moments (1,)."""
    nodes, weights = kolmogorov_rule()
    std = sqrt(variance + 4 * nodes**2)
    tail = matmul(normal_tail(mean / std), weights[:, None])
    rest = 1.0 - tail
    p = concatenate([if_negative(mean, rest, tail), if_negative(mean, tail, rest)])
    # The average of erf(z/√2) is p₁ − p₀.
    sure, shares = _shares(doubt, 2)
    sides = constant(0.5 * sure * weights[:, None] * np.array([-1.0, 1.0]))
    even = constant(0.5 * sure + shares)
    short = mean * np.sqrt(0.5) / std
    return named("both_sides", mixed_with_priors(p, doubt), short, sides, even)


def _shares(doubt: ClassPriorMixing | None, n_classes: int) -> tuple[float, Array]:
    """The weight of the model, and the weighted class frequencies."""
    if doubt is None:
        return 1.0, np.zeros(n_classes)
    return 1 - doubt.share, doubt.share * doubt.frequencies


def log_averaged_sigmoid(mean: Expression, variance: Expression) -> Expression:
    """log P (M,) of the second of two classes, accurate if P is very small."""
    nodes, weights = kolmogorov_rule()
    z = mean.expand_dims(-1) / sqrt(variance.expand_dims(-1) + 4 * nodes**2)
    return log_sum_exp(log_normal_cdf(z) + np.log(weights))


def mixed_with_priors(p: Expression, doubt: ClassPriorMixing | None) -> Expression:
    """Mix probabilities with class frequencies."""
    sure, shares = _shares(doubt, p.shape[-1])
    return p * sure + shares


def log_mixed_with_priors(
    log_p: Expression, doubts: list[ClassPriorMixing | None], place: int
) -> Expression:
    """Mix log probabilities (M,) of one of two classes of several models."""
    if not any(doubts):
        return log_p
    each = [_shares(doubt, 2) for doubt in doubts]
    sure = np.log([share for share, _ in each])
    known = np.log(np.maximum([shares[place] for _, shares in each], _LEAST_SHARE))
    found = log_p + sure
    most = maximum(found, known)
    return most + log(exp(found - most) + exp(constant(known) - most))


def probit_of_two(mean: Expression, variance: Expression) -> Expression:
    """P (2,) of two classes with means (2,) and variances (2,), or one for both."""
    spread = variance + 1.0
    total = spread.sum() if spread.shape == (2,) else spread.sum() * 2.0
    odds = (mean.take([1]) - mean.take([0])) / sqrt(total).expand_dims(0)
    return normal_cdf(concatenate([-odds, odds]))


def probability_of_largest(
    mean: Expression, std: Expression, n_nodes: int
) -> Expression:
    """P(variable is the largest) (…, K) of independent normal variables, by a grid."""
    if std.shape[-1] == 1:
        return _largest_of_equals(mean, std, n_nodes)
    low = (mean - std * _BEYOND).max().expand_dims(-1)
    high = (mean + std * _BEYOND).max().expand_dims(-1)
    v = low + (high - low) * np.linspace(0, 1, n_nodes)
    z = (v.expand_dims(-1) - mean.expand_dims(-2)) / std.expand_dims(-2)
    log_cdf = log_normal_cdf(z)
    log_density = square(z) * -0.5 - log(std).expand_dims(-2)
    terms = exp(log_cdf.sum().expand_dims(-1) - log_cdf + log_density + _LOG_DENSITY)
    return normalised(terms.sum(axis=-2))


def _largest_of_equals(mean: Expression, std: Expression, n_nodes: int) -> Expression:
    """The same for equal standard deviations."""
    behind = (mean.max().expand_dims(-1) - mean) / std
    grid = np.linspace(-_BEYOND, _BEYOND, n_nodes)[:, None]
    z = behind.expand_dims(-2) + grid
    log_cdf = log_normal_cdf(z)
    terms = exp(
        log_cdf.sum().expand_dims(-1) - log_cdf + square(z) * -0.5 + _LOG_DENSITY
    )
    value = normalised(terms.sum(axis=-2))
    near = mean * np.sqrt(0.5)
    short = ((near.max().expand_dims(-1) - near) / std).expand_dims(
        -2
    ) + grid * np.sqrt(0.5)
    return named("largest", value, short)


def grid_size(ratio: float) -> int:
    """Number of nodes if the standard deviations of a row differ by at most a ratio."""
    return int(min(np.ceil(2 * _BEYOND * ratio / _STEP) + 1, _MOST_NODES))


def averaged_softmax(mean: Expression, deviation: Expression) -> Expression:
    """E[softmax(mean ± deviation)] (K,) over deviations (draws, K)."""
    each = [
        softmax(mean.expand_dims(0) + one).sum(axis=0)
        for one in (deviation, -deviation)
    ]
    return normalised(each[0] + each[1])


def softmax_with_variances(mean: Expression, variance: Expression) -> Expression:
    """E[softmax η] (K,) for independent outputs."""
    deviation = sqrt(variance).expand_dims(0) * half_points(mean.shape[0])
    return averaged_softmax(mean, deviation)


def half_points(n_outputs: int) -> Array:
    """Half of the points; the others are their mirror images."""
    points, _ = scattered(n_outputs)
    return points[: len(points) // 2]


def couple_pairs(p: list[Expression], n_classes: int) -> Expression:
    """P (K,) from those of all pairs, as in ``relvec.modelling.several_models``.

    With Q of its quadratic form, p is proportional to the solution of (Q + 11ᵀ)p = 1. Q
    is singular if pairs agree; the sum is not.
    """
    both = concatenate([*p, constant(np.zeros(1))])
    places = np.full((n_classes, n_classes), 2 * len(p))
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        places[i, j], places[j, i] = 2 * number, 2 * number + 1
    wins, losses = gathered(both, places), gathered(both, places.T)
    unit = np.eye(n_classes)
    rows = [
        square(losses[i]).sum().expand_dims(0) * unit[i] - wins[i] * losses[i] + 1.0
        for i in range(n_classes)
    ]
    found = divided_by_sum(solve_for_ones(rows))
    return normalised(maximum(found, np.finfo(np.float64).eps))


def votes(odds: Expression, n_classes: int) -> Expression:
    """Votes (K,) from log odds (pairs,), as in ``relvec.modelling.several_models``."""
    first, second = (np.eye(n_classes)[side] for side in np.triu_indices(n_classes, 1))
    lost = if_negative(ROUNDING - odds, 0.0, 1.0)
    counted = matmul(lost, first - second) + second.sum(axis=0)
    confidence = matmul(odds, second - first)
    size = elementwise("absolute", confidence)
    return counted + confidence / ((size + 1.0) * 3.0)


Matrix = list[list[Expression]]  # of entries that are numbers each
_TINY = 1e-30  # negligible beside a pivot in either precision


def softmax_with_covariance(mean: Expression, covariance: Matrix) -> Expression:
    """E[softmax η] (K,) for correlated outputs."""
    deviation = _deviations(_cholesky(covariance), half_points(len(covariance)))
    return averaged_softmax(mean, deviation)


def probit_with_covariance(
    mean: Expression, covariance: Matrix, coding: Array
) -> Expression:
    """P (K,) of classes for correlated outputs of a coding."""
    common = _common_variance(covariance)
    rest = [
        [entry - common if i == j else entry for j, entry in enumerate(row)]
        for i, row in enumerate(covariance)
    ]
    points, weights = coupled_rule(len(coding))
    root = _rank_one_root(rest) if len(coding) == 3 else _cholesky(rest)
    zeta = mean.expand_dims(0) + _deviations(root, points)
    std = sqrt(common + 1.0).expand_dims(0)
    each = probability_of_largest(matmul(zeta, coding.T), std, grid_size(1.0))
    return normalised((each * weights[:, None]).sum(axis=0))


def _deviations(root: Matrix, points: Array) -> Expression:
    """Points (draws, K) times the transpose of a root."""
    columns = []
    for row in root:
        entries = concatenate([entry.expand_dims(0) for entry in row])
        columns.append((entries.expand_dims(0) * points).sum().expand_dims(-1))
    return concatenate(columns)


def _cholesky(covariance: Matrix) -> Matrix:
    size = len(covariance)
    zero = constant(0.0)
    L = [[zero] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            left = covariance[i][j]
            for k in range(j):
                left = left - L[i][k] * L[j][k]
            if i == j:
                L[i][j] = sqrt(maximum(left, 0.0))
            else:
                share = left / _bounded_pivot(L[j][j], covariance[j][j])
                # The share is arbitrary if variances underflow in single precision.
                most = sqrt(maximum(covariance[i][i], 0.0))
                L[i][j] = minimum(maximum(share, -most), most)
    return L


def _rank_one_root(covariance: Matrix) -> Matrix:
    (first, across), (_, second) = covariance
    behind = first - second
    variance = maximum(if_negative(behind, second, first), _TINY)
    scale = constant(1.0) / sqrt(variance)
    columns = [
        if_negative(behind, across, first),
        if_negative(behind, second, across),
    ]
    return [[column * scale, constant(0.0)] for column in columns]


def _bounded_pivot(pivot: Expression, variance: Expression) -> Expression:
    """A pivot bounded away from zero."""
    return maximum(pivot, sqrt(maximum(variance, 0.0)) * LEAST_PIVOT + _TINY)


def _common_variance(covariance: Matrix) -> Expression:
    size, L = len(covariance), _cholesky(covariance)
    inverse = [[constant(0.0)] * size for _ in range(size)]
    for i in range(size):
        pivot = _bounded_pivot(L[i][i], covariance[i][i])
        for j in range(i + 1):
            entry = constant(float(i == j))
            for k in range(j, i):
                entry = entry - L[i][k] * inverse[k][j]
            inverse[i][j] = entry / pivot
    rows = [concatenate([entry.expand_dims(0) for entry in row]) for row in inverse]
    # In units of the largest entry, whose fourth power could exceed single precision.
    unit = elementwise("absolute", concatenate(rows)).max()
    rows = [row / unit.expand_dims(0) for row in rows]
    columns = [[row.take([j]) for row in rows] for j in range(size)]
    precision = [
        _total([(one * two).sum() for one, two in zip(left, right, strict=True)])
        for left in columns
        for right in columns
    ]
    first = _total(precision[:: size + 1])
    second = _total([square(entry) for entry in precision])
    spread = maximum(second * float(size) - square(first), 0.0)
    bound = constant(float(size)) / (first + sqrt(spread * (size - 1.0)))
    return bound * COMMON_SHARE / unit / unit


def _total(parts: list[Expression]) -> Expression:
    return sum(parts[1:], start=parts[0])

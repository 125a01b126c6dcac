"""Probabilities of classes whose latent values are correlated, as expressions.

The formulas are those of ``relvec.likelihoods.covariances``, entry by entry.
"""

from relvec.export.expressions import (
    Expression,
    at_least,
    at_most,
    concatenated,
    constant,
    elementwise,
    if_negative,
    matmul,
    sqrt,
    squared,
)
from relvec.export.links import averaged_softmax, half_of_points, largest, nodes_for
from relvec.export.special import normalised
from relvec.likelihoods.covariances import COMMON_SHARE, LEAST_PIVOT
from relvec.likelihoods.multinomial_probit import coupled_rule
from relvec.typing import Array

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

"""Functions of probability that no target language has in both precisions."""

from functools import cache

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
    polynomial,
    shortened,
    squared,
)
from relvec.typing import Array

# Of the tail of the normal distribution, as in ``relvec.likelihoods.normal_tails``: for
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

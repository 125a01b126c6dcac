"""Slow, obvious versions of what the engine computes: definitions, not methods."""

from dataclasses import dataclass
from fractions import Fraction
from math import log, pi

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from relvec.likelihoods import PseudoObservations


def log_marginal(Phi, target, precision, active, alpha):
    """log N(t̂ | 0, B⁻¹ + ΦA⁻¹Φᵀ), eqs. (7)-(8), by the N×N matrix."""
    C = covariance(Phi, precision, active, alpha)
    _, log_determinant = np.linalg.slogdet(C)
    quadratic = target @ np.linalg.solve(C, target)
    return -0.5 * (len(target) * np.log(2 * np.pi) + log_determinant + quadratic)


def covariance(Phi, precision, active, alpha):
    """C, eq. (8)."""
    columns = Phi[:, active]
    return np.diag(1 / precision) + columns / alpha @ columns.T


def sparsity_and_quality(Phi, target, precision, active, alpha):
    """S and Q of all columns, eq. (22)."""
    C = covariance(Phi, precision, active, alpha)
    return (
        np.einsum("nm,nm->m", Phi, np.linalg.solve(C, Phi)),
        Phi.T @ np.linalg.solve(C, target),
    )


def moments(Phi, target, precision, active, alpha):
    """Σ and μ, eqs. (6), (12), (13), by inversion."""
    columns = Phi[:, active]
    Sigma = np.linalg.inv(np.diag(alpha) + columns.T * precision @ columns)
    return Sigma, Sigma @ columns.T @ (precision * target)


def laplace_evidence(Phi, y, active, alpha, weights=None):
    """Of the Bernoulli likelihood at a mode found by a general optimiser."""
    columns = Phi[:, active]
    weights = np.ones(len(y)) if weights is None else weights

    def negative(w):
        eta = columns @ w
        fit = weights @ (y * log_expit(eta) + (1 - y) * log_expit(-eta))
        return -(fit - 0.5 * alpha @ w**2)

    def slope(w):
        return -(columns.T @ (weights * (y - expit(columns @ w))) - alpha * w)

    def curvature(w):
        b = weights * expit(columns @ w) * expit(-(columns @ w))
        return columns.T * b @ columns + np.diag(alpha)

    start = np.zeros(len(alpha))
    found = minimize(
        negative, start, jac=slope, hess=curvature, method="trust-exact", tol=1e-12
    )
    _, log_determinant = np.linalg.slogdet(curvature(found.x))
    return -found.fun + 0.5 * np.log(alpha).sum() - 0.5 * log_determinant


@dataclass(frozen=True)
class Frozen:
    """A conjugate likelihood whose pseudo-observations were given once and for all."""

    seen: PseudoObservations

    conjugate = True
    matching = None
    parameter_ceiling = None
    log_parameters = np.empty(0)
    scale = np.full(1, np.nan)
    unit = None

    def rescaled(self, scale):
        return self

    def pseudo_observations(self, y, eta, sample_weight):
        return self.seen

    def log_density(self, y, eta, sample_weight):
        b = self.seen.precision
        error = self.seen.target - eta
        return float(0.5 * np.sum(np.log(b / (2 * np.pi)) - b * error**2))

    def with_parameters(self, log_parameters, *, fixed=False):
        return self


def exact_posterior(columns, target, beta, inside, alpha):
    """S and Q of all columns, and the log evidence, in exact arithmetic.

    By C = I/β + ΦA⁻¹Φᵀ (r, r), of numbers that are taken as the fractions they are.
    """
    V = [[Fraction(float(value)) for value in row] for row in columns]
    t = [Fraction(float(value)) for value in target]
    scale = {int(i): 1 / Fraction(float(a)) for i, a in zip(inside, alpha, strict=True)}
    n_rows, n_columns = len(V), len(V[0])
    C = [
        [sum(V[r][i] * scale[i] * V[s][i] for i in scale) for s in range(n_rows)]
        for r in range(n_rows)
    ]
    for r in range(n_rows):
        C[r][r] += 1 / Fraction(beta)
    right = [[*V[r], t[r]] for r in range(n_rows)]
    solved, determinant = _eliminated(C, right)
    S = [
        float(sum(V[r][m] * solved[r][m] for r in range(n_rows)))
        for m in range(n_columns)
    ]
    Q = [
        float(sum(V[r][m] * solved[r][-1] for r in range(n_rows)))
        for m in range(n_columns)
    ]
    quadratic = float(sum(t[r] * solved[r][-1] for r in range(n_rows)))
    log_determinant = log(determinant.numerator) - log(determinant.denominator)
    evidence = -0.5 * (n_rows * log(2 * pi) + log_determinant + quadratic)
    return np.array(S), np.array(Q), evidence


def _eliminated(matrix, right):
    """matrix⁻¹ right and the determinant, by Gauss's elimination."""
    rows = [[*left, *more] for left, more in zip(matrix, right, strict=True)]
    size, determinant = len(rows), Fraction(1)
    for pivot in range(size):
        head = rows[pivot][pivot]
        determinant *= head
        rows[pivot] = [value / head for value in rows[pivot]]
        for other in range(size):
            factor = rows[other][pivot]
            if other != pivot and factor:
                rows[other] = [
                    value - factor * own
                    for value, own in zip(rows[other], rows[pivot], strict=True)
                ]
    return [row[size:] for row in rows], determinant

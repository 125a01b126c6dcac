"""Slow, obvious versions of what the engine computes: definitions, not methods."""

from dataclasses import dataclass

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

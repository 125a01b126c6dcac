"""Statistics of the whole dictionary, recomputed (24)-(25) or updated (28)-(41).

All quantities are those of the pseudo-observations: β is their noise precision, inner
products of columns are weighted by their row weights. The off-diagonal block of (28)
is −βΣᵢᵢΣΦᵀφᵢ, not what is printed.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.design import DesignMatrix
from relvec.likelihoods import PseudoObservations
from relvec.linalg import solve_upper
from relvec.posterior import Posterior
from relvec.precision import DEPENDENT, dependent_share
from relvec.typing import Array, Indices

_CACHED_COLUMNS = 1000  # 800 kB of a hundred functions, beside as much they came from


@dataclass(frozen=True)
class Projections:
    """The dictionary against one set of pseudo-observations."""

    squared_norms: Array  # (K or 1, M) diag(ΦᵀWΦ)
    target: Array  # (K, M) ΦᵀWt̂
    target_squares: Array  # (K,) t̂ᵀWt̂
    unit: Array | None = None  # (K,) that t̂ is in, where that may change

    @classmethod
    def of(
        cls, design: DesignMatrix, seen: PseudoObservations, unit: Array | None = None
    ) -> "Projections":
        """One pass over the dictionary."""
        norms, target = design.project(seen.row_weights, seen.target)
        squares = np.sum(seen.row_weights * seen.target**2, axis=0)
        return cls(norms, target, squares, unit)

    def in_unit(self, unit: Array | None) -> "Projections":
        """The same of data that are measured in another unit."""
        if self.unit is None or unit is None:
            return self
        scale = self.unit / unit
        target, squares = self.target * scale[:, None], self.target_squares * scale**2
        return Projections(self.squared_norms, target, squares, unit)

    def retargeted(
        self, design: DesignMatrix, seen: PseudoObservations
    ) -> "Projections":
        """For other targets with the same row weights."""
        target = design.rmatvec(seen.row_weights * seen.target)
        squares = np.sum(seen.row_weights * seen.target**2, axis=0)
        return Projections(self.squared_norms, target, squares)


@dataclass(frozen=True)
class Statistics:
    """Posterior moments of the active functions and S, Q of all."""

    active: Indices  # (n,)
    prior_precision: Array  # (n,) α
    mean: Array  # (K, n) μ
    covariance: Array  # (K or 1, n, n) Σ
    sparsity_in: Array  # (K or 1, M) S
    quality_in: Array  # (K, M) Q
    least_sparsity: Array  # (K or 1, M) an S up to here is rounding
    noise_precision: Array  # (K or 1,) β

    @property
    def variances(self) -> Array:
        """Σᵢᵢ (K or 1, n)."""
        return np.diagonal(self.covariance, axis1=1, axis2=2)


@dataclass(frozen=True)
class GramStatistics(Statistics):
    """Statistics that can be updated, because inner products of columns are kept."""

    cross: Array  # (K or 1, n, M) ΦₐᵀWΦ
    projections: Projections  # outlive every change of model and noise

    @property
    def condition(self) -> float:
        """Largest diagonal element of I + A^(-1/2)ΦᵀBΦA^(-1/2)."""
        data = self.noise_precision[:, None] * self.projections.squared_norms
        ratios = data[:, self.active] / self.prior_precision
        return 1 + float(ratios.max(initial=0.0))


def observed(
    design: DesignMatrix, seen: PseudoObservations, posterior: Posterior, eta: Array
) -> Statistics:
    """By passes over the dictionary, for one set of pseudo-observations."""
    active, alpha = posterior.active, posterior.prior_precision
    identity = np.broadcast_to(np.eye(len(active)), posterior.factor.shape)
    whitener = solve_upper(posterior.factor, identity) / np.sqrt(alpha)[:, None]
    at = active, whitener, seen.precision, seen.target - eta
    norms, Q, parts, _ = design.beside(*at)  # eq. 25
    S = norms - np.einsum("knm,knm->km", parts, parts)  # eq. 24
    S = np.where(DEPENDENT * norms < S, S, 0.0)
    return Statistics(
        active=active,
        prior_precision=alpha,
        mean=posterior.mean,
        covariance=posterior.covariance,
        sparsity_in=S,
        quality_in=Q,
        least_sparsity=np.zeros_like(S),
        noise_precision=seen.noise_precision,
    )


def recomputed(
    posterior: Posterior, noise_precision: Array, cross: Array, projections: Projections
) -> GramStatistics:
    """By the Cholesky factor, from inner products alone."""
    beta = noise_precision[:, None]
    squares, explained = _explained(posterior, cross)
    norms = beta * projections.squared_norms
    return GramStatistics(
        active=posterior.active,
        prior_precision=posterior.prior_precision,
        mean=posterior.mean,
        covariance=posterior.covariance,
        sparsity_in=norms - beta**2 * squares,  # eq. 24
        quality_in=beta * (projections.target - explained),  # eq. 25
        least_sparsity=dependent_share(posterior.condition) * norms,
        noise_precision=noise_precision,
        cross=cross,
        projections=projections,
    )


def _explained(posterior: Posterior, cross: Array) -> tuple[Array, Array]:
    """φᵀWΦₐΣΦₐᵀWφ (K or 1, M) and φᵀWΦₐμ (K, M) of every column φ."""
    whitener, n_outputs = posterior.whitener, len(posterior.mean)
    sharing = (len(whitener), n_outputs // len(whitener), posterior.mean.shape[1])
    means = posterior.mean.reshape(sharing)
    both = np.concatenate([whitener, means], axis=1)
    size, n_columns = whitener.shape[1], cross.shape[2]
    squares = np.empty((len(both), n_columns))
    explained = np.empty((*means.shape[:2], n_columns))
    # In pieces that stay in the processor's cache.
    room = np.empty((*both.shape[:2], min(n_columns, _CACHED_COLUMNS)))
    for start in range(0, n_columns, _CACHED_COLUMNS):
        part = slice(start, min(n_columns, start + _CACHED_COLUMNS))
        product = room[:, :, : part.stop - start]
        np.matmul(both, cross[:, :, part], out=product)
        whitened = product[:, :size]
        np.einsum("knm,knm->km", whitened, whitened, out=squares[:, part])
        explained[:, :, part] = product[:, size:]
    return squares, explained.reshape(n_outputs, n_columns)


def added(
    stats: GramStatistics, index: int, precision: float, row: Array
) -> GramStatistics:
    """With function ``index`` in the model; ``row`` is φᵢᵀWΦ, (K or 1, 1, M)."""
    beta = stats.noise_precision[:, None]
    overlap = row[:, 0, stats.active]
    u = beta * (stats.covariance @ overlap[:, :, None])[:, :, 0]  # βΣΦᵀφᵢ
    projection = beta * (row[:, 0] - (u[:, None, :] @ stats.cross)[:, 0])  # βφₘᵀeᵢ
    variance = 1 / (precision + stats.sparsity_in[:, index])
    weight = variance * stats.quality_in[:, index]
    return replace(
        stats,
        active=np.append(stats.active, index),
        prior_precision=np.append(stats.prior_precision, precision),
        cross=np.concatenate([stats.cross, row], axis=1),
        mean=np.concatenate(
            [stats.mean - weight[:, None] * u, weight[:, None]], axis=1
        ),  # eq. 29
        covariance=_bordered(stats.covariance, u, variance),
        sparsity_in=stats.sparsity_in - variance[:, None] * projection**2,  # eq. 30
        quality_in=stats.quality_in - weight[:, None] * projection,  # eq. 31
    )


def _bordered(covariance: Array, u: Array, variance: Array) -> Array:
    """eq. 28."""
    n_outputs, n_active = u.shape
    grown = np.empty((n_outputs, n_active + 1, n_active + 1))
    border = -variance[:, None] * u
    grown[:, :-1, :-1] = covariance - border[:, :, None] * u[:, None, :]
    grown[:, :-1, -1] = grown[:, -1, :-1] = border
    grown[:, -1, -1] = variance
    return grown


def reestimated(
    stats: GramStatistics, position: int, precision: float
) -> GramStatistics:
    """With another α for the active function at ``position``, eqs. (33)-(36)."""
    change = precision - stats.prior_precision[position]
    if change == 0:
        return stats
    kappa = 1 / (stats.variances[:, position] + 1 / change)
    alpha = stats.prior_precision.copy()
    alpha[position] = precision
    return replace(_downdated(stats, position, kappa), prior_precision=alpha)


def deleted(stats: GramStatistics, position: int) -> GramStatistics:
    """Without the active function at ``position``, eqs. (38)-(41)."""
    full = _downdated(stats, position, 1 / stats.variances[:, position])
    rest = np.delete(np.arange(len(stats.active)), position)
    return replace(
        full,
        active=full.active[rest],
        prior_precision=full.prior_precision[rest],
        cross=full.cross[:, rest],
        mean=full.mean[:, rest],
        covariance=full.covariance[:, rest[:, None], rest],
    )


def _downdated(stats: GramStatistics, position: int, kappa: Array) -> GramStatistics:
    """The change of one α is a rank-one change of Σ along its column Σⱼ."""
    beta = stats.noise_precision[:, None]
    column = stats.covariance[:, :, position]
    projection = beta * (column[:, None, :] @ stats.cross)[:, 0]  # βΣⱼᵀΦᵀφₘ
    shift = (kappa * stats.mean[:, position])[:, None]
    scaled = kappa[:, None] * column
    return replace(
        stats,
        covariance=stats.covariance - scaled[:, :, None] * column[:, None, :],
        mean=stats.mean - shift * column,
        sparsity_in=stats.sparsity_in + kappa[:, None] * projection**2,
        quality_in=stats.quality_in + shift * projection,
    )

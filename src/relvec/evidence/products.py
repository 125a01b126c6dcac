"""What the rows say of the functions that a search may add to a model.

A search asks the dictionary for three things: the sparsity and quality factors S and Q
of every function given a model, (24) and (25); what some functions have in common given
the model, T = ΦᵀC⁻¹Φ; and the moments of some columns, from which the Gaussian model of
these follows.

This is the one place that knows about digits. Inner products of columns (``Gram``) are
quick, and lose as many digits as the model is badly conditioned. Where too few are
left, the columns that were ever in the model become an orthonormal basis
(``Orthonormal``), in which nothing is squared:

    φ = Qp + e,  QᵀQ = I,  Qᵀe = 0      S = β(|e|² + pᵀ(I − H)p),   Hᵢ in [0, 1]

with (I − H) by Householder's reflections of the few rows of the basis.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from relvec.blockwise import check_time
from relvec.evidence.base import Problem
from relvec.evidence.newton import (
    Ascent,
    ColumnMoments,
    Coordinates,
    Moments,
    NoiseUnits,
    combined_by_output,
)
from relvec.likelihoods import PseudoObservations
from relvec.linalg import Reflections, cholesky, rotated, solve_lower, upper_factor
from relvec.precision import (
    DIFFERENCE_LIMIT,
    LEAST_PRIOR_SHARE,
    LEAST_SHARE,
    TIE,
    dependent_share,
)
from relvec.typing import Array, Indices

# Columns up to which products of all pairs are computed at once: it takes less time
# than to compute them when they are asked for.
_FEW_COLUMNS = 640
# Of the condition from which inner products do not suffice: below, they will do again.
_AMPLE = 0.01
# Of the length of a column, what a basis has of it but for rounding.
_DEPENDENT = 1e-15
_MAX_NEWTON = 30  # of steps up to two in log α, hence 26 decades


@dataclass(frozen=True)
class CandidateStatistics:
    """S and Q of every function given a model."""

    sparsity: Array  # (K or 1, M)
    quality: Array  # (K, M)
    least_sparsity: Array  # (K or 1, M) an S up to here is rounding
    noise_precision: Array  # (K or 1,) β
    parts: Array  # (K or 1, r, M) from which T of some functions follows


class Products(ABC):
    """Products of the dictionary's columns, for one set of pseudo-observations."""

    def __init__(self, problem: Problem, seen: PseudoObservations) -> None:
        self.design = problem.design
        self.seen = seen
        self.count = float(problem.sample_weight.sum())
        # Whether outputs share α in units of their noise.
        self.shares_noise = problem.likelihood.unit is not None
        self.conjugate = problem.likelihood.conjugate

    @abstractmethod
    def statistics(
        self,
        active: Indices,
        prior_precision: Array,
        noise_precision: Array,
    ) -> CandidateStatistics:
        """Of all functions given a model."""

    @abstractmethod
    def overlaps(self, stats: CandidateStatistics, chosen: Indices) -> Array:
        """T (K or 1, n, n) of some functions."""

    @abstractmethod
    def moments(self, columns: Indices) -> ColumnMoments:
        """Of some columns."""

    @abstractmethod
    def cosines(self, chosen: Indices, others: Indices) -> Array:
        """Of the columns themselves, (n, m); the largest of any output."""

    def finer(self, ascent: Ascent | None) -> "Products | None":
        """Products with more digits, if an ascent has shown that they are needed."""
        return None

    def suited(self, condition: float) -> "Products":
        """Those with as many digits as a model of this condition needs."""
        return self

    def _scales(self, noise: Array) -> tuple[Array, Array]:
        """β (K or 1,), and the unit (K or 1,) that targets are multiplied by."""
        if not self.shares_noise:
            return noise, np.ones(1)
        return np.ones(1), np.sqrt(noise)

    def _in_units(self, moments: ColumnMoments) -> ColumnMoments:
        return NoiseUnits(moments) if self.shares_noise else moments


class Gram(Products):
    """By inner products, which are computed once for every column asked about."""

    def __init__(self, problem: Problem, seen: PseudoObservations) -> None:
        super().__init__(problem, seen)
        self.target_squares = np.sum(seen.row_weights * seen.target**2, axis=0)
        n_basis = self.design.shape[1]
        self._place = np.full(n_basis, -1)
        self._rows = np.empty((seen.row_weights.shape[1], 0, n_basis))
        if problem.likelihood.conjugate and n_basis <= _FEW_COLUMNS:
            self._know(np.arange(n_basis))

    @cached_property
    def _projected(self) -> tuple[Array, Array]:
        return self.design.project(self.seen.row_weights, self.seen.target)

    @property
    def squared_norms(self) -> Array:
        """diag(ΦᵀWΦ) of all columns."""
        return self._projected[0]

    @property
    def target(self) -> Array:
        """ΦᵀWt̂ of all columns."""
        return self._projected[1]

    @cached_property
    def orthonormal(self) -> "Orthonormal | None":
        """The same with all digits; None where outputs weigh rows differently."""
        if len(self._rows) > 1:
            return None
        return Orthonormal(self)

    def finer(self, ascent: Ascent | None) -> Products | None:
        if ascent is None:
            return self.orthonormal
        suited = self.suited(ascent.solution.condition)
        return None if suited is self else suited

    def suited(self, condition: float) -> Products:
        # What is found by an expansion is refitted anyway.
        enough = condition < DIFFERENCE_LIMIT or not self.conjugate
        return self if enough else self.orthonormal or self

    def _know(self, columns: Indices) -> None:
        """Compute the products of these columns with all others."""
        new = columns[self._place[columns] < 0]
        if len(new) == 0:
            return
        check_time()
        known = self._rows.shape[1]
        rows = self.design.cross_gram(new, self.seen.row_weights)
        self._rows = rows if known == 0 else np.concatenate([self._rows, rows], axis=1)
        self._place[new] = known + np.arange(len(new))

    def cross(self, columns: Indices) -> Array:
        """ΦᵢᵀWΦ (K or 1, n, M) of some columns with all."""
        self._know(columns)
        return self._rows[:, self._place[columns]]

    def statistics(
        self,
        active: Indices,
        prior_precision: Array,
        noise_precision: Array,
    ) -> CandidateStatistics:
        noise, unit = self._scales(noise_precision)
        target = unit[:, None] * self.target
        products = self.cross(active), self.squared_norms, target
        return _given_model(active, prior_precision, noise, products)

    def overlaps(self, stats: CandidateStatistics, chosen: Indices) -> Array:
        own = stats.parts[:, :, chosen]
        prior = stats.noise_precision[:, None, None] * self._among(chosen)
        return np.asarray(prior - np.swapaxes(own, 1, 2) @ own)

    def moments(self, columns: Indices) -> ColumnMoments:
        found = Moments(
            self._among(columns),
            self.target[:, columns],
            self.target_squares,
            self.count,
        )
        return self._in_units(found)

    def _among(self, columns: Indices) -> Array:
        """ΦᵢᵀWΦⱼ (K or 1, n, n) of some columns."""
        known = self._place[columns]
        if np.all(known >= 0):
            return self._rows[:, known[:, None], columns]
        return self.design.gram(columns, self.seen.row_weights)

    def cosines(self, chosen: Indices, others: Indices) -> Array:
        size = np.sqrt(self.squared_norms)
        size = np.where(size > 0, size, 1.0)
        known = self.cross(others)[:, :, chosen]
        found = np.abs(known) / (size[:, others, None] * size[:, None, chosen])
        return found.max(axis=0, initial=0.0).T


def _given_model(
    active: Indices,
    prior_precision: Array,
    noise_precision: Array,
    products: tuple[Array, Array, Array],
) -> CandidateStatistics:
    """By inner products: ΦₐᵀWΦ (K or 1, n, M), diag(ΦᵀWΦ) and ΦᵀWt̂ of all columns."""
    cross, squared_norms, target = products
    beta, root = noise_precision[:, None], 1 / np.sqrt(prior_precision)
    inner = cross[:, :, active] * (beta[:, :, None] * np.outer(root, root))
    inner.reshape(len(inner), -1)[:, :: len(active) + 1] += 1
    condition = float(np.diagonal(inner, axis1=1, axis2=2).max(initial=1.0))
    try:
        factor = cholesky(inner)
    except np.linalg.LinAlgError:
        factor = np.stack([upper_factor(one).T for one in inner])
    whitened = solve_lower(factor, (beta[:, :, None] * root[:, None]) * cross)
    right = (beta * root * target[:, active])[:, :, None]
    half = solve_lower(factor, right)[:, :, 0]
    norms = beta * squared_norms
    return CandidateStatistics(
        sparsity=norms - np.einsum("knm,knm->km", whitened, whitened),
        quality=beta * target - combined_by_output(half, whitened),
        least_sparsity=dependent_share(condition) * norms,
        noise_precision=noise_precision,
        parts=whitened,
    )


def gains_beside(
    active: Indices,
    prior_precision: Array,
    noise_precision: Array,
    products: tuple[Array, Array, Array],
    least_precision: Array | None = None,
) -> Array:
    """What each function gains beside a model, by the products that ``beside`` has."""
    stats = _given_model(active, prior_precision, noise_precision, products)
    return best_additions(stats, least_precision)[1]


def best_additions(
    stats: CandidateStatistics, least_precision: Array | None
) -> tuple[Array, Array]:
    """The best α of every function that joins alone, and what it gains."""
    usable = (stats.least_sparsity < stats.sparsity).all(axis=0)
    S = np.where(usable, stats.sparsity, 1.0)
    Q = np.where(usable, stats.quality, 0.0)
    precision = np.maximum(best_precision(S, Q), least_allowed(stats, least_precision))
    return precision, addition_gain(precision, S, Q)


def least_allowed(stats: CandidateStatistics, least_precision: Array | None) -> Array:
    """(M,) that rounding bears of α, or more if that is asked for."""
    borne = LEAST_PRIOR_SHARE * stats.noise_precision.max()
    if least_precision is None:
        return np.full(stats.sparsity.shape[1], borne)
    return np.maximum(least_precision, borne)


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


def falling(values: Array) -> Indices:
    """Places of positive values, the largest first; ties in the order of places.

    Values that differ by rounding are ties, so that the order of the sums in them does
    not decide.
    """
    order = np.argsort(-values, kind="stable")
    drops = values[order][:-1] > (1 + TIE) * values[order][1:]
    ranks = np.concatenate([[0], np.cumsum(drops)]) if len(order) else order
    return order[np.lexsort((order, ranks))]


class Orthonormal(Products):
    """By an orthonormal basis of the columns that were ever asked for.

    Outputs have to share the weights of rows.
    """

    def __init__(self, gram: Gram) -> None:
        self.design, self.seen, self.count = gram.design, gram.seen, gram.count
        self.shares_noise, self.gram = gram.shares_noise, gram
        self.conjugate = gram.conjugate
        seen, everything = self.seen, np.arange(self.design.shape[1])
        at = everything, seen.row_weights[:, 0], seen.target
        columns, target = self.design.coordinates(*at)
        self._left = np.asfortranarray(columns)  # (r, M) e of every column
        self._target_left = np.array(target)  # (r, K)
        self._norms = np.einsum("rm,rm->m", columns, columns)
        self._known = np.zeros(len(everything), dtype=bool)
        self._basis = np.empty((len(columns), 0))  # Q
        self._parts = np.empty((0, len(everything)))  # p of every column
        self._target = np.empty((0, target.shape[1]))

    def suited(self, condition: float) -> Products:
        # Annealing multiplies the condition.
        if not self.conjugate:
            return self
        return self if condition >= _AMPLE * DIFFERENCE_LIMIT else self.gram

    def _include(self, columns: Indices) -> None:
        """Extend the basis by what it has not of some columns."""
        check_time()
        new = columns[~self._known[columns]]
        self._known[new] = True
        block = self._left[:, new]
        size = np.sqrt(self._norms[new])
        # Twice, as what is left of a column may be less than its rounding.
        block = block - self._basis @ (self._basis.T @ block)
        fresh = np.linalg.norm(block, axis=0) > _DEPENDENT * size
        if not fresh.any():
            return
        turned, upper, _ = qr(block[:, fresh], mode="economic", pivoting=True)
        turned = turned[:, np.abs(np.diagonal(upper)) > _DEPENDENT * size.max()]
        parts, target = turned.T @ self._left, turned.T @ self._target_left
        self._left -= turned @ parts
        self._target_left -= turned @ target
        self._basis = np.hstack([self._basis, turned])
        self._parts = np.vstack([self._parts, parts])
        self._target = np.vstack([self._target, target])

    def statistics(
        self,
        active: Indices,
        prior_precision: Array,
        noise_precision: Array,
    ) -> CandidateStatistics:
        self._include(active)
        noise, unit = self._scales(noise_precision)
        root = 1 / np.sqrt(prior_precision)
        targets = self._target * unit, self._target_left * unit
        squares = np.einsum("rm,rm->m", self._left, self._left)
        sparsity, quality, parts = [], [], []
        for output, beta in enumerate(np.sqrt(noise)):
            own = slice(None) if len(noise) == 1 else slice(output, output + 1)
            inside, outside = (target[:, own] for target in targets)
            stacked = np.vstack(
                [beta * self._parts[:, active] * root, np.eye(len(root))]
            )
            beyond = Reflections.of(stacked).beyond(
                beta * np.hstack([self._parts, inside])
            )
            part, of_target = beyond[:, : len(squares)], beyond[:, len(squares) :]
            sparsity.append(np.einsum("rm,rm->m", part, part) + beta**2 * squares)
            quality.append(of_target.T @ part + beta**2 * (outside.T @ self._left))
            parts.append(part)
        return CandidateStatistics(
            sparsity=np.stack(sparsity),
            quality=np.concatenate(quality),
            least_sparsity=LEAST_SHARE * noise[:, None] * self._norms,
            noise_precision=noise,
            parts=np.stack(parts),
        )

    def overlaps(self, stats: CandidateStatistics, chosen: Indices) -> Array:
        own, left = stats.parts[:, :, chosen], self._left[:, chosen]
        outside = stats.noise_precision[:, None, None] * (left.T @ left)
        return np.asarray(np.swapaxes(own, 1, 2) @ own + outside)

    def moments(self, columns: Indices) -> ColumnMoments:
        self._include(columns)
        n_basis, n_targets = self._target.shape
        n_columns = len(columns)
        rows = np.zeros((n_basis + n_targets, n_columns + n_targets), order="F")
        rows[:n_basis, :n_columns] = self._parts[:, columns]
        rows[:n_basis, n_columns:] = self._target
        rest = np.linalg.norm(self._target_left, axis=0)
        rows[n_basis:, n_columns:] = np.diag(rest)
        rows = rotated(rows, overwrite=True)
        found = Coordinates(rows[:, :n_columns], rows[:, n_columns:], self.count)
        return self._in_units(found)

    def cosines(self, chosen: Indices, others: Indices) -> Array:
        self._include(others)
        size = np.sqrt(np.where(self._norms > 0, self._norms, 1.0))
        products = self._parts[:, chosen].T @ self._parts[:, others]
        return np.abs(products) / (size[chosen, None] * size[others])

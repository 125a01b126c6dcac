"""A Gaussian model in the space of a few columns: what is left of the rows.

Everything the evidence asks of the rows is ΦᵀWΦ, ΦᵀWt̂, t̂ᵀWt̂ and their number. With
weights measured in prior standard deviations, A^½w, nothing depends on units:

    P = (I + A^(-1/2) βΦᵀWΦ A^(-1/2))⁻¹ = A^½ΣA^½     αᵢΣᵢᵢ = Pᵢᵢ,  γᵢ = 1 − Pᵢᵢ
    m = A^½μ                                           αᵢμᵢ² = mᵢ²

Inner products (``Moments``) are quick and lose κ·ε of what they say, κ the condition of
P⁻¹; columns themselves, in an orthonormal basis (``coordinates``), lose √κ·ε.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from relvec.likelihoods import Likelihood
from relvec.linalg import cholesky_and_inverse
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class Solution:
    """The posterior for given α and β, and its log evidence."""

    factor: Array  # (K or 1, n, n) lower Cholesky factor of P⁻¹
    shrinkage: Array  # (K or 1, n, n) P
    scaled_mean: Array  # (K, n) m
    mean: Array  # (K, n) μ
    residual: Array  # (K,) (t̂ − Φμ)ᵀW(t̂ − Φμ)
    log_evidence: float  # of the Gaussian model

    @property
    def condition(self) -> float:
        """Largest diagonal element of P⁻¹."""
        squares = self.factor * self.factor
        return float(squares.sum(axis=-1).max(initial=1.0))


class ColumnMoments(Protocol):
    """All that the rows say about some columns."""

    @property
    def count(self) -> float:
        """Σv, the number of observations per output."""

    @property
    def target_squares(self) -> Array:
        """(K,) t̂ᵀWt̂."""

    def subset(self, chosen: Indices) -> "ColumnMoments":
        """Of some of the columns."""

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        """(6) and (7) with all columns in the model."""

    def released(
        self, solution: Solution, noise_precision: Array, ceiling: Array
    ) -> tuple[Solution, Array]:
        """With the noise of most evidence for these α, where that is known."""

    def noise_derivatives(
        self,
        solution: Solution,
        noise_precision: Array,
        ceiling: Array,
        products: Array,
    ) -> tuple[Array, Array, Array]:
        """Of the evidence by log β: gradient (K,), minus the Hessian.

        Of that what is beside log α (K, n), and the diagonal (K,). ``products`` are
        P∘(½P + mmᵀ).
        """

    def in_targets(self, scale: Array) -> "ColumnMoments":
        """The same of pseudo-observations multiplied by ``scale`` (K,)."""


class FreeNoise:
    """A noise that moves by itself, its derivatives those of ``newton``."""

    count: float

    def released(
        self, solution: Solution, noise_precision: Array, ceiling: Array
    ) -> tuple[Solution, Array]:
        return solution, noise_precision

    def noise_derivatives(
        self,
        solution: Solution,
        noise_precision: Array,
        ceiling: Array,
        products: Array,
    ) -> tuple[Array, Array, Array]:
        p = solution.shrinkage.diagonal(axis1=1, axis2=2)
        rho = noise_precision * solution.residual
        left = self.count - p.shape[1] + p.sum(axis=1)
        across = products.sum(axis=2) - 0.5 * p
        return 0.5 * (left - rho), across, 0.5 * rho - across.sum(axis=1)


@dataclass(frozen=True)
class Moments(FreeNoise):
    """Inner products of some columns and the pseudo-observations."""

    gram: Array  # (K or 1, n, n) ΦᵀWΦ
    target: Array  # (K, n) ΦᵀWt̂
    target_squares: Array  # (K,) t̂ᵀWt̂
    count: float  # Σv, the number of observations per output

    def subset(self, chosen: Indices) -> "Moments":
        gram = self.gram[:, chosen[:, None], chosen]
        return Moments(gram, self.target[:, chosen], self.target_squares, self.count)

    def in_targets(self, scale: Array) -> "Moments":
        target, squares = self.target * scale[:, None], self.target_squares * scale**2
        return Moments(self.gram, target, squares, self.count)

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        """As by the protocol; α may also be (K, n), of each output's own."""
        root = np.atleast_2d(1 / np.sqrt(prior_precision))
        size = root.shape[1]
        scaled = noise_precision[:, None] * root
        # In this order whatever that of α is: what follows looks into it.
        outer = scaled[:, :, None] * root[:, None, :]
        inner = np.multiply(self.gram, outer, order="C")
        diagonals = inner.reshape(len(inner), size * size)[:, :: size + 1]
        diagonals += 1
        factor, P = cholesky_and_inverse(inner)
        m = (P @ (scaled * self.target)[:, :, None])[:, :, 0]
        mean = root * m
        # Not by the shorter tᵀWt − μᵀΦᵀWt − mᵀm/β: only this form, minimal at μ,
        # forgives what was lost in solving for μ.
        twice = (self.gram @ mean[:, :, None])[:, :, 0] - 2 * self.target
        residual = self.target_squares + (mean * twice).sum(axis=1)
        residual = np.maximum(residual, 0.0)
        log_root = len(mean) / len(inner) * np.log(diagonals).sum()
        evidence = log_evidence(self.count, noise_precision, residual, m, log_root)
        return Solution(factor, P, m, mean, residual, evidence)


def log_evidence(
    count: float, noise_precision: Array, residual: Array, m: Array, log_root: float
) -> float:
    """(7) of all outputs, with log |P⁻¹|/2 of all of them as ``log_root``."""
    shared = len(m) / len(noise_precision)
    density = shared * count * np.log(noise_precision / (2 * np.pi)).sum()
    density -= (noise_precision * residual).sum() + np.vdot(m, m)
    return float(0.5 * density - log_root)


def combined_by_output(weights: Array, cross: Array) -> Array:
    """Σᵢ wᵢ crossᵢ for weights (K, n) and products (K or 1, n, M)."""
    if len(cross) == 1:
        return weights @ cross[0]
    return (weights[:, None, :] @ cross)[:, 0]


_ONE = np.ones(1)


@dataclass(frozen=True)
class NoiseUnits:
    """Outputs that share α in units of their noise: w_c ~ N(0, σ_c²/α).

    In these units, t_c/σ_c, the model is one of K outputs with noise of size one, and
    its factor does not depend on any noise. Moments are kept in the units of the noise
    that the model has, and β is what another noise precision is beside it: a target
    becomes √β times as large. With C = W⁻¹ + ΦA⁻¹Φᵀ the evidence is

        Σ_c log N(t_c | 0, C/β_c),        greatest at  β_c = N / t_cᵀC⁻¹t_c

    for given α, and by ρ_c = β_c t_cᵀC⁻¹t_c, which is N there,

        ∂²L/∂log αᵢ∂log β_c = −½mᵢ_c²        ∂²L/∂log β_c² = −½ρ_c
    """

    inner: ColumnMoments  # of targets in units of the noise

    @property
    def count(self) -> float:
        return self.inner.count

    @property
    def target_squares(self) -> Array:
        return self.inner.target_squares

    def subset(self, chosen: Indices) -> "NoiseUnits":
        return NoiseUnits(self.inner.subset(chosen))

    def in_targets(self, scale: Array) -> "NoiseUnits":
        return NoiseUnits(self.inner.in_targets(scale))

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        found, beta = (
            self.inner.solved(prior_precision, _ONE),
            self._each(noise_precision),
        )
        return self._with_noise(found, self._each(_ONE), beta)

    def released(
        self, solution: Solution, noise_precision: Array, ceiling: Array
    ) -> tuple[Solution, Array]:
        before = self._each(noise_precision)
        squares = self._squares(solution, before) / before
        after = self.count / np.maximum(squares, self.count / ceiling)
        return self._with_noise(solution, before, after), after

    def noise_derivatives(
        self,
        solution: Solution,
        noise_precision: Array,
        ceiling: Array,
        products: Array,
    ) -> tuple[Array, Array, Array]:
        beta = self._each(noise_precision)
        rho = self._squares(solution, beta)
        free = (beta < ceiling) & (rho > 0)
        across = 0.5 * free[:, None] * solution.scaled_mean**2
        gradient = 0.5 * free * (self.count - rho)
        return gradient, across, np.where(free, 0.5 * rho, 1.0)

    def _each(self, noise_precision: Array) -> Array:
        """Of every output."""
        return np.broadcast_to(noise_precision, self.target_squares.shape)

    def _squares(self, solution: Solution, beta: Array) -> Array:
        """ρ (K,)."""
        m = solution.scaled_mean
        return np.asarray(beta * solution.residual + (m * m).sum(axis=1))

    def _with_noise(self, solution: Solution, before: Array, after: Array) -> Solution:
        """With another noise precision (K,), for the same α."""
        factor = after / before
        root, m = np.sqrt(factor)[:, None], solution.scaled_mean
        rho = self._squares(solution, before)
        change = self.count * np.log(factor) - rho * (factor - 1)
        return replace(
            solution,
            scaled_mean=root * m,
            mean=root * solution.mean,
            log_evidence=solution.log_evidence + 0.5 * float(change.sum()),
        )


def log_noise(likelihood: Likelihood, noise_precision: Array) -> Array:
    """Parameters (K,) of a noise precision that is one beside the likelihood's own."""
    logarithms = np.log(noise_precision)
    if likelihood.unit is None:
        return logarithms
    return np.asarray(logarithms - 2 * np.log(likelihood.unit))


def noise_ceiling(likelihood: Likelihood) -> Array | None:
    """The largest that such a noise precision may be; None where it is known."""
    ceiling = likelihood.parameter_ceiling
    if ceiling is None or likelihood.unit is None:
        return ceiling
    return ceiling * likelihood.unit**2


def log_density_of_unit(likelihood: Likelihood, count: float) -> float:
    """What the log density of y has beside that of y in the units of η."""
    if likelihood.unit is None:
        return 0.0
    return -count * float(np.log(likelihood.unit).sum())


def tempered(factor: float, n_sharing: int) -> float:
    """The inverse temperature that is to several outputs what a factor is to one.

    What a function explains by chance is χ² of as many degrees of freedom, whose median
    for each (Wilson and Hilferty) grows with them: the same factor would let in all.
    """
    if factor <= 1:
        return factor
    return max(1.0, factor * (_median(1) / _median(n_sharing)))


def _median(freedom: int) -> float:
    """Of χ² by its degrees of freedom, about."""
    return float((1 - 2 / (9 * freedom)) ** 3)


def spent(likelihood: Likelihood, effective_parameters: Array) -> Array:
    """Observations (K,) that weights take from the estimate of the noise."""
    if likelihood.unit is None:
        return effective_parameters
    # They are measured by the noise and tell of it as the residuals do.
    return np.zeros_like(effective_parameters)

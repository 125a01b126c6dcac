"""Outputs that share α in units of their noise: w_c ~ N(0, σ_c²/α).

In these units, t_c/σ_c, the model is one of K outputs with noise of size one, and its
factor does not depend on any noise. Moments are kept in the units of the noise that the
model has, and β is what another noise precision is beside it: a target becomes √β times
as large. With C = W⁻¹ + ΦA⁻¹Φᵀ the evidence is

    Σ_c log N(t_c | 0, C/β_c),        greatest at  β_c = N / t_cᵀC⁻¹t_c

for given α, and by ρ_c = β_c t_cᵀC⁻¹t_c, which is N there,

    ∂²L/∂log αᵢ∂log β_c = −½mᵢ_c²        ∂²L/∂log β_c² = −½ρ_c
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.moments import ColumnMoments, Solution
from relvec.likelihoods import Likelihood
from relvec.typing import Array, Indices

_ONE = np.ones(1)


@dataclass(frozen=True)
class NoiseUnits:
    """Moments of outputs, as other moments but for the prior of their weights."""

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

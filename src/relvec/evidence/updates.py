"""What a step from the top down makes of the present posterior.

With γᵢ = 1 − αᵢΣᵢᵢ and hyperpriors Gamma(a, b) over α, Gamma(c, d) over β,

    MacKay       αᵢ = (γᵢ + 2a)/(μᵢ² + 2b)         β = (N − Σγ + 2c)/(‖t − Φμ‖² + 2d)
    EM           αᵢ = (1 + 2a)/(μᵢ² + Σᵢᵢ + 2b)    β = (N + 2c)/(‖t − Φμ‖² + Σγ/β + 2d)
    variational  the same as EM, α and β being means of Gamma factors

(Tipping 2001; Yuan et al. 2009, 17, 18, 20, 21; Bishop & Tipping 2000). With K outputs
that share α, the squares, the variances and the γ of a function are sums over them.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import digamma, gammaln

from relvec.evidence.base import Hyperprior, Problem
from relvec.likelihoods import Likelihood
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices

# The rates and shapes of a variational hyperprior that was left flat, in units where
# targets and functions have a mean square of one: a flat one has no lower bound.
_NEARLY_FLAT = 1e-12
_START = 1.0  # precision of every weight, columns and targets being of unit size
# Effective parameters that EM may prune in a step: together they cost as many nats.
_AT_ONCE = 0.1


@dataclass(frozen=True)
class Gammas:
    """Hyperpriors of some functions and of the noise, in the units of the engine."""

    a: float
    b: Array  # (n,)
    c: float
    d: float

    @classmethod
    def of(cls, hyperprior: Hyperprior, problem: Problem, active: Indices) -> "Gammas":
        rates = hyperprior.b * problem.precision_units[active]
        rate = hyperprior.d * problem.noise_unit
        return cls(hyperprior.a, rates, hyperprior.c, rate)


class Update(Protocol):
    """The formulae of one solver."""

    @property
    def bounded(self) -> bool:
        """Whether the likelihood is to be replaced by its conjugate lower bound."""

    @property
    def monotone(self) -> bool:
        """Whether the objective never falls, so that pruning must not lower it."""

    @property
    def plain(self) -> bool:
        """Whether a step towards the mode is one update of the pseudo-observations."""

    @property
    def coupled(self) -> bool:
        """Whether variances are those of the weights of all outputs together."""

    @property
    def least_rise(self) -> float:
        """By which the objective goes on, in units of the tolerance."""

    def starting(self, problem: Problem, active: Indices) -> Array:
        """α to begin with."""

    def weights(self, problem: Problem, active: Indices, alpha: Array) -> Array:
        """Weights (K, n) to begin with."""

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        """Which functions are not to be pruned."""

    def moved(self, before: Array, after: Array) -> Array:
        """How much every α has changed."""

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        """The hyperpriors in force."""

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        """The next α."""

    def noise(
        self, effective: Array, variance: Array, priors: Gammas
    ) -> tuple[Array, Array]:
        """What the next β has beside N in its numerator and ‖t − Φμ‖² below."""

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        """What the objective has beside the log evidence."""


@dataclass(frozen=True)
class MacKay:
    """Long steps that nothing binds to rise.

    A function leaves when its prior says ``prune`` times what the data say of its
    weight.
    """

    prune: float = 1e6
    bounded: ClassVar[bool] = False
    monotone: ClassVar[bool] = False
    plain: ClassVar[bool] = False
    coupled: ClassVar[bool] = False
    least_rise: ClassVar[float] = 1e-6

    def starting(self, problem: Problem, active: Indices) -> Array:
        return self._started(problem, active, _START)

    def _started(self, problem: Problem, active: Indices, new: float) -> Array:
        """α as they were, and one for functions that nothing is known of."""
        start = problem.start_precision
        if start is None:
            return np.full(len(active), new)
        known = start[..., active]
        return np.where(np.isfinite(known), known, new)

    def weights(self, problem: Problem, active: Indices, alpha: Array) -> Array:
        return problem.start_weights(active)

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return updated < self.prune * informed(posterior)

    def moved(self, before: Array, after: Array) -> Array:
        return np.abs(np.log(after / before))

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        return Gammas.of(problem.hyperprior, problem, active)

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        gamma = 1 - posterior.prior_precision * posterior.variances
        with np.errstate(divide="ignore", invalid="ignore"):
            return (gamma.sum(axis=0) + 2 * priors.a) / (
                np.sum(posterior.mean**2, axis=0) + 2 * priors.b
            )

    def noise(
        self, effective: Array, variance: Array, priors: Gammas
    ) -> tuple[Array, Array]:
        return 2 * priors.c - effective, np.full_like(effective, 2 * priors.d)

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        alpha = posterior.prior_precision * problem.precision_units[posterior.active]
        beta = problem.noise_unit * np.exp(likelihood.log_parameters)
        return problem.hyperprior.log_density(alpha, beta)


@dataclass(frozen=True)
class Held(MacKay):
    """α stays as it is, and so do all functions: only the noise moves."""

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return np.ones(updated.shape[-1], dtype=bool)

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        return posterior.prior_precision


@dataclass(frozen=True)
class EM(MacKay):
    """Short steps, each of which raises the evidence.

    They take α to infinity only in the limit, so that functions on their way there,
    q² ≤ s, leave when their prior says ``prune`` times what the data say of the weight
    that the other functions do not; but never many at a time, since of functions that
    are alike none is needed beside the others.
    """

    prune: float = 10.0
    monotone: ClassVar[bool] = True
    least_rise: ClassVar[float] = 1e-2

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        gamma = 1 - posterior.prior_precision * posterior.variances
        fading = np.sum(posterior.mean**2 - gamma * posterior.variances, axis=0) <= 0
        spent = np.where(fading, gamma.sum(axis=0), np.inf)
        order = np.argsort(spent, kind="stable")
        least = len(gamma) / (1 + self.prune)
        leaving = (spent[order] < least) & (np.cumsum(spent[order]) < _AT_ONCE)
        stay = np.ones(len(spent), dtype=bool)
        stay[order[leaving]] = False
        return stay

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        moments = posterior.mean**2 + posterior.variances
        with np.errstate(divide="ignore"):
            return (len(moments) + 2 * priors.a) / (moments.sum(axis=0) + 2 * priors.b)

    def noise(
        self, effective: Array, variance: Array, priors: Gammas
    ) -> tuple[Array, Array]:
        squares = effective * variance + 2 * priors.d
        return np.full_like(effective, 2 * priors.c), squares


@dataclass(frozen=True)
class Variational(EM):
    """EM's steps; the objective is a lower bound of the log marginal likelihood.

    With factors q(w) q(α) q(β), and α and β standing for their means, the bound is the
    log evidence at these means, corrected for E[log α] and E[log β] not being the
    logarithms of means, less the divergence of the factors from the hyperpriors.
    """

    bounded: ClassVar[bool] = True

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        given = super().priors(problem, active)
        rate = _NEARLY_FLAT * problem.sample_weight.sum()
        return Gammas(
            a=given.a or _NEARLY_FLAT,
            b=given.b if problem.hyperprior.b else np.full(len(active), rate),
            c=given.c or _NEARLY_FLAT,
            d=given.d or _NEARLY_FLAT,
        )

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        priors = self.priors(problem, posterior.active)
        alpha, n_outputs = posterior.prior_precision, len(posterior.mean)
        total = _cost(n_outputs, alpha, priors.a, priors.b)
        beta = np.exp(likelihood.log_parameters)
        count = problem.sample_weight.sum()
        return total + _cost(count, beta, priors.c, np.full(len(beta), priors.d))


def informed(posterior: Posterior) -> Array:
    """φᵀBφ of the active functions, averaged over outputs."""
    return np.asarray(posterior.information.mean(axis=0))


def _cost(count: float, mean: Array, shape: float, rate: Array) -> float:
    """Of Gamma factors with these means, each in the density of ``count`` numbers.

    ½·count·(E[log x] − log E[x]) − KL(q ‖ Gamma(shape, rate)), summed.
    """
    k = shape + 0.5 * count
    theta = k / mean
    divergence = (
        (k - shape) * digamma(k)
        - gammaln(k)
        + gammaln(shape)
        + shape * np.log(theta / rate)
        + k * (rate - theta) / theta
    )
    return float(np.sum(0.5 * count * (digamma(k) - np.log(k)) - divergence))

"""What a fit promises for rows that it has not seen, in closed form.

All are losses per observation, in nats: the lower the better.

charged    − log p(y | η̂)/N − log(1 − 3n/N), with the noise RSS/N where it is estimated.
           Of Gaussian noise this is half the logarithm of generalised cross-validation
           in which each of n functions costs three observations, its weight and twice
           for having been chosen (Friedman's rule for adaptive splines).
left out   the log predictive density of every row by the posterior without it, and
           without the function that is centred on it: α of that function was fitted to
           this row, and would not have been without it. Of a row that counts several
           times it is once that is left out.

With s = φᵀΣφ, h = bs and g = b(t̂ − η) the posterior of η without the row is Gaussian,

    mean  η − gs/(1 − h)        variance  s/(1 − h)

at fixed α and noise; and without function m, with c = φᵀΣₘ, it has η − cμₘ/Σₘₘ and
s − c²/Σₘₘ in the place of η and s.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relvec.likelihoods import Likelihood
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

_CHARGE = 3.0  # observations for a function
_LEAST_LEFT = 1e-2  # of all observations, however many functions there are
_LARGEST_LEVERAGE = 1 - 1e-9


@dataclass(frozen=True)
class Judged:
    """A fit and the rows it was made of."""

    y: Array  # (N, K)
    sample_weight: Array  # (N,)
    likelihood: Likelihood
    functions: Array  # (N, n)
    posterior: Posterior
    own: tuple[Indices, Indices]  # rows and the functions that are centred on them
    log_evidence: float

    @property
    def evidence(self) -> float:
        """The classic one."""
        return -self.log_evidence / self._count

    @property
    def charged(self) -> float:
        """The fit itself, with three observations charged for each function."""
        return charged_loss(
            self.likelihood, self.y, self._eta, self.sample_weight, self._size
        )

    @property
    def left_out(self) -> float:
        """Every row predicted by the others."""
        eta, spread = self._without_own()
        seen = self.likelihood.pseudo_observations(
            self.y, self._eta, self.sample_weight
        )
        # A row of less than one observation has no more to leave.
        once = seen.precision / np.maximum(self.sample_weight, 1.0)[:, None]
        precision = np.broadcast_to(once, eta.shape)
        leverage = np.minimum(precision * spread, _LARGEST_LEVERAGE)
        without = spread / (1 - leverage)
        mean = eta - precision * (seen.target - eta) * without
        terms = self.likelihood.log_predictive(self.y, mean, without)
        return -float(self.sample_weight @ terms) / self._count

    @property
    def both(self) -> float:
        """The sum of the last two, each of which errs where the other does not."""
        return self.charged + self.left_out

    @property
    def _count(self) -> float:
        return float(self.sample_weight.sum())

    @property
    def _size(self) -> int:
        return self.functions.shape[1]

    @property
    def _eta(self) -> Array:
        return self.functions @ self.posterior.mean.T

    def _without_own(self) -> tuple[Array, Array]:
        """η and s (N, K), where a row is a centre without the function there."""
        Sigma, mean = self.posterior.covariance, self.posterior.mean
        rows, centred = self.own
        eta = self._eta
        spread = np.empty_like(eta)
        for k in range(len(mean)):
            S = Sigma[min(k, len(Sigma) - 1)]
            spread[:, k] = np.einsum("ni,ni->n", self.functions @ S, self.functions)
            c = np.einsum("ni,ni->n", self.functions[rows], S[centred])
            variance = S[centred, centred]
            # Two functions of one row leave it one after the other, roughly.
            np.subtract.at(eta[:, k], rows, c * mean[k, centred] / variance)
            np.subtract.at(spread[:, k], rows, c**2 / variance)
        return eta, np.maximum(spread, 0.0)


CRITERIA: dict[str, Callable[[Judged], float]] = {
    "auto": lambda fit: fit.both,
    "loo": lambda fit: fit.left_out,
    "gcv": lambda fit: fit.charged,
    "evidence": lambda fit: fit.evidence,
}


def charged_loss(
    likelihood: Likelihood, y: Array, eta: Array, sample_weight: Array, n_functions: int
) -> float:
    """Minus the log likelihood and a charge for every function, per observation."""
    count = float(sample_weight.sum())
    fitted = likelihood.refit(y, eta, sample_weight, np.full(y.shape[1], count))
    left = max(1 - _CHARGE * n_functions / count, _LEAST_LEFT)
    return -fitted.log_density(y, eta, sample_weight) / count - float(np.log(left))

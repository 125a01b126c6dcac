"""What a fit promises for rows that it has not seen, in closed form.

All are losses per observation, in nats: the lower the better.

charged    − log p(y | η̂)/N − log(1 − 3n/N), with the noise RSS/N where it is estimated.
           Of Gaussian noise this is half the logarithm of generalised cross-validation
           in which each of n functions costs three observations, its weight and twice
           for having been chosen (Friedman's rule for adaptive splines).
left out   the log predictive density of every row by the posterior without it, and
           without the function that is centred on it: α of that function was fitted to
           this row, and would not have been without it. That may cost five nats at
           most: where there is hardly any noise, no function can do without another.
           Of a row that counts several times it is once that is left out.

With s = φᵀΣφ, h = bs and g = b(t̂ − η) the posterior of η without the row is Gaussian,

    mean  η − gs/(1 − h)        variance  s/(1 − h)

at fixed α and noise; and without function m, with c = φᵀΣₘ, it has η − cμₘ/Σₘₘ and
s − c²/Σₘₘ in the place of η and s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relvec.likelihoods import Likelihood, PseudoObservations, refitted
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

_CHARGE = 3.0  # observations for a function
_LEAST_LEFT = 1e-2  # of all observations; less is no measure of anything
_HOPELESS = 1e6  # the loss of a model that has not even that, more for each function
_LARGEST_LEVERAGE = 1 - 1e-9
_MOST_FOR_ITS_OWN = 5.0  # nats that a row may lose with its function


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
        return float(self.sample_weight @ self.left_out_rows) / self._count

    @property
    def left_out_rows(self) -> Array:
        """Minus the log predictive density of each row by the others (N,)."""
        eta, spread = self._eta, self._spread
        terms = self._log_predictive(slice(None), eta, spread)
        rows, _ = self.own
        less = self._log_predictive(rows, *self._without_own(eta, spread))
        without = np.full(len(terms), np.inf)
        np.minimum.at(without, rows, np.maximum(less, terms[rows] - _MOST_FOR_ITS_OWN))
        return -np.where(np.isinf(without), terms, without)

    def _log_predictive(
        self, rows: Indices | slice, eta: Array, spread: Array
    ) -> Array:
        """Of some rows without themselves, given η and s with them."""
        seen = self._seen
        # A row of less than one observation has no more to leave.
        once = seen.precision / np.maximum(self.sample_weight, 1.0)[:, None]
        precision = np.broadcast_to(once, self.y.shape)[rows]
        leverage = np.minimum(precision * spread, _LARGEST_LEVERAGE)
        without = spread / (1 - leverage)
        mean = eta - precision * (seen.target[rows] - eta) * without
        return self.likelihood.log_predictive(self.y[rows], mean, without)

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

    @cached_property
    def _eta(self) -> Array:
        return self.functions @ self.posterior.mean.T

    @cached_property
    def _seen(self) -> PseudoObservations:
        return self.likelihood.pseudo_observations(
            self.y, self._eta, self.sample_weight
        )

    @cached_property
    def _spread(self) -> Array:
        """s (N, K)."""
        return self.posterior.predict(self.functions)[1]

    def _without_own(self, eta: Array, spread: Array) -> tuple[Array, Array]:
        """η and s of rows that are centres, without the function there."""
        rows, centred = self.own
        eta, spread = eta[rows], np.array(spread[rows])
        Sigma, mean = self.posterior.covariance, self.posterior.mean
        for k in range(len(mean)):
            S = Sigma[min(k, len(Sigma) - 1)]
            c = np.einsum("ni,ni->n", self.functions[rows], S[centred])
            variance = S[centred, centred]
            eta[:, k] -= c * mean[k, centred] / variance
            spread[:, k] -= c**2 / variance
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
    fitted = refitted(likelihood, y, eta, sample_weight)
    left = 1 - _CHARGE * n_functions / count
    if left < _LEAST_LEFT:
        return _HOPELESS - left
    return -fitted.log_density(y, eta, sample_weight) / count - float(np.log(left))


def sparsest(losses: list[Array], sample_weight: Array) -> int:
    """The last of several models that is hardly worse than the best of them.

    Models have ever fewer functions, and a loss for every row. "Hardly" is one standard
    error of the mean of paired differences (Breiman et al., 1984).
    """
    count = float(sample_weight.sum())
    means = [sample_weight @ rows / count for rows in losses]
    best = int(np.argmin(means))
    chosen = best
    for place in range(best + 1, len(losses)):
        apart = losses[place] - losses[best]
        mean = means[place] - means[best]
        variance = sample_weight @ (apart - mean) ** 2 / max(count - 1, 1.0)
        if mean <= np.sqrt(variance / count):
            chosen = place
    return chosen

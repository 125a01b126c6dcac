"""Criteria for rows that a fit has not seen, in closed form.

All are losses per observation, in nats: the lower the better.

gcv   − log p(y | η̂)/N − log(1 − 3n/N), with the noise RSS/N where it is estimated. Of
      Gaussian noise this is half the logarithm of generalised cross-validation in which
      each of n functions costs three observations, its weight and twice for having been
      chosen (Friedman's rule for adaptive splines).
loo   leave-one-out: minus the log predictive density of every row by the posterior
      without it, and without the function that is centred on it: α of that function was
      fitted to this row, and would not have been without it. That may cost five nats at
      most: where there is hardly any noise, no function can do without another. Of a
      row that counts several times it is once that is left out.

With s = φᵀΣφ, h = bs and g = b(t̂ − η) the posterior of η without the row is Gaussian,

    mean  η − gs/(1 − h)        variance  s/(1 − h)

at fixed α and noise; and without function m, with c = φᵀΣₘ, it has η − cμₘ/Σₘₘ and
s − c²/Σₘₘ in the place of η and s.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.likelihoods import Likelihood, PseudoObservations, refitted
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

# Observations that a function costs: Friedman's (1991), on a plateau from 2.5 to 3.5 in
# the comparison of docs/theory/kernel_learning.md.
_COST_PER_FUNCTION = 3.0
_LEAST_LEFT = 1e-2  # of all observations; less is no measure of anything
# The loss of a model that has not even that, more for each function: above any other.
_HOPELESS = 1e6
_LARGEST_LEVERAGE = 1 - 1e-9  # rounding may take it to 1, where 1/(1 − h) is infinite
# Nats that a row may lose with its function: from 3 to 20 are equal on six problems
# with hardly any noise, and without a bound errors are up to 283 times the best.
_MOST_FOR_ITS_OWN = 5.0


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out predictions and criteria of a fit on its training rows."""

    y: Array  # (N, K)
    sample_weight: Array  # (N,)
    likelihood: Likelihood
    functions: Array  # (N, n)
    posterior: Posterior
    own: tuple[Indices, Indices]  # rows and the functions that are centred on them
    log_evidence: float

    @property
    def evidence(self) -> float:
        """Minus the log evidence, per observation."""
        return -self.log_evidence / float(self.sample_weight.sum())

    @property
    def gcv(self) -> float:
        """Generalised cross-validation."""
        n_functions = self.functions.shape[1]
        return gcv_loss(
            self.likelihood, self.y, self._eta, self.sample_weight, n_functions
        )

    @property
    def loo(self) -> float:
        """Leave-one-out: every row predicted by the others."""
        weight = self.sample_weight
        return float(weight @ self.loo_rows) / float(weight.sum())

    @property
    def loo_rows(self) -> Array:
        """Minus the log predictive density of each row by the others (N,)."""
        eta, variance = self.with_rows
        terms = self._log_predictive(slice(None), eta, variance)
        rows, _ = self.own
        less = self._log_predictive(rows, *self._without_own(eta, variance))
        without = np.full(len(terms), np.inf)
        np.minimum.at(without, rows, np.maximum(less, terms[rows] - _MOST_FOR_ITS_OWN))
        return -np.where(np.isinf(without), terms, without)

    @cached_property
    def with_rows(self) -> tuple[Array, Array]:
        """Mean and variance of η (N, K) of every row."""
        return self.posterior.predict(self.functions)

    def under(self, likelihood: Likelihood) -> "LeaveOneOut":
        """These inputs with another likelihood; ``with_rows`` does not change."""
        other = replace(self, likelihood=likelihood)
        vars(other)["with_rows"] = self.with_rows  # as cached_property does
        return other

    @cached_property
    def without_rows(self) -> tuple[Array, Array]:
        """Mean and variance of η (N, K) of every row by the others.

        Without the function that is centred on it, if there is one, as far as no
        function of another row could have taken its place.
        """
        eta, variance = self.with_rows
        mean, without = self._left_out(slice(None), eta, variance)
        rows, centred = self.own
        if len(rows):
            alone = self._irreplaceable(centred)[:, None]
            own_mean, own_variance = self._left_out(
                rows, *self._without_own(eta, variance)
            )
            mean[rows] += alone * (own_mean - mean[rows])
            without[rows] += alone * (own_variance - without[rows])
        return mean, without

    def _irreplaceable(self, centred: Indices) -> Array:
        """(1 − ρ²)^¼ with ρ the value of a function at the row nearest to its own.

        Of errors, whose squares have the root; chosen among powers on the problems of
        the benchmark out_of_the_box, where it is neither far too much nor too little.
        Where functions cost more observations than there are, each stands for its row.
        Of rows that count twice one is left, with its function.
        """
        rows, _ = self.own
        functions, places = np.unique(centred, return_inverse=True)
        count = np.bincount(places, self.sample_weight[rows])
        once = np.clip(2 - count, 0, 1)[places]
        n_functions = self.functions.shape[1]
        if _COST_PER_FUNCTION * n_functions >= self.sample_weight.sum():
            return np.asarray(once, dtype=np.float64)
        values = np.abs(self.functions[:, functions])
        own = np.abs(self.functions[rows, centred])
        values[rows, places] = 0.0
        nearest = np.minimum(values.max(axis=0)[places], own)
        ratio = np.divide(nearest, own, out=np.zeros_like(own), where=own > 0)
        return np.asarray(once * (1 - ratio**2) ** 0.25)

    def _log_predictive(
        self, rows: Indices | slice, eta: Array, variance: Array
    ) -> Array:
        """Log predictive densities of rows left out, from η and s with these rows."""
        left_out = self._left_out(rows, eta, variance)
        return self.likelihood.log_predictive(self.y[rows], *left_out)

    def _left_out(
        self, rows: Indices | slice, eta: Array, variance: Array
    ) -> tuple[Array, Array]:
        seen = self.observations
        # A row of less than one observation has no more to leave.
        once = seen.precision / np.maximum(self.sample_weight, 1.0)[:, None]
        precision = np.broadcast_to(once, self.y.shape)[rows]
        leverage = np.minimum(precision * variance, _LARGEST_LEVERAGE)
        without = variance / (1 - leverage)
        return eta - precision * (seen.target[rows] - eta) * without, without

    @property
    def _eta(self) -> Array:
        return self.with_rows[0]

    @cached_property
    def observations(self) -> PseudoObservations:
        """The pseudo-observations at the fitted mean."""
        return self.likelihood.pseudo_observations(
            self.y, self._eta, self.sample_weight
        )

    def _without_own(self, eta: Array, variance: Array) -> tuple[Array, Array]:
        """η and s of rows that are centres, without the function there."""
        rows, centred = self.own
        eta, variance = eta[rows], np.array(variance[rows])
        Sigma, mean = self.posterior.covariance, self.posterior.mean
        for k in range(len(mean)):
            S = Sigma[min(k, len(Sigma) - 1)]
            c = np.einsum("ni,ni->n", self.functions[rows], S[centred])
            own_variance = S[centred, centred]
            share = c / own_variance  # first: of large targets squares are too large
            eta[:, k] -= share * mean[k, centred]
            variance[:, k] -= share * c
        return eta, np.maximum(variance, 0.0)


CRITERIA: dict[str, Callable[[LeaveOneOut], float]] = {
    # Each of the two errs where the other does not.
    "auto": lambda fit: fit.gcv + fit.loo,
    "loo": lambda fit: fit.loo,
    "gcv": lambda fit: fit.gcv,
    "evidence": lambda fit: fit.evidence,
}


def gcv_loss(
    likelihood: Likelihood, y: Array, eta: Array, sample_weight: Array, n_functions: int
) -> float:
    """Minus the log likelihood plus the cost of functions, per observation."""
    count = float(sample_weight.sum())
    fitted = refitted(likelihood, y, eta, sample_weight)
    left = 1 - _COST_PER_FUNCTION * n_functions / count
    if left < _LEAST_LEFT:
        return _HOPELESS - left
    return -fitted.log_density(y, eta, sample_weight) / count - float(np.log(left))


def sparsest(losses: list[Array], sample_weight: Array) -> int:
    """Index of the last of several models within one standard error of the best.

    Models have ever fewer functions, and a loss for every row. The standard error is
    that of the mean of paired differences; the rule is that of Breiman et al. (1984).
    """
    count = float(sample_weight.sum())
    means = [sample_weight @ rows / count for rows in losses]
    best = int(np.argmin(means))
    chosen = best
    for index in range(best + 1, len(losses)):
        differences = losses[index] - losses[best]
        mean = means[index] - means[best]
        variance = sample_weight @ (differences - mean) ** 2 / max(count - 1, 1.0)
        if mean <= np.sqrt(variance / count):
            chosen = index
    return chosen

"""What a process on the features of pivots knows of itself: its prior variance.

Of Gaussian targets a is that of most evidence, log N(t̂ | 0, B⁻¹ + aFFᵀ), a function of
one number and of the eigenvalues of FᵀBF. Of classes it is so for pseudo-observations
at the process's own mode, which are found in turns with it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from relvec.kernel_learning import Judged
from relvec.likelihoods import PseudoObservations
from relvec.typing import Array

_LEAST_SHARE = 1e-9  # d that is not known to be more: by it is divided
# Newton's method at its mode, and the last step of log a.
_MOST_ROUNDS, _LOG_STEP = 12, 0.05
# By how many nats a step may make latent values less probable, since the constant and
# the weights are found one after the other; and how often it is halved otherwise.
_MOST_LOSS, _MOST_HALVINGS = 1.0, 10
# About the mean square of the targets: log a, in nats, and steps of its grid.
_LOG_RANGE, _GRID = (-12.0, 25.0), 38


def observed_process(
    features: Array, seen: Judged, count: float, *, pooled: bool
) -> tuple["Observed", Array]:
    """What rows, that stand for ``count`` observations, say of it, and a (K,).

    Of classes at a mode of the process itself: at that of a sparse model, which may be
    certain of all its rows, pseudo-observations weigh next to nothing.
    """
    weight = seen.sample_weight * (count / seen.sample_weight.sum())
    at = _Latent(np.zeros_like(seen.y), np.zeros((seen.y.shape[1], features.shape[1])))
    last = np.inf
    # What couples outputs is at most as much again as their own precisions.
    step = 1.0 if seen.y.shape[1] == 1 else 0.5

    def log_posterior(latent: _Latent, a: Array) -> float:
        density = seen.likelihood.log_density(seen.y, latent.values, weight)
        return density + latent.log_prior(a)

    for _ in range(_MOST_ROUNDS):
        observations = seen.likelihood.pseudo_observations(seen.y, at.values, weight)
        found = Observed.of(features, observations)
        a = found.amplitude(pooled=pooled)
        size = float(np.log(a.mean())) if a.mean() > 0 else -np.inf
        if seen.likelihood.conjugate or abs(size - last) < _LOG_STEP:
            break
        # Many classes share a precision that is a mean over all their contrasts. Along
        # the few contrasts that a row depends on it is much too small, and whole steps
        # would lead away from the mode.
        before, goal = log_posterior(at, a), found.latent(features, a)
        for _ in range(_MOST_HALVINGS):
            moved = at.towards(goal, step)
            if log_posterior(moved, a) >= before - _MOST_LOSS:
                break
            step /= 2
        at, last = moved, size
    return found, a


@dataclass(frozen=True)
class _Latent:
    """Latent values of the process at the rows, and the weights of its features."""

    values: Array  # (N, K)
    weights: Array  # (K, r)

    def towards(self, other: "_Latent", share: float) -> "_Latent":
        """A point on the line to another one."""
        return _Latent(
            self.values + share * (other.values - self.values),
            self.weights + share * (other.weights - self.weights),
        )

    def log_prior(self, a: Array) -> float:
        """Up to a constant, for prior variances (K,) of the weights."""
        squares = np.sum(self.weights**2, axis=1)
        return -0.5 * float(np.sum(squares[a > 0] / a[a > 0]))


@dataclass(frozen=True)
class Observed:
    """What pseudo-observations say of the features of pivots."""

    eigenvalues: Array  # (K or 1, r) of FᵀBF
    eigenvectors: Array  # (K or 1, r, r)
    constant: Array  # (K,) mean of t̂
    targets: Array  # (K, r) of t̂ᵀBF in these, without it
    squares: Array  # (K,) mean of t̂², without it

    @classmethod
    def of(cls, features: Array, observations: PseudoObservations) -> "Observed":
        """Of rows with these features (N, r)."""
        precision = observations.precision
        total = np.broadcast_to(precision, observations.target.shape)
        mean = (total * observations.target).sum(axis=0) / total.sum(axis=0)
        target = observations.target - mean
        moments = [features.T @ (b[:, None] * features) for b in precision.T]
        each = [eigh(one) for one in moments]
        values = np.array([np.maximum(one, 0.0) for one, _ in each])
        vectors = np.array([one for _, one in each])
        pulled = (total * target).T @ features
        return cls(
            values,
            vectors,
            mean,
            (pulled[:, None] @ vectors)[:, 0],
            (total * target**2).sum(axis=0) / total.sum(axis=0),
        )

    def latent(self, features: Array, a: Array) -> _Latent:
        """The mean of the process at the rows, for amplitudes (K,)."""
        a = a[:, None]
        weights = a / (1 + a * self.eigenvalues) * self.targets
        turned = (self.eigenvectors @ weights[:, :, None])[:, :, 0]
        return _Latent(self.constant + features @ turned.T, turned)

    def amplitude(self, *, pooled: bool) -> Array:
        """a (K,) of most evidence, the same for all outputs if it is pooled."""
        outputs = range(len(self.targets))
        sets = [tuple(outputs)] if pooled else [(k,) for k in outputs]
        each = [self._of_most_evidence(one) for one in sets]
        return np.full(len(self.targets), each[0]) if pooled else np.array(each)

    def _of_most_evidence(self, outputs: tuple[int, ...]) -> float:
        values = np.broadcast_to(self.eigenvalues, self.targets.shape)[list(outputs)]
        targets = self.targets[list(outputs)] ** 2

        def loss(log_a: float) -> float:
            """−2 log N(t̂ | 0, B⁻¹ + aFFᵀ), but for what does not depend on a."""
            a = np.exp(log_a)
            # Features may be of any size, and some a are then out of the question.
            with np.errstate(over="ignore", invalid="ignore"):
                gained = targets * a / (1 + a * values)
                total = float(np.sum(np.log1p(a * values) - gained))
            return total if np.isfinite(total) else np.inf

        square = float(self.squares[list(outputs)].mean())
        return np.exp(_least(loss, np.log(square))) if square > 0 else 0.0

    def directions(self, a: float) -> tuple[Array, Array]:
        """V and d, of all outputs on average."""
        values, vectors = self.eigenvalues[0], self.eigenvectors[0]
        if len(self.eigenvalues) > 1:
            parts = self.eigenvectors * self.eigenvalues[:, None, :]
            total = np.einsum("kis,kjs->ij", parts, self.eigenvectors)
            values, vectors = eigh(total / len(self.eigenvalues))
            values = np.maximum(values, 0.0)
        return vectors, np.maximum(a * values / (1 + a * values), _LEAST_SHARE)


def _least(loss: Callable[[float], float], middle: float) -> float:
    """Where a function of one number is least, by a grid about one and a search."""
    grid = middle + np.linspace(*_LOG_RANGE, _GRID)
    best = int(np.argmin([loss(one) for one in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    return float(minimize_scalar(loss, bounds=bounds, method="bounded").x)

"""The Gaussian process about a model: its pivots, its prior variance, where it counts.

Given the features f = C⁻¹k(Z, x) of pivots, k(Z, Z) = CCᵀ, whose weights have the prior
N(0, aI), and the pseudo-observations t̂ of precision B that the model has come to:

T     D^½VᵀC⁻¹ with FᵀBF = VΛVᵀ and D = aΛ(I + aΛ)⁻¹, so that ‖Tk‖² is what rows have
      determined of k(x, x): kᵀ(K⁻¹ − (K + aΦᵀBΦ)⁻¹)k with K = k(Z, Z), Φ = k(X, Z)
a     maximises the evidence log N(t̂ | 0, B⁻¹ + aFFᵀ), a function of one number and of
      the eigenvalues of FᵀBF. For classes the pseudo-observations are those at the
      mode of the process itself, and mode and a are found in turns
p     the smallest power from 1 on with which rows of the data gain on average at most
      a fifth of an observation's variance: a few pivots leave much of rows that many
      others surround, and p tells these from rows that are surrounded by none
mean  of classes: what makes them as probable as they are frequent where nothing is
      known; with a power that leaves a hundredth of it to rows of the data

A pivot says nothing of how well others describe it: without itself (K⁻¹)ᵢᵢ⁻¹ is left.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize_scalar

from relvec.basis import Basis, Group, as_rows
from relvec.kernel_learning import LeaveOneOut
from relvec.kernels import Kernel
from relvec.kernels.combinations import Mixture
from relvec.likelihoods import PseudoObservations
from relvec.modelling.families import LeftOut
from relvec.modelling.fitted import FittedModel, equal_pairs
from relvec.modelling.latent import AugmentedVariance
from relvec.modelling.training_rows import TrainingSet
from relvec.pivots import Pivots
from relvec.typing import AnyArray, Array

_LEAST_SHARE = 1e-9  # smallest d, which is a divisor
# Newton's method at its mode, and the last step of log a.
_MOST_ROUNDS, _LOG_STEP = 12, 0.05
# Nats by which a step may lower the log posterior, since the constant and the weights
# are found one after the other; and how often a step is halved if it lowers it more.
_MOST_LOSS, _MOST_HALVINGS = 1.0, 10
# About the mean square of the targets: log a, in nats, and steps of its grid.
_LOG_RANGE, _GRID = (-12.0, 25.0), 38


def observed_process(
    features: Array, seen: LeaveOneOut, count: float, *, pooled: bool
) -> tuple["Observed", Array]:
    """Fit the process to rows that stand for ``count`` observations; and a (K,).

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
        """A point on the line to another latent state."""
        return _Latent(
            self.values + share * (other.values - self.values),
            self.weights + share * (other.weights - self.weights),
        )

    def log_prior(self, a: Array) -> float:
        """Log prior up to a constant, for prior variances (K,) of the weights."""
        squares = np.sum(self.weights**2, axis=1)
        return -0.5 * float(np.sum(squares[a > 0] / a[a > 0]))


@dataclass(frozen=True)
class Observed:
    """Pseudo-observations projected on the features of pivots."""

    eigenvalues: Array  # (K or 1, r) of FᵀBF
    eigenvectors: Array  # (K or 1, r, r)
    constant: Array  # (K,) mean of t̂
    targets: Array  # (K, r) of t̂ᵀBF in these, without it
    squares: Array  # (K,) mean of t̂², without it

    @classmethod
    def of(cls, features: Array, observations: PseudoObservations) -> "Observed":
        """Eigenvalues and projected targets of rows with these features (N, r)."""
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
        """V and d, averaged over the outputs."""
        values, vectors = self.eigenvalues[0], self.eigenvectors[0]
        if len(self.eigenvalues) > 1:
            parts = self.eigenvectors * self.eigenvalues[:, None, :]
            total = np.einsum("kis,kjs->ij", parts, self.eigenvectors)
            values, vectors = eigh(total / len(self.eigenvalues))
            values = np.maximum(values, 0.0)
        return vectors, np.maximum(a * values / (1 + a * values), _LEAST_SHARE)


def _least(loss: Callable[[float], float], middle: float) -> float:
    """Minimise a function of one number by a grid around one and a search."""
    grid = middle + np.linspace(*_LOG_RANGE, _GRID)
    best = int(np.argmin([loss(one) for one in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    return float(minimize_scalar(loss, bounds=bounds, method="bounded").x)


# Pivots beside the model's own rows, which come first: as many again, but no more than
# some. Predictions with error bars then take about twice as long; with 16 in all,
# extrapolations of abalone and ccpp were as certain as with none.
_PIVOTS = 32
# Of k(x, x): what is left of a pivot beside the others must be more. Less, and the same
# was found with pivots that cost digits and time.
_INDEPENDENT = 1e-4
# Of an observation's variance: a fifth too much costs 0.008 nats of a log density. Of
# classes, whose latent values have no noise of their own, half as much.
_ROOM = 0.2
_MEAN_ROOM = 0.01  # of the mean, that rows of the data may gain on average
_LARGEST_POWER = 256.0  # beyond, nothing but ρ = 1 counts


def surroundings(
    model: FittedModel, data: TrainingSet, seen: LeaveOneOut, left_out: LeftOut
) -> AugmentedVariance | None:
    """Fit the process about a model whose training rows these are.

    None where no function of the model's kind can be centred on a new row, or where its
    kernel is none that a process can have.
    """
    kernel = _process_kernel(model.basis)
    if kernel is None:
        return None
    X = as_rows(data.table)
    pivots = _pivots(model, kernel, X)
    if len(pivots) == 0:
        return None
    # Noise that was raised holds what rows left out were missing, not to count twice.
    seen = seen.under(model.family.as_calibrated(seen.likelihood))
    pooled = model.posterior.prior_precision.ndim == 1
    count = model.fit.n_observations
    observed, amplitude = observed_process(
        pivots.features(X), seen, count, pooled=pooled
    )
    vectors, determined = observed.directions(float(amplitude.mean()))
    turned = np.sqrt(determined)[:, None] * (vectors.T @ pivots.whitener)
    plain = AugmentedVariance(
        pivots=Group(kernel, pivots.rows),
        by_pivots=turned,
        by_functions=np.empty((len(turned), 0)),
        determined=determined,
        amplitude=amplitude,
    )
    found = _shared(plain, model.basis)
    found = replace(found, mean=_prior_mean(found, model, X, left_out))
    return _raised(found, pivots, X, seen)


def _process_kernel(basis: Basis) -> Kernel | None:
    """The kernel of the process; the mean of several kernels."""
    each = [group.process_kernel for group in basis.groups]
    kernels = tuple(one for one in each if one is not None)
    if len(kernels) < len(each):
        return None
    if len(kernels) == 1:
        return kernels[0]
    return Mixture(kernels, np.full(len(kernels), 1 / len(kernels)))


def _pivots(model: FittedModel, kernel: Kernel, X: AnyArray) -> Pivots:
    """The model's own centres, and the rows that these describe least."""
    tol = _INDEPENDENT * float(np.max(kernel.diagonal(X), initial=0.0))
    size = len(model.indices)
    most = max(_PIVOTS, min(2 * size, size + _PIVOTS))
    own = as_rows(np.concatenate([group.centres for group in model.basis.groups]))
    found = Pivots.none(kernel, X).greedy(_sorted(own), most, tol)
    return found.greedy(_sorted(X), most, tol)


def _sorted(rows: AnyArray) -> AnyArray:
    """Sort rows by value, so that their given order does not matter."""
    return rows if rows.dtype == object else rows[np.lexsort(rows.T[::-1])]


def _shared(found: AugmentedVariance, basis: Basis) -> AugmentedVariance:
    """Replace pivots that are centres of the model by its functions."""
    group, pivots = basis.groups[0], found.pivots
    if (
        group.process_kernel is not pivots.kernel
        or group.process_kernel is not group.kernel
    ):
        return found
    rows, functions = equal_pairs(pivots.centres, group.centres, 0)
    by_functions = np.zeros((len(found.by_pivots), len(group)))
    by_functions[:, functions] = found.by_pivots[:, rows]
    others = np.setdiff1d(np.arange(len(pivots)), rows)
    return replace(
        found,
        pivots=pivots.subset(others),
        by_pivots=found.by_pivots[:, others],
        by_functions=by_functions,
    )


def _raised(
    found: AugmentedVariance, pivots: Pivots, X: AnyArray, seen: LeaveOneOut
) -> AugmentedVariance:
    """Set the powers p that the rows ask for."""
    turned, prior = found.turned(X, seen.functions)
    rows, own = equal_pairs(X, pivots.rows, 0)
    alone = np.zeros(len(X))
    alone[rows] = 1 / np.sum(pivots.whitener[:, own] ** 2, axis=0)
    alone = np.divide(alone, prior, out=np.zeros_like(alone), where=prior > 0)
    share = np.maximum(found.left(turned), alone)
    noiseless = np.maximum(found.left_without_noise(turned), alone)
    weight = seen.sample_weight / seen.sample_weight.sum()
    once = seen.observations.precision / seen.sample_weight[:, None]
    own, wanted = seen.with_rows[1].mean(axis=1), found.amplitude.mean() * prior

    def gained(p: float) -> float:
        return float(weight @ np.maximum(wanted * share**p - own, 0.0))

    room = _ROOM if seen.likelihood.conjugate else 0.5 * _ROOM
    power = _least_power(gained, room * float((1 / once.max(axis=0)).mean()))
    mean_power = _least_power(lambda p: float(weight @ noiseless**p), _MEAN_ROOM)
    return replace(
        found,
        power=power or _LARGEST_POWER,
        mean_power=mean_power or _LARGEST_POWER,
    )


def _least_power(loss: Callable[[float], float], most: float) -> float | None:
    """The smallest p ≥ 1 at which a falling loss is at most ``most``."""

    def excess(log_p: float) -> float:
        return loss(float(np.exp(log_p))) - most

    last = float(np.log(_LARGEST_POWER))
    if excess(0.0) <= 0:
        return 1.0
    return float(np.exp(brentq(excess, 0.0, last))) if excess(last) < 0 else None


def _prior_mean(
    found: AugmentedVariance, model: FittedModel, X: AnyArray, left_out: LeftOut
) -> Array | None:
    """The shift where nothing is known that makes targets as those of all rows."""
    constant = model.posterior.mean[:, 0] if model.basis.bias else 0.0
    at = np.broadcast_to(constant, found.amplitude.shape)
    prior = np.average(found.pivots.kernel.diagonal(X), weights=left_out.weight)
    variance = found.amplitude * prior
    return model.family.prior_mean(left_out, at, variance)

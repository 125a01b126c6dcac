"""The process about a model: its pivots, its prior variance, and where it counts.

Given the features f = C⁻¹k(Z, x) of pivots, k(Z, Z) = CCᵀ, whose weights have the prior
N(0, aI), and the pseudo-observations t̂ of precision B that the model has come to:

T     D^½VᵀC⁻¹ with FᵀBF = VΛVᵀ and D = aΛ(I + aΛ)⁻¹, so that ‖Tk‖² is what rows have
      determined of k(x, x): kᵀ(K⁻¹ − (K + aΦᵀBΦ)⁻¹)k with K = k(Z, Z), Φ = k(X, Z)
a     of most evidence, log N(t̂ | 0, B⁻¹ + aFFᵀ), a function of one number
p     the least from 1 on with which rows of the data gain no more by it on average than
      a fifth of an observation's variance: a few pivots leave much of rows that many
      others surround, and p tells these from rows that are surrounded by none
mean  of classes what makes them as probable as they are frequent where nothing is
      known; with a power that leaves a hundredth of it to rows of the data

A pivot says nothing of how well others describe it: without itself (K⁻¹)ᵢᵢ⁻¹ is left.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from relvec.basis import Basis, Group, as_rows
from relvec.kernel_learning import Judged
from relvec.kernels import Kernel
from relvec.kernels.combinations import Mixture
from relvec.modelling.amplitude import observed_process
from relvec.modelling.families import LeftOut
from relvec.modelling.fitted import FittedModel
from relvec.modelling.leave_one_out import equal_pairs
from relvec.modelling.surroundings import Surroundings
from relvec.modelling.training_set import TrainingSet
from relvec.pivots import Pivots
from relvec.typing import AnyArray, Array

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
    model: FittedModel, data: TrainingSet, seen: Judged, left_out: LeftOut
) -> Surroundings | None:
    """The process about a model of which these rows are known.

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
    plain = Surroundings(
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
    """The kernel of functions centred anywhere; the mean of several."""
    each = [group.process_kernel for group in basis.groups]
    kernels = tuple(one for one in each if one is not None)
    if len(kernels) < len(each):
        return None
    if len(kernels) == 1:
        return kernels[0]
    return Mixture(kernels, np.full(len(kernels), 1 / len(kernels)))


def _n_pivots(model: FittedModel) -> int:
    size = len(model.indices)
    return max(_PIVOTS, min(2 * size, size + _PIVOTS))


def _pivots(model: FittedModel, kernel: Kernel, X: AnyArray) -> Pivots:
    """The model's own centres, and rows that these describe least."""
    tol = _INDEPENDENT * float(np.max(kernel.diagonal(X), initial=0.0))
    found, most = Pivots.none(kernel, X), _n_pivots(model)
    own = as_rows(_centres(model.basis))
    return found.greedy(_sorted(own), most, tol).greedy(_sorted(X), most, tol)


def _sorted(rows: AnyArray) -> AnyArray:
    """In an order that does not depend on the one given: of equal ones the first."""
    return rows if rows.dtype == object else rows[np.lexsort(rows.T[::-1])]


def _centres(basis: Basis) -> AnyArray:
    return np.concatenate([group.centres for group in basis.groups])


def _shared(found: Surroundings, basis: Basis) -> Surroundings:
    """With functions of the model in the place of pivots that are its centres."""
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
    found: Surroundings, pivots: Pivots, X: AnyArray, seen: Judged
) -> Surroundings:
    """With the powers that the rows ask for."""
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
    """The least p from 1 on with a loss, which falls, of so much at most."""

    def excess(log_p: float) -> float:
        return loss(float(np.exp(log_p))) - most

    last = float(np.log(_LARGEST_POWER))
    if excess(0.0) <= 0:
        return 1.0
    return float(np.exp(brentq(excess, 0.0, last))) if excess(last) < 0 else None


def _prior_mean(
    found: Surroundings, model: FittedModel, X: AnyArray, left_out: LeftOut
) -> Array | None:
    """What is added where nothing is known, so that targets are as for all rows."""
    constant = model.posterior.mean[:, 0] if model.basis.bias else 0.0
    at = np.broadcast_to(constant, found.amplitude.shape)
    prior = np.average(found.pivots.kernel.diagonal(X), weights=left_out.weight)
    variance = found.amplitude * prior
    return model.family.prior_mean(left_out, at, variance)

"""Length scales of each function's own, and backward elimination of functions.

Solves   max over log ℓ, log α, log β of the log evidence, and of a Gaussian prior of
         log ℓ if one is set
Given    the functions of a model and the observations
By       quasi-Newton steps on all of them together, or on log ℓ alone

Raised for as long as it rises, the evidence takes in what is noise: each function has
a centre, a scale and a precision to be chosen, and only the weight is paid for. So
functions are deleted again one by one, that of the least deletion cost first, scales
moving in between, and a criterion chooses among the models on the way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.kernel_learning.fixed_basis import FixedBasisModel, Observations
from relvec.kernel_learning.scales import Range, ScalableBasis, lowest
from relvec.typing import Array

# In log α and log β, within one run of a few quasi-Newton steps, so that none of them
# takes a precision to 0 or infinity; other values are not on record.
_LARGEST_PRECISION_STEP, _LARGEST_NOISE_STEP = 12.0, 3.0
# Tighter than on the way in ``scales``: models are compared with what is left.
_FINAL_TOL, _FINAL_STEPS = 1e-4, 200
_AT_ONCE = 25  # functions of which one is deleted at a time: 4 % of many, to save fits


@dataclass(frozen=True)
class ScalePrior:
    """log ℓ ~ N(centre, 1/precision), for each function and feature by itself."""

    centre: Array  # (1, 1 or d)
    precision: float

    def log_density(self, log_scales: Array) -> tuple[float, Array]:
        """But for a constant, and its gradient."""
        difference = log_scales - self.centre
        value = -0.5 * self.precision * float(np.sum(difference**2))
        return value, -self.precision * difference


@dataclass(frozen=True)
class OwnScales:
    """How scales of their own are learned."""

    allowed: Range
    steps: int = 8  # at a time
    prior: ScalePrior | None = None
    joint: bool = True  # whether α and β move along
    ended: Callable[[], bool] | None = None  # whether there is no time for more steps

    def better(self, model: ScalableBasis, observations: Observations) -> ScalableBasis:
        """After some steps; then with the best α and β, if they move along."""
        if len(model.varying) == 0:
            return model
        estimated = self.joint and observations.ceiling is not None
        parameters = _Parameters(model, self.joint, estimated)
        bound = model.max_prior_std(observations.bound)
        start, limits = parameters.start(self.allowed, bound)

        def objective(x: Array) -> tuple[float, Array]:
            trial = parameters.model(x)
            values, by_log_scales = trial.varying.with_gradient(trial.X)
            fixed = trial.model(observations, values)
            gradient = by_log_scales(fixed.gradient[:, trial.fixed.shape[1] :])
            value = fixed.log_evidence
            if self.prior is not None:
                log_prior, pull = self.prior.log_density(np.log(trial.varying.scales))
                value, gradient = value + log_prior, gradient + pull
            gradients = [gradient.ravel()]
            if parameters.precisions:
                gradients.append(fixed.precision_gradient)
            if parameters.noise:
                gradients.append(fixed.noise_gradient)
            return -value, -np.concatenate(gradients)

        found = lowest(objective, start, limits, self.steps, self.ended)
        moved = parameters.model(found)
        return _maximised(moved, observations) if self.joint else moved

    def backward_elimination(
        self,
        model: ScalableBasis,
        observations: Observations,
        observe: Callable[[Array], Observations],
    ) -> Iterator[tuple[ScalableBasis, FixedBasisModel]]:
        """The model, and what is left of it as functions are deleted one by one.

        ``observe`` tells what the data are at another η. A model whose weights are to
        be bounded has to come within its bounds first.
        """
        if observations.bound is not None:
            model = self.better(_maximised(model, observations), observations)
        while len(model.varying):
            try:
                fixed = model.model(observations)
                observations = observe(fixed.eta)
                yield model, fixed
                fewer = _maximised(_without_cheapest(model, fixed), observations)
                model = self.better(fewer, observations)
            except LinAlgError:
                # Gram matrices are out of digits, as they are where there is no noise.
                return


def _without_cheapest(model: ScalableBasis, fixed: FixedBasisModel) -> ScalableBasis:
    """Without the function of least deletion cost; of many without some."""
    n_fixed = model.fixed.shape[1]
    cost = fixed.deletion_cost[n_fixed:]
    least = n_fixed + np.argsort(cost)[: max(1, len(cost) // _AT_ONCE)]
    return model.subset(np.delete(np.arange(n_fixed + len(cost)), least))


def _maximised(model: ScalableBasis, observations: Observations) -> ScalableBasis:
    return model.maximised(observations, _FINAL_TOL, _FINAL_STEPS)[0]


@dataclass(frozen=True)
class _Parameters:
    """All that moves as one vector: log ℓ, perhaps log α, perhaps log β."""

    origin: ScalableBasis
    precisions: bool
    noise: bool

    def start(
        self, allowed: Range, max_prior_std: Array | None
    ) -> tuple[Array, tuple[Array, Array]]:
        """Where the search begins, and its limits."""
        scales = np.log(self.origin.varying.scales)
        start = [scales.ravel()]
        low = [np.broadcast_to(allowed.low, scales.shape).ravel()]
        high = [np.broadcast_to(allowed.high, scales.shape).ravel()]
        least = 0.0 if max_prior_std is None else max_prior_std**-2
        precision, noise = self.origin.prior_precision, self.origin.noise_precision
        for moves, values, step, smallest in (
            (self.precisions, precision, _LARGEST_PRECISION_STEP, least),
            (self.noise, noise, _LARGEST_NOISE_STEP, 0.0),
        ):
            if moves:
                start.append(np.log(np.maximum(values, smallest)))
                low.append(np.log(np.maximum(values * np.exp(-step), smallest)))
                high.append(start[-1] + step)
        return np.concatenate(start), (np.concatenate(low), np.concatenate(high))

    def model(self, x: Array) -> ScalableBasis:
        origin = self.origin
        shape, n_functions = origin.varying.scales.shape, len(origin.prior_precision)
        scales, x = np.exp(x[: np.prod(shape)].reshape(shape)), x[np.prod(shape) :]
        precision, noise = origin.prior_precision, origin.noise_precision
        if self.precisions:
            precision, x = np.exp(x[:n_functions]), x[n_functions:]
        if self.noise:
            noise = np.exp(x)
        return replace(
            origin.scaled(scales), prior_precision=precision, noise_precision=noise
        )

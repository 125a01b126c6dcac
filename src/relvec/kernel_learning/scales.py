"""Length scales moved to where the evidence gains: one set for all functions, or many.

**Shared by all functions.** Solves max over log ℓ of the log evidence, its maximum over
α and β, given the functions of a model and fixed observations. Quasi-Newton steps move
log ℓ; Newton's method maximises over α and β at each, so that the gradient by log ℓ is
the partial one (the envelope theorem).

**Of each function.** Solves max over log ℓ, log α, log β of the log evidence, and of a
Gaussian prior of log ℓ if one is set, by quasi-Newton steps on all of them together, or
on log ℓ alone.

If the evidence is raised for as long as it rises, it takes in noise: each function has
a centre, a scale and a precision to be chosen, and only the weight is paid for. So
backward elimination deletes functions again one by one. The one of least deletion cost
goes first, scales move in between, and a criterion chooses among the models on the
way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import Bounds, minimize

from relvec.kernel_learning.fixed_basis import (
    FixedBasisModel,
    Observations,
    WeightBound,
)
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.typing import AnyArray, Array, Indices

# Of log α and log β along the way, near a maximum, where the evidence is quadratic in
# what is left: 1e-6 of its curvature.
_TOL, _MOST_NEWTON_STEPS = 1e-3, 30
# More than any loss, where Gram matrices are out of digits: no step goes there.
_REFUSED = 1e20


@dataclass(frozen=True)
class ScalableBasis:
    """Functions whose length scales may move, and fixed functions."""

    X: AnyArray  # (N, n_features)
    fixed: Array  # (N, f) the others' values, which come first
    varying: PerCentreScale  # n
    prior_precision: Array  # (f + n,)
    noise_precision: Array  # (K or 1,)
    indices: Indices  # (f + n,) of the functions in the basis they are from

    def model(
        self, observations: Observations, values: Array | None = None
    ) -> FixedBasisModel:
        """The model with the present functions."""
        if values is None:
            values = self.varying.values(self.X)
        return FixedBasisModel(
            functions=np.hstack([self.fixed, values]),
            prior_precision=self.prior_precision,
            noise_precision=self.noise_precision,
            observations=observations,
        )

    def subset(self, chosen: Indices) -> "ScalableBasis":
        """Some of the functions, ascending."""
        n_fixed = self.fixed.shape[1]
        return replace(
            self,
            fixed=self.fixed[:, chosen[chosen < n_fixed]],
            varying=self.varying.subset(chosen[chosen >= n_fixed] - n_fixed),
            prior_precision=self.prior_precision[chosen],
            indices=self.indices[chosen],
        )

    def scaled(self, scales: Array) -> "ScalableBasis":
        """Replace the length scales, broadcast to all functions."""
        shape = (len(self.varying), scales.shape[1])
        scales = np.broadcast_to(scales, shape)
        return replace(self, varying=replace(self.varying, scales=scales))

    def max_prior_std(self, bound: WeightBound | None) -> Array | None:
        """Upper bounds on the prior standard deviations of the weights (f + n,)."""
        if bound is None:
            return None
        free = np.full(self.fixed.shape[1], np.inf)
        return np.concatenate([free, bound.max_prior_std(self.varying.scales)])

    def maximised(
        self,
        observations: Observations,
        tol: float = _TOL,
        most: int = _MOST_NEWTON_STEPS,
    ) -> tuple["ScalableBasis", float]:
        """α and noise at a local maximum of the log evidence, and its value."""
        bound = self.max_prior_std(observations.bound)
        found = self.model(observations).maximised(tol, most, bound)
        maximised = replace(
            self.subset(found.chosen),
            prior_precision=found.prior_precision,
            noise_precision=found.noise_precision,
        )
        return maximised, found.solution.log_evidence


@dataclass(frozen=True)
class Range:
    """Limits of log ℓ, (1 or d,) each."""

    low: Array
    high: Array


def better_scales(
    model: ScalableBasis,
    observations: Observations,
    allowed: Range,
    *,
    steps: int,
    tied: bool,
    ended: Callable[[], bool] | None = None,
) -> tuple[ScalableBasis, float]:
    """Move the common length scales to a model of no less evidence.

    ``tied`` scales keep their ratios. Functions that are no longer of use are deleted.
    There are fewer steps where ``ended`` tells that there is no time for more.
    """
    try:
        best, most = model.maximised(observations)
    except LinAlgError:
        return model, -np.inf
    base = np.log(model.varying.scales[0])

    def objective(theta: Array) -> tuple[float, Array]:
        nonlocal best, most
        trial, value = best.scaled(np.exp(base + theta)[None]).maximised(observations)
        if value > most:
            best, most = trial, value
        values, by_log_scales = trial.varying.with_gradient(trial.X)
        gradient = trial.model(observations, values).gradient
        by_theta = by_log_scales(gradient[:, trial.fixed.shape[1] :]).sum(axis=0)
        return -value, -(by_theta.sum(keepdims=True) if tied else by_theta)

    low, high = allowed.low - base, allowed.high - base
    if tied:
        low, high = low.max(keepdims=True), high.min(keepdims=True)
    lowest(objective, np.zeros(len(low)), (low, high), steps, ended)
    return best, most


def lowest(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    limits: tuple[Array, Array],
    steps: int,
    ended: Callable[[], bool] | None = None,
    *,
    least_gain: float = 0.0,
) -> Array:
    """Minimise a function that returns its gradient, in a number of steps.

    Or fewer, where ``ended`` tells after one that there is no time for more, or one
    gains less than ``least_gain``.
    """
    last = np.inf

    def after_step(intermediate_result: Any) -> None:
        nonlocal last
        gain, last = last - intermediate_result.fun, intermediate_result.fun
        if gain < least_gain or (ended is not None and ended()):
            raise StopIteration

    def defined(x: Array) -> tuple[float, Array]:
        try:
            return function(x)
        except LinAlgError:
            return _REFUSED, np.zeros(len(x))

    found = minimize(
        defined,
        np.clip(start, *limits),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(*limits),
        callback=after_step,
        options={"maxiter": steps},
    )
    return np.asarray(found.x)


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
        """Log density up to a constant, and its gradient."""
        difference = log_scales - self.centre
        value = -0.5 * self.precision * float(np.sum(difference**2))
        return value, -self.precision * difference


@dataclass(frozen=True)
class OwnScales:
    """Settings for learning a length scale of each function."""

    allowed: Range
    steps: int = 8  # at a time
    prior: ScalePrior | None = None
    joint: bool = True  # whether α and β move along
    ended: Callable[[], bool] | None = None  # whether there is no time for more steps

    def better(self, model: ScalableBasis, observations: Observations) -> ScalableBasis:
        """The model after some steps, with the best α and β if they move along."""
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
        """Yield the model, and ever smaller ones as functions are deleted.

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
    """Delete the function of least deletion cost; several if there are many."""
    n_fixed = model.fixed.shape[1]
    cost = fixed.deletion_cost[n_fixed:]
    least = n_fixed + np.argsort(cost)[: max(1, len(cost) // _AT_ONCE)]
    return model.subset(np.delete(np.arange(n_fixed + len(cost)), least))


def _maximised(model: ScalableBasis, observations: Observations) -> ScalableBasis:
    return model.maximised(observations, _FINAL_TOL, _FINAL_STEPS)[0]


@dataclass(frozen=True)
class _Parameters:
    """All moving parameters as one vector: log ℓ, optionally log α and log β."""

    origin: ScalableBasis
    precisions: bool
    noise: bool

    def start(
        self, allowed: Range, max_prior_std: Array | None
    ) -> tuple[Array, tuple[Array, Array]]:
        """The start of the search, and its limits."""
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

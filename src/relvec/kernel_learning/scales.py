"""Length scales that all functions of a model share, moved to where it gains.

Solves   max over log ℓ of the log evidence, its maximum over α and β
Given    the functions of a model and the observations, which are fixed
By       quasi-Newton steps; α and β are maximised over by Newton's method at each, so
         that the gradient by log ℓ is the partial one (the envelope theorem)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import Bounds, minimize

from relvec.kernel_learning.bound import WeightBound
from relvec.kernel_learning.fixed_basis import FixedBasisModel, Observations
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.typing import AnyArray, Array, Indices

# Of log α and log β along the way, near a maximum, where the evidence is quadratic in
# what is left: 1e-6 of its curvature.
_TOL, _MOST_NEWTON_STEPS = 1e-3, 30
# More than any loss, where Gram matrices are out of digits: no step goes there.
_REFUSED = 1e20


@dataclass(frozen=True)
class ScalableBasis:
    """Functions whose length scales may move, and others beside them."""

    X: AnyArray  # (N, n_features)
    fixed: Array  # (N, f) the others' values, which come first
    varying: PerCentreScale  # n
    prior_precision: Array  # (f + n,)
    noise_precision: Array  # (K or 1,)
    indices: Indices  # (f + n,) of the functions in the basis they are from

    def model(
        self, observations: Observations, values: Array | None = None
    ) -> FixedBasisModel:
        """With the functions as they are."""
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
        """With other length scales, broadcast to all functions."""
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
        """With α and noise at a local maximum of the log evidence, and that."""
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
    """Of log ℓ, (1 or d,) each."""

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
    """A model of no less evidence, its functions with other scales in common.

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
    """Where a function, which comes with its gradient, is least after so many steps.

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

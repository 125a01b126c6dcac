"""Length scales that all functions of a model share, moved to where it gains.

Solves   max over log ℓ of the log evidence, its maximum over α and β
Given    the functions of a model and the observations, which are held
By       quasi-Newton steps; α and β settle by Newton's method at each of them, so that
         the slope by log ℓ is the partial one (the envelope theorem)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import Bounds, minimize

from relvec.kernel_learning.bound import WeightBound
from relvec.kernel_learning.held import Held, Observed
from relvec.kernels.varying import Varying
from relvec.typing import AnyArray, Array, Indices

_TOL = 1e-3  # of log α and log β along the way
_MOST_NEWTON_STEPS = 30
# Where Gram matrices are out of digits: no step goes there.
_REFUSED = 1e20


@dataclass(frozen=True)
class Placed:
    """Functions whose length scales may move, and others beside them."""

    X: AnyArray  # (N, n_features)
    fixed: Array  # (N, f) the others' values, which come first
    varying: Varying  # n
    prior_precision: Array  # (f + n,)
    noise_precision: Array  # (K or 1,)
    numbers: Indices  # (f + n,) what the functions are called elsewhere

    def held(self, observed: Observed, values: Array | None = None) -> Held:
        """As a model of these functions' values."""
        if values is None:
            values = self.varying.values(self.X)
        functions = np.hstack([self.fixed, values])
        return Held(functions, self.prior_precision, self.noise_precision, observed)

    def subset(self, chosen: Indices) -> "Placed":
        """Some of the functions, ascending."""
        n_fixed = self.fixed.shape[1]
        return replace(
            self,
            fixed=self.fixed[:, chosen[chosen < n_fixed]],
            varying=self.varying.subset(chosen[chosen >= n_fixed] - n_fixed),
            prior_precision=self.prior_precision[chosen],
            numbers=self.numbers[chosen],
        )

    def scaled(self, scales: Array) -> "Placed":
        """With other length scales, broadcast to all functions."""
        shape = (len(self.varying), scales.shape[1])
        scales = np.broadcast_to(scales, shape)
        return replace(self, varying=replace(self.varying, scales=scales))

    def broadest(self, bound: WeightBound | None) -> Array | None:
        """Prior standard deviations that weights may have (f + n,)."""
        if bound is None:
            return None
        free = np.full(self.fixed.shape[1], np.inf)
        return np.concatenate([free, bound.of(self.varying.scales)])

    def settled(
        self,
        observed: Observed,
        tol: float = _TOL,
        most: int = _MOST_NEWTON_STEPS,
    ) -> tuple["Placed", float]:
        """With the best α and noise near by, and the log evidence."""
        found = self.held(observed).settled(tol, most, self.broadest(observed.bound))
        fewer = self.subset(found.chosen)
        settled = replace(
            fewer,
            prior_precision=found.prior_precision,
            noise_precision=found.noise_precision,
        )
        return settled, found.solution.log_evidence


@dataclass(frozen=True)
class Range:
    """Of log ℓ, (1 or d,) each."""

    low: Array
    high: Array


def better_scales(
    model: Placed, observed: Observed, allowed: Range, *, steps: int, tied: bool
) -> tuple[Placed, float]:
    """A model of no less evidence, its functions with other scales in common.

    ``tied`` scales keep their ratios. Functions that are no longer of use are left out.
    """
    try:
        best, most = model.settled(observed)
    except LinAlgError:
        return model, -np.inf
    base = np.log(model.varying.scales[0])

    def falling(theta: Array) -> tuple[float, Array]:
        nonlocal best, most
        trial, value = best.scaled(np.exp(base + theta)[None]).settled(observed)
        if value > most:
            best, most = trial, value
        values, by_log_scales = trial.varying.with_gradient(trial.X)
        slope = trial.held(observed, values).slope[:, trial.fixed.shape[1] :]
        by_theta = by_log_scales(slope).sum(axis=0)
        return -value, -(by_theta.sum(keepdims=True) if tied else by_theta)

    low, high = allowed.low - base, allowed.high - base
    if tied:
        low, high = low.max(keepdims=True), high.min(keepdims=True)
    lowest(falling, np.zeros(len(low)), (low, high), steps)
    return best, most


def lowest(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    limits: tuple[Array, Array],
    steps: int,
    ended: Callable[[], bool] | None = None,
) -> Array:
    """Where a function, which comes with its slope, is least after so many steps.

    Or fewer, where ``ended`` tells after one that there is no time for more.
    """

    def look_at_the_clock(xk: Any) -> None:
        if ended is not None and ended():
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
        callback=look_at_the_clock,
        options={"maxiter": steps},
    )
    return np.asarray(found.x)

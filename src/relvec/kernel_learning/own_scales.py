"""Length scales of each function's own, in a model that is thinned out.

Solves   max over log ℓ, log α, log β of the log evidence, and of a Gaussian prior of
         log ℓ if one is set
Given    the functions of a model and the observations
By       quasi-Newton steps on all of them together, or on log ℓ alone

Raised for as long as it rises, the evidence takes in what is noise: each function has
a place, a scale and a precision to be chosen, and only the weight is paid for. So
functions are left out again one by one, the one worth least first, scales moving in
between, and a criterion chooses among the models on the way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.kernel_learning.held import Held, Observed
from relvec.kernel_learning.scales import Placed, Range, lowest
from relvec.typing import Array

_LARGEST_PRECISION_STEP = 12.0  # in log α
_LARGEST_NOISE_STEP = 3.0  # in log β
_FINAL_TOL, _FINAL_STEPS = 1e-4, 200
_AT_ONCE = 25  # functions of which one leaves at a time


@dataclass(frozen=True)
class ScalePrior:
    """log ℓ ~ N(centre, 1/precision), for each function and feature by itself."""

    centre: Array  # (1, 1 or d)
    precision: float

    def log_density(self, log_scales: Array) -> tuple[float, Array]:
        """But for a constant, and its slope."""
        apart = log_scales - self.centre
        return -0.5 * self.precision * float(np.sum(apart**2)), -self.precision * apart


@dataclass(frozen=True)
class OwnScales:
    """How scales of their own are learned."""

    allowed: Range
    steps: int = 8  # at a time
    prior: ScalePrior | None = None
    joint: bool = True  # whether α and β move along

    def better(self, model: Placed, observed: Observed) -> Placed:
        """After some steps; then α and β settle, if they move along."""
        if len(model.varying) == 0:
            return model
        parts = _Parts(model, self.joint, self.joint and observed.ceiling is not None)
        start, limits = parts.start(self.allowed, model.broadest(observed.bound))

        def falling(x: Array) -> tuple[float, Array]:
            trial = parts.model(x)
            values, by_log_scales = trial.varying.with_gradient(trial.X)
            held = trial.held(observed, values)
            slope = by_log_scales(held.slope[:, trial.fixed.shape[1] :])
            value = held.log_evidence
            if self.prior is not None:
                log_prior, pull = self.prior.log_density(np.log(trial.varying.scales))
                value, slope = value + log_prior, slope + pull
            slopes = [slope.ravel()]
            if parts.precisions:
                slopes.append(held.precision_slope)
            if parts.noise:
                slopes.append(held.noise_slope)
            return -value, -np.concatenate(slopes)

        found = lowest(falling, start, limits, self.steps)
        moved = parts.model(found)
        return _settled(moved, observed) if self.joint else moved

    def thinner(
        self,
        model: Placed,
        observed: Observed,
        observe: Callable[[Array], Observed],
    ) -> Iterator[tuple[Placed, Held]]:
        """The model, and what is left of it as functions are left out one by one.

        ``observe`` tells what the data are at another η. A model whose weights are to
        be bounded has to come within its bounds first.
        """
        if observed.bound is not None:
            model = self.better(_settled(model, observed), observed)
        while len(model.varying):
            try:
                held = model.held(observed)
                observed = observe(held.eta)
                yield model, held
                fewer = _settled(_thinner(model, held), observed)
                model = self.better(fewer, observed)
            except LinAlgError:
                # Gram matrices are out of digits, as they are where there is no noise.
                return


def _thinner(model: Placed, held: Held) -> Placed:
    """Without the function that is worth least; of many without some."""
    n_fixed = model.fixed.shape[1]
    worth = held.worth[n_fixed:]
    least = n_fixed + np.argsort(worth)[: max(1, len(worth) // _AT_ONCE)]
    return model.subset(np.delete(np.arange(len(held.worth)), least))


def _settled(model: Placed, observed: Observed) -> Placed:
    return model.settled(observed, _FINAL_TOL, _FINAL_STEPS)[0]


@dataclass(frozen=True)
class _Parts:
    """All that moves as one vector: log ℓ, perhaps log α, perhaps log β."""

    origin: Placed
    precisions: bool
    noise: bool

    def start(
        self, allowed: Range, broadest: Array | None
    ) -> tuple[Array, tuple[Array, Array]]:
        """Where the search begins, and its limits."""
        scales = np.log(self.origin.varying.scales)
        start = [scales.ravel()]
        low = [np.broadcast_to(allowed.low, scales.shape).ravel()]
        high = [np.broadcast_to(allowed.high, scales.shape).ravel()]
        least = 0.0 if broadest is None else broadest**-2
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

    def model(self, x: Array) -> Placed:
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

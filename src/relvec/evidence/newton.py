"""Newton's method on (log α, log β) of the functions in a model.

Solves   max over α, β of the log evidence (7) of a Gaussian model, its functions fixed
Given    their inner products, or coordinates (ColumnMoments)
By       Newton's steps with the exact Hessian, damped until the evidence rises;
         functions whose best α is infinite leave

With P and m of ``moments``, p = diag P and ρ = β·residual, summed over outputs,

    ∂L/∂log αᵢ          = ½(1 − pᵢ − mᵢ²)
    ∂L/∂log β           = ½(N − Σ(1 − pᵢ) − ρ)
    ∂²L/∂log αᵢ∂log αⱼ  = ½(Pᵢⱼ² + 2mᵢmⱼPᵢⱼ) − ½δᵢⱼ(pᵢ + mᵢ²)
    ∂²L/∂log αᵢ∂log β   = ½(pᵢ − (P∘P 1)ᵢ) − mᵢ(Pm)ᵢ
    ∂²L/∂log β²         = ½(1ᵀ(P∘P)1 − Σpᵢ − ρ) + mᵀPm
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from relvec.blockwise import check_time
from relvec.evidence.moments import ColumnMoments, Solution
from relvec.precision import NEWTON_SLACK
from relvec.typing import Array, Indices

_LONGEST_STEP = 3.0  # in log α: a factor of 20, beyond which no expansion reaches
_LEAST_CURVATURE = 1e-8  # along flat directions, whose steps are cut anyway
# Of the mean curvature, added to all at a saddle, and how many times more of it next.
# Functions that have just joined stay longer so than by steps along negative curvature:
# models of kin8nm have a tenth more of them and predict better.
_DAMPING = (0.1, 4.0)
_MOST_DAMPED = 50  # times, thirty decades: what is no curvature then is no number
_SHORTEST = 1e-4  # share of a step: what does not rise there does so by rounding


@dataclass(frozen=True)
class Ascent:
    """Where the search stands; ``chosen`` are the functions left."""

    moments: ColumnMoments  # of the functions left
    chosen: Indices
    prior_precision: Array
    noise_precision: Array
    solution: Solution
    converged: bool = False
    least: Array | None = None  # (n,) that α may become
    ceiling: Array | None = None  # (K,) of β; without one it stays
    price: float = 0.0  # nats that a function has to be worth

    def moved(self, step: Array) -> "Ascent | None":
        """Along a step of (log α, log β).

        None where Gram matrices are out of digits.
        """
        n_active = len(self.chosen)
        alpha = self.prior_precision * np.exp(step[:n_active])
        if self.least is not None:
            alpha = np.maximum(alpha, self.least)
        beta = self.noise_precision
        if self.ceiling is not None:
            beta = np.minimum(beta * np.exp(step[n_active:]), self.ceiling)
        try:
            solution = self.moments.solved(alpha, beta)
        except np.linalg.LinAlgError:
            return None
        moved = replace(self, prior_precision=alpha, noise_precision=beta)
        return replace(moved, solution=solution).released()

    def released(self) -> "Ascent":
        """With the noise of most evidence, where that is known and it may move."""
        if self.ceiling is None:
            return self
        at = self.solution, self.noise_precision, self.ceiling
        solution, beta = self.moments.released(*at)
        return replace(self, solution=solution, noise_precision=beta)


def ascend(
    moments: ColumnMoments,
    prior_precision: Array,
    noise_precision: Array,
    *,
    start: Solution | None = None,
    ceiling: Array | None,
    tol: float,
    most: int,
    least: Array | None = None,
    damped: bool = False,
    price: float = 0.0,
) -> Ascent:
    """At most so many steps from a ``start``; a ceiling (K,) lets the noise move.

    At saddles they go along directions of negative curvature, far, or are ``damped``;
    then those of functions that leave do not count.
    """
    if least is not None:
        prior_precision = np.maximum(prior_precision, least)
    solution = start or moments.solved(prior_precision, noise_precision)
    chosen = np.arange(len(prior_precision))
    at = (moments, chosen, prior_precision, noise_precision)
    state = Ascent(*at, solution, least=least, ceiling=ceiling, price=price).released()
    for _ in range(most):
        check_time()
        lighter = _without_idle(state)
        if lighter is not None:
            state = lighter
            if not damped:
                continue
        if len(state.chosen) == 0 and ceiling is None:
            return replace(state, converged=True)
        step, concave = _step(state, damped=damped)
        size = np.abs(step).max(initial=0.0)
        after = _uphill(state, step)
        if after is None:
            return replace(state, converged=True)
        state = after
        if concave and size < tol:
            return replace(state, converged=True)
    return state


def _without_idle(state: Ascent) -> Ascent | None:
    """Without functions whose evidence has no maximum at a finite α.

    q² ≤ s, in these variables m² ≤ p(1 − p), summed over outputs; all of them at once
    if that does not cost evidence, otherwise the one whose deletion gains most.
    """
    p = state.solution.shrinkage.diagonal(axis1=1, axis2=2)
    ratio = state.solution.scaled_mean**2 / p
    idle = ((ratio + p - 1) / p).sum(axis=0) <= 0
    if not (idle.any() or state.price):
        return None
    gain = -0.5 * (ratio + np.log(p)).sum(axis=0)  # eq. 37
    if state.price:
        idle |= gain > -state.price
        if not idle.any():
            return None
    best = np.zeros_like(idle)
    best[np.argmax(np.where(idle, gain, -np.inf))] = True
    for leaving in (idle, best):
        lighter = _restricted(state, np.flatnonzero(~leaving))
        least = state.solution.log_evidence - state.price * np.count_nonzero(leaving)
        if lighter.solution.log_evidence >= least:
            return lighter
    return None


def _restricted(state: Ascent, stay: Indices) -> Ascent:
    moments, alpha = state.moments.subset(stay), state.prior_precision[stay]
    lighter = replace(
        state,
        moments=moments,
        chosen=state.chosen[stay],
        prior_precision=alpha,
        solution=moments.solved(alpha, state.noise_precision),
        least=state.least if state.least is None else state.least[stay],
    )
    return lighter.released()


def _step(state: Ascent, *, damped: bool) -> tuple[Array, bool]:
    """Newton's step, and whether the evidence is concave here."""
    gradient, curvature = _derivatives(state)
    if state.least is not None:
        held = np.flatnonzero(state.prior_precision <= state.least)
        held = held[gradient[held] < 0]
        gradient[held] = curvature[held] = curvature[:, held] = 0
        curvature[held, held] = 1
    factor, failed = lapack.dpotrf(curvature.T, lower=1, clean=0)
    if not failed:
        return lapack.dpotrs(factor, gradient, lower=1)[0], True
    if damped:
        return _damped(gradient, curvature), False
    # At a saddle, ascend along directions of negative curvature as well.
    eigenvalues, vectors = np.linalg.eigh(curvature)
    size = np.maximum(np.abs(eigenvalues), _LEAST_CURVATURE)
    return vectors @ (vectors.T @ gradient / size), False


def _damped(gradient: Array, curvature: Array) -> Array:
    """A step uphill at a saddle: with as much added to the curvature as it takes.

    None at all where there is not even a number to go by.
    """
    diagonal = curvature.diagonal()
    damping = max(_DAMPING[0] * float(np.abs(diagonal).mean()), _LEAST_CURVATURE)
    for _ in range(_MOST_DAMPED):
        more = curvature.copy()
        more.ravel()[:: len(diagonal) + 1] += damping
        factor, failed = lapack.dpotrf(more.T, lower=1, clean=0)
        if not failed:
            return np.asarray(lapack.dpotrs(factor, gradient, lower=1)[0])
        damping *= _DAMPING[1]
    return np.zeros_like(gradient)


def _derivatives(state: Ascent) -> tuple[Array, Array]:
    """The gradient and minus the Hessian."""
    P, m = state.solution.shrinkage, state.solution.scaled_mean
    n_outputs, n_active = m.shape
    size = n_active + n_outputs * (state.ceiling is not None)
    p, squares = P.diagonal(axis1=1, axis2=2), m * m
    gradient, curvature = np.empty(size), np.zeros((size, size))
    gradient[:n_active] = 0.5 * (1 - p - squares).sum(axis=0)
    products = P * (0.5 * n_outputs / len(P) * P + _outer(m, len(P)))
    curvature[:n_active, :n_active] = -products.sum(axis=0)
    diagonal = curvature.ravel()[:: size + 1]
    diagonal[:n_active] += 0.5 * (p + squares).sum(axis=0)
    if state.ceiling is not None:
        at = state.solution, state.noise_precision, state.ceiling
        noise = state.moments.noise_derivatives(*at, products)
        gradient[n_active:], across, diagonal[n_active:] = noise
        curvature[n_active:, :n_active] = across
        curvature[:n_active, n_active:] = across.T
    return gradient, curvature


def _outer(m: Array, n_groups: int) -> Array:
    """mmᵀ of every output, summed over those that share P: (groups, n, n)."""
    if n_groups == 1:
        return (m.T @ m)[None]
    return m[:, :, None] * m[:, None, :]


def _uphill(state: Ascent, step: Array) -> Ascent | None:
    """As far along the step as the evidence does not fall.

    Long steps are cut, each for itself; that may lead downhill, so where it does the
    whole step is shortened.
    """
    before = state.solution.log_evidence
    # An evidence near zero is a sum of terms as large as the number of observations.
    least = before - NEWTON_SLACK * (abs(before) + state.moments.count)
    cut = step.clip(-_LONGEST_STEP, _LONGEST_STEP)
    after = state.moved(cut)
    if after is not None and after.solution.log_evidence >= least:
        return after
    longest = float(np.abs(step).max(initial=0.0))
    if longest == 0:
        return None
    fraction = min(0.25, _LONGEST_STEP / longest)
    shortest = _SHORTEST * fraction
    while fraction > shortest:
        after = state.moved(fraction * step)
        if after is not None and after.solution.log_evidence >= least:
            return after
        fraction *= 0.25
    return None

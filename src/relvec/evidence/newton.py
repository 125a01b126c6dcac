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
from relvec.linalg import cholesky, solve_lower
from relvec.precision import NEWTON_SLACK
from relvec.typing import AnyArray, Array, Indices

_LONGEST_STEP = 3.0  # in log α: a factor of 20, beyond which no expansion reaches
_LEAST_CURVATURE = 1e-8  # along flat directions, whose steps are cut anyway
# Of the mean curvature, added to all at a saddle in the first step, and how many times
# less in the next. Functions that have just joined stay longer so than by steps along
# negative curvature: models of kin8nm have a tenth more of them and predict better.
_DAMPING, _LESS_DAMPED = 0.1, 0.8
_MORE_DAMPED = 4.0  # times, where that is not enough
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

    def at(self, alpha: Array, beta: Array, solution: Solution) -> "Ascent":
        """The same functions with other α and noise.

        The noise is that of most evidence for these α, where that is known.
        """
        if self.ceiling is not None:
            solution, beta = self.moments.released(solution, beta, self.ceiling)
        functions = self.moments, self.chosen, alpha, beta, solution
        return Ascent(*functions, False, self.least, self.ceiling)

    def moved(self, step: Array) -> "Ascent | None":
        """Along a step of (log α, log β); None where there are no digits for it."""
        n_active = len(self.chosen)
        factors = np.exp(step)
        alpha = self.prior_precision * factors[:n_active]
        if self.least is not None:
            alpha = np.maximum(alpha, self.least)
        beta = self.noise_precision
        if self.ceiling is not None:
            beta = np.minimum(beta * factors[n_active:], self.ceiling)
        try:
            return self.at(alpha, beta, self.moments.solved(alpha, beta))
        except np.linalg.LinAlgError:
            return None


def ascend(
    moments: ColumnMoments,
    prior_precision: Array,
    noise_precision: Array,
    *,
    ceiling: Array | None,
    tol: float,
    most: int,
    least: Array | None = None,
    price: float = 0.0,
) -> Ascent:
    """At most so many steps; a ``ceiling`` (K,) lets the noise move.

    Every function that stays is worth the ``price``, in nats.
    """
    if least is not None:
        prior_precision = np.maximum(prior_precision, least)
    solution = moments.solved(prior_precision, noise_precision)
    chosen = np.arange(len(prior_precision))
    functions = moments, chosen, prior_precision, noise_precision, solution
    state = Ascent(*functions, False, least, ceiling)
    state = state.at(prior_precision, noise_precision, solution)
    for number in range(most):
        check_time()
        state = _without_idle(state)
        if len(state.chosen) == 0 and ceiling is None:
            return replace(state, converged=True)
        step, concave = _step(state, _DAMPING * _LESS_DAMPED**number)
        after = _uphill(state, step)
        state, ended = after or state, after is None
        if ended or (concave and np.abs(step).max(initial=0.0) < tol):
            lighter = _without_cheap(state, price)
            if lighter is state:
                return replace(state, converged=True)
            state = lighter
    return state


def _without_idle(state: Ascent) -> Ascent:
    """Without functions whose evidence has no maximum at a finite α.

    These have q² ≤ s, in these variables m² ≤ p(1 − p), summed over outputs.
    """
    p = state.solution.shrinkage.diagonal(axis1=1, axis2=2)
    squares = state.solution.scaled_mean**2
    if len(squares) == 1:
        idle = squares[0] <= p[0] * (1 - p[0])
    else:
        idle = ((squares / p + p - 1) / p).sum(axis=0) <= 0
    return _without(state, idle, 0.0) if idle.any() else state


def _without_cheap(state: Ascent, price: float) -> Ascent:
    """Without functions that are worth less than a price."""
    return _without(state, _gains_alone(state) > -price, price) if price else state


def _without(state: Ascent, leaving: AnyArray, price: float) -> Ascent:
    """Without as many of some functions as together gain most.

    They leave in the order of what each gains by leaving alone. A function that leaves
    saves its price.
    """
    places = np.flatnonzero(leaving)
    places = places[np.argsort(-_gains_alone(state)[places], kind="stable")]
    gain = np.cumsum(_gains_in_turn(state.solution, places) + price)
    if gain.max(initial=-np.inf) < 0:
        return state
    stay = np.ones(len(leaving), dtype=bool)
    stay[places[: gain.argmax() + 1]] = False
    lighter = _restricted(state, np.flatnonzero(stay))
    least = state.solution.log_evidence - price * np.count_nonzero(~stay)
    return lighter if lighter.solution.log_evidence >= least else state


def _gains_alone(state: Ascent) -> Array:
    """What each function (n,) gains by leaving, the noise held: (37)."""
    p = state.solution.shrinkage.diagonal(axis1=1, axis2=2)
    gains = -0.5 * (state.solution.scaled_mean**2 / p + np.log(p)).sum(axis=0)
    return np.asarray(gains)


def _gains_in_turn(solution: Solution, places: Indices) -> Array:
    """What each function gains by leaving after those before it, the noise held.

    Functions l take ½(mₗᵀPₗₗ⁻¹mₗ + log|Pₗₗ|) with them, which the rows of Cholesky's
    factor of Pₗₗ divide between them.
    """
    factor = cholesky(solution.shrinkage[:, places[:, None], places])
    half = solve_lower(factor, solution.scaled_mean[:, places, None])[:, :, 0]
    size = np.log(factor.diagonal(axis1=1, axis2=2)) * (len(half) / len(factor))
    return np.asarray(-0.5 * (half**2).sum(axis=0) - size.sum(axis=0))


def _restricted(state: Ascent, stay: Indices) -> Ascent:
    moments, alpha = state.moments.subset(stay), state.prior_precision[stay]
    beta, least = state.noise_precision, state.least
    solution = moments.solved(alpha, beta)
    least = least if least is None else least[stay]
    functions = moments, state.chosen[stay], alpha, beta, solution
    lighter = Ascent(*functions, False, least, state.ceiling)
    return lighter.at(alpha, beta, solution)


def _step(state: Ascent, damping: float) -> tuple[Array, bool]:
    """Newton's step, and whether the evidence is concave here."""
    gradient, curvature = _derivatives(state)
    if state.least is not None:
        held = np.flatnonzero(state.prior_precision <= state.least)
        held = held[gradient[held] < 0]
        if len(held):
            gradient[held] = curvature[held] = curvature[:, held] = 0
            curvature[held, held] = 1
    factor, failed = lapack.dpotrf(curvature.T, lower=1, clean=0)
    if failed:
        return _damped(gradient, curvature, damping), False
    return lapack.dpotrs(factor, gradient, lower=1)[0], True


def _damped(gradient: Array, curvature: Array, share: float) -> Array:
    """A step uphill at a saddle: with as much added to the curvature as it takes.

    None at all where there is not even a number to go by.
    """
    diagonal = curvature.diagonal()
    damping = max(share * float(np.abs(diagonal).mean()), _LEAST_CURVATURE)
    for _ in range(_MOST_DAMPED):
        more = curvature.copy()
        more.ravel()[:: len(diagonal) + 1] += damping
        factor, failed = lapack.dpotrf(more.T, lower=1, clean=0)
        if not failed:
            return np.asarray(lapack.dpotrs(factor, gradient, lower=1)[0])
        damping *= _MORE_DAMPED
    return np.zeros_like(gradient)


def _derivatives(state: Ascent) -> tuple[Array, Array]:
    """The gradient and minus the Hessian."""
    P, m = state.solution.shrinkage, state.solution.scaled_mean
    n_outputs, n_active = m.shape
    size = n_active + n_outputs * (state.ceiling is not None)
    p, squares = P.diagonal(axis1=1, axis2=2), m * m
    spent = _total(p) * (n_outputs / len(P))
    explained = _total(squares)
    gradient, curvature = np.empty(size), np.zeros((size, size))
    gradient[:n_active] = 0.5 * (n_outputs - spent - explained)
    products = P * (0.5 * n_outputs / len(P) * P + _outer(m, len(P)))
    np.negative(_total(products), out=curvature[:n_active, :n_active])
    diagonal = curvature.ravel()[:: size + 1]
    diagonal[:n_active] += 0.5 * (spent + explained)
    if state.ceiling is not None:
        at = state.solution, state.noise_precision, state.ceiling
        noise = state.moments.noise_derivatives(*at, products)
        gradient[n_active:], across, diagonal[n_active:] = noise
        curvature[n_active:, :n_active] = across
        curvature[:n_active, n_active:] = across.T
    return gradient, curvature


def _total(stack: Array) -> Array:
    """The sum over outputs, or groups of them."""
    return stack[0] if len(stack) == 1 else np.asarray(stack.sum(axis=0))


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
    longest = float(np.abs(step).max(initial=0.0))
    cut = step.clip(-_LONGEST_STEP, _LONGEST_STEP) if longest > _LONGEST_STEP else step
    after = state.moved(cut)
    if after is not None and after.solution.log_evidence >= least:
        return after
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

"""A Gaussian model of a few columns, and Newton's method on its hyperparameters.

Solves   max over α, β of the log evidence (7) of a Gaussian model, its functions fixed
Given    their inner products, or coordinates (ColumnMoments)
By       Newton's steps with the exact Hessian, damped until the evidence rises;
         functions whose best α is infinite leave

Everything the evidence asks of the rows is ΦᵀWΦ, ΦᵀWt̂, t̂ᵀWt̂ and their number. With
weights measured in prior standard deviations, A^½w, nothing depends on units:

    P = (I + A^(-1/2) βΦᵀWΦ A^(-1/2))⁻¹ = A^½ΣA^½     αᵢΣᵢᵢ = Pᵢᵢ,  γᵢ = 1 − Pᵢᵢ
    m = A^½μ                                           αᵢμᵢ² = mᵢ²

Inner products (``Moments``) are quick and lose κ·ε of what they say, κ the condition of
P⁻¹; columns themselves, in an orthonormal basis (``Coordinates``), lose √κ·ε.

With p = diag P and ρ = β·residual, summed over outputs,

    ∂L/∂log αᵢ          = ½(1 − pᵢ − mᵢ²)
    ∂L/∂log β           = ½(N − Σ(1 − pᵢ) − ρ)
    ∂²L/∂log αᵢ∂log αⱼ  = ½(Pᵢⱼ² + 2mᵢmⱼPᵢⱼ) − ½δᵢⱼ(pᵢ + mᵢ²)
    ∂²L/∂log αᵢ∂log β   = ½(pᵢ − (P∘P 1)ᵢ) − mᵢ(Pm)ᵢ
    ∂²L/∂log β²         = ½(1ᵀ(P∘P)1 − Σpᵢ − ρ) + mᵀPm
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from relvec.blockwise import check_time
from relvec.likelihoods import Likelihood
from relvec.linalg import Reflections, cholesky, cholesky_and_inverse, solve_lower
from relvec.precision import NEWTON_SLACK
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True)
class Solution:
    """The posterior for given α and β, and its log evidence."""

    factor: Array  # (K or 1, n, n) lower Cholesky factor of P⁻¹
    shrinkage: Array  # (K or 1, n, n) P
    scaled_mean: Array  # (K, n) m
    mean: Array  # (K, n) μ
    residual: Array  # (K,) (t̂ − Φμ)ᵀW(t̂ − Φμ)
    log_evidence: float  # of the Gaussian model

    @property
    def condition(self) -> float:
        """Largest diagonal element of P⁻¹."""
        squares = self.factor * self.factor
        return float(squares.sum(axis=-1).max(initial=1.0))


class ColumnMoments(Protocol):
    """All that the rows say about some columns."""

    @property
    def count(self) -> float:
        """Σv, the number of observations per output."""

    @property
    def target_squares(self) -> Array:
        """(K,) t̂ᵀWt̂."""

    def subset(self, chosen: Indices) -> "ColumnMoments":
        """Of some of the columns."""

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        """(6) and (7) with all columns in the model."""

    def released(
        self, solution: Solution, noise_precision: Array, ceiling: Array
    ) -> tuple[Solution, Array]:
        """With the noise of most evidence for these α, where that is known."""

    def noise_derivatives(
        self,
        solution: Solution,
        noise_precision: Array,
        ceiling: Array,
        products: Array,
    ) -> tuple[Array, Array, Array]:
        """Of the evidence by log β: gradient (K,), minus the Hessian.

        Of that what is beside log α (K, n), and the diagonal (K,). ``products`` are
        P∘(½P + mmᵀ).
        """

    def in_targets(self, scale: Array) -> "ColumnMoments":
        """The same of pseudo-observations multiplied by ``scale`` (K,)."""


class FreeNoise:
    """A noise that moves by itself, its derivatives those of ``newton``."""

    count: float

    def released(
        self, solution: Solution, noise_precision: Array, ceiling: Array
    ) -> tuple[Solution, Array]:
        return solution, noise_precision

    def noise_derivatives(
        self,
        solution: Solution,
        noise_precision: Array,
        ceiling: Array,
        products: Array,
    ) -> tuple[Array, Array, Array]:
        p = solution.shrinkage.diagonal(axis1=1, axis2=2)
        rho = noise_precision * solution.residual
        left = self.count - p.shape[1] + p.sum(axis=1)
        across = products.sum(axis=2) - 0.5 * p
        return 0.5 * (left - rho), across, 0.5 * rho - across.sum(axis=1)


@dataclass(frozen=True)
class Moments(FreeNoise):
    """Inner products of some columns and the pseudo-observations."""

    gram: Array  # (K or 1, n, n) ΦᵀWΦ
    target: Array  # (K, n) ΦᵀWt̂
    target_squares: Array  # (K,) t̂ᵀWt̂
    count: float  # Σv, the number of observations per output

    def subset(self, chosen: Indices) -> "Moments":
        gram = self.gram[:, chosen[:, None], chosen]
        return Moments(gram, self.target[:, chosen], self.target_squares, self.count)

    def in_targets(self, scale: Array) -> "Moments":
        target, squares = self.target * scale[:, None], self.target_squares * scale**2
        return Moments(self.gram, target, squares, self.count)

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        """As by the protocol; α may also be (K, n), of each output's own."""
        root = np.atleast_2d(1 / np.sqrt(prior_precision))
        size = root.shape[1]
        scaled = noise_precision[:, None] * root
        # In this order whatever that of α is: what follows looks into it.
        outer = scaled[:, :, None] * root[:, None, :]
        inner = np.multiply(self.gram, outer, order="C")
        diagonals = inner.reshape(len(inner), size * size)[:, :: size + 1]
        diagonals += 1
        factor, P = cholesky_and_inverse(inner)
        m = (P @ (scaled * self.target)[:, :, None])[:, :, 0]
        mean = root * m
        # Not by the shorter tᵀWt − μᵀΦᵀWt − mᵀm/β: only this form, minimal at μ,
        # forgives what was lost in solving for μ.
        twice = (self.gram @ mean[:, :, None])[:, :, 0] - 2 * self.target
        residual = self.target_squares + (mean * twice).sum(axis=1)
        residual = np.maximum(residual, 0.0)
        log_root = len(mean) / len(inner) * np.log(diagonals).sum()
        evidence = log_evidence(self.count, noise_precision, residual, m, log_root)
        return Solution(factor, P, m, mean, residual, evidence)


def log_evidence(
    count: float, noise_precision: Array, residual: Array, m: Array, log_root: float
) -> float:
    """(7) of all outputs, with log |P⁻¹|/2 of all of them as ``log_root``."""
    shared = len(m) / len(noise_precision)
    density = shared * count * np.log(noise_precision / (2 * np.pi)).sum()
    density -= (noise_precision * residual).sum() + np.vdot(m, m)
    return float(0.5 * density - log_root)


def combined_by_output(weights: Array, cross: Array) -> Array:
    """Σᵢ wᵢ crossᵢ for weights (K, n) and products (K or 1, n, M)."""
    if len(cross) == 1:
        return weights @ cross[0]
    return (weights[:, None, :] @ cross)[:, 0]


_ONE = np.ones(1)


@dataclass(frozen=True)
class NoiseUnits:
    """Outputs that share α in units of their noise: w_c ~ N(0, σ_c²/α).

    In these units, t_c/σ_c, the model is one of K outputs with noise of size one, and
    its factor does not depend on any noise. Moments are kept in the units of the noise
    that the model has, and β is what another noise precision is beside it: a target
    becomes √β times as large. With C = W⁻¹ + ΦA⁻¹Φᵀ the evidence is

        Σ_c log N(t_c | 0, C/β_c),        greatest at  β_c = N / t_cᵀC⁻¹t_c

    for given α, and by ρ_c = β_c t_cᵀC⁻¹t_c, which is N there,

        ∂²L/∂log αᵢ∂log β_c = −½mᵢ_c²        ∂²L/∂log β_c² = −½ρ_c
    """

    inner: ColumnMoments  # of targets in units of the noise

    @property
    def count(self) -> float:
        return self.inner.count

    @property
    def target_squares(self) -> Array:
        return self.inner.target_squares

    def subset(self, chosen: Indices) -> "NoiseUnits":
        return NoiseUnits(self.inner.subset(chosen))

    def in_targets(self, scale: Array) -> "NoiseUnits":
        return NoiseUnits(self.inner.in_targets(scale))

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        found, beta = (
            self.inner.solved(prior_precision, _ONE),
            self._each(noise_precision),
        )
        return self._with_noise(found, self._each(_ONE), beta)

    def released(
        self, solution: Solution, noise_precision: Array, ceiling: Array
    ) -> tuple[Solution, Array]:
        before = self._each(noise_precision)
        squares = self._squares(solution, before) / before
        after = self.count / np.maximum(squares, self.count / ceiling)
        return self._with_noise(solution, before, after), after

    def noise_derivatives(
        self,
        solution: Solution,
        noise_precision: Array,
        ceiling: Array,
        products: Array,
    ) -> tuple[Array, Array, Array]:
        beta = self._each(noise_precision)
        rho = self._squares(solution, beta)
        free = (beta < ceiling) & (rho > 0)
        across = 0.5 * free[:, None] * solution.scaled_mean**2
        gradient = 0.5 * free * (self.count - rho)
        return gradient, across, np.where(free, 0.5 * rho, 1.0)

    def _each(self, noise_precision: Array) -> Array:
        """Of every output."""
        return np.broadcast_to(noise_precision, self.target_squares.shape)

    def _squares(self, solution: Solution, beta: Array) -> Array:
        """ρ (K,)."""
        m = solution.scaled_mean
        return np.asarray(beta * solution.residual + (m * m).sum(axis=1))

    def _with_noise(self, solution: Solution, before: Array, after: Array) -> Solution:
        """With another noise precision (K,), for the same α."""
        factor = after / before
        root, m = np.sqrt(factor)[:, None], solution.scaled_mean
        rho = self._squares(solution, before)
        change = self.count * np.log(factor) - rho * (factor - 1)
        return replace(
            solution,
            scaled_mean=root * m,
            mean=root * solution.mean,
            log_evidence=solution.log_evidence + 0.5 * float(change.sum()),
        )


def log_noise(likelihood: Likelihood, noise_precision: Array) -> Array:
    """Parameters (K,) of a noise precision that is one beside the likelihood's own."""
    logarithms = np.log(noise_precision)
    if likelihood.unit is None:
        return logarithms
    return np.asarray(logarithms - 2 * np.log(likelihood.unit))


def noise_ceiling(likelihood: Likelihood) -> Array | None:
    """The largest that such a noise precision may be; None where it is known."""
    ceiling = likelihood.parameter_ceiling
    if ceiling is None or likelihood.unit is None:
        return ceiling
    return ceiling * likelihood.unit**2


def log_density_of_unit(likelihood: Likelihood, count: float) -> float:
    """What the log density of y has beside that of y in the units of η."""
    if likelihood.unit is None:
        return 0.0
    return -count * float(np.log(likelihood.unit).sum())


def tempered(factor: float, n_sharing: int) -> float:
    """The inverse temperature that is to several outputs what a factor is to one.

    What a function explains by chance is χ² of as many degrees of freedom, whose median
    for each (Wilson and Hilferty) grows with them: the same factor would let in all.
    """
    if factor <= 1:
        return factor
    return max(1.0, factor * (_median(1) / _median(n_sharing)))


def _median(freedom: int) -> float:
    """Of χ² by its degrees of freedom, about."""
    return float((1 - 2 / (9 * freedom)) ** 3)


def spent(likelihood: Likelihood, effective_parameters: Array) -> Array:
    """Observations (K,) that weights take from the estimate of the noise."""
    if likelihood.unit is None:
        return effective_parameters
    # They are measured by the noise and tell of it as the residuals do.
    return np.zeros_like(effective_parameters)


_CORRECTIONS = 2  # the first is the solution


@dataclass(frozen=True)
class Coordinates(FreeNoise):
    """Columns in an orthonormal basis: the same as ``Moments`` with all digits.

    All outputs share the row weights. With V such that VᵀV = ΦᵀWΦ, as long as there are
    columns and not rows, the posterior is a least-squares problem,

        min over m of  |√β z − √β V A^(-1/2) m|² + |m|²,      QR = [√β V A^(-1/2); I],

    so that RᵀR = P⁻¹ and nothing is squared.
    """

    columns: Array  # (r, n) V
    target: Array  # (r, K) z
    count: float  # Σv, the number of observations per output

    @property
    def target_squares(self) -> Array:
        return np.einsum("rk,rk->k", self.target, self.target)

    def subset(self, chosen: Indices) -> "Coordinates":
        return replace(self, columns=self.columns[:, chosen])

    def in_targets(self, scale: Array) -> "Coordinates":
        return replace(self, target=self.target * scale)

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        root = 1 / np.sqrt(prior_precision)
        factors, inverses, means = [], [], []
        for beta, target in self._by_noise(noise_precision):
            turn = Reflections.of(self._stacked(root, beta))
            factors.append(turn.lower)
            inverses.append(turn.inverse)
            means.append(self._scaled_mean(root, beta, target, turn))
        m = np.concatenate(means)
        mean = root * m
        residual = self.target - self.columns @ mean.T
        squares = np.einsum("rk,rk->k", residual, residual)
        factor = np.stack(factors)
        shared = len(m) / len(factor)
        log_root = shared * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum()
        evidence = log_evidence(self.count, noise_precision, squares, m, log_root)
        return Solution(factor, np.stack(inverses), m, mean, squares, evidence)

    def _scaled_mean(
        self, root: Array, beta: float, target: Array, turn: Reflections
    ) -> Array:
        """m (K, n) by least squares, and once more of what that has left."""
        m = np.zeros((len(root), target.shape[1]))
        for _ in range(_CORRECTIONS):
            left = np.sqrt(beta) * (target - self.columns @ (root[:, None] * m))
            m = m + turn.least_squares(np.vstack([left, -m]))
        return m.T

    def _stacked(self, root: Array, beta: float) -> Array:
        """[√β V A^(-1/2); I]."""
        return np.vstack([np.sqrt(beta) * self.columns * root, np.eye(len(root))])

    def _by_noise(self, noise_precision: Array) -> list[tuple[float, Array]]:
        """Each noise precision with the targets it belongs to."""
        if len(noise_precision) == 1:
            return [(float(noise_precision[0]), self.target)]
        return [
            (float(beta), self.target[:, [k]]) for k, beta in enumerate(noise_precision)
        ]


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

"""The top-down ways to the evidence's maximum: all functions in, most of them pruned.

Solves   max over α (and the noise) of the log evidence (7), of a posterior density of
         α and β, or of a lower bound
Given    a dictionary, a likelihood and hyperpriors (Problem)
By       setting derivatives to zero and iterating. A likelihood that is not Gaussian is
         expanded at its mode, or replaced by its lower bound
Until    no log α and no log β changes by more than ``tol``, or the objective changes
         by next to nothing

With γᵢ = 1 − αᵢΣᵢᵢ and hyperpriors Gamma(a, b) over α, Gamma(c, d) over β,

    MacKay       αᵢ = (γᵢ + 2a)/(μᵢ² + 2b)         β = (N − Σγ + 2c)/(‖t − Φμ‖² + 2d)
    EM           αᵢ = (1 + 2a)/(μᵢ² + Σᵢᵢ + 2b)    β = (N + 2c)/(‖t − Φμ‖² + Σγ/β + 2d)
    variational  the same as EM, α and β being means of Gamma factors

(Tipping 2001; Yuan et al. 2009, 17, 18, 20, 21; Bishop & Tipping 2000). With K outputs
that share α, the squares, the variances and the γ of a function are sums over them.

EM raises its objective in every step, and α to infinity never: irrelevant functions
fade out slowly. For Laplace's evidence, which the precisions of rows are part of, its
steps are shortened until they do (``evidence_gradient``). MacKay's steps are longer and
not bound to rise.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from relvec.blockwise import OutOfTimeError
from relvec.chance import generator
from relvec.evidence.base import NEVER, Deadline, Hyperprior, Problem
from relvec.evidence.mode import (
    Mode,
    coupled,
    posterior_at_mode,
    predictor_variances,
)
from relvec.evidence.newton import spent
from relvec.likelihoods import Likelihood, refitted
from relvec.parameters import check_choice, check_count, check_fraction
from relvec.posterior import Posterior
from relvec.precision import LEAST_PRIOR_SHARE, SLACK
from relvec.typing import AnyArray, Array, Indices

# The rates and shapes of a variational hyperprior that was left flat, in units where
# targets and functions have a mean square of one: a flat one has no lower bound.
_NEARLY_FLAT = 1e-12
_START = 1.0  # precision of every weight, columns and targets being of unit size
# Effective parameters that EM may prune in a step: together they cost as many nats.
_AT_ONCE = 0.1
# Steps towards a mode that moves, while some log α changes by more than this and the
# evidence may fall.
_ROUGH_NEWTON, _ROUGH_CHANGE = 2, 0.5
# Steps that there must be time for, and functions to begin with where there is not.
# What follows the search takes as long as some steps, if few functions have left.
_LEAST_STEPS, _FEWEST_FUNCTIONS = 30, 100
_MAX_HALVINGS = 10  # of a step: what a thousandth does not raise is at its maximum
# By which η is moved: half the digits of a difference are left of what ε^(1/3) has.
_MOVED = float(np.finfo(float).eps ** (1 / 3))


@dataclass(frozen=True)
class NoiseRows:
    """The rows that the noise is estimated from; all by default.

    The residual of the model has the mean square σ²(N − Σγ)/N over all rows, and over
    rows drawn by chance as well. So their squares, scaled to as many as there are in
    all, take the place of ‖t − Φμ‖², and every update stays as it is. The rows that
    functions are centred on are no such sample: they are explained better than others.
    """

    drawn: Indices | None = None
    at_centres: bool = False  # those that functions in the model are centred on

    @classmethod
    def of(cls, value: Any, problem: Problem, seed: int) -> "NoiseRows":
        """The rows that a user's ``noise_from`` asks for."""
        if isinstance(value, str):
            if value == "active" and problem.centre_rows is None:
                raise ValueError(
                    "noise_from='active' looks at the rows that functions are centred "
                    "on, and here they are centred on none: set it to 'all', to a "
                    "number of rows or to a share of them"
                )
            return cls(at_centres=value == "active")
        n_rows = len(problem.sample_weight)
        count = int(np.ceil(value * n_rows)) if isinstance(value, float) else int(value)
        if count >= n_rows:
            return cls()
        return cls(np.sort(generator(seed).permutation(n_rows)[:count]))

    def weight(self, problem: Problem, active: Indices) -> Array:
        """(N,) weights of these rows, with the same sum as the sample weights."""
        rows, weight = self.drawn, problem.sample_weight
        if self.at_centres:
            assert problem.centre_rows is not None
            centres = problem.centre_rows[active]
            rows = np.unique(centres[centres >= 0])
        if rows is None or len(rows) == 0:
            return weight
        some = np.zeros_like(weight)
        some[rows] = weight[rows]
        return some * (weight.sum() / some.sum())


def check_noise_from(value: Any) -> None:
    """Refuse what is no word, no number of rows and no share of them."""
    if isinstance(value, str):
        check_choice("noise_from", value, ("all", "active"))
    elif isinstance(value, float):
        check_fraction("noise_from", value)
    else:
        check_count("noise_from", value)


@dataclass(frozen=True)
class Gammas:
    """Hyperpriors of some functions and of the noise, in the units of the engine."""

    a: float
    b: Array  # (n,)
    c: float
    d: float

    @classmethod
    def of(cls, hyperprior: Hyperprior, problem: Problem, active: Indices) -> "Gammas":
        rates = hyperprior.b * problem.precision_units[active]
        rate = hyperprior.d * problem.noise_unit
        return cls(hyperprior.a, rates, hyperprior.c, rate)


@dataclass(frozen=True)
class MacKay:
    """MacKay's update: long steps that nothing binds to rise. Others derive from it.

    A function leaves when its prior says ``prune`` times what the data say of its
    weight.
    """

    prune: float = 1e6
    # Whether the likelihood is replaced by its conjugate lower bound.
    bounded: ClassVar[bool] = False
    # Whether the objective never falls, so that pruning must not lower it.
    monotone: ClassVar[bool] = False
    # Whether a step towards the mode is one update of the pseudo-observations.
    plain: ClassVar[bool] = False
    # Whether variances are those of the weights of all outputs together.
    coupled: ClassVar[bool] = False
    # By which the objective goes on, in units of the tolerance.
    least_rise: ClassVar[float] = 1e-6

    def starting(self, problem: Problem, active: Indices) -> Array:
        """α to begin with."""
        return self._started(problem, active, _START)

    def _started(self, problem: Problem, active: Indices, new: float) -> Array:
        """α of the warm start, and a new one for functions that it does not know."""
        start = problem.start_precision
        if start is None:
            return np.full(len(active), new)
        known = start[..., active]
        return np.where(np.isfinite(known), known, new)

    def weights(self, problem: Problem, active: Indices, alpha: Array) -> Array:
        """Weights (K, n) to begin with."""
        return problem.start_weights(active)

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        """Which functions are not pruned, given their next α."""
        return updated < self.prune * mean_information(posterior)

    def moved(self, before: Array, after: Array) -> Array:
        """How much every log α has changed."""
        return np.abs(np.log(after / before))

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        """The hyperpriors in force."""
        return Gammas.of(problem.hyperprior, problem, active)

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        """The next α."""
        gamma = 1 - posterior.prior_precision * posterior.variances
        with np.errstate(divide="ignore", invalid="ignore"):
            return (gamma.sum(axis=0) + 2 * priors.a) / (
                np.sum(posterior.mean**2, axis=0) + 2 * priors.b
            )

    def noise(
        self, effective: Array, variance: Array, priors: Gammas
    ) -> tuple[Array, Array]:
        """What the next β has beside N in its numerator and ‖t − Φμ‖² below."""
        return 2 * priors.c - effective, np.full_like(effective, 2 * priors.d)

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        """What the objective has beside the log evidence."""
        alpha = posterior.prior_precision * problem.precision_units[posterior.active]
        beta = problem.noise_unit * np.exp(likelihood.log_parameters)
        return problem.hyperprior.log_density(alpha, beta)


@dataclass(frozen=True)
class Held(MacKay):
    """α stays as it is, and so do all functions: only the noise moves."""

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return np.ones(updated.shape[-1], dtype=bool)

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        return posterior.prior_precision


@dataclass(frozen=True)
class EM(MacKay):
    """Short steps, each of which raises the evidence.

    They take α to infinity only in the limit, so that functions on their way there,
    q² ≤ s, leave when their prior says ``prune`` times what the data say of the weight
    that the other functions do not; but never many at a time, since of functions that
    are alike none is needed beside the others.
    """

    prune: float = 10.0
    monotone: ClassVar[bool] = True
    least_rise: ClassVar[float] = 1e-2

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        gamma = 1 - posterior.prior_precision * posterior.variances
        fading = np.sum(posterior.mean**2 - gamma * posterior.variances, axis=0) <= 0
        spent = np.where(fading, gamma.sum(axis=0), np.inf)
        order = np.argsort(spent, kind="stable")
        least = len(gamma) / (1 + self.prune)
        leaving = (spent[order] < least) & (np.cumsum(spent[order]) < _AT_ONCE)
        stay = np.ones(len(spent), dtype=bool)
        stay[order[leaving]] = False
        return stay

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        moments = posterior.mean**2 + posterior.variances
        with np.errstate(divide="ignore"):
            return (len(moments) + 2 * priors.a) / (moments.sum(axis=0) + 2 * priors.b)

    def noise(
        self, effective: Array, variance: Array, priors: Gammas
    ) -> tuple[Array, Array]:
        squares = effective * variance + 2 * priors.d
        return np.full_like(effective, 2 * priors.c), squares


@dataclass(frozen=True)
class Variational(EM):
    """EM's steps; the objective is a lower bound of the log marginal likelihood.

    With factors q(w) q(α) q(β), and α and β standing for their means, the bound is the
    log evidence at these means, corrected for E[log α] and E[log β] not being the
    logarithms of means, less the divergence of the factors from the hyperpriors.
    """

    bounded: ClassVar[bool] = True

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        given = super().priors(problem, active)
        rate = _NEARLY_FLAT * problem.sample_weight.sum()
        return Gammas(
            a=given.a or _NEARLY_FLAT,
            b=given.b if problem.hyperprior.b else np.full(len(active), rate),
            c=given.c or _NEARLY_FLAT,
            d=given.d or _NEARLY_FLAT,
        )

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        priors = self.priors(problem, posterior.active)
        alpha, n_outputs = posterior.prior_precision, len(posterior.mean)
        total = _cost(n_outputs, alpha, priors.a, priors.b)
        beta = np.exp(likelihood.log_parameters)
        count = problem.sample_weight.sum()
        return total + _cost(count, beta, priors.c, np.full(len(beta), priors.d))


def mean_information(posterior: Posterior) -> Array:
    """φᵀBφ of the active functions, averaged over outputs."""
    return np.asarray(posterior.information.mean(axis=0))


def _cost(count: float, mean: Array, shape: float, rate: Array) -> float:
    """Of Gamma factors with these means, each in the density of ``count`` numbers.

    ½·count·(E[log x] − log E[x]) − KL(q ‖ Gamma(shape, rate)), summed.
    """
    k = shape + 0.5 * count
    theta = k / mean
    divergence = (
        (k - shape) * digamma(k)
        - gammaln(k)
        + gammaln(shape)
        + shape * np.log(theta / rate)
        + k * (rate - theta) / theta
    )
    return float(np.sum(0.5 * count * (digamma(k) - np.log(k)) - divergence))


@dataclass(frozen=True)
class FixedPointState:
    """A model and how far the last step went."""

    model: Mode  # its evidence is the objective
    steps: int = 0
    change: float = np.inf  # of log α and log β, the largest
    rise: float = np.inf  # of the objective
    partial: bool = False  # whether there was no time to begin with all functions


@dataclass(frozen=True)
class FixedPoint:
    """Settings of the iteration."""

    update: MacKay = field(default_factory=MacKay)
    tol: float = 1e-3
    noise_interval: int = 1  # steps from one estimate of the noise to the next
    noise_rows: NoiseRows = NoiseRows()  # that it is estimated from
    enough: int | None = None  # steps after which it ends, converged or not
    warm_up: int = 0  # steps before α begins to move
    deadline: Deadline = NEVER  # by which it begins with fewer functions

    def init(self, problem: Problem) -> FixedPointState:
        """With all functions, or with as many as there is time for."""
        present, n_rows = _present(problem), len(problem.y)
        # A step takes products of all pairs of functions, and a factor.
        return self.deadline.share(_LEAST_STEPS).in_time(
            lambda count: self._begun(problem, present, count),
            len(present),
            _FEWEST_FUNCTIONS,
            cost=lambda count: count**2 * (n_rows + count),
        )

    def _begun(self, problem: Problem, present: Indices, count: int) -> FixedPointState:
        """With so many of the functions, those of a model known before among them."""
        active = present
        if count < len(present):
            active = _some(problem, present, count)
        alpha = self.update.starting(problem, active)
        start = self.update.weights(problem, active, alpha)
        likelihood = problem.likelihood
        if self.update.bounded:
            eta = problem.design.matvec(start, active)
            bound = likelihood.lower_bound(problem.y, eta, np.ones(1))
            likelihood = bound or likelihood
        most = None
        if self.update.plain:
            most = int(problem.start.weights is None)
        search = (problem, likelihood, active, alpha, start)
        mode = posterior_at_mode(*search, most_steps=most, plain=self.update.plain)
        model = self._model(problem, mode)
        return FixedPointState(model, partial=count < len(present))

    def converged(self, problem: Problem, state: FixedPointState) -> bool:
        return self.settled(state) and not state.partial

    def settled(self, state: FixedPointState) -> bool:
        """Whether the functions that it began with do not change any more."""
        if len(state.model.active) == 0 or state.steps == self.enough:
            return True
        if state.steps % self.noise_interval or state.steps <= self.warm_up:
            return False
        idle = abs(state.rise) < self.update.least_rise * self.tol
        return state.change < self.tol or idle

    def step(self, problem: Problem, state: FixedPointState) -> FixedPointState:
        if state.partial and self.settled(state):
            raise OutOfTimeError
        alpha, stay = self._precisions(problem, state)
        likelihood = self._likelihood(problem, state)
        after = self._moved(problem, state, likelihood, alpha, stay)
        if not self.update.monotone or not _fell(state, after):
            return after
        everything = np.ones_like(stay)
        if not stay.all():
            after = self._moved(problem, state, likelihood, alpha, everything)
        if likelihood.conjugate or not _fell(state, after):
            return after
        return self._risen(problem, state, alpha)

    def _risen(
        self, problem: Problem, state: FixedPointState, alpha: Array
    ) -> FixedPointState:
        """As far towards these α as the evidence rises, where it can tell the way.

        The updates hold the precisions of rows, which Laplace's evidence does not: so
        only α move which it says should, half as far again and again. If there is no
        such way the search has ended.
        """
        before = state.model.prior_precision
        priors = self.update.priors(problem, state.model.active)
        gradient = evidence_gradient(problem, state.model)
        gradient += priors.a - priors.b * before
        way = np.log(alpha / before)
        way[way * gradient <= 0] = 0.0
        everything = np.ones(len(before), dtype=bool)
        for halvings in range(_MAX_HALVINGS if way.any() else 0):
            nearer = before * np.exp(0.5**halvings * way)
            after = self._moved(
                problem, state, state.model.likelihood, nearer, everything
            )
            if not _fell(state, after):
                return replace(after, change=float(np.abs(way).max()))
        return replace(state, steps=state.steps + 1, change=0.0, rise=0.0)

    def _model(self, problem: Problem, mode: Mode) -> Mode:
        if self.update.coupled:
            mode = coupled(problem, mode)
        extra = self.update.log_hyperprior(problem, mode.posterior, mode.likelihood)
        objective = mode.log_evidence + extra
        return replace(mode, log_evidence=objective, log_hyperprior=extra)

    def _moved(
        self,
        problem: Problem,
        state: FixedPointState,
        likelihood: Likelihood,
        alpha: Array,
        stay: AnyArray,
    ) -> FixedPointState:
        """The model with these α, of the functions that stay."""
        before = state.model
        rough = state.change > _ROUGH_CHANGE and not self.update.monotone
        most = 1 if self.update.plain else _ROUGH_NEWTON if rough else None
        mode = posterior_at_mode(
            problem,
            likelihood,
            before.active[stay],
            alpha[..., stay],
            before.mean[:, stay],
            most_steps=most,
            plain=self.update.plain,
        )
        moved = self.update.moved(before.prior_precision, alpha)[..., stay]
        shifted = np.abs(likelihood.log_parameters - before.likelihood.log_parameters)
        change = max(moved.max(initial=0.0), shifted.max(initial=0.0))
        after = self._model(problem, mode)
        rise = after.log_evidence - before.log_evidence
        return FixedPointState(
            after, state.steps + 1, float(change), rise, state.partial
        )

    def _precisions(
        self, problem: Problem, state: FixedPointState
    ) -> tuple[Array, AnyArray]:
        """The next α, and which functions stay."""
        posterior = state.model.posterior
        if state.steps < self.warm_up:
            return posterior.prior_precision, np.ones(len(posterior.active), dtype=bool)
        priors = self.update.priors(problem, posterior.active)
        updated = self.update.precisions(posterior, priors)
        least = LEAST_PRIOR_SHARE * mean_information(posterior)
        updated = np.maximum(np.nan_to_num(updated, nan=np.inf), least)
        updated = problem.allowed(posterior.active, updated)
        return updated, self.update.staying(posterior, updated)

    def _likelihood(self, problem: Problem, state: FixedPointState) -> Likelihood:
        """With its parameters estimated anew, if it is time to."""
        model = state.model
        likelihood, eta = model.likelihood, model.eta
        if self.update.bounded and not problem.likelihood.conjugate:
            variances = predictor_variances(problem, model.posterior)
            return likelihood.lower_bound(problem.y, eta, variances) or likelihood
        idle = likelihood.parameter_ceiling is None
        if idle or (state.steps + 1) % self.noise_interval:
            return likelihood
        more = self.update.noise(
            spent(likelihood, model.effective_parameters),
            np.exp(-likelihood.log_parameters),
            self.update.priors(problem, model.active),
        )
        weight = self.noise_rows.weight(problem, model.active)
        return refitted(likelihood, problem.y, eta, weight, more=more)


def _fell(before: FixedPointState, after: FixedPointState) -> bool:
    """Whether the objective did so by more than rounding."""
    value = before.model.log_evidence
    return after.model.log_evidence < value - SLACK * abs(value)


def evidence_gradient(problem: Problem, mode: Mode) -> Array:
    """∂L/∂log α (n,) of Laplace's evidence, for α that outputs share.

    With B the curvature of the likelihood at the mode ŵ and v = diag ΦΣΦᵀ, summed over
    outputs,

        ∂L/∂log αᵢ = ½(γᵢ − αᵢŵᵢ²) + αᵢŵᵢ (ΣΦᵀg)ᵢ,    g = ½ ∂(vᵀB)/∂η with v held,

    since ∂ŵ/∂log αᵢ = −Σeᵢ αᵢŵᵢ. The updates of EM and MacKay hold B, too: they know
    the first term alone, which is all there is for a Gaussian likelihood. Where outputs
    are coupled, Σ has not all of the Hessian, and the second term is approximate.
    """
    posterior = mode.posterior
    alpha, mean = posterior.prior_precision, posterior.mean
    held = 0.5 * (1 - alpha * posterior.variances - alpha * mean**2)
    if mode.likelihood.ep is not None:
        # Where moments match, the evidence does not change with the rows' precisions.
        return np.sum(held, axis=0)
    pull = posterior.solve(
        problem.design.rmatvec(_bend(problem, mode), posterior.active)
    )
    return np.sum(held + alpha * mean * pull, axis=0)


def _bend(problem: Problem, mode: Mode) -> Array:
    """g (N, K), by differences: the likelihood tells no third derivatives."""
    variances = np.broadcast_to(
        predictor_variances(problem, mode.posterior), problem.y.shape
    )

    def weighed(eta: Array) -> Array:
        given = problem.y, eta, problem.sample_weight
        precision = mode.likelihood.pseudo_observations(*given).precision
        return np.sum(variances * precision, axis=1)

    bend = np.empty_like(mode.eta)
    for output in range(bend.shape[1]):
        step = np.zeros(bend.shape[1])
        step[output] = _MOVED
        rise = weighed(mode.eta + step) - weighed(mode.eta - step)
        bend[:, output] = 0.5 * rise / (2 * _MOVED)
    return bend


# Steps towards a mode that moves, while some log α changes by more than this and the
# evidence may fall.
_ROUGH_NEWTON, _ROUGH_CHANGE = 2, 0.5
# Steps that there must be time for, and functions to begin with where there is not.
# What follows the search takes as long as some steps, if few functions have left.
_LEAST_STEPS, _FEWEST_FUNCTIONS = 30, 100
_MAX_HALVINGS = 10  # of a step: what a thousandth does not raise is at its maximum


def _present(problem: Problem) -> Indices:
    """Columns to begin with: all but those that vanish or are known to be out."""
    present = problem.design.column_norms > 0
    start = problem.start.precision
    if start is not None:
        present = present & ~np.all(np.isinf(np.atleast_2d(start)), axis=0)
    return np.flatnonzero(present)


def _some(problem: Problem, present: Indices, count: int) -> Indices:
    """So many columns, spread evenly; first those that a problem begins with."""
    known = present == problem.bias
    start = problem.start.precision
    if start is not None:
        finite = np.isfinite(np.atleast_2d(start)[:, present])
        known = known | finite.any(axis=0)
    inside, others = np.flatnonzero(known)[:count], np.flatnonzero(~known)
    left = min(count - len(inside), len(others))
    chosen = others[np.arange(left) * len(others) // max(left, 1)]
    return present[np.sort(np.concatenate([inside, chosen]))]

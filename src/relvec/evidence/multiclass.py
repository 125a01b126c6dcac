"""Solvers of several classes as published: mRVM1, mRVM2 and a prior for each weight."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from relvec.chance import generator
from relvec.evidence.base import Hyperprior, Problem, WarmStart
from relvec.evidence.fixed_point import FixedPoint, Gammas, MacKay
from relvec.evidence.mode import Mode, check_few, log_evidence, posterior_at_mode
from relvec.evidence.solvers import Solver, SolverContext
from relvec.likelihoods import Gaussian, Likelihood, PseudoObservations
from relvec.linalg import cholesky
from relvec.parameters import (
    check_choice,
    check_count,
    check_flag,
    check_level,
    check_not_negative,
    check_positive,
)
from relvec.posterior import Posterior
from relvec.precision import TINY, dependent_share
from relvec.typing import AnyArray, Array, Indices

_CONVERGENCE = ("conv1", "conv2")
_PUBLISHED_TOL = 1e-2  # of log α; the paper does not tell its ε
_DRAWN = 1024  # numbers at a time


@dataclass(frozen=True, eq=False, repr=False)
class PublishedMrvm1(Solver):
    """The settings of algorithm 1."""

    convergence: str = "conv2"
    passes: int = 1  # λ: steps for every row, at least, with conv2
    tol: float = _PUBLISHED_TOL

    def __post_init__(self) -> None:
        check_choice("convergence", self.convergence, _CONVERGENCE)
        check_count("passes", self.passes)
        if self.passes > 1 and self.convergence == "conv1":
            raise ValueError(
                f"passes={self.passes!r} has no use with convergence='conv1', which "
                "does not count steps: leave it out or set convergence='conv2'"
            )
        check_positive("tol", self.tol)

    @property
    def own_tolerance(self) -> str:
        return "Mrvm1(algorithm='published', tol=...)"

    @property
    def ends_at_mode(self) -> bool:
        return False

    def maximiser(self, problem: Problem, context: SolverContext) -> "OneAtATime":
        least = self.passes * problem.n_visits if self.convergence == "conv2" else 0
        return OneAtATime(least, self.tol, context.seed)


@dataclass(frozen=True)
class Answers:
    """What all functions said of a residual, when they were last asked."""

    residual: Array  # (N, K) what a model leaves of Y
    quality: Array  # (K, M) Q

    def may_gain(
        self, residual: Array, seen: PseudoObservations, sparsity: Array
    ) -> AnyArray:
        """Whether functions (M,) can have a θ > 0 beside another residual."""
        squares = seen.precision[:, 0] @ (residual - self.residual) ** 2
        moved = np.sqrt(squares)  # functions have the norm one
        most = np.abs(self.quality) + moved[:, None]
        return np.einsum("km,km->m", most, most) > len(most) * sparsity


@dataclass(frozen=True)
class OneAtATimeState:
    """A model, and what every function is to it."""

    model: Mode
    cross: Array  # (n, M) ΦₐᵀVΦ
    pull: Array  # (K, n) ΦₐᵀVY
    answers: Answers
    sparsity: Array  # (M,) s
    theta: Array  # (M,) of functions with norm one; −∞ if there was no need to ask
    wrong: int | None = None  # the function that is to enter, or else to leave
    steps: int = 0
    change: float = np.inf  # of the last log α


@dataclass(frozen=True)
class OneAtATime:
    """mRVM1, from no function upwards, one at a time.

    Solves   θᵢ = Σ_c q_ci² − K sᵢ > 0 for every function i of the model and for no
             other, (13) of Psorakis et al. 2010, with αᵢ = K sᵢ²/θᵢ (11) for those in
             the model
    Given    a multinomial probit with an output for every class, and its lower bound
    By       algorithm 1: one α, then one update of the weights (14) and one of the
             auxiliary variables (3), (4), in turn; next is the function outside with
             the largest θ > 0, then the one inside with the smallest θ < 0, then one
             drawn
    Until    conv1: no function is to enter or to leave, and the last log α has moved by
             less than ``tol``; or conv2: so, and after some steps for every row

    Functions are ranked by θ in the units of the kernel, as printed: it is no gain in
    evidence, and grows with the square of a function's norm. What is Y here are targets
    of the pseudo-observations. The pass over all functions, for q, is left out where
    none can have come to gain: no q has moved by more than the residual, whose norm is
    known.
    """

    least_steps: int = 0
    tol: float = _PUBLISHED_TOL
    seed: int = 0

    def init(self, problem: Problem) -> OneAtATimeState:
        """Y follows the labels, and the model is empty unless there is another."""
        active, alpha, _ = problem.initial
        weights = problem.sample_weight[:, None]
        labels = PseudoObservations(problem.y, weights, np.ones(1))
        cross = problem.design.cross_gram(active, weights)[0]
        pull = problem.design.rmatvec(weights * problem.y, active)
        mode = _mode(problem, active, alpha, cross, pull)
        if len(active) == 0:
            mode = replace(mode, observations=labels)
        return _judged(problem, mode, cross)

    def converged(self, problem: Problem, state: OneAtATimeState) -> bool:
        if state.wrong is not None:
            return False
        still = state.change < self.tol and state.steps >= self.least_steps
        return still or len(state.model.active) == 0

    def step(self, problem: Problem, state: OneAtATimeState) -> OneAtATimeState:
        index = state.wrong
        if index is None:  # line 19
            drawn = _drawn(self.seed, state.steps // _DRAWN)[state.steps % _DRAWN]
            index = int(state.model.active[int(drawn * len(state.model.active))])
        theta, s = state.theta[index], state.sparsity[index]
        alpha = problem.y.shape[1] * s**2 / theta if theta > 0 else np.inf
        return _acted(problem, state, index, alpha)


def _acted(
    problem: Problem, state: OneAtATimeState, index: int, alpha: float
) -> OneAtATimeState:
    """With another α of one function, (11) or (12); lines 4 to 13."""
    cross, pull, change = state.cross, state.pull, np.inf
    active, precision = state.model.active, state.model.prior_precision
    at = int(np.searchsorted(active, index))
    if at == len(active) or active[at] != index:
        own, weights = np.array([index]), problem.sample_weight[:, None]
        row = problem.design.cross_gram(own, weights)[0]
        cross = np.insert(cross, at, row, axis=0)
        mine = problem.design.rmatvec(weights * state.model.observations.target, own)
        pull = np.insert(pull, at, mine[:, 0], axis=1)
        active = np.insert(active, at, index)
        precision = np.insert(precision, at, alpha)
    elif np.isfinite(alpha):
        change = abs(np.log(alpha / precision[at]))
        precision = precision.copy()
        precision[at] = alpha
    else:
        cross, pull = np.delete(cross, at, axis=0), np.delete(pull, at, axis=1)
        active, precision = np.delete(active, at), np.delete(precision, at)
    mode = _mode(problem, active, precision, cross, pull)
    after = _judged(problem, mode, cross, state.answers)
    return replace(after, steps=state.steps + 1, change=float(change))


def _mode(
    problem: Problem,
    active: Indices,
    alpha: Array,
    cross: Array,
    pull: Array,
) -> Mode:
    """Weights for auxiliary variables (14), and these for the weights (3), (4)."""
    root = 1 / np.sqrt(alpha)
    inner = np.eye(len(active)) + root[:, None] * cross[:, active] * root
    factor, likelihood = cholesky(inner[None]), problem.likelihood
    mean = Posterior(active, alpha, pull, factor).solve(pull)
    posterior = Posterior(active, alpha, mean, factor)
    eta = problem.design.matvec(posterior.mean, active)
    seen = likelihood.pseudo_observations(problem.y, eta, problem.sample_weight)
    evidence = log_evidence(problem, likelihood, posterior, eta)
    return Mode(likelihood, seen, posterior, evidence, eta)


def _judged(
    problem: Problem, mode: Mode, cross: Array, known: Answers | None = None
) -> OneAtATimeState:
    """A model with s and θ of all functions; lines 13 to 17.

    All of them are asked for q only if one that is not in the model may gain.
    """
    posterior, seen, design = mode.posterior, mode.observations, problem.design
    active, alpha = posterior.active, posterior.prior_precision
    pull = design.rmatvec(seen.precision * seen.target, active)
    smooth = posterior.solve(pull)
    residual = seen.target - design.matvec(smooth, active)
    half = posterior.whitener[0] @ cross
    s = (design.column_norms > 0) - np.einsum("nm,nm->m", half, half)  # (18)
    told = s > dependent_share(posterior.condition)
    told[active] = False
    n_outputs, theta = len(smooth), np.full(len(s), -np.inf)
    if known is None or np.any(known.may_gain(residual, seen, s) & told):
        Q = design.rmatvec(seen.precision * residual)  # (19)
        known = Answers(residual, Q)
        theta = np.where(told, np.sum(Q * Q, axis=0) - n_outputs * s, -np.inf)
    left = alpha * posterior.variances[0]  # (α − S)/α, with all its digits
    s[active] /= left  # (20)
    q = alpha * smooth / left  # (21), as ΦₐᵀVR = Aw for the weights that leave R
    theta[active] = np.sum(q**2, axis=0) - n_outputs * s[active]
    wrong = _wrong(problem, active, theta)
    return OneAtATimeState(mode, cross, pull, known, s, theta, wrong)


def _wrong(problem: Problem, active: Indices, theta: Array) -> int | None:
    """The function outside with the largest θ > 0, or inside with the smallest < 0."""
    norms = problem.design.column_norms
    units = norms**2 if len(active) else np.ones_like(norms)  # (16) is a ratio
    rank = np.maximum(units, TINY) * theta
    inside, rank[active] = rank[active], -np.inf
    best = int(rank.argmax())
    if rank[best] > 0:
        return best
    return int(active[inside.argmin()]) if inside.min(initial=0.0) < 0 else None


@lru_cache(maxsize=4)
def _drawn(seed: int, block: int) -> Array:
    """Numbers between 0 and 1."""
    return generator(seed, block).random(_DRAWN)


_BEYOND = 1e6  # times the threshold, where α stays
_TOL = 1e-2  # of log α; on iris 1e-4 takes 4003 steps for 49, and moves p by 0.1
_STANDSTILL = 1e-6  # change of log α at which more steps are of no use


@dataclass(frozen=True, eq=False, repr=False)
class Mrvm2(Solver):
    """Settings of ``multi_class="mrvm2"``.

    Parameters
    ----------
    tau, nu : float, default=0.0
        Shape and rate of the Gamma distribution over the prior precisions.
    threshold : float, default=1e5
        A function leaves when its precisions are beyond this for all classes, its
        values having a mean square of one.
    posterior_variance : bool, default=False
        Whether the update of a precision counts the posterior variance of the weight
        beside its square, as EM does, or not, as (5) of the paper is printed.
    convergence : {"N", "A"}, default="N"
        Whether the search ends after as many steps as there are rows, or as soon as no
        logarithm of a precision changes by more than ``tol``. A row of weight v counts
        v times, but no more than ten times.
    tol : float, optional
        For ``convergence="A"``, by default 1e-2; the steps become short long before
        they end.
    warm_up : int, default=5
        Steps before precisions begin to move.
    passes : int, default=1
        λ of ``convergence="N"``: steps for each row.
    weights : {"mode", "last"}, default="mode"
        Whether weights are followed to their mode at the end, or are those of the last
        step, as published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Mrvm2
    >>> X, y = load_iris(return_X_y=True)
    >>> scheme = Mrvm2(convergence="A")
    >>> model = RVC(gamma=0.1, multi_class=scheme).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    tau: float = 0.0
    nu: float = 0.0
    threshold: float = 1e5
    posterior_variance: bool = False
    convergence: str = "N"
    tol: float | None = None
    warm_up: int = 5
    passes: int = 1
    weights: str = "mode"

    def __post_init__(self) -> None:
        check_not_negative("tau", self.tau)
        check_not_negative("nu", self.nu)
        check_positive("threshold", self.threshold)
        check_flag("posterior_variance", self.posterior_variance)
        check_choice("convergence", self.convergence, ("N", "A"))
        if self.tol is not None:
            check_positive("tol", self.tol)
            if self.convergence == "N":
                raise ValueError(
                    f"tol={self.tol!r} has no use with convergence='N', which counts "
                    "steps: leave it out or set convergence='A'"
                )
        check_level("warm_up", self.warm_up)
        check_count("passes", self.passes)
        if self.passes > 1 and self.convergence == "A":
            raise ValueError(
                f"passes={self.passes!r} has no use with convergence='A', which does "
                "not count steps: leave it out or set convergence='N'"
            )
        check_choice("weights", self.weights, ("mode", "last"))

    @property
    def begins_with_all(self) -> str:
        return "multi_class='mrvm2'"

    @property
    def own_tolerance(self) -> str:
        return "Mrvm2(convergence='A', tol=...)"

    @property
    def ends_at_mode(self) -> bool:
        return self.weights == "mode"

    def maximiser(self, problem: Problem, context: SolverContext) -> FixedPoint:
        """The iteration with these settings; the tolerance is one of them."""
        update = ClassWise(
            prune=self.threshold,
            tau=self.tau,
            nu=self.nu,
            posterior_variance=self.posterior_variance,
            count=float(problem.sample_weight.sum()),
        )
        by_number = self.convergence == "N"
        left = self.warm_up + self.passes * problem.n_visits - problem.start.steps
        return FixedPoint(
            update,
            tol=_STANDSTILL if by_number else self.tol or _TOL,
            enough=max(0, left) if by_number else None,
            warm_up=max(0, self.warm_up - problem.start.steps),
            deadline=context.deadline,
        )

    def warm_start(self, n_basis: int, known: WarmStart) -> WarmStart:
        return known  # α and weights of every class


@dataclass(frozen=True)
class ClassWise(MacKay):
    """The update of mRVM2, from all functions downwards, with an α for every class.

    Solves   α_nc = (2τ + 1)/(w_nc² + 2ν), (5) of Psorakis et al. 2010, iterated
    Given    a multinomial probit coded by classes, and its lower bound of the evidence
    By       one update of α, then one of the weights and auxiliary variables, in turn;
             a function leaves when α is beyond a threshold for all classes
    Until    no log α changes by more than ``tol``, or after a given number of steps

    (5) has no posterior variance: a function must explain four times as much as the
    evidence asks of it, q² > 4s, or it fades out. With the variance it is EM's update.
    The weights are small at first and would take most functions with them: so α is left
    as it is for a few steps. And it matters that they are not followed to their mode,
    where α would run away from what two classes have in common.

    Threshold and start are those of functions with a mean square of one, whatever the
    unit of the kernel is.
    """

    prune: float = 1e5
    tau: float = 0.0
    nu: float = 0.0
    posterior_variance: bool = False
    count: float = 1.0  # Σv
    bounded: ClassVar[bool] = True
    plain: ClassVar[bool] = True

    def starting(self, problem: Problem, active: Indices) -> Array:
        alpha = self._started(problem, active, 1 / self.count)
        return np.broadcast_to(alpha, (problem.y.shape[1], len(active)))

    def weights(self, problem: Problem, active: Indices, alpha: Array) -> Array:
        """As they were, or those for which the auxiliary variables are the labels."""
        if problem.start.weights is not None:
            return super().weights(problem, active, alpha)
        n_outputs = problem.y.shape[1]
        labels = Gaussian.known(1.0, n_outputs)
        nothing = np.zeros((n_outputs, len(active)))
        mode = posterior_at_mode(problem, labels, active, alpha, nothing)
        return mode.posterior.mean

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return np.any(updated < self._threshold, axis=0)

    def moved(self, before: Array, after: Array) -> Array:
        ends = (np.minimum(each, self._threshold) for each in (before, after))
        return np.abs(np.subtract(*map(np.log, ends)))

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        # ν is in the user's units, as b of a hyperprior is.
        return Gammas.of(Hyperprior(a=self.tau, b=self.nu), problem, active)

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        moments = posterior.mean**2 + 2 * priors.b
        if self.posterior_variance:
            moments = moments + posterior.variances
        most = _BEYOND * self._threshold
        return (2 * self.tau + 1) / np.maximum(moments, (2 * self.tau + 1) / most)

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        return 0.0

    @property
    def _threshold(self) -> float:
        return self.prune / self.count


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionOfEach(Solver):
    """The iteration as it is."""

    @property
    def begins_with_all(self) -> str:
        return "a prior for every weight"

    def maximiser(self, problem: Problem, context: SolverContext) -> FixedPoint:
        return FixedPoint(EachWeight(), tol=context.tol, deadline=context.deadline)

    def warm_start(self, n_basis: int, known: WarmStart) -> WarmStart:
        return known  # α and weights of every class


@dataclass(frozen=True)
class EachWeight(MacKay):
    """MacKay's update of every weight, from all functions downwards.

    Solves   max over all α_mc of the log evidence, by Laplace's approximation with all
             that couples the classes: section 5.1.4 of Ben-Shimon's thesis
    Given    a likelihood of several outputs
    By       MacKay's α_mc = γ_mc/w_mc², γ_mc = 1 − α_mc Σ_mc,mc, with one Σ of all;
             a function leaves when α is beyond a threshold for all classes
    Until    no log α changes by more than ``tol``
    """

    coupled: ClassVar[bool] = True
    least_rise: ClassVar[float] = 1e-2  # many α move for ever, and gain nothing

    def starting(self, problem: Problem, active: Indices) -> Array:
        check_few(problem.y.shape[1] * len(active))
        common = super().starting(problem, active)
        return np.broadcast_to(common, (problem.y.shape[1], len(active)))

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        gamma = 1 - posterior.prior_precision * posterior.variances
        with np.errstate(divide="ignore", invalid="ignore"):
            updated = (gamma + 2 * priors.a) / (posterior.mean**2 + 2 * priors.b)
        return np.fmin(updated, self._threshold(posterior))

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return np.any(updated < self._threshold(posterior), axis=0)

    def _threshold(self, posterior: Posterior) -> Array:
        return self.prune * posterior.information

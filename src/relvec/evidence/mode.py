"""The posterior at its mode, for given prior precisions, and its evidence.

Solves   max over w of  Σₙ vₙ log p(yₙ | ηₙ) − ½wᵀAw,  η = Φw            (10)
Returns  the Laplace approximation there, (11)-(14), exact for a Gaussian likelihood,
         with log evidence  log p(y | w) − ½wᵀAw − ½ log |I + A^(-1/2)ΦᵀBΦA^(-1/2)|.

Newton's method with backtracking; the likelihood's pseudo-observations are its
quadratic expansion, so each step is one least-squares problem. A likelihood that is to
match moments has its posterior from expectation propagation instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from relvec.basis import blocks
from relvec.blockwise import check_time
from relvec.evidence.base import Model, Problem
from relvec.evidence.newton import Coordinates, log_density_of_unit
from relvec.likelihoods import EP, Likelihood, PseudoObservations
from relvec.linalg import cholesky
from relvec.posterior import CoupledPosterior, Posterior
from relvec.precision import FACTOR_LIMIT, GRAM_LIMIT, ROUNDING, TINY
from relvec.typing import Array, Indices

_FEW_WEIGHTS = 64  # so many are solved for at once: one pass over rows, not many
_MOST_PRODUCTS = 200  # of conjugate gradients, which take five
# Of the squared residual left, at most; near the mode the decrement, for quadratic
# convergence. On 7500 digits 0.02 takes a fifth more products, 0.2 as many more steps.
_ROUGHEST = 5e-2
# Of the decrement that is enough, what a step may leave: the rest is for what Newton's
# method leaves by itself.
_DECREMENT_SHARE = 0.25
_MAX_BACKTRACKING = 40  # halvings, of which 40 leave 1e-12 of a step: none of it
_MOST_MATCHING = 200  # of which it takes about eight
# Newton's decrement below which cavities move along: a dozen standard deviations, from
# where its step needs no backtracking.
_NEAR = 300.0
# At the end: the decrement, and by how much log(1 + v) of any row would move. The first
# of each for models that stay, the second for those that are about to change.
_MATCHED_DECREMENT = (1e-3, 0.3)
_MISMATCH = (2e-2, 0.3)
_LONGEST = 2.0  # step of log(1 + v), a factor of seven: secants overshoot
_MAX_NEWTON = 100  # of which it takes about four
# Newton's decrement is the squared error of the mode in posterior standard deviations;
# the log determinant feels that error to first order.
_DECREMENT = 1e-20  # 1e-10 nats, a tenth of what evidences are trusted with
_COUPLED_DECREMENT = 1e-12  # where steps are themselves only searched for
_ROUGH_DECREMENT = 1e-3  # for models that are about to change
_SMALL_DECREMENT = 1e-8  # below, a step that no longer shrinks is rounding
_MOST_WEIGHTS = 5000  # 200 MB, and a minute where there is one for each of many steps


def coupled_step(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
    enough: float = 0.0,
) -> Array:
    """Newton's step x (K, n) where the outputs depend on each other.

    Solves   (A + ΦᵀHΦ)x = g  for the weights of all outputs at once
    Given    products with H and, as a preconditioner, the posterior of the
             pseudo-observations, which leaves out what couples the outputs
    By       Cholesky's factor where there are few weights; elsewhere by conjugate
             gradients, only as accurately as the distance to the mode deserves

    ``posterior`` is that of the pseudo-observations at the same weights. The step is no
    more accurate than it takes to leave a decrement that is ``enough``.
    """
    at = posterior.active, posterior.prior_precision
    solution = step_at_once(problem, *at, curvature, gradient)
    if solution is None:
        return _in_steps(problem, posterior, curvature, gradient, enough)
    return solution


def step_at_once(
    problem: Problem,
    active: Indices,
    prior_precision: Array,
    curvature: Callable[[Array], Array],
    gradient: Array,
) -> Array | None:
    """x (K, n) by I + A^(-1/2)ΦᵀHΦA^(-1/2) of all weights.

    None if they are many or none, or if rounding has spoilt the matrix.
    """
    if not 0 < gradient.size <= _FEW_WEIGHTS:
        return None
    root = np.broadcast_to(1 / np.sqrt(prior_precision), gradient.shape)
    inner = coupled_inner(problem, active, root, curvature)
    _, solution, failed = lapack.dposv(inner, (root * gradient).ravel(), lower=1)
    return None if failed else root * solution.reshape(gradient.shape)


def coupled_inner(
    problem: Problem,
    active: Indices,
    root: Array,
    curvature: Callable[[Array], Array],
) -> Array:
    """I + A^(-1/2)ΦᵀHΦA^(-1/2) (Kn, Kn) of all weights, for A^(-1/2) (K, n)."""
    n_outputs, n_active = root.shape
    columns = problem.design.matvec(np.eye(n_active), active)
    units = np.broadcast_to(
        np.eye(n_outputs)[:, None, :], (n_outputs, len(columns), n_outputs)
    )
    H = np.stack([curvature(unit) for unit in units], axis=2)  # (N, K, K)
    total = np.zeros((n_active, n_outputs * n_outputs * n_active))
    for rows in blocks(len(columns), n_outputs * n_outputs * n_active):
        part = columns[rows]
        weighted = H[rows][:, :, :, None] * part[:, None, None, :]
        total += part.T @ weighted.reshape(len(part), -1)
    products = total.reshape(n_active, n_outputs, n_outputs, n_active)
    inner = products.transpose(1, 0, 2, 3) * root[:, :, None, None] * root
    inner = inner.reshape(root.size, root.size)
    inner.ravel()[:: root.size + 1] += 1
    return inner


def _in_steps(
    problem: Problem,
    posterior: Posterior,
    curvature: Callable[[Array], Array],
    gradient: Array,
    enough: float = 0.0,
) -> Array:
    """By conjugate gradients in standard deviations: Σ = WᵀW is the preconditioner."""
    active, alpha, W = posterior.active, posterior.prior_precision, posterior.whitener
    back = np.swapaxes(W, 1, 2)

    def product(whitened: Array) -> Array:
        check_time()
        weights = _times(back, whitened.reshape(gradient.shape))
        rows = curvature(problem.design.matvec(weights, active))
        image = alpha * weights + problem.design.rmatvec(rows, active)
        return _times(W, image).ravel()

    right = _times(W, gradient).ravel()
    size = float(right @ right)
    roughest = np.sqrt(
        min(_ROUGHEST, max(size, _DECREMENT_SHARE * enough / max(size, TINY)))
    )
    operator = LinearOperator((right.size, right.size), matvec=product)
    solution, _ = cg(operator, right, rtol=roughest, maxiter=_MOST_PRODUCTS)
    return _times(back, solution.reshape(gradient.shape))


def _times(matrices: Array, vectors: Array) -> Array:
    """Of every output (K, n), for matrices (K or 1, n, n)."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class Mode(Model):
    """The model whose posterior is the Laplace approximation at the mode."""

    eta: Array  # (N, K) the linear predictor at the mode


@dataclass(frozen=True)
class Point:
    """Weights on the way to the mode."""

    active: Indices
    prior_precision: Array
    mean: Array  # (K, n)
    eta: Array  # (N, K)
    objective: float  # log p(y | w) − ½wᵀAw

    def moved(self, mean: Array, eta: Array) -> "Point":
        """To other weights, whose objective is not asked for."""
        return replace(self, mean=mean, eta=eta, objective=np.nan)

    def judged(self, problem: Problem, likelihood: Likelihood) -> "Point":
        """With the objective that a likelihood makes of it."""
        density = likelihood.log_density(problem.y, self.eta, problem.sample_weight)
        penalty = float(np.sum(self.prior_precision * self.mean**2))
        return replace(self, objective=density - 0.5 * penalty)


def point_at(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    mean: Array,
) -> Point:
    """Where the search begins; a conjugate likelihood has no way to go."""
    eta = problem.design.matvec(mean, active)
    here = Point(active, prior_precision, mean, eta, np.nan)
    return here if likelihood.conjugate else here.judged(problem, likelihood)


def predictor_variances(problem: Problem, posterior: Posterior) -> Array:
    """Of η (N, K), or (N, 1) where outputs share the posterior covariance."""
    whitened = [
        problem.design.matvec(whitener, posterior.active)
        for whitener in posterior.whitener
    ]
    return np.column_stack([np.sum(rows**2, axis=1) for rows in whitened])


def log_evidence(
    problem: Problem, likelihood: Likelihood, posterior: Posterior, eta: Array
) -> float:
    """(7) by Laplace's method at the mode, in the space of the active functions."""
    density = likelihood.log_density(problem.y, eta, problem.sample_weight)
    return density - 0.5 * posterior.penalty - 0.5 * posterior.log_determinant


def expanded(
    problem: Problem,
    likelihood: Likelihood,
    here: Point,
    before: tuple[PseudoObservations, Posterior] | None = None,
) -> tuple[PseudoObservations, Posterior]:
    """The least-squares problem that agrees with the likelihood here, solved.

    Its factor is that of the problem before where precisions have not moved.
    """
    seen = likelihood.pseudo_observations(problem.y, here.eta, problem.sample_weight)
    if before is not None and np.array_equal(seen.precision, before[0].precision):
        factor = before[1].factor
    else:
        model = here.active, here.prior_precision
        factor = problem.design.factor(*model, seen.precision)
    posterior = Posterior(here.active, here.prior_precision, here.mean, factor)
    return seen, _stepped(problem, seen, posterior, here.eta)


def gradient_at(
    problem: Problem, seen: PseudoObservations, at: Posterior | Point, eta: Array
) -> Array:
    """ΦᵀB(t̂ − η) − Aμ, the gradient of the log posterior at μ with predictor η."""
    residual = seen.precision * (seen.target - eta)
    pull = problem.design.rmatvec(residual, at.active)
    return pull - at.prior_precision * at.mean


def _stepped(
    problem: Problem, seen: PseudoObservations, posterior: Posterior, eta: Array
) -> Posterior:
    """One step of Newton's method from the mean with linear predictor η."""
    step = posterior.solve(gradient_at(problem, seen, posterior, eta))
    return replace(posterior, mean=posterior.mean + step)


def conjugate_mode(problem: Problem, likelihood: Likelihood, here: Point) -> Mode:
    """The posterior of a likelihood whose pseudo-observations are the data.

    By Cholesky's factor where inner products have digits enough; solving with it twice,
    as for normal equations, costs as many again, which one correction brings back.
    Otherwise by the columns themselves.
    """
    seen = likelihood.pseudo_observations(problem.y, here.eta, problem.sample_weight)
    alpha = here.prior_precision
    condition = np.max(seen.noise_precision) / np.min(alpha, initial=np.inf)
    shared = seen.row_weights.shape[1] == 1 and alpha.ndim == 1
    if shared and condition >= FACTOR_LIMIT:
        at = here.active, seen.row_weights[:, 0], seen.target
        count = float(problem.sample_weight.sum())
        columns = Coordinates(*problem.design.coordinates(*at), count)
        found = columns.solved(alpha, seen.noise_precision)
        posterior = Posterior(here.active, alpha, found.mean, found.factor)
        eta = problem.design.matvec(found.mean, here.active)
        evidence = found.log_evidence + log_density_of_unit(likelihood, count)
        return Mode(likelihood, seen, posterior, evidence, eta)
    factor = problem.design.factor(here.active, alpha, seen.precision)
    posterior = Posterior(here.active, alpha, here.mean, factor)
    eta = here.eta
    for _ in range(1 + (condition >= GRAM_LIMIT)):
        posterior = _stepped(problem, seen, posterior, eta)
        eta = problem.design.matvec(posterior.mean, here.active)
    evidence = log_evidence(problem, likelihood, posterior, eta)
    return Mode(likelihood, seen, posterior, evidence, eta)


def decrement(posterior: Posterior, step: Array) -> float:
    """stepᵀΣ⁻¹step, the squared length of a step in standard deviations."""
    scaled = np.sqrt(posterior.prior_precision) * step
    whitened = np.swapaxes(posterior.factor, 1, 2) @ scaled[:, :, None]
    return float(np.sum(whitened**2))


def backtracked(
    problem: Problem, likelihood: Likelihood, here: Point, goal: Array
) -> Point:
    """As far towards the goal as 1, ½, ¼, ... of the way does not descend."""
    least = here.objective - ROUNDING * abs(here.objective)
    eta = problem.design.matvec(goal, here.active)
    for halvings in range(_MAX_BACKTRACKING):
        fraction = 0.5**halvings
        mean = here.mean + fraction * (goal - here.mean)
        trial = here.eta + fraction * (eta - here.eta) if halvings else eta
        there = here.moved(mean, trial).judged(problem, likelihood)
        if there.objective >= least:
            break
    return there


def matched_posterior(
    problem: Problem, likelihood: EP, here: Point, *, rough: bool
) -> Mode:
    """The posterior whose moments match those of the likelihood, row by row.

    Solves   for weights μ and cavities N(mₙ, vₙ) of all rows at once (``probit_rows``):
             Aμ = Φᵀg, gradients taken at the cavities, and 1/vₙ = 1/sₙ − τₙ, with sₙ
             the posterior variance of ηₙ and τₙ the precision that the row amounts to
    Given    prior precisions and a likelihood that can be asked beside a cavity
    By       a step of Newton's method for μ at these cavities and one of the secant
             method for log(1 + v), together where μ is near, so that each costs one
             look at rows
    Returns  the posterior and the evidence of expectation propagation. That is
             stationary in the cavities, so small errors of these do not matter; and
             with the rows as Gaussian observations it changes with α as their evidence
             does, which the search takes for granted.
    """
    y, weight = problem.y, problem.sample_weight
    log_variance = _LogVariance(np.log1p(np.broadcast_to(likelihood.cavity, len(y))))
    for _ in range(_MOST_MATCHING):
        check_time()
        seen, stepped = expanded(problem, likelihood, here)
        size = decrement(stepped, stepped.mean - here.mean)
        posterior = replace(stepped, mean=here.mean)
        variance = predictor_variances(problem, posterior)[:, 0]
        goal = likelihood.cavities(y, here.eta, variance, weight)
        difference = np.log1p(goal) - log_variance.value
        mismatch = float(np.max(np.abs(difference), initial=0.0))
        matched = size < _MATCHED_DECREMENT[rough] and mismatch < _MISMATCH[rough]
        if matched or not np.isfinite(size):
            break
        mean = _matched_step(problem, likelihood, here, seen, posterior)
        if size < _NEAR:
            log_variance = log_variance.moved(difference)
            likelihood = likelihood.with_cavity(np.expm1(log_variance.value))
            here = here.moved(mean, problem.design.matvec(mean, here.active))
        else:
            judged = here.judged(problem, likelihood)
            here = backtracked(problem, likelihood, judged, mean)
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    evidence += likelihood.correction(y, here.eta, weight)
    return Mode(likelihood, seen, posterior, evidence, here.eta)


def _matched_step(
    problem: Problem,
    likelihood: EP,
    here: Point,
    seen: PseudoObservations,
    posterior: Posterior,
) -> Array:
    """Weights after a step of Newton's method, the cavities fixed."""
    if len(here.active) == 0:
        return here.mean
    curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
    gradient = gradient_at(problem, seen, here, here.eta)
    if curvature is None:
        return posterior.mean + posterior.solve(gradient)
    return here.mean + coupled_step(problem, posterior, curvature, gradient)


@dataclass(frozen=True)
class _LogVariance:
    """log(1 + v) of all rows, and where it was before.

    Variances may overshoot ever more: the more of them, the less precise are rows, and
    the more is left to the others. The secant method sees that after one step.
    """

    value: Array
    before: "tuple[Array, Array] | None" = None

    def moved(self, difference: Array) -> "_LogVariance":
        step = difference
        if self.before is not None:
            last, last_difference = self.before
            turn = difference - last_difference
            share = (turn @ difference) / max(float(turn @ turn), TINY)
            step = difference - share * (turn + self.value - last)
        step = np.clip(step, -_LONGEST, _LONGEST)
        return _LogVariance(
            np.maximum(self.value + step, 0.0), (self.value, difference)
        )


def posterior_at_mode(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    start: Array,
    *,
    most_steps: int | None = None,
    rough: bool = False,
    plain: bool = False,
) -> Mode:
    """Search from the weights ``start`` (K, n), to the end unless steps are limited.

    A ``rough`` search ends near the mode, for models that are about to change. A
    ``plain`` step solves for the pseudo-observations, whatever couples outputs. With no
    steps at all the weights stay as they are.
    """
    given, likelihood = likelihood, likelihood.low_accuracy if rough else likelihood
    here = point_at(problem, likelihood, active, prior_precision, start)
    if most_steps == 0:
        return _unmoved(problem, likelihood, here)
    if likelihood.conjugate:
        return conjugate_mode(problem, likelihood, here)
    if likelihood.ep is not None and most_steps is None and not plain:
        return matched_posterior(problem, likelihood.ep, here, rough=rough)
    if most_steps is None and not plain:
        here = _approached(problem, likelihood, here, rough=rough)
    last, solved = np.inf, None
    for _ in range(most_steps or _MAX_NEWTON):
        check_time()
        solved = observations, posterior = expanded(problem, likelihood, here, solved)
        curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
        separate = curvature is None
        size = decrement(posterior, posterior.mean - here.mean)
        enough = _DECREMENT if separate else _COUPLED_DECREMENT
        enough = _ROUGH_DECREMENT if rough else enough
        if size < enough or (size < _SMALL_DECREMENT and size > 0.25 * last):
            break
        last = size
        goal = posterior.mean
        if curvature is not None and not plain:
            gradient = gradient_at(problem, observations, here, here.eta)
            at = problem, posterior, curvature, gradient
            goal = here.mean + coupled_step(*at, enough)
        there = backtracked(problem, likelihood, here, goal)
        if there.objective < here.objective:
            # Derivatives, which are integrals too, promise more than values can tell.
            break
        here = there
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    return Mode(given, observations, posterior, evidence, here.eta)


def _unmoved(problem: Problem, likelihood: Likelihood, here: "Point") -> Mode:
    """The expansion about these weights, with them as the mean."""
    observations, posterior = expanded(problem, likelihood, here)
    posterior = replace(posterior, mean=here.mean)
    evidence = log_evidence(problem, likelihood, posterior, here.eta)
    return Mode(likelihood, observations, posterior, evidence, here.eta)


def _approached(
    problem: Problem, likelihood: Likelihood, here: "Point", *, rough: bool
) -> "Point":
    """Nearly the mode of a few weights of coupled outputs, which need no factor."""
    enough = _ROUGH_DECREMENT if rough else _SMALL_DECREMENT
    for _ in range(_MAX_NEWTON):
        check_time()
        curvature = likelihood.curvature(problem.y, here.eta, problem.sample_weight)
        if curvature is None:
            return here
        seen = likelihood.pseudo_observations(
            problem.y, here.eta, problem.sample_weight
        )
        gradient = gradient_at(problem, seen, here, here.eta)
        model = here.active, here.prior_precision
        step = step_at_once(problem, *model, curvature, gradient)
        if step is None or np.sum(gradient * step) < enough:
            return here
        here = backtracked(problem, likelihood, here, here.mean + step)
    return here


def check_few(n_weights: int) -> None:
    """Refuse a covariance of too many weights."""
    if n_weights > _MOST_WEIGHTS:
        raise ValueError(
            f"the covariance of all classes together has {n_weights} weights at once, "
            f"and more than {_MOST_WEIGHTS} take too long: set candidates to fewer, or "
            "leave the coupling of classes out"
        )


def coupled(problem: Problem, mode: Mode) -> Mode:
    """The posterior at a mode with all that couples its outputs.

    The search leaves the coupling of classes out of the covariance, so that one small
    factor serves all of them, or one each. Here it is in: a matrix of all weights. If
    the likelihood couples no outputs, it is the same posterior.
    """
    at = problem.y, mode.eta, problem.sample_weight
    curvature, alone = mode.likelihood.curvature(*at), mode.posterior
    if curvature is None or alone.mean.size == 0:
        return mode
    check_few(alone.mean.size)
    alpha = np.broadcast_to(alone.prior_precision, alone.mean.shape)
    inner = coupled_inner(problem, alone.active, 1 / np.sqrt(alpha), curvature)
    of_all = alone.active, alpha, alone.mean, cholesky(inner[None])
    posterior = CoupledPosterior(*of_all, uncoupled=alone)
    evidence = log_evidence(problem, mode.likelihood, posterior, mode.eta)
    return replace(mode, posterior=posterior, log_evidence=evidence)

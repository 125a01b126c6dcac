"""The top-down ways to the evidence's maximum: all functions in, most of them pruned.

Solves   max over α (and the noise) of the log evidence (7), of a posterior density of
         α and β, or of a lower bound
Given    a dictionary, a likelihood and hyperpriors (Problem)
By       setting derivatives to zero and iterating (updates.py). A likelihood that is
         not Gaussian is expanded at its mode, or replaced by its lower bound
Until    no log α and no log β changes by more than ``tol``, or the objective changes
         by next to nothing

EM raises its objective in every step, and α to infinity never: irrelevant functions
fade out slowly. For Laplace's evidence, which the precisions of rows are part of, its
steps are shortened until they do (``evidence_gradient``). MacKay's steps are longer and
not bound to rise.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from relvec.blockwise import OutOfTimeError
from relvec.chance import generator
from relvec.evidence.base import NEVER, Deadline, Problem
from relvec.evidence.mode import (
    Mode,
    coupled,
    posterior_at_mode,
    predictor_variances,
)
from relvec.evidence.moments import spent
from relvec.evidence.updates import MacKay, Update, informed
from relvec.likelihoods import Likelihood, refitted
from relvec.parameters import check_choice, check_count, check_fraction
from relvec.precision import LEAST_PRIOR_SHARE, SLACK
from relvec.typing import AnyArray, Array, Indices


class NoiseRows(Protocol):
    """A weighting of rows for the estimate of the noise.

    The residual of the model has the mean square σ²(N − Σγ)/N over all rows, and over
    rows drawn by chance as well: so their squares, scaled to as many as there are in
    all, take the place of ‖t − Φμ‖² and every update stays as it is. The rows that
    functions are centred on are no such sample: they are explained better than others.
    """

    def weight(self, problem: Problem, active: Indices) -> Array:
        """(N,) in the place of the sample weights, with the same sum."""


class AllRows:
    """As they count for everything else."""

    def weight(self, problem: Problem, active: Indices) -> Array:
        return problem.sample_weight


@dataclass(frozen=True)
class Drawn:
    """Some rows, always the same."""

    rows: Indices

    def weight(self, problem: Problem, active: Indices) -> Array:
        return _scaled_rows(problem.sample_weight, self.rows)


class AtCentres:
    """Those that functions in the model are centred on; all if there is none."""

    def weight(self, problem: Problem, active: Indices) -> Array:
        assert problem.centre_rows is not None
        rows = problem.centre_rows[active]
        found = np.unique(rows[rows >= 0])
        weight = problem.sample_weight
        return _scaled_rows(weight, found) if len(found) else weight


def check_noise_from(value: Any) -> None:
    """Refuse what is no word, no number of rows and no share of them."""
    if isinstance(value, str):
        check_choice("noise_from", value, ("all", "active"))
    elif isinstance(value, float):
        check_fraction("noise_from", value)
    else:
        check_count("noise_from", value)


def noise_rows(value: Any, problem: Problem, seed: int) -> NoiseRows:
    """What such a value means for a problem."""
    if isinstance(value, str):
        if value == "active" and problem.centre_rows is None:
            raise ValueError(
                "noise_from='active' looks at the rows that functions are centred on, "
                "and here they are centred on none: set it to 'all', to a number of "
                "rows or to a share of them"
            )
        return AtCentres() if value == "active" else AllRows()
    n_rows = len(problem.sample_weight)
    count = int(np.ceil(value * n_rows)) if isinstance(value, float) else int(value)
    if count >= n_rows:
        return AllRows()
    return Drawn(np.sort(generator(seed).permutation(n_rows)[:count]))


def _scaled_rows(weight: Array, rows: Indices) -> Array:
    """Of some rows alone, with the sum of all."""
    some = np.zeros_like(weight)
    some[rows] = weight[rows]
    return some * (weight.sum() / some.sum())


# By which η is moved: half the digits of a difference are left of what ε^(1/3) has.
_MOVED = float(np.finfo(float).eps ** (1 / 3))


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

    update: Update = field(default_factory=MacKay)
    tol: float = 1e-3
    noise_interval: int = 1  # steps from one estimate of the noise to the next
    noise_rows: NoiseRows = field(default_factory=AllRows)  # it is estimated from
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
        least = LEAST_PRIOR_SHARE * informed(posterior)
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

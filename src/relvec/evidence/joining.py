"""Many functions at once: those that would gain with less noise join, the idle leave.

Solves   max over α (and the noise) of the log evidence (7) of a Gaussian model, roughly
Given    columns few enough that inner products of all pairs of them are held (Problem)
By       rounds: functions that would gain if there were less noise join together, each
         at the α that is best for it alone; a few of Newton's steps on all α and the
         noise, at its true level, let those leave that do not pay beside the others
Until    a round gains less than ``tol`` nats for each observation

A round is a few factorisations however many functions it moves, where a pool takes a
step for each. What functions still missing will explain looks like noise: with less of
it those are seen that are worth something beside each other.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.evidence.base import Problem, interpolates, started
from relvec.evidence.moments import Moments, combined_by_output
from relvec.evidence.newton import Ascent, ascend
from relvec.evidence.noise_units import (
    in_noise_units,
    log_density_of_unit,
    log_noise,
    noise_ceiling,
    tempered,
)
from relvec.evidence.rounds import Rounds, likeness
from relvec.evidence.selection import Proposals, proposals
from relvec.evidence.statistics import Projections, Statistics
from relvec.evidence.views import moments_of, observed
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.linalg import solve_lower
from relvec.posterior import Posterior
from relvec.precision import (
    COPY,
    DIFFERENCE_LIMIT,
    LEAST_PRIOR_SHARE,
    dependent_share,
)
from relvec.typing import Array, Indices

# By which the noise precision is multiplied when functions are chosen, an inverse
# temperature. With 1 rounds end early, at models a fifth smaller; 2.5 to 8 are alike on
# kin8nm, and pumadyn_8nm likes 8.
_COLD = 8.0
# Nats that a function has to gain then to be looked at, for each output; not varied.
_PROMISE = 0.5
# Of Newton's method, in a round. With twice as many, models are no better after as many
# rounds, which take longer.
_STEPS, _NEWTON_TOL = 2, 0.1
# With the noise held low: rounds, and steps when it is released.
_TEMPERED_ROUNDS, _RELEASE_STEPS = 3, 12
_MOST_TEMPERED = 256  # functions of a model for which that takes no longer than a view


@dataclass(frozen=True)
class JoinedModel:
    """Functions of a problem with their α and noise, in Gram form."""

    problem: Problem
    active: Indices
    ascent: Ascent
    digits: bool = True  # whether Gram matrices have enough of them to go on

    @property
    def likelihood(self) -> Likelihood:
        begun = self.problem.likelihood
        return begun.with_parameters(log_noise(begun, self.ascent.noise_precision))

    @property
    def log_evidence(self) -> float:
        unit = self.problem.likelihood, self.ascent.moments.count
        return self.ascent.solution.log_evidence + log_density_of_unit(*unit)

    @property
    def log_hyperprior(self) -> float:
        return 0.0

    @property
    def prior_precision(self) -> Array:
        return self.ascent.prior_precision

    @property
    def mean(self) -> Array:
        return self.ascent.solution.mean

    @property
    def effective_parameters(self) -> Array:
        shrunk = self.ascent.solution.shrinkage.diagonal(axis1=1, axis2=2)
        return np.broadcast_to(np.sum(1 - shrunk, axis=-1), len(self.mean))

    @property
    def observations(self) -> PseudoObservations:
        part = self.problem
        return self.likelihood.pseudo_observations(part.y, part.y, part.sample_weight)

    @property
    def log_determinant(self) -> float:
        at = self.active, self.prior_precision, self.mean
        return Posterior(*at, self.ascent.solution.factor).log_determinant


@dataclass(frozen=True)
class JoiningState:
    """A model beside inner products of all columns, and whether it is as it stays."""

    model: JoinedModel
    moments: Moments
    began: float  # its evidence before the first round
    cold: float  # inverse temperature at which functions are chosen
    steps: int = 0
    over: bool = False


@dataclass(frozen=True)
class Joining:
    """Settings of the search."""

    rounds: Rounds = field(default_factory=Rounds)
    tol: float = 1e-3  # nats for each observation
    # The same, of a round on average: with less the noise is held low for some more.
    enough: float = 0.0
    cold: float = _COLD  # inverse temperature at which functions are chosen

    def init(self, problem: Problem) -> JoiningState:
        moments = moments_of(problem)
        try:
            found = _ascended(problem, moments, *started(problem), _noise(problem))
        except LinAlgError:
            # What a search begins with may be out of digits, as with hardly any noise.
            nothing = np.empty(0, dtype=np.intp), np.empty(0)
            found = _ascended(problem, moments, *nothing, _noise(problem))
        return JoiningState(found, moments, found.log_evidence, self.cold)

    def converged(self, problem: Problem, state: JoiningState) -> bool:
        return state.over or interpolates(problem, state.model)

    def step(self, problem: Problem, state: JoiningState) -> JoiningState:
        model = state.model
        if not model.digits:
            return replace(state, over=True)
        found = self._joined(problem, state)
        if not found.digits:
            return replace(state, model=replace(model, digits=False), over=True)
        gain = found.log_evidence - model.log_evidence
        if gain > 0:
            state = replace(state, model=found, steps=state.steps + 1)
        if gain >= self.tol * problem.n_observations:
            return state
        return self._ended(problem, state)

    def _ended(self, problem: Problem, state: JoiningState) -> JoiningState:
        """No round gains any more; perhaps some do with the noise held low."""
        gain = state.model.log_evidence - state.began
        enough = self.enough * problem.n_observations * max(1, state.steps)
        if gain < enough and len(state.model.active) <= _MOST_TEMPERED:
            state = self._tempered(problem, state)
        return replace(state, over=True)

    def _tempered(self, problem: Problem, state: JoiningState) -> JoiningState:
        """After some rounds with less noise, and its release.

        A search that takes functions for noise estimates too much of it and takes
        others for noise as well. The state as it was if the evidence is no higher.
        """
        model = state.model
        known = problem.likelihood.parameter_ceiling is None
        before = model.ascent.noise_precision
        noise = _colder(problem, before, self.cold)
        trial = replace(model, ascent=replace(model.ascent, noise_precision=noise))
        for _ in range(_TEMPERED_ROUNDS):
            at = replace(state, model=trial, cold=1.0)
            trial = self._joined(problem, at, held=True)
            if not trial.digits or interpolates(problem, trial):
                return state
        found = trial.active, trial.prior_precision, before if known else noise
        trial = _ascended(problem, state.moments, *found, most=_RELEASE_STEPS)
        if not trial.digits or not trial.log_evidence > model.log_evidence:
            return state
        return replace(state, model=trial, steps=state.steps + _TEMPERED_ROUNDS)

    def _joined(
        self, problem: Problem, state: JoiningState, *, held: bool = False
    ) -> JoinedModel:
        """The model after a round, perhaps with the noise held where it is."""
        entrants, precision = self._entrants(problem, state)
        active = np.concatenate([state.model.active, entrants])
        alpha = np.concatenate([state.model.prior_precision, precision])
        at = active, alpha, state.model.ascent.noise_precision
        return _ascended(problem, state.moments, *at, held=held)

    def _entrants(self, problem: Problem, state: JoiningState) -> tuple[Indices, Array]:
        """Functions that would gain with less noise and are unlike; their best α."""
        moments, active = state.moments, state.model.active
        alpha, noise = state.model.prior_precision, state.model.ascent.noise_precision
        norms = np.diagonal(moments.gram, axis1=1, axis2=2)
        products = Projections(norms, moments.target, moments.target_squares)
        model, cross = (active, alpha, noise), moments.gram[:, active]
        beside = beside_model(problem, model, cross, products, state.cold)
        promise = _PROMISE * problem.n_sharing
        short = self.rounds.short_list(beside.options, promise, turn=state.steps)
        # Columns have the norm one.
        short = short[~np.any(np.abs(cross[:, :, short]) > COPY, axis=(0, 1))]
        prior = moments.gram[:, short[:, None], short]
        alike = likeness(beside.overlaps(prior, short))
        chosen = short[self.rounds.unlike(alike)]
        return chosen, beside.options.precision[chosen]


@dataclass(frozen=True)
class Beside:
    """All functions beside a model with less noise than it has."""

    noise_precision: Array  # (K or 1,)
    whitened: Array  # (K or 1, n, M) βL⁻¹A^(-1/2)ΦₐᵀWΦ: T is βΦᵀWΦ less its square
    options: Proposals  # of functions out of the model

    def overlaps(self, prior: Array, chosen: Indices) -> Array:
        """T (K or 1, n, n) of some functions with inner products ``prior``."""
        own = self.whitened[:, :, chosen]
        beta = self.noise_precision[:, None, None]
        return np.asarray(beta * prior - np.swapaxes(own, 1, 2) @ own)


def beside_model(
    problem: Problem,
    model: tuple[Indices, Array, Array],
    cross: Array,
    products: Projections,
    cold: float = _COLD,
) -> Beside:
    """Given a model's columns, α and noise, and products of its columns with all."""
    active, alpha, noise = model
    count = float(problem.sample_weight.sum())
    colder = _colder(problem, noise, cold)
    products, colder = _beside_noise(problem, products, colder)
    target, squares = products.target[:, active], products.target_squares
    inside = Moments(cross[:, :, active], target, squares, count)
    solution, beta = inside.solved(alpha, colder), colder[:, None]
    root = 1 / np.sqrt(alpha)[:, None]
    whitened = beta[:, :, None] * solve_lower(solution.factor, root * cross)
    explained = combined_by_output(solution.mean, cross)
    norms = beta * products.squared_norms
    stats = Statistics(
        active=np.empty(0, dtype=np.intp),
        prior_precision=np.empty(0),
        mean=np.empty((len(explained), 0)),
        covariance=np.empty((len(beta), 0, 0)),
        sparsity_in=norms - np.einsum("knm,knm->km", whitened, whitened),  # eq. 24
        quality_in=beta * (products.target - explained),  # eq. 25
        least_sparsity=dependent_share(solution.condition) * norms,
        noise_precision=colder,
    )
    options = proposals(stats, problem.least_precision)
    options.gain[active] = 0.0
    options.current[active] = alpha
    return Beside(colder, whitened, options)


def _beside_noise(
    problem: Problem, products: Projections, noise_precision: Array
) -> tuple[Projections, Array]:
    """As they are, or with targets in units of this noise."""
    unit = problem.likelihood.unit
    if unit is None:
        return products, noise_precision
    measured = replace(products, unit=unit)
    return measured.in_unit(unit / np.sqrt(noise_precision)), np.ones(1)


def gaining(problem: Problem) -> tuple[Indices, Moments]:
    """Columns of the model that a problem begins with or that gain beside it.

    With their inner products, of which those with the model are at hand by then.
    """
    weight = problem.sample_weight[:, None]
    active, alpha = started(problem)
    data = observed(problem).target
    cross, norms, target = problem.design.beside(active, weight, data)
    squares = np.sum(weight * data**2, axis=0)
    products = Projections(norms, target, squares)
    model = active, alpha, _noise(problem)
    options = beside_model(problem, model, cross, products).options
    inside = np.isfinite(options.current)
    chosen = inside | (options.gain > _PROMISE * problem.n_sharing)
    if problem.bias is not None:
        chosen[problem.bias] = True
    columns = np.flatnonzero(chosen)
    known, fresh = np.flatnonzero(inside[columns]), np.flatnonzero(~inside[columns])
    gram = np.empty((1, len(columns), len(columns)))
    gram[:, known] = cross[:, :, columns]
    gram[:, :, known] = np.swapaxes(gram[:, known], 1, 2)
    gram[:, fresh[:, None], fresh] = problem.design.gram(columns[fresh], weight)
    return columns, Moments(gram, target[:, columns], squares, float(weight.sum()))


def _noise(problem: Problem) -> Array:
    """Its precision to begin with."""
    return observed(problem).noise_precision


def _colder(problem: Problem, noise_precision: Array, cold: float) -> Array:
    """The precision of so many times less noise, within what it may be."""
    ceiling = noise_ceiling(problem.likelihood)
    colder = tempered(cold, problem.n_sharing) * noise_precision
    return colder if ceiling is None else np.minimum(colder, ceiling)


def _ascended(
    problem: Problem,
    moments: Moments,
    active: Indices,
    alpha: Array,
    noise: Array,
    *,
    most: int = _STEPS,
    held: bool = False,
) -> JoinedModel:
    """After a few of Newton's steps, the noise perhaps held where it is."""
    least = np.full(len(active), LEAST_PRIOR_SHARE * float(noise.max()))
    least = problem.allowed(active, least)
    ascent = ascend(
        in_noise_units(moments.subset(active), problem.likelihood),
        alpha,
        noise,
        ceiling=None if held else noise_ceiling(problem.likelihood),
        tol=_NEWTON_TOL,
        most=most,
        least=least,
        damped=True,
    )
    digits = ascent.solution.condition < DIFFERENCE_LIMIT
    return JoinedModel(problem, active[ascent.chosen], ascent, digits)

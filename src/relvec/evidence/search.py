"""The search: batches of functions, and Newton's method on all hyperparameters.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       rounds. A pass over the dictionary tells what each function would gain beside
         the model. The best that are unlike each other join it as a batch, each at the
         α that is best for it alone. A few damped Newton steps on all log α and the
         noise follow, and functions leave whose best α is infinite (``newton``).

         annealing  some rounds with less noise, which is held, and then its release:
                    what the functions still missing will explain looks like noise
         polishing  rounds at the true noise, to the end

Until    no batch, and in the end no single function, gains more than ``tol`` nats for
         each observation

A likelihood that is not Gaussian is searched in its quadratic expansion at the mode, as
published: the curvature is held while α moves. A round counts only if the evidence is
higher at the new mode.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from relvec.chance import generator
from relvec.evidence.base import Model, Problem, interpolates, started
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.newton import Ascent, ascend
from relvec.evidence.noise_units import (
    log_density_of_unit,
    log_noise,
    noise_ceiling,
    tempered,
)
from relvec.evidence.products import Gram, Products, best_additions
from relvec.evidence.selection import addition_gain, best_precision
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.posterior import Posterior
from relvec.precision import COPY, LEAST_PRIOR_SHARE, TINY
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class SearchSettings:
    """The constants of the search.

    They were chosen on 10 to 20 draws of the plane and of two mixtures with 50 to 1000
    rows, and on splits 15 and 16 of five small tables (docs/theory/search.md).
    """

    batch: int = 32  # functions that may join in a round
    # |cosine| that two functions of a batch stay below, given the model. Wide
    # functions are all alike and needed together: where few are unlike, more alike ones
    # join.
    likeness: tuple[float, ...] = (0.7, 0.95, 0.999)
    few: int = 8
    short_list: int = 8  # candidates looked at for each function of a batch
    # Annealing: by which the noise precision is multiplied, in turn until functions
    # join, or the weights of rows where there is no noise; rounds until its release;
    # trials at most; nats that a function has to promise; share of the observations
    # that weights may spend.
    temperatures: tuple[float, ...] = (4.0, 16.0, 64.0, 256.0)
    annealing_rounds: int = 3
    most_trials: int = 20
    # A model of so few functions may be all that gains one at a time, as with wide
    # functions: a trial in vain is followed by one with less noise.
    small: int = 32
    # Wide functions around centred targets gain nothing alone. A trial from an empty
    # model begins with one that has a broad prior: α is this share of s, or the share
    # squared in the second such trial, and so on.
    broader: float = 1e-3
    most_seeded: int = 5
    promise: float = 0.5
    most_spent: float = 0.5
    # Nats for each observation, in units of tol. A trial that gains less ends
    # annealing, a round that gains less makes the next batch smaller, and a function
    # that promises less is not looked at in the end.
    annealing_gain: float = 30.0
    polish_gain: float = 3.0
    polish_promise: float = 0.1
    # Newton steps while functions are still joining and later, and the change of log α
    # and log β at which they end before.
    growth_steps: int = 2
    polish_steps: int = 10
    closing_steps: int = 50
    # Actions of each kind that are refitted in the end, where an expansion may have
    # missed what they gain; and nats by which a deletion may be underrated.
    checked: int = 8
    doubt: float = 0.5
    newton_tol: float = 0.1


@dataclass(frozen=True)
class SearchModel:
    """The model that a search has come to."""

    likelihood: Likelihood
    observations: PseudoObservations
    posterior: Posterior
    log_evidence: float
    noise_precision: Array  # (K or 1,) beside ``products``
    products: Products
    log_hyperprior: float = 0.0

    @property
    def active(self) -> Indices:
        return self.posterior.active

    @property
    def prior_precision(self) -> Array:
        return self.posterior.prior_precision

    @property
    def mean(self) -> Array:
        return self.posterior.mean

    @property
    def effective_parameters(self) -> Array:
        return self.posterior.effective_parameters

    @property
    def log_determinant(self) -> float:
        return self.posterior.log_determinant


@dataclass(frozen=True)
class _Newton:
    """How far Newton's method goes after a batch has joined."""

    steps: int
    tol: float
    noise_held: bool = False
    rough: bool = True  # whether modes are found to a thousandth of a nat only
    price: float = 0.0  # nats that a function has to be worth


@dataclass(frozen=True)
class SearchState:
    """A model, and where its search stands."""

    model: SearchModel
    steps: int = 0
    phase: str = "annealing"  # "polishing", "closing", "checking", "over"
    batch: int = 1  # functions that may join in the next round
    trials: int = 0  # of annealing
    failures: int = 0  # of them in succession, the last ones


@dataclass(frozen=True)
class BatchSearch:
    """The search with what a solver is told beside the problem."""

    tol: float = 1e-4
    selection: str = "gain"  # "random", "cyclic"
    start: int | None = None  # a column to begin with
    price: float = 0.0  # nats that a function has to be worth in the end
    seed: int = 0
    checks: bool = True  # whether single actions are looked at before it is over
    settings: SearchSettings = field(default_factory=SearchSettings)

    def init(self, problem: Problem) -> SearchState:
        active, alpha = started(problem)
        start = np.zeros((problem.y.shape[1], len(active)))
        if problem.start_weights is not None:
            norms = problem.design.column_norms[active]
            start = problem.start_weights[:, active] * norms
        model = _model_at_mode(problem, problem.likelihood, active, alpha, start)
        return SearchState(model, batch=self.settings.batch)

    def resumed(self, problem: Problem, model: Model, steps: int) -> SearchState:
        """The state of a search that goes on from another's model."""
        at = model.active, model.prior_precision, model.mean
        found = _model_at_mode(problem, model.likelihood, *at)
        return SearchState(found, steps, batch=self.settings.batch)

    def converged(self, problem: Problem, state: SearchState) -> bool:
        return state.phase == "over" or interpolates(problem, state.model)

    def step(self, problem: Problem, state: SearchState) -> SearchState:
        """A trial of annealing or a round of polishing, and what its gain leads to."""
        joined = 0
        if state.phase == "annealing":
            found = self._annealed(problem, state)
        elif state.phase == "polishing":
            found, joined = self._polished(problem, state)
        elif state.phase == "closing":
            found = self._closed(problem, state)
        else:
            found = self._checked(problem, state)
        gain = -np.inf if found is None else self._gain(state, found)
        if found is not None and gain > 0:
            state = replace(state, model=found, steps=state.steps + 1)
        return self._following(problem, state, gain, joined)

    def _gain(self, state: SearchState, found: SearchModel) -> float:
        """Nats, less the price of functions; none of an evidence that is no number."""
        before = state.model
        gain = found.log_evidence - before.log_evidence
        if state.phase != "annealing":
            gain -= self.price * (len(found.active) - len(before.active))
        return gain if np.isfinite(gain) else -np.inf

    def _following(
        self, problem: Problem, state: SearchState, gain: float, joined: int
    ) -> SearchState:
        """The state after a step of so much gain, by a batch of so many functions."""
        settings, nats = self.settings, self.tol * problem.n_observations
        if state.phase == "annealing":
            trials = state.trials + 1
            found = gain > settings.annealing_gain * nats
            failures = 0 if found else state.failures + 1
            size = len(state.model.active)
            small = problem.likelihood.conjugate and size <= settings.small
            most = len(settings.temperatures) if small else 1
            most = settings.most_seeded + 1 if size == 0 else most
            again = failures < most and trials < settings.most_trials
            phase = "annealing" if again else "polishing"
            return replace(state, phase=phase, trials=trials, failures=failures)
        if state.phase == "closing":
            more = gain > settings.polish_promise * nats
            after = "checking" if self.checks else "over"
            return replace(state, phase="closing" if more else after)
        if state.phase == "checking":
            # An action that gains may be the first of several.
            again = gain > 0
            return replace(state, phase="polishing" if again else "over", batch=1)
        enough = settings.polish_gain if state.batch > 1 else 1.0
        if gain > enough * nats:
            return replace(state, batch=min(settings.batch, 2 * state.batch))
        if state.batch == 1 or joined == 0:
            return replace(state, phase="closing")
        return replace(state, batch=max(1, min(state.batch, joined) // 4))

    def _annealed(self, problem: Problem, state: SearchState) -> SearchModel | None:
        """The model after some rounds with less noise, and its release."""
        settings, model = self.settings, state.model
        if len(model.active) == 0 and state.failures:
            model = self._seeded(problem, model, settings.broader**state.failures)
        most = settings.most_spent * problem.sample_weight.sum()
        promise = settings.promise * problem.n_sharing
        few = _Newton(settings.growth_steps, settings.newton_tol, noise_held=True)
        for temperature in (
            settings.temperatures[state.failures :] or settings.temperatures[-1:]
        ):
            cold, trial = _cooled(problem, model, temperature)
            joining = self._batch(cold, state, trial, promise)
            if len(joining[0]) or cold is not problem:
                break
        for number in range(settings.annealing_rounds):
            if number:
                joining = self._batch(cold, state, trial, promise)
            found = _joined(cold, trial, joining, few)
            if found is None or np.max(found.effective_parameters, initial=0.0) > most:
                return None
            trial = found
        if cold is not problem:
            at = trial.active, trial.prior_precision, trial.mean
            trial = _model_at_mode(problem, model.likelihood, *at)
        elif noise_ceiling(problem.likelihood) is None:
            trial = replace(trial, noise_precision=model.noise_precision)
        newton = _Newton(settings.polish_steps, settings.newton_tol)
        return _joined(problem, trial, _NOTHING, newton)

    def _polished(
        self, problem: Problem, state: SearchState
    ) -> tuple[SearchModel | None, int]:
        """The model after a batch has joined, and the size of the batch."""
        settings, model = self.settings, state.model
        promise = settings.polish_promise * self.tol * problem.n_observations
        joining = self._batch(problem, state, model, promise + self.price)
        newton = _Newton(settings.polish_steps, settings.newton_tol, price=self.price)
        return _joined(problem, model, joining, newton), len(joining[0])

    def settled(self, problem: Problem, state: SearchState) -> SearchState:
        """The same functions after some of Newton's steps."""
        newton = _Newton(self.settings.polish_steps, self.settings.newton_tol)
        found = _joined(problem, state.model, _NOTHING, newton)
        if found is None or not self._gain(state, found) > 0:
            return state
        return replace(state, model=found)

    def _seeded(
        self, problem: Problem, model: SearchModel, share: float
    ) -> SearchModel:
        """The empty model with the best function there is, of a broad prior."""
        at = model.active, model.prior_precision, model.noise_precision
        stats = model.products.statistics(*at)
        S, Q = stats.sparsity, stats.quality
        usable = np.all(stats.least_sparsity < S, axis=0)
        ratio = np.sum(Q**2 / np.where(usable, S, np.inf), axis=0)
        seed = self.start if self.start is not None else problem.bias
        active = np.array([int(ratio.argmax()) if seed is None else seed])
        alpha = problem.allowed(active, share * S[:, active].mean(axis=0))
        mean = np.zeros((len(model.mean), 1))
        one = np.ones((len(model.posterior.factor), 1, 1))
        seeded = Posterior(active, alpha, mean, one)
        products = model.products.suited(1 / share)
        return replace(model, posterior=seeded, products=products)

    def _closed(self, problem: Problem, state: SearchState) -> SearchModel | None:
        """The model with all hyperparameters at their maximum, no function joining."""
        steps, price = self.settings.closing_steps, self.price
        newton = _Newton(steps, self.tol, rough=False, price=price)
        return _joined(problem, state.model, _NOTHING, newton)

    def _checked(self, problem: Problem, state: SearchState) -> SearchModel | None:
        """The best single action there is, of an expansion with its mode refitted.

        None where no action gains more than ``tol`` nats for each observation.
        """
        nats = self.tol * problem.n_observations
        if problem.likelihood.conjugate:
            model, few = state.model, self.settings.few
            newton = _Newton(self.settings.polish_steps, self.settings.newton_tol)
            joining = self._batch(problem, replace(state, batch=1), model, nats)
            if len(joining[0]):
                return _joined(problem, model, joining, newton)
            if not 0 < len(model.active) <= few:
                return None
            # With all of its noise released, the empty model may be better than a few
            # functions together.
            nothing = replace(model, posterior=_empty(model.posterior))
            return _joined(problem, nothing, _NOTHING, newton)
        model, best = state.model, None
        here = model.active, model.prior_precision, model.mean
        before = posterior_at_mode(problem, model.likelihood, *here).log_evidence
        least = before + nats
        for at in self._single_actions(problem, model, nats):
            mode = posterior_at_mode(problem, model.likelihood, *at)
            if mode.log_evidence > least:
                best, least = at, mode.log_evidence
        if best is None:
            return None
        return _model_at_mode(problem, model.likelihood, *best, rough=False)

    def _single_actions(
        self, problem: Problem, model: SearchModel, nats: float
    ) -> Iterator[tuple[Indices, Array, Array]]:
        """Functions, α and weights after single actions that may gain so much."""
        settings, active = self.settings, model.active
        alpha, mean = model.prior_precision, model.mean
        variances = model.posterior.variances
        loss = 0.5 * (mean**2 / variances + np.log(alpha * variances)).sum(axis=0)
        for place in _best(-loss, settings.checked, -settings.doubt - nats):
            stay = np.arange(len(active)) != place
            yield active[stay], alpha[stay], mean[:, stay]
        s = np.maximum(1 - alpha * variances, TINY) / variances
        q = mean / variances
        target = problem.allowed(active, best_precision(s, q))
        gain = addition_gain(target, s, q) - addition_gain(alpha, s, q)
        gain[np.isinf(target)] = 0.0
        for place in _best(gain, settings.checked, 0.0):
            moved = np.arange(len(active)) == place
            yield active, np.where(moved, target, alpha), mean
        stats = model.products.statistics(active, alpha, model.noise_precision)
        precision, gain = best_additions(problem, stats)
        gain[active] = 0.0
        for index in _best(gain, settings.checked, 0.0):
            weights = np.column_stack([mean, np.zeros(len(mean))])
            yield np.append(active, index), np.append(alpha, precision[index]), weights

    def _batch(
        self,
        problem: Problem,
        state: SearchState,
        model: SearchModel,
        promise: float,
    ) -> tuple[Indices, Array]:
        """Functions that gain and are unlike each other given the model; their α."""
        settings, products = self.settings, model.products
        at = model.active, model.prior_precision, model.noise_precision
        stats = products.statistics(*at)
        precision, gain = best_additions(problem, stats)
        gain[model.active] = 0.0
        if state.steps == 0 and self.start is not None and gain[self.start] > promise:
            batch = np.array([self.start])
            return batch, precision[batch]
        short = self._short_list(gain, promise, state)
        if len(model.active) and len(short):
            copies = products.cosines(short, model.active) > COPY
            short = short[~copies.any(axis=1)]
        overlaps = products.overlaps(stats, short)
        for likeness in settings.likeness:
            unlike = _unlike(overlaps, state.batch, likeness)
            if len(unlike) >= min(settings.few, state.batch):
                break
        return short[unlike], precision[short[unlike]]

    def _short_list(self, gain: Array, promise: float, state: SearchState) -> Indices:
        """Functions that promise enough, in the order in which they may join."""
        gaining = np.flatnonzero(gain > promise)
        if self.selection == "random":
            gaining = generator(self.seed, state.steps).permutation(gaining)
        elif self.selection == "gain":
            gaining = gaining[np.argsort(-gain[gaining], kind="stable")]
        return gaining[: self.settings.short_list * state.batch]


_NONE: Indices = np.empty(0, dtype=np.intp)
_NOTHING: tuple[Indices, Array] = (_NONE, np.empty(0))


def _joined(
    problem: Problem,
    model: SearchModel,
    batch: tuple[Indices, Array],
    newton: _Newton,
) -> SearchModel | None:
    """The model after functions with their α have joined and Newton has moved all.

    None where there are no digits to tell.
    """
    active = np.concatenate([model.active, batch[0]])
    alpha = np.concatenate([model.prior_precision, batch[1]])
    products = model.products
    at = active, alpha, model.noise_precision
    ascent = _ascended(problem, products, at, newton)
    finer = products.finer(ascent)
    if finer is not None:
        products, ascent = finer, _ascended(problem, finer, at, newton)
    if ascent is None:
        return None
    active, alpha = active[ascent.chosen], ascent.prior_precision
    solution, beta = ascent.solution, ascent.noise_precision
    if not problem.likelihood.conjugate:
        at = active, alpha, solution.mean
        return _model_at_mode(problem, model.likelihood, *at, rough=newton.rough)
    noise = log_noise(problem.likelihood, beta)
    unit = log_density_of_unit(problem.likelihood, products.count)
    return replace(
        model,
        likelihood=problem.likelihood.with_parameters(noise),
        posterior=Posterior(active, alpha, solution.mean, solution.factor),
        log_evidence=solution.log_evidence + unit,
        noise_precision=beta,
        products=products.suited(solution.condition),
    )


def _ascended(
    problem: Problem,
    products: Products,
    at: tuple[Indices, Array, Array],
    newton: _Newton,
) -> Ascent | None:
    """Newton's method from functions, α and β; None where there are no digits."""
    active, prior_precision, noise_precision = at
    least = LEAST_PRIOR_SHARE * float(noise_precision.max())
    ceiling = None if newton.noise_held else noise_ceiling(problem.likelihood)
    try:
        return ascend(
            products.moments(active),
            prior_precision,
            noise_precision,
            ceiling=ceiling,
            tol=newton.tol,
            most=newton.steps,
            least=problem.allowed(active, np.full(len(active), least)),
            price=newton.price,
        )
    except np.linalg.LinAlgError:
        return None


def _empty(posterior: Posterior) -> Posterior:
    """Of no functions."""
    mean, factor = posterior.mean[:, :0], posterior.factor[:, :0, :0]
    return Posterior(_NONE, np.empty(0), mean, factor)


def _cooled(
    problem: Problem, model: SearchModel, temperature: float
) -> tuple[Problem, SearchModel]:
    """The problem with less noise, and the same model of it.

    Where there is no noise, each observation counts for several instead.
    """
    if problem.likelihood.conjugate:
        low = tempered(temperature, problem.n_sharing) * model.noise_precision
        ceiling = noise_ceiling(problem.likelihood)
        low = low if ceiling is None else np.minimum(low, ceiling)
        return problem, replace(model, noise_precision=low)
    cold = replace(problem, sample_weight=temperature * problem.sample_weight)
    alpha = cold.allowed(model.active, model.prior_precision)
    at = model.active, alpha, model.mean
    return cold, _model_at_mode(cold, model.likelihood, *at)


def _best(gain: Array, most: int, least: float) -> Indices:
    """Places of the largest gains, in turn, that exceed the least."""
    order = np.argsort(-gain, kind="stable")[:most]
    return order[gain[order] > least]


def _unlike(overlaps: Array, most: int, likeness: float) -> Indices:
    """Places of functions, in turn, that are unlike all chosen before."""
    size = np.sqrt(np.maximum(np.diagonal(overlaps, axis1=1, axis2=2), TINY))
    limits = likeness * (size[:, :, None] * size[:, None, :])
    unlike = np.all(np.abs(overlaps) < limits, axis=0)
    chosen: list[int] = []
    free = np.ones(len(unlike), dtype=bool)
    for place in range(len(unlike)):
        if free[place]:
            chosen.append(place)
            if len(chosen) == most:
                break
            free &= unlike[place]
    return np.array(chosen, dtype=np.intp)


def _model_at_mode(
    problem: Problem,
    likelihood: Likelihood,
    active: Indices,
    prior_precision: Array,
    start: Array,
    *,
    rough: bool = True,
) -> SearchModel:
    """The model of these functions and α, its mode found from starting weights."""
    at = active, prior_precision, start
    mode = posterior_at_mode(problem, likelihood, *at, rough=rough)
    products: Products = Gram(problem, mode.observations)
    return SearchModel(
        likelihood=mode.likelihood,
        observations=mode.observations,
        posterior=mode.posterior,
        log_evidence=mode.log_evidence,
        noise_precision=mode.observations.noise_precision,
        products=products.suited(mode.posterior.condition),
    )

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

A likelihood that is not Gaussian is searched in its quadratic expansion at the mode.
Annealing stays in one expansion. Then α goes from mode to mode: by some of Newton's
steps in an expansion, whose curvature is held, as published, to the next mode. A round
counts only if the evidence is higher at the last of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from relvec.chance import generator
from relvec.evidence.base import Model, Problem, interpolates
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.evidence.newton import (
    Ascent,
    ColumnMoments,
    Moments,
    ascend,
    combined_by_output,
    log_density_of_unit,
    log_noise,
    noise_ceiling,
    tempered,
)
from relvec.evidence.products import (
    Gram,
    Orthonormal,
    Products,
    addition_gain,
    best_additions,
    best_precision,
    falling,
)
from relvec.likelihoods import Likelihood
from relvec.posterior import Posterior
from relvec.precision import COPY, LEAST_PRIOR_SHARE, SLACK, TINY
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
    # Annealing: by which the noise precision is multiplied, at first and after a trial
    # in vain, or the curvature of rows in an expansion; rounds until its release;
    # trials at most; nats that a function has to promise; share of the observations
    # that weights may spend.
    temperatures: tuple[float, ...] = (8.0, 64.0)
    expansion_temperature: float = 4.0
    annealing_rounds: int = 3
    most_trials: int = 20
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
    growth_steps: int = 1
    polish_steps: int = 10
    closing_steps: int = 50
    closing_share: float = 0.01  # of tol, in log α: one step more than that of tol
    # Newton steps from one mode to the next, where a likelihood is expanded there; and
    # modes, and the change of log α, at which closing ends.
    held_steps: int = 2
    modes: int = 3
    closing_modes: int = 8
    closing_tol: float = 0.01
    # Actions of each kind that are refitted in the end, where an expansion may have
    # missed what they gain; and nats by which a deletion may be underrated.
    checked: int = 8
    doubt: float = 0.5
    patience: int = 3  # of them in succession that do not gain, in turn
    roughness: float = 0.05  # nats by which an evidence at a rough mode may be wrong
    newton_tol: float = 0.1


@dataclass(frozen=True)
class SearchModel(Model):
    """With what the rows say of all functions beside it."""

    noise_precision: Array  # (K or 1,) beside ``products``
    products: Products


@dataclass(frozen=True)
class _Newton:
    """How far Newton's method goes after a batch has joined."""

    steps: int
    tol: float
    modes: int = 1
    held: int = 1  # steps from one mode to the next
    noise_held: bool = False
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
        model = _model_at_mode(problem, problem.likelihood, *problem.initial)
        return SearchState(model, batch=self.settings.batch)

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
        if found is not None and isinstance(found.products, Orthonormal):
            found = _by_columns(problem, found)
        gain = -np.inf if found is None else self._gain(state, found)
        if found is not None and gain > 0 and not problem.likelihood.conjugate:
            # The mode was found roughly on the way there.
            at = found.active, found.prior_precision, found.mean
            found = _model_at_mode(problem, found.likelihood, *at)
            gain = self._gain(state, found)
        if found is not None and gain > 0:
            state = replace(state, model=found, steps=state.steps + 1)
        return self._following(problem, state, gain, joined)

    def _gain(self, state: SearchState, found: SearchModel) -> float:
        """Nats, less the price of functions; none of an evidence that is no number."""
        before = state.model
        gain = found.log_evidence - before.log_evidence
        if state.phase in {"closing", "checking"}:
            gain -= self.price * (len(found.active) - len(before.active))
        # What rounding may have made is none.
        return gain if gain > SLACK * abs(before.log_evidence) else -np.inf

    def _following(
        self, problem: Problem, state: SearchState, gain: float, joined: int
    ) -> SearchState:
        """The state after a step of so much gain, by a batch of so many functions."""
        settings, nats = self.settings, self.tol * problem.n_observations
        if state.phase == "annealing":
            trials = state.trials + 1
            found = gain > settings.annealing_gain * nats
            failures = 0 if found else state.failures + 1
            vain = len(settings.temperatures) if problem.likelihood.conjugate else 1
            most = vain if len(state.model.active) else settings.most_seeded + 1
            again = failures < most and trials < settings.most_trials
            phase = "annealing" if again else "polishing"
            return replace(state, phase=phase, trials=trials, failures=failures)
        if state.phase == "closing":
            again = gain > settings.polish_promise * nats
            after = "checking" if self.checks else "over"
            return replace(state, phase="closing" if again else after)
        if state.phase == "checking":
            # An action that gains may be the first of several. Polishing asks no price
            # and would bring back what closing has taken out.
            free = problem.likelihood.conjugate and not self.price
            after = "polishing" if free else "checking"
            return replace(state, phase=after if gain > 0 else "over", batch=1)
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
        trial = _cooled(problem, model, settings, state.failures)
        for _ in range(settings.annealing_rounds):
            joining = self._batch(problem, state, trial, promise)
            found = _joined(problem, trial, joining, few)
            if found is None or np.max(found.effective_parameters, initial=0.0) > most:
                break
            trial = found
        if noise_ceiling(problem.likelihood) is None:
            noise, evidence = model.noise_precision, model.log_evidence
            trial = replace(trial, noise_precision=noise, log_evidence=evidence)
        return _joined(problem, trial, _NOTHING, self._newton(self._least(problem)))

    def _polished(
        self, problem: Problem, state: SearchState
    ) -> tuple[SearchModel | None, int]:
        """The model after a batch has joined, and the size of the batch."""
        settings, model = self.settings, state.model
        promise = settings.polish_promise * self.tol * problem.n_observations
        joining = self._batch(problem, state, model, promise)
        newton = self._newton(self._least(problem))
        return _joined(problem, model, joining, newton), len(joining[0])

    def _newton(self, price: float) -> _Newton:
        """Newton's method while functions may still join."""
        settings = self.settings
        steps = settings.polish_steps, settings.newton_tol
        by_modes = settings.modes, settings.held_steps
        return _Newton(*steps, *by_modes, price=price)

    def _least(self, problem: Problem) -> float:
        """Nats that a function has to be worth to stay, without a price.

        Functions of classes that fade in Newton's steps would stay for nothing.
        """
        if problem.likelihood.conjugate:
            return 0.0
        return self.tol * problem.n_observations

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
        settings, worth = self.settings, max(self.price, self._least(problem))
        steps = settings.closing_steps, settings.closing_share * self.tol
        if not problem.likelihood.conjugate:
            steps = settings.closing_modes, settings.closing_tol
        held = settings.held_steps
        newton = _Newton(*steps, steps[0], held, price=worth)
        return _joined(problem, state.model, _NOTHING, newton)

    def _checked(self, problem: Problem, state: SearchState) -> SearchModel | None:
        """The best single action there is, of an expansion with its mode refitted.

        None where no action gains more than ``tol`` nats for each observation.
        """
        nats = self.tol * problem.n_observations
        if problem.likelihood.conjugate:
            model, few = state.model, self.settings.few
            newton, least = self._newton(self.price), nats + self.price
            joining = self._batch(problem, replace(state, batch=1), model, least)
            if len(joining[0]):
                return _joined(problem, model, joining, newton)
            if not 0 < len(model.active) <= few:
                return None
            # With all of its noise released, the empty model may be better than a few
            # functions together.
            nothing = replace(model, posterior=_empty(model.posterior))
            return _joined(problem, nothing, _NOTHING, newton)
        return self._refitted(problem, state.model, nats)

    def _refitted(
        self, problem: Problem, model: SearchModel, nats: float
    ) -> SearchModel | None:
        """The model after all single actions that gain so much, or the best of them."""

        def refit(actions: list[tuple[int, float]]) -> Mode:
            at = _after(model, actions)
            return posterior_at_mode(problem, model.likelihood, *at, rough=True)

        def worth(mode: Mode) -> float:
            return mode.log_evidence - self.price * len(mode.posterior.active)

        least = model.log_evidence - self.price * len(model.active) + nats
        gaining = []
        for actions in self._single_actions(problem, model, nats):
            in_vain = 0
            for action in actions:
                mode = refit([action])
                if abs(worth(mode) - least) < self.settings.roughness:
                    at = mode.active, mode.prior_precision, mode.mean
                    mode = posterior_at_mode(problem, mode.likelihood, *at)
                if worth(mode) > least:
                    gaining.append((action, mode))
                    in_vain = 0
                else:
                    in_vain += 1
                if in_vain == self.settings.patience:
                    break
        if not gaining:
            return None
        together = refit([action for action, _ in gaining])
        found = max([together, *(mode for _, mode in gaining)], key=worth)
        return _model_of(problem, found)

    def _single_actions(
        self, problem: Problem, model: SearchModel, nats: float
    ) -> Iterator[list[tuple[int, float]]]:
        """Functions, and the α to which they move, that may gain so much: by kind."""
        settings, active = self.settings, model.active
        alpha, mean = model.prior_precision, model.mean
        variances, promise = model.posterior.variances, settings.polish_promise * nats
        loss = 0.5 * (mean**2 / variances + np.log(alpha * variances)).sum(axis=0)
        leaving = _best(-loss, settings.checked, -settings.doubt - nats - self.price)
        yield [(index, np.inf) for index in active[leaving].tolist()]
        s = np.maximum(1 - alpha * variances, TINY) / variances
        q = mean / variances
        target = problem.allowed(active, best_precision(s, q))
        gain = addition_gain(target, s, q) - addition_gain(alpha, s, q)
        gain[np.isinf(target)] = 0.0
        places = _best(gain, settings.checked, promise)
        yield list(zip(active[places].tolist(), target[places], strict=True))
        stats = model.products.statistics(active, alpha, model.noise_precision)
        precision, gain = best_additions(stats, problem.least_precision)
        gain[active] = 0.0
        places = _best(gain, settings.checked, promise + self.price)
        yield list(zip(places.tolist(), precision[places], strict=True))

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
        precision, gain = best_additions(stats, problem.least_precision)
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
            gaining = gaining[falling(gain[gaining])]
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
    if not problem.likelihood.conjugate and not newton.noise_held:
        return _from_mode_to_mode(problem, model, (active, alpha), newton)
    ascent = _ascended(problem, products.moments(active), at, newton)
    finer = products.finer(ascent)
    if finer is not None:
        products = finer
        ascent = _ascended(problem, finer.moments(active), at, newton)
    if ascent is None:
        return None
    active, alpha = active[ascent.chosen], ascent.prior_precision
    solution, beta = ascent.solution, ascent.noise_precision
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


def _by_columns(problem: Problem, model: SearchModel) -> SearchModel:
    """The same model as it will be reported: from its columns, in their order.

    With little noise the last digits depend on the order.
    """
    order = np.argsort(model.active)
    at = model.active[order], model.prior_precision[order], model.mean[:, order]
    mode = posterior_at_mode(problem, model.likelihood, *at)
    evidence = mode.log_evidence
    return replace(model, posterior=mode.posterior, log_evidence=evidence)


def _from_mode_to_mode(
    problem: Problem,
    model: SearchModel,
    functions: tuple[Indices, Array],
    newton: _Newton,
) -> SearchModel | None:
    """The model whose α are best in the expansion at its own mode.

    Some of Newton's steps in an expansion lead to the next mode, and so on. Where that
    has lost half of what was gained before, the expansion does not reach so far: back,
    and half of the way.
    """
    likelihood, count = model.likelihood, model.products.count
    way = _Way.of(model, functions)
    moments: ColumnMoments = model.products.moments(way.active)
    share, last = 1.0, np.zeros(len(way.active))
    ascent: Ascent | None = None
    best: Mode | None = None
    least = -np.inf
    for number in range(newton.modes):
        if ascent is None:
            price = newton.price if number else 0.0
            held = replace(newton, steps=newton.held, price=price)
            at = way.active, way.prior_precision, model.noise_precision
            ascent = _ascended(problem, moments, at, held)
            if ascent is None:
                break
            step = way.step(ascent)
            # Where it goes to and fro, that is too far, too.
            share *= 0.5 if step @ last < 0 else 1.0
        there, moved = way.towards(ascent, share)
        at = there.active, there.prior_precision, there.mean
        mode = posterior_at_mode(problem, likelihood, *at, rough=True)
        if mode.log_evidence < least:
            share *= 0.5
            continue
        likelihood, ascent = mode.likelihood, None
        fewer, last, way = len(moved) < len(step), share * step[moved], there
        way = replace(way, mean=mode.mean, variances=mode.posterior.variances)
        if mode.log_evidence > model.log_evidence:
            best = mode
            least = 0.5 * (model.log_evidence + mode.log_evidence)
        if not fewer and np.abs(step).max(initial=0.0) < newton.tol:
            break
        moments = _expansion(mode, count)
    return None if best is None else _model_of(problem, best)


@dataclass(frozen=True)
class _Way:
    """Functions with α and weights on the way from mode to mode."""

    active: Indices
    prior_precision: Array
    mean: Array  # (K, n)
    variances: Array  # (K or 1, n) of the weights

    @classmethod
    def of(cls, model: SearchModel, functions: tuple[Indices, Array]) -> "_Way":
        """From a model that functions have joined."""
        active, alpha = functions
        joined = len(active) - len(model.active)
        mean = np.pad(model.mean, ((0, 0), (0, joined)))
        variances = np.broadcast_to(1 / alpha, mean.shape).copy()
        variances[:, : len(model.active)] = model.posterior.variances
        return cls(active, alpha, mean, variances)

    def step(self, ascent: Ascent) -> Array:
        """Of log α; zero of functions that leave."""
        chosen, step = ascent.chosen, np.zeros(len(self.active))
        step[chosen] = np.log(ascent.prior_precision / self.prior_precision[chosen])
        return step

    def towards(self, ascent: Ascent, share: float) -> tuple["_Way", Indices]:
        """A share of the way, on which a share of the functions leave; those left."""
        alpha, variances = self.prior_precision, self.variances
        loss = self.mean**2 / variances + np.log(alpha * variances)
        leaving = np.setdiff1d(np.arange(len(alpha)), ascent.chosen)
        leaving = leaving[np.argsort(loss.sum(axis=0)[leaving], kind="stable")]
        leaving = leaving[: int(np.ceil(share * len(leaving)))]
        left = np.setdiff1d(np.arange(len(alpha)), leaving)
        mean = self.mean.copy()
        mean[:, ascent.chosen] = ascent.solution.mean
        moved = alpha * np.exp(share * self.step(ascent))
        there = _Way(self.active[left], moved[left], mean[:, left], variances[:, left])
        return there, left


def _expansion(mode: Mode, count: float) -> Moments:
    """The moments of the active functions in the expansion at their mode."""
    posterior, seen = mode.posterior, mode.observations
    root, factor = np.sqrt(posterior.prior_precision), posterior.factor
    total = root[:, None] * (factor @ np.swapaxes(factor, 1, 2)) * root
    gram = total - np.diag(posterior.prior_precision)
    target = combined_by_output(posterior.mean, total)
    squares = np.sum(seen.row_weights * seen.target**2, axis=0)
    return Moments(gram, target, squares, count)


def _ascended(
    problem: Problem,
    moments: ColumnMoments,
    at: tuple[Indices, Array, Array],
    newton: _Newton,
) -> Ascent | None:
    """Newton's method from functions, α and β; None where there are no digits."""
    active, prior_precision, noise_precision = at
    least = LEAST_PRIOR_SHARE * float(noise_precision.max())
    ceiling = None if newton.noise_held else noise_ceiling(problem.likelihood)
    try:
        return ascend(
            moments,
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
    problem: Problem, model: SearchModel, settings: SearchSettings, failures: int
) -> SearchModel:
    """The same model with less noise, the less after trials in vain."""
    temperatures, sharing = settings.temperatures, problem.n_sharing
    temperature = temperatures[min(failures, len(temperatures) - 1)]
    if not problem.likelihood.conjugate:
        # Outputs of other likelihoods share α as they are.
        temperature, sharing = settings.expansion_temperature, problem.y.shape[1]
    low = tempered(temperature, sharing) * model.noise_precision
    ceiling = noise_ceiling(problem.likelihood)
    low = low if ceiling is None else np.minimum(low, ceiling)
    return replace(model, noise_precision=low)


def _after(
    model: SearchModel, actions: list[tuple[int, float]]
) -> tuple[Indices, Array, Array]:
    """Functions, α and weights to begin with, after functions moved to other α."""
    alpha = dict(zip(model.active.tolist(), model.prior_precision, strict=True))
    alpha.update(actions)
    weights = dict(zip(model.active.tolist(), model.mean.T, strict=True))
    inside = [index for index, one in alpha.items() if np.isfinite(one)]
    nothing = np.zeros(len(model.mean))
    mean = np.array([weights.get(index, nothing) for index in inside])
    precision = np.array([alpha[index] for index in inside])
    shape = len(inside), len(model.mean)
    return np.array(inside, dtype=np.intp), precision, mean.reshape(shape).T


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
) -> SearchModel:
    """The model of these functions and α, its mode found from starting weights."""
    at = active, prior_precision, start
    return _model_of(problem, posterior_at_mode(problem, likelihood, *at))


def _model_of(problem: Problem, mode: Mode) -> SearchModel:
    products: Products = Gram(problem, mode.observations)
    return SearchModel(
        likelihood=mode.likelihood,
        observations=mode.observations,
        posterior=mode.posterior,
        log_evidence=mode.log_evidence,
        noise_precision=mode.observations.noise_precision,
        products=products.suited(mode.posterior.condition),
    )

"""Tempering: what would have entered the model found had the data said more.

Solves   what the search inside solves, from a maximum where that is stuck
Given    a search on pools of functions, which knows nothing of this
By       raising the inverse temperature τ of the likelihood: the noise, held fixed, is
         divided by τ; where none is estimated, the weights of rows are multiplied by
         it. Functions enter that had been rejected, the temperature returns to one,
         and the better model stays
Until    a model has been tried so often, the model found being searched to ``tol``

A search that takes one function for noise estimates too much of it, and then takes
others for noise as well. The model found stays the model until a trial is judged.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.base import Problem, interpolates
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.noise_units import (
    log_noise,
    noise_ceiling,
    observed_with,
    tempered,
)
from relvec.evidence.pooled import Pooled, PooledState
from relvec.evidence.rounds import NO_ENTRANTS, known_moments
from relvec.evidence.search_model import (
    Fitted,
    SearchModel,
    model_at,
    model_in_gram_form,
    refreshed,
)
from relvec.posterior import Posterior
from relvec.typing import Array

# Nats: where no function out of a model promises more, rounds of a first search would
# only polish what tempering is about to change (a tenth of the time).
_LITTLE = 0.1
_FIRST_TOL = 1e-2  # before models are compared; a lower one takes a fifth longer
_TEMPERED_TOL = 0.3  # nats, while the noise is low; a lower one finds no more
# Those that enter first are the ones that were missed; later rounds find what fits the
# noise, which leaves again when that is released. So there are few of them; one more of
# a model that has no more functions than this.
_TEMPERED_ROUNDS, _ONE_MORE = 2, 32
_NOISE_DIVISORS = (4.0, 16.0, 64.0, 256.0)  # τ in turn, until something enters
# Where there is no noise to lower, rows count for more: one time for so many of them,
# within bounds. Few rows that count for much are just fitted.
_ROWS_A_TIME, _ROW_FACTORS = 256, (2.0, 64.0)
# Of the observations on weights. Without it 3 of 40 fits of 60 rows by a narrow kernel
# end at an interpolation that did not before.
_MOST_SPENT = 0.5
# With less noise any rich dictionary goes on growing. A search that was stuck needs a
# few functions more; a large model that wants a quarter more is overfitting.
_GROWTH = (1.25, 64)
# Nats for every function more: without, trials end early, 40 nats lower on kin8nm.
_PRICE = 0.5
# Nats found by a trial from which others are made. Never, 43 nats are lost on kin8nm;
# always, fits take 1.7 times as long for 0.4 nats on the benchmarks' 1000 rows.
_WORTH_ANOTHER = 5.0
# A model of so few functions may be all that gains one at a time, as with wide kernels;
# trials from there take little time, and so many are made, with τ higher each time. One
# leaves 53 nats on 300 rows of Friedman's first function with exp(−d²/9).
_FEW, _TRIALS_OF_FEW = 16, 2


@dataclass(frozen=True)
class Trial:
    """A search from the model found, tempered at first."""

    state: PooledState
    problem: Problem  # that is searched
    rounds: int = 0  # so far
    released: bool = False  # τ is one again


@dataclass(frozen=True)
class TemperedState:
    """The search for the best model so far, and a trial that goes on from there."""

    found: PooledState
    trial: Trial | None = None
    trials: int = 0  # begun since the last great gain
    final: bool = False  # there will be no other

    @property
    def model(self) -> SearchModel:
        return self.found.model

    @property
    def steps(self) -> int:
        return self.found.steps


@dataclass(frozen=True)
class Tempered:
    """A search on pools, again from its maximum with less noise."""

    inner: Pooled

    def init(self, problem: Problem) -> TemperedState:
        return TemperedState(self.inner.init(problem))

    def resumed(self, model: SearchModel, steps: int) -> TemperedState:
        """The state of a search that goes on from a model."""
        return TemperedState(self.inner.resumed(model, steps))

    def converged(self, problem: Problem, state: TemperedState) -> bool:
        if interpolates(problem, state.model):
            return True
        return state.final and self.inner.converged(problem, state.found)

    def step(self, problem: Problem, state: TemperedState) -> TemperedState:
        if state.trial is not None:
            return self._tried(problem, state, state.trial)
        if state.final:
            return replace(state, found=self.inner.step(problem, state.found))
        search = self._before_the_end(state.model)
        if _has_found_most(problem, state.model) or search.converged(
            problem, state.found
        ):
            return self.begun(problem, state)
        return replace(state, found=search.step(problem, state.found))

    def _before_the_end(self, model: SearchModel) -> Pooled:
        """The search whose maximum is compared with another."""
        if not _by_noise(model):
            return self.inner
        return self.inner.with_tol(max(self.inner.tol, _FIRST_TOL))

    def begun(self, problem: Problem, state: TemperedState) -> TemperedState:
        """A trial, at a τ that is the higher the more of them there were."""
        model, factors = state.model, _factors(problem, state.model)
        if state.trials >= len(factors):
            return self.ended(state)
        factor, ceiling = factors[state.trials], noise_ceiling(model.likelihood)
        if ceiling is None:
            problem = replace(problem, sample_weight=factor * problem.sample_weight)
            tempered = _on(problem, model)
        else:
            beta = np.minimum(factor * model.observations.noise_precision, ceiling)
            tempered = _with_noise(problem, model, beta)
        trial = Trial(self.inner.resumed(tempered, state.steps), problem)
        return replace(state, trial=trial, trials=state.trials + 1)

    def _tried(
        self, problem: Problem, state: TemperedState, trial: Trial
    ) -> TemperedState:
        """Another round of a trial; the model found so far stays meanwhile."""
        search = self._before_the_end(state.model)
        if not trial.released and _by_noise(state.model):
            search = search.with_tol(_TEMPERED_TOL * problem.n_sharing)
        enough = _TEMPERED_ROUNDS + (len(state.model.active) <= _ONE_MORE)
        long = not trial.released and trial.rounds == enough
        if long or search.converged(trial.problem, trial.state):
            return self.settled(problem, state, trial)
        after = search.step(trial.problem, trial.state)
        if excessive(problem, state.model, after.model):
            return self.in_vain(problem, state)
        if trial.released and is_better(problem, state.model, after.model):
            return self.taken(state, after)
        trial = replace(trial, state=after, rounds=trial.rounds + 1)
        return replace(state, trial=trial)

    def settled(
        self, problem: Problem, state: TemperedState, trial: Trial
    ) -> TemperedState:
        """After the last round: back to τ = 1, a trial at a higher τ, or judge."""
        found = trial.state.model
        if trial.released and is_better(problem, state.model, found):
            return self.taken(state, trial.state)
        if trial.released:
            return self.in_vain(problem, state)
        if np.setdiff1d(found.active, state.model.active).size == 0:
            return self.begun(problem, state)
        if _by_noise(state.model):
            noise = log_noise(found.likelihood, found.observations.noise_precision)
            free = state.model.likelihood.with_parameters(noise)
            found = replace(found, likelihood=free)
        else:
            found = _on(problem, found)
        after = trial.state.reopened(found, state.steps)
        return replace(state, trial=Trial(after, problem, trial.rounds, released=True))

    def taken(self, state: TemperedState, after: PooledState) -> TemperedState:
        """The model a trial found; after a great gain trials begin anew."""
        great = after.model.log_evidence >= state.model.log_evidence + _WORTH_ANOTHER
        trials = 0 if great else state.trials
        done = trials > 0 and not _another(after.model, trials)
        found = after.reopened(after.model, state.steps + 1)
        return TemperedState(found, trials=trials, final=done)

    def in_vain(self, problem: Problem, state: TemperedState) -> TemperedState:
        """Nothing better was found: try again, or be content."""
        if _another(state.model, state.trials):
            return self.begun(problem, state)
        return self.ended(state)

    def ended(self, state: TemperedState) -> TemperedState:
        """There will be no other; the model found is searched to the end."""
        found = state.found.reopened(state.model, state.steps)
        return TemperedState(found, trials=state.trials, final=True)


def _by_noise(model: SearchModel) -> bool:
    """Whether τ divides the noise rather than multiplying the weights of rows."""
    return model.likelihood.parameter_ceiling is not None


def _has_found_most(problem: Problem, model: SearchModel) -> bool:
    """Whether a search has found all but little of what it will find."""
    if not _by_noise(model) or len(model.active) <= _FEW:
        return False
    outside = np.isinf(model.proposals.current)
    best = model.proposals.gain[outside].max(initial=0.0)
    return bool(best <= _LITTLE * problem.n_sharing)


def _factors(problem: Problem, model: SearchModel) -> tuple[float, ...]:
    """Inverse temperatures of one trial after the other."""
    if len(model.active) == 0:
        return ()
    if _by_noise(model):
        return tuple(tempered(one, problem.n_sharing) for one in _NOISE_DIVISORS)
    # Every round of such a trial is a refit: tried where that takes no time.
    quick = len(model.active) <= _FEW and len(model.mean) == 1
    times = np.clip(problem.sample_weight.sum() / _ROWS_A_TIME, *_ROW_FACTORS)
    return (float(times),) if quick else ()


def excessive(problem: Problem, found: SearchModel, model: SearchModel) -> bool:
    """Whether a trial has taken in more functions than it should.

    A model that spends its observations on weights is not taken either: its evidence
    grows as its noise, estimated from nothing, goes to zero. Observations of equal rows
    are as good as one: there are no more of them than functions, one for every distinct
    row.
    """
    share, few = _GROWTH
    effective = np.max(model.effective_parameters, initial=0.0)
    distinct = problem.n_distinct or problem.design.shape[1]
    available = min(problem.sample_weight.sum(), distinct)
    grown = len(model.active) > share * len(found.active) + few
    return bool(grown or effective > _MOST_SPENT * available)


def is_better(problem: Problem, found: SearchModel, model: SearchModel) -> bool:
    """Whether a trial's model is worth the functions it has more."""
    more = max(0, len(model.active) - len(found.active))
    price = _PRICE * problem.n_sharing
    return model.log_evidence > found.log_evidence + price * more


def _another(model: SearchModel, trials: int) -> bool:
    """Whether there is to be another trial after so many."""
    return len(model.active) <= _FEW and trials < _TRIALS_OF_FEW


def _on(problem: Problem, model: SearchModel) -> SearchModel:
    """The same functions and α on another problem."""
    # The bound on priors is that of the other problem, too.
    alpha = problem.allowed(model.active, model.prior_precision)
    at = model.likelihood, model.active, alpha, model.mean
    return model_at(problem, posterior_at_mode(problem, *at))


def _with_noise(
    problem: Problem, model: SearchModel, noise_precision: Array
) -> SearchModel:
    """The same functions and α with the noise fixed at another value."""
    alpha, noise = model.prior_precision, log_noise(model.likelihood, noise_precision)
    likelihood = model.likelihood.with_parameters(noise, fixed=True)
    if model.gram is None:
        return refreshed(problem, model, likelihood)
    moments = known_moments(problem, model, NO_ENTRANTS)
    noise_before = model.observations.noise_precision
    before = model.solution or moments.solved(alpha, noise_before)
    after = moments.solved(alpha, noise_precision)
    fitted = Fitted(
        likelihood,
        Posterior(model.active, alpha, after.mean, after.factor),
        model.log_evidence + after.log_evidence - before.log_evidence,
    )
    noisy = model.observations, likelihood, noise_precision
    seen = observed_with(problem, *noisy)
    return model_in_gram_form(problem, fitted, seen, model.gram, after)

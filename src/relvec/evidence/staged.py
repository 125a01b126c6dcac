"""A search of a large problem by its parts, Tipping & Faul 2003, section 6.2.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary too large for a pass over all of it to be cheap (Problem), and a
         search of problems that are not
By       searching parts in turn, each from the model found so far: few rows first and
         ever more of them, candidates drawn anew for each part; at last all rows. For a
         Gaussian likelihood these are turned into as few as there are columns that gain
         beside the model, or features of a low rank, and many functions join at once
Until    the rounds of a part that has not been looked at before gain next to nothing
         for each observation, 15 times ``tol`` on average

"Apply the algorithm in full to subsets of the basis functions in sequence, and
terminate when all have simultaneously converged."
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.chance import generator
from relvec.evidence.base import Problem
from relvec.evidence.joining import Joining, gaining
from relvec.evidence.pooled import Pooled
from relvec.evidence.tempering import Tempered
from relvec.evidence.views import (
    Located,
    Start,
    View,
    begun_at,
    compressed_rows,
    in_gram_form,
    low_rank,
    rows_of,
    share_rows,
)
from relvec.typing import Indices

# Rows of the first part, at least, and how many times more the next one has.
_FEWEST_ROWS, _MORE_ROWS = 750, 4
# A part is left when a round gains so many times the tolerance, or less, for each
# observation: fresh candidates gain more. The search ends when its rounds gain no more
# than so many times that on average: a thousandth of a nat is that of the noise.
_QUICK, _ENOUGH = 10.0, 1.5
# Functions of a model for which a thorough search takes no more time than that before,
# of a low rank and of columns that gain.
_FEW_OF_LOW_RANK, _FEW_FUNCTIONS = 64, 100
# Candidates of a part; where products of all of them are kept, as for a Gaussian
# likelihood, for each function in the model: what another costs grows with these.
_FRESH, _FOR_EACH_FUNCTION = 512, 4
_WORTH_TURNING = 2  # rows for each column
_SMALL = 2_500_000  # entries of a dictionary that need not be searched by its parts
# Candidates of a low rank, and of the exact look that follows.
_MANY, _FEW, _FEWEST = 4096, 128, 16
_MOST_FEATURES = 600  # of a low rank, as designs have it
# Of an entry of Φ that a low rank is asked for: so much of the noise beside weights
# known so far, within bounds. Pivots have no more digits than the least of them.
_OF_NOISE, _TOLERANCES = 1e-2, (1e-13, 1e-4)
# Of the noise beside which it was: with less, weights that it allows do not reach, and
# functions are taken in by the hundred instead.
_OUTGROWN = 0.1

Search = Joining | Pooled | Tempered


@dataclass(frozen=True)
class Draws:
    """Candidates in the order in which they are drawn, over and over."""

    order: Indices
    taken: int = 0

    def next(self, count: int) -> "tuple[Indices, Draws]":
        """So many of them, and what follows."""
        count = min(count, len(self.order))
        places = (self.taken + np.arange(count)) % len(self.order)
        return self.order[places], replace(self, taken=self.taken + count)


@dataclass(frozen=True)
class StagedState:
    """The part that is searched, how, and where its search stands."""

    problem: Problem  # the whole
    view: View
    search: Search
    inner: Any  # the state of that search
    draws: Draws
    level: int  # of rows
    began: float  # the evidence that the search of the view began with
    before: int = 0  # steps until then
    again: bool = False  # whether all rows were looked at before
    thorough: bool = False  # whether all rows were searched to the end
    over: bool = False

    @property
    def model(self) -> Located:
        return Located(self.inner.model, self.view, self.problem)

    @property
    def steps(self) -> int:
        return self.before + int(self.inner.steps)

    @property
    def gain(self) -> float:
        """Nats found in the view."""
        return float(self.inner.model.log_evidence - self.began)


@dataclass(frozen=True)
class Staged:
    """A quick search for all parts, and in the end one that goes all the way.

    That is the more thorough one where few rows stand for all.
    """

    pooled: Pooled
    thorough: Pooled | Tempered
    seed: int = 0
    price: float = 0.0  # nats that a function has to be worth in the end

    @property
    def quick(self) -> Pooled:
        """A search that leaves early."""
        quick = replace(self.pooled, patience=1, polish=False)
        return quick.with_tol(_QUICK * self.pooled.tol)

    @property
    def tol(self) -> float:
        """Nats for each observation that are not worth another part."""
        return self.quick.tol

    def init(self, problem: Problem) -> StagedState:
        draws = Draws(generator(self.seed).permutation(problem.design.shape[1]))
        known = problem.start is not None and np.any(np.isfinite(problem.start))
        start, level = Start.of(problem), len(_levels(problem))
        most = min(_FRESH, problem.design.most_columns)
        few = problem.likelihood.conjugate and len(draws.order) <= most
        if few or _is_small(problem):
            view = rows_of(problem, start.beside(draws.order), None)
            if not _is_small(problem):
                view = compressed_rows(view, digits=True)
            state = _begun(problem, view, self.thorough, draws, level)
            return replace(state, thorough=True)
        return self._of_level(problem, start, draws, level if known else 0)

    def converged(self, problem: Problem, state: StagedState) -> bool:
        return state.over

    def step(self, problem: Problem, state: StagedState) -> StagedState:
        outgrown = _is_outgrown(state)
        if not outgrown and not state.search.converged(state.view.problem, state.inner):
            inner = state.search.step(state.view.problem, state.inner)
            return replace(state, inner=inner)
        last = state.level == len(_levels(problem))
        little = _ENOUGH * self.tol * problem.n_observations
        much = state.gain > little * max(1, state.inner.steps)
        enough = state.view.whole or (state.again and not much)
        seen = last and state.view.exact and enough
        if seen and state.thorough:
            return replace(state, over=True)
        if seen:
            return self._closed(state)
        start = _start(state)
        if last:
            before = None if outgrown else state
            after = self._of_all_rows(problem, start, state.draws, before)
        else:
            after = self._of_level(problem, start, state.draws, state.level + 1)
        return replace(after, before=state.steps)

    def _closed(self, state: StagedState) -> StagedState:
        """The last look at the view, to the end; thorough where that takes little."""
        search: Search = self.thorough
        problem, start = state.problem, _start(state)
        if len(state.inner.model.active) > _FEW_FUNCTIONS:
            search = replace(self.pooled, patience=1, price=self.price)
            if _tells_all(state.view, start) and not self.price:
                search = Joining(self.pooled.rounds, self.pooled.tol, cold=1.0)
        view = begun_at(state.view, problem, start)
        after = _begun(problem, view, search, state.draws, state.level)
        return replace(after, before=state.steps, again=True, thorough=True)

    def _of_level(
        self, problem: Problem, start: Start, draws: Draws, level: int
    ) -> StagedState:
        levels = _levels(problem)
        if level == len(levels):
            return self._of_all_rows(problem, start, draws)
        drawing = generator(self.seed, level)
        rows = np.sort(drawing.permutation(len(problem.y))[: levels[level]])
        view, draws = _first_look(problem, start, draws, rows)
        search = self._quick(view, start, np.inf)
        # What a low rank describes need not be looked at on ever more rows.
        reached = level if view.exact else len(levels) - 1
        return _begun(problem, view, search, draws, reached)

    def _of_all_rows(
        self,
        problem: Problem,
        start: Start,
        draws: Draws,
        before: StagedState | None = None,
    ) -> StagedState:
        level = len(_levels(problem))
        if before is None:
            view, draws = _first_look(problem, start, draws, None)
        else:
            count = _room(problem, start, None)
            count = count if before.view.exact else min(count, _FEW)
            more, draws = draws.next(count)
            view = _exact(problem, start.beside(more), None)
        search = self._search(view, before, start)
        state = _begun(problem, view, search, draws, level)
        thorough = before is not None and before.thorough
        again, thorough = before is not None, thorough or not view.exact
        return replace(state, again=again, thorough=thorough)

    def _search(self, view: View, before: StagedState | None, start: Start) -> Search:
        """To the end where few rows stand for all; thorough if that takes little."""
        if not view.exact and len(start.columns) <= _FEW_OF_LOW_RANK:
            return self.thorough
        after_low_rank = before is not None and not before.view.exact
        if view.exact and not after_low_rank:
            return self._quick(view, start, _ENOUGH * self.tol)
        return self.pooled

    def _quick(self, view: View, start: Start, enough: float) -> Search:
        """A search that leaves early: many at once where inner products tell all."""
        if _tells_all(view, start):
            return Joining(self.pooled.rounds, self.tol, enough)
        return self.quick


def _is_outgrown(state: StagedState) -> bool:
    """Whether a low rank is too rough for what it has led to, and could be finer."""
    noise = state.inner.model.likelihood.scale
    rough = not state.view.exact and state.view.tol > _TOLERANCES[0]
    return rough and bool(np.any(noise < _OUTGROWN * state.view.noise))


def _tells_all(view: View, start: Start) -> bool:
    """Whether inner products do of its columns, with digits enough."""
    return view.problem.likelihood.conjugate and view.exact and not start.digits


def _start(state: StagedState) -> Start:
    """Where the next search begins: at the model found."""
    digits = not state.inner.model.digits
    return Start.of(state.problem, state.model, digits=digits)


def _first_look(
    problem: Problem, start: Start, draws: Draws, rows: Indices | None
) -> tuple[View, Draws]:
    """By features of a low rank, if they are few; else at some columns."""
    if problem.likelihood.conjugate:
        most = int(problem.design.most_entries / _MOST_FEATURES)
        more, after = draws.next(min(_MANY, most))
        view = low_rank(problem, start.beside(more), rows, _tolerance(start))
        if view is not None:
            return view, after
    more, draws = draws.next(_room(problem, start, rows))
    return _exact(problem, start.beside(more), rows), draws


def _begun(
    problem: Problem,
    view: View,
    search: Search,
    draws: Draws,
    level: int,
) -> StagedState:
    inner = search.init(view.problem)
    began = inner.model.log_evidence
    return StagedState(problem, view, search, inner, draws, level, began)


def _is_small(problem: Problem) -> bool:
    """Whether a part may as well be all of it."""
    n_rows, n_basis = problem.design.shape
    return n_rows * n_basis <= min(_SMALL, problem.design.most_entries)


def _levels(problem: Problem) -> list[int]:
    """Numbers of rows, ever more of them but less than all."""
    found, count = [], len(problem.y) // _MORE_ROWS
    while count >= _FEWEST_ROWS:
        found.append(count)
        count //= _MORE_ROWS
    return found[::-1]


def _exact(problem: Problem, start: Start, rows: Indices | None) -> View:
    """The columns on rows, or those that gain on as few rows as stand for them."""
    view = rows_of(problem, start, rows)
    if not problem.likelihood.conjugate:
        return view
    if start.digits or not start.size or view.whole or not share_rows(problem):
        return _few_rows(view, digits=start.digits)
    return in_gram_form(view, *gaining(view.problem))


def _few_rows(view: View, *, digits: bool) -> View:
    """As few rows as stand for all of them, where these are many."""
    n_rows, n_columns = view.problem.design.shape
    if n_rows > _WORTH_TURNING * n_columns or not view.problem.design.held:
        return compressed_rows(view, digits=digits)
    return view


def _room(problem: Problem, start: Start, rows: Indices | None) -> int:
    """For so many columns, beside those known."""
    known, n_rows = len(start.columns), len(problem.y) if rows is None else len(rows)
    count = _FRESH
    if problem.likelihood.conjugate and not start.digits:
        wanted = max(_FRESH, _FOR_EACH_FUNCTION * known)
        room = int(problem.design.most_entries / n_rows) - known
        count = max(_FRESH, min(room, wanted))
    return max(_FEWEST, min(count, problem.design.most_columns - known))


def _tolerance(start: Start) -> float:
    """Of an entry of Φ, for what is known of noise and weights."""
    if start.size == 0:
        return _TOLERANCES[0]
    return float(np.clip(_OF_NOISE * start.noise / start.size, *_TOLERANCES))

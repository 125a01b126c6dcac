"""A search of many rows: some of them first, then all, with fresh candidates each time.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary too large for a pass over all of it to be cheap (Problem)
By       searching drawn rows with drawn candidates, then all rows with the functions
         found and fresh candidates, again and again (``search``). For a Gaussian
         likelihood all rows are turned into as few as there are candidates that gain
Until    fresh candidates bring next to nothing on all rows; then the last of them are
         searched to the end

"Apply the algorithm in full to subsets of the basis functions in sequence, and
terminate when all have simultaneously converged" (Tipping & Faul 2003, section 6.2).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.chance import generator
from relvec.design import DesignMatrix
from relvec.design.compressed import Inner, compressed, in_place_of_rows
from relvec.evidence.base import Model, Problem
from relvec.evidence.moments import Moments
from relvec.evidence.products import Orthonormal, improving_columns
from relvec.evidence.search import BatchSearch, SearchState
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class SubsamplingSettings:
    """The constants of a search by parts."""

    # Entries of a dictionary that is searched as a whole.
    small: int = 2_500_000
    # Rows that are drawn: a share of all, within bounds.
    share: float = 0.25
    fewest_rows: int = 750
    most_rows: int = 4000
    # Fresh candidates of a part, and for each function of the model where products of
    # all of them are kept, as for a Gaussian likelihood. Of so many rows that they do
    # not fit into memory, and of classes, whose rows are gone over again and again,
    # there are fewer.
    fresh: int = 512
    fresh_of_many: int = 256
    fresh_each: int = 4
    # Fewest candidates of a part, whatever the memory.
    fewest: int = 16
    # The tolerance of all parts but the last, in units of tol; and nats for each
    # observation, in the same units, that a part has to gain for another to follow.
    quick: float = 10.0
    enough: float = 15.0
    # The same in nats for each function of the model, if that is more.
    enough_each: float = 0.1
    newton_steps: int = 4
    # Rows for each column from which on they are turned into fewer.
    worth_turning: int = 2


@dataclass(frozen=True)
class Subproblem:
    """A problem made of some columns and rows of a larger one."""

    problem: Problem
    columns: Indices  # ascending
    whole: bool = False  # whether it is all of the problem


def embedded(inner: Model, part: Subproblem, problem: Problem) -> Model:
    """The model of a subproblem as one of the whole problem.

    Its evidence is that of all rows, if they are like those of the part.
    """
    columns = part.columns[inner.active]
    # Norms of the active columns, beside those that they have in the part.
    norms = part.problem.design.column_norms[inner.active]
    ratio = problem.design.column_norms[columns] / norms
    share = problem.sample_weight.sum() / part.problem.sample_weight.sum()
    return Model(
        # What a likelihood keeps of rows is of other rows.
        problem.likelihood.with_parameters(inner.likelihood.log_parameters),
        inner.observations,
        replace(inner.posterior.rescaled(ratio), active=columns),
        float(share) * inner.log_evidence,
    )


@dataclass(frozen=True)
class _Known:
    """What the search of a part begins with."""

    problem: Problem  # the whole, with the likelihood and the functions known
    well_conditioned: bool = True  # whether inner products have digits enough

    @property
    def begun(self) -> bool:
        """Whether some functions are known."""
        start = self.problem.start.precision
        return start is not None and bool(np.isfinite(start).any())

    @property
    def columns(self) -> Indices:
        """Those of the model, and the constant."""
        inside = np.zeros(self.problem.design.shape[1], dtype=bool)
        if self.problem.start.precision is not None:
            inside = np.isfinite(self.problem.start.precision)
        if self.problem.bias is not None:
            inside[self.problem.bias] = True
        return np.flatnonzero(inside)


@dataclass(frozen=True)
class SubsampledState:
    """The part that is searched, and where its search stands."""

    problem: Problem  # the whole
    part: Subproblem
    search: BatchSearch
    inner: SearchState
    taken: int  # candidates that were drawn so far
    all_rows: bool
    steps_before: int = 0
    last: bool = False  # whether no other part follows
    over: bool = False
    began: float = -np.inf  # the evidence that the search of the part began with
    looked: bool = False  # whether fresh candidates were looked at on all rows before

    @property
    def model(self) -> Model:
        return embedded(self.inner.model, self.part, self.problem)

    @property
    def steps(self) -> int:
        return self.steps_before + self.inner.steps

    @property
    def gain(self) -> float:
        """Nats found in the part."""
        return self.inner.model.log_evidence - self.began


@dataclass(frozen=True)
class SubsampledSearch:
    """A search of some rows and columns at a time."""

    search: BatchSearch
    seed: int = 0
    settings: SubsamplingSettings = SubsamplingSettings()

    def init(self, problem: Problem) -> SubsampledState:
        known = _Known(problem)
        n_rows, n_basis = problem.design.shape
        few = problem.likelihood.conjugate and n_basis <= self.settings.fresh
        small = n_rows * n_basis <= min(
            self.settings.small, problem.design.most_entries
        )
        if small or few:
            part = _rows_of(problem, known, np.arange(n_basis), None)
            if not small:
                part = _turned(part, digits=True)
            return self._begun(problem, part, 0, all_rows=True, last=True)
        return self._part(problem, known, 0, all_rows=known.begun)

    def converged(self, problem: Problem, state: SubsampledState) -> bool:
        return state.over

    def step(self, problem: Problem, state: SubsampledState) -> SubsampledState:
        if not state.search.converged(state.part.problem, state.inner):
            inner = state.search.step(state.part.problem, state.inner)
            return replace(state, inner=inner)
        if state.last:
            return replace(state, over=True)
        digits = not isinstance(state.inner.model.products, Orthonormal)
        known = _Known(problem.resumed(state.model), digits)
        tuned = self.settings
        enough = tuned.enough * self.search.tol * problem.n_observations
        enough = max(enough, tuned.enough_each * len(state.inner.model.active))
        if state.all_rows and (
            state.part.whole or (state.looked and state.gain <= enough)
        ):
            part = _with_known(state.part, known)
            after = self._begun(problem, part, state.taken, all_rows=True, last=True)
        else:
            after = self._part(problem, known, state.taken, all_rows=True)
            after = replace(after, looked=state.all_rows)
        return replace(after, steps_before=state.steps)

    def _part(
        self, problem: Problem, known: _Known, taken: int, *, all_rows: bool
    ) -> SubsampledState:
        """The search of the functions known and fresh ones, on some rows or on all."""
        settings, n_rows = self.settings, len(problem.y)
        rows, count = None, n_rows
        if not all_rows:
            share = int(settings.share * n_rows)
            count = int(np.clip(share, settings.fewest_rows, settings.most_rows))
            drawing = generator(self.seed, 1)
            rows = np.sort(drawing.permutation(n_rows)[: min(count, n_rows)])
        inside = known.columns
        room = self._room(problem, known, len(inside), count)
        order = generator(self.seed).permutation(problem.design.shape[1])
        fresh = order[(taken + np.arange(min(room, len(order)))) % len(order)]
        part = _rows_of(problem, known, np.union1d(inside, fresh), rows)
        if problem.likelihood.conjugate:
            part = self._reduced(problem, known, part)
        return self._begun(problem, part, taken + room, all_rows=all_rows, last=False)

    def _room(self, problem: Problem, known: _Known, n_known: int, n_rows: int) -> int:
        """Fresh candidates of a part of so many rows."""
        settings = self.settings
        count, wanted = settings.fresh_of_many, settings.fresh
        if problem.likelihood.conjugate and known.well_conditioned:
            wanted = max(wanted, settings.fresh_each * n_known)
        if problem.likelihood.conjugate:
            room = int(problem.design.most_entries / n_rows) - n_known
            count = max(count, min(room, wanted))
        return max(settings.fewest, min(count, problem.design.most_columns - n_known))

    def _reduced(self, problem: Problem, known: _Known, part: Subproblem) -> Subproblem:
        """On as few rows as stand for all, of columns that gain beside the model."""
        tuned = self.search.settings
        well_known = known.well_conditioned and known.begun
        if well_known and _share_rows(problem) and not part.whole:
            at = tuned.temperature, tuned.promise
            return _in_gram_form(part, *improving_columns(part.problem, *at))
        n_rows, n_columns = part.problem.design.shape
        many = n_rows > self.settings.worth_turning * n_columns
        if many or not part.problem.design.held:
            return _turned(part, digits=not known.well_conditioned)
        return part

    def _begun(
        self,
        problem: Problem,
        part: Subproblem,
        taken: int,
        *,
        all_rows: bool,
        last: bool,
    ) -> SubsampledState:
        search = self.search
        if not last:
            quick = self.settings.quick * search.tol
            brief = replace(search.settings, polish_steps=self.settings.newton_steps)
            search = replace(search, tol=quick, price=0.0, checks=False, settings=brief)
        inner = search.init(part.problem)
        started = part.problem.start.precision is not None
        if last and started and all_rows and not part.whole:
            inner = replace(inner, phase="polishing")
        began = inner.model.log_evidence
        return SubsampledState(
            problem, part, search, inner, taken, all_rows, last=last, began=began
        )


def _rows_of(
    problem: Problem, known: _Known, columns: Indices, rows: Indices | None
) -> Subproblem:
    """The columns on some rows, or on all."""
    y, weight = problem.y, problem.sample_weight
    if rows is not None:
        y, weight = y[rows], weight[rows]
    design = problem.design.view(columns, rows)
    whole = rows is None and len(columns) == problem.design.shape[1]
    rows_taken = replace(problem, design=design, y=y, sample_weight=weight)
    return _with_known(Subproblem(rows_taken, columns, whole), known)


def _with_known(part: Subproblem, known: _Known) -> Subproblem:
    """The part with what is known of its columns."""
    whole, columns = known.problem, part.columns
    begun = replace(
        part.problem,
        likelihood=whole.likelihood,
        **_of_columns(whole, columns),
    )
    return replace(part, problem=begun)


def _of_columns(problem: Problem, columns: Indices) -> dict[str, Any]:
    """What a problem says of some of its columns (ascending)."""
    bias, most = problem.bias, problem.max_prior_std
    return {
        "bias": None if bias is None else int(np.searchsorted(columns, bias)),
        "start": problem.start.subset(columns),
        "max_prior_std": None if most is None else most[columns],
    }


def _turned(part: Subproblem, *, digits: bool) -> Subproblem:
    """The same columns on as few rows as stand for all, with all digits or most."""
    problem = part.problem
    columns = np.arange(problem.design.shape[1])
    norms = np.where(problem.design.column_norms > 0, problem.design.column_norms, 1.0)
    weight, y = problem.sample_weight, problem.y
    if digits or not _share_rows(problem):
        V, z = problem.design.coordinates(columns, weight, y)
        rows = in_place_of_rows(V * norms, z, float(weight.sum()))
        return _on_rows(part, rows)
    return _on_rows(part, _stand_in(problem, _moments_of(problem), norms))


def _in_gram_form(part: Subproblem, chosen: Indices, moments: Moments) -> Subproblem:
    """Some of its columns (ascending), on as few rows as stand for their products."""
    problem = part.problem
    smaller = replace(problem, **_of_columns(problem, chosen))
    whole = part.whole and len(chosen) == len(part.columns)
    narrow = Subproblem(smaller, part.columns[chosen], whole)
    norms = problem.design.column_norms[chosen]
    unit_norms = np.where(norms > 0, norms, 1.0)
    return _on_rows(narrow, _stand_in(problem, moments, unit_norms))


def _on_rows(part: Subproblem, rows: tuple[DesignMatrix, Array, Array]) -> Subproblem:
    """The same with these rows in place of its own."""
    design, y, weight = rows
    problem = replace(part.problem, design=design, y=y, sample_weight=weight)
    return replace(part, problem=problem)


def _share_rows(problem: Problem) -> bool:
    """Whether outputs differ by their targets alone."""
    return problem.y.shape[1] == 1 or problem.likelihood.unit is not None


def _moments_of(problem: Problem) -> Moments:
    """Inner products of all columns of a problem, whose likelihood is conjugate."""
    weight = problem.sample_weight[:, None]
    at = problem.y, problem.y, problem.sample_weight
    target = problem.likelihood.pseudo_observations(*at).target
    columns = np.arange(problem.design.shape[1])
    return Moments(
        problem.design.gram(columns, weight),
        problem.design.rmatvec(weight * target, columns),
        np.sum(weight * target**2, axis=0),
        float(weight.sum()),
    )


def _stand_in(
    problem: Problem, moments: Moments, norms: Array
) -> tuple[DesignMatrix, Array, Array]:
    """Rows with these inner products, of columns with norms (M,)."""
    unit = problem.likelihood.unit
    if unit is not None:
        moments = moments.in_targets(unit)
    gram = moments.gram[0] * norms * norms[:, None]
    inner = gram, moments.target.T * norms[:, None], moments.target_squares
    return compressed(Inner(*inner, moments.count))

"""A search of many rows: some of them first, then all, with fresh candidates each time.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary too large for a pass over all of it to be cheap (Problem)
By       searching drawn rows with drawn candidates, then four times as many rows with
         the functions found and fresh candidates, and so on up to all rows
         (``search``). For a Gaussian likelihood the rows of a part are turned into as
         few as there are candidates that gain
Until    fresh candidates bring next to nothing on all rows; then the last of them are
         searched to the end, and others are looked at once more (``_checked``)

"Apply the algorithm in full to subsets of the basis functions in sequence, and
terminate when all have simultaneously converged" (Tipping & Faul 2003, section 6.2).
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.chance import generator
from relvec.design import DesignMatrix
from relvec.design.compressed import Inner, compressed, in_place_of_rows
from relvec.evidence.base import Model, Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.newton import Moments, combined_by_output, tempered
from relvec.evidence.products import CandidateStatistics, best_additions
from relvec.evidence.search import BatchSearch, SearchState
from relvec.likelihoods import PseudoObservations
from relvec.linalg import solve_upper
from relvec.precision import DEPENDENT
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class SubsamplingSettings:
    """The constants of a search by parts."""

    # Entries of a dictionary that is searched as a whole.
    small: int = 2_500_000
    # Rows that are drawn first, a share of all within bounds, and by which the number
    # of rows grows from part to part.
    share: float = 0.25
    fewest_rows: int = 750
    most_rows: int = 4000
    growth: int = 4
    # Fresh candidates of a part, and for each function of the model. There are fewer of
    # so many rows that columns do not fit into memory, of classes, whose rows are gone
    # over again and again, and for the check in the end.
    fresh: int = 512
    fresh_of_many: int = 256
    fresh_each: int = 4
    # Fewest candidates of a part, whatever the memory.
    fewest: int = 16
    # The tolerance of all parts but the last, in units of tol; and nats for each
    # observation, in the same units, that a part has to gain for another to follow.
    quick: float = 10.0
    enough: float = 30.0
    # The same in nats for each function of the model, if that is more.
    enough_each: float = 0.1
    newton_steps: int = 4
    # Of annealing where a part begins with a model, which is nearly that of more rows.
    temperature: float = 4.0
    # Of a model whose rows are turned into fewer by inner products, which are wrong by
    # 1e-14 of it in nats: far less than a part has to gain.
    most_condition: float = 1e13


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
    n_rows: int  # of the part
    taken: int  # candidates that were drawn so far
    began: float  # the evidence of the model that the part began with
    steps_before: int = 0
    closing: bool = False  # whether the part is searched to the end
    over: bool = False

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

    @property
    def all_rows(self) -> bool:
        return self.n_rows == len(self.problem.y)


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
            return self._closing(problem, part, 0)
        if not known.begun:
            n_rows = self._first(n_rows)
        return self._growing(problem, known, 0, n_rows)

    def converged(self, problem: Problem, state: SubsampledState) -> bool:
        return state.over

    def step(self, problem: Problem, state: SubsampledState) -> SubsampledState:
        """A step in the part, or the next part, or the end."""
        if not state.search.converged(state.part.problem, state.inner):
            inner = state.search.step(state.part.problem, state.inner)
            return replace(state, inner=inner)
        digits = state.inner.model.posterior.condition < self.settings.most_condition
        known = _Known(problem.resumed(state.model), digits)
        if state.closing:
            little = self.search.settings.polish_gain * self._nats(problem)
            if state.part.whole or state.gain <= little:
                return replace(state, over=True)
            after = self._checked(problem, known, state)
        elif state.all_rows and (state.part.whole or state.gain <= self._enough(state)):
            part = _with_known(state.part, known)
            after = self._closing(problem, part, state.taken, state.began)
        else:
            n_rows = min(self.settings.growth * state.n_rows, len(problem.y))
            after = self._growing(problem, known, state.taken, n_rows)
        return replace(after, steps_before=state.steps)

    def _first(self, n_rows: int) -> int:
        """Rows of the first part."""
        tuned = self.settings
        count = np.clip(int(tuned.share * n_rows), tuned.fewest_rows, tuned.most_rows)
        return min(int(count), n_rows)

    def _enough(self, state: SubsampledState) -> float:
        """Nats that a part has to gain for another to follow."""
        nats = self._nats(state.problem)
        size = len(state.inner.model.active)
        return max(self.settings.enough * nats, self.settings.enough_each * size)

    def _growing(
        self, problem: Problem, known: _Known, taken: int, n_rows: int
    ) -> SubsampledState:
        """The search of the functions known and fresh ones on so many rows."""
        settings, tuned = self.settings, self.search.settings
        if known.begun:
            tuned = replace(tuned, temperatures=(settings.temperature,))
        least = tuned.polish_promise * self._nats(problem)
        fresh = self._fresh(problem, known, taken, n_rows)
        part = _screened(
            problem,
            known,
            fresh,
            self._drawn(problem, n_rows),
            temperature=tuned.temperatures[0],
            promise=max(tuned.promise * problem.n_sharing, least),
        )
        tuned = replace(tuned, polish_steps=settings.newton_steps)
        search = replace(
            self.search,
            tol=settings.quick * self.search.tol,
            price=0.0,
            checks=False,
            settings=tuned,
        )
        inner = search.settled(part.problem, search.init(part.problem))
        began, taken = inner.model.log_evidence, taken + len(fresh)
        return SubsampledState(problem, part, search, inner, n_rows, taken, began)

    def _closing(
        self, problem: Problem, part: Subproblem, taken: int, began: float | None = None
    ) -> SubsampledState:
        """The search of a part of all rows to the end."""
        search, n_rows = self.search, len(problem.y)
        inner = search.init(part.problem)
        if part.problem.start.precision is not None and not part.whole:
            inner = replace(inner, phase="polishing")
        if began is None:
            began = inner.model.log_evidence
        at = part, search, inner, n_rows, taken, began
        return SubsampledState(problem, *at, closing=True)

    def _checked(
        self, problem: Problem, known: _Known, state: SubsampledState
    ) -> SubsampledState:
        """The end, unless fresh candidates gain beside the model on all rows."""
        fresh = self._fresh(problem, known, state.taken)
        promise = self._nats(problem) + self.search.price
        part = _screened(problem, known, fresh, None, promise=promise)
        if len(part.columns) == len(known.columns):
            return replace(state, over=True)
        return self._closing(problem, part, state.taken + len(fresh))

    def _nats(self, problem: Problem) -> float:
        """What no action may gain in the end."""
        return self.search.tol * problem.n_observations

    def _drawn(self, problem: Problem, n_rows: int) -> Indices | None:
        """So many rows, the first of an order by chance; None for all."""
        if n_rows == len(problem.y):
            return None
        order = generator(self.seed, 1).permutation(len(problem.y))
        return np.sort(order[:n_rows])

    def _fresh(
        self, problem: Problem, known: _Known, taken: int, n_rows: int | None = None
    ) -> Indices:
        """The next candidates of an order by chance, as many as so many rows allow."""
        settings, n_known = self.settings, len(known.columns)
        count = settings.fresh_of_many
        if problem.likelihood.conjugate and n_rows is not None:
            wanted = max(settings.fresh, settings.fresh_each * n_known)
            most = int(problem.design.most_entries / n_rows) - n_known
            count = max(count, min(most, wanted))
        count = max(settings.fewest, min(count, problem.design.most_columns - n_known))
        order = generator(self.seed).permutation(problem.design.shape[1])
        return order[(taken + np.arange(min(count, len(order)))) % len(order)]


def _screened(
    problem: Problem,
    known: _Known,
    columns: Indices,
    rows: Indices | None,
    *,
    temperature: float = 1.0,
    promise: float,
) -> Subproblem:
    """The columns known, and those that gain beside the model.

    On as few rows as stand for all where the likelihood is conjugate.
    """
    conjugate = problem.likelihood.conjugate
    inside = known.columns
    columns = np.union1d(inside, columns)
    if known.begun:
        every = _rows_of(problem, known, columns, rows, lazy=True)
        gaining = improving_columns(every.problem, temperature, promise)
        columns = np.union1d(inside, columns[gaining])
        if conjugate:
            # What was evaluated for the screening need not be evaluated again.
            places = np.searchsorted(every.columns, columns)
            design = every.problem.design.view(places, lazy=True)
            narrow = replace(every.problem, design=design)
            part = _with_known(Subproblem(narrow, columns), known)
            return _turned(part, digits=not known.well_conditioned)
    part = _rows_of(problem, known, columns, rows, lazy=conjugate)
    return _turned(part, digits=False) if conjugate else part


def improving_columns(problem: Problem, temperature: float, promise: float) -> Indices:
    """Columns that gain more than so many nats beside the model a problem begins with.

    The noise is divided by the temperature, as in annealing. S and Q (24), (25) of all
    columns come from one pass, by products with columns of the model that are made
    orthonormal beside the prior: they have all digits.
    """
    active, alpha, start = problem.initial
    seen = _seen(problem, active, alpha, start)
    noise, unit = temperature * seen.noise_precision, np.ones(1)
    if problem.likelihood.unit is not None:
        noise, unit = np.ones(1), np.sqrt([tempered(temperature, problem.n_sharing)])
    weights, target = noise * seen.row_weights, unit * seen.target
    factor = problem.design.factor(active, alpha, weights)
    identity = np.broadcast_to(np.eye(len(active)), factor.shape)
    whitener = solve_upper(factor, identity) / np.sqrt(alpha)[:, None]
    norms, products, parts, half = problem.design.beside(
        active, whitener, weights, target
    )
    stats = CandidateStatistics(
        sparsity=norms - np.einsum("knm,knm->km", parts, parts),
        quality=products - combined_by_output(half, parts),
        least_sparsity=DEPENDENT * norms,
        noise_precision=noise,
        parts=parts,
    )
    gain = best_additions(stats, problem.least_precision)[1]
    gain[active] = 0.0
    return np.flatnonzero(gain > promise)


def _seen(
    problem: Problem, active: Indices, alpha: Array, start: Array
) -> PseudoObservations:
    """The pseudo-observations at the mode of the model a problem begins with."""
    if problem.likelihood.conjugate:
        at = problem.y, problem.y, problem.sample_weight
        return problem.likelihood.pseudo_observations(*at)
    at_mode = posterior_at_mode(
        problem, problem.likelihood, active, alpha, start, rough=True
    )
    return at_mode.observations


def _rows_of(
    problem: Problem,
    known: _Known,
    columns: Indices,
    rows: Indices | None,
    *,
    lazy: bool = False,
) -> Subproblem:
    """The columns on some rows, or on all; a ``lazy`` one is not evaluated yet."""
    y, weight = problem.y, problem.sample_weight
    if rows is not None:
        y, weight = y[rows], weight[rows]
    design = problem.design.view(columns, rows, lazy=lazy)
    whole = rows is None and len(columns) == problem.design.shape[1]
    rows_taken = replace(problem, design=design, y=y, sample_weight=weight)
    return _with_known(Subproblem(rows_taken, columns, whole), known)


def _with_known(part: Subproblem, known: _Known) -> Subproblem:
    """The part with what is known of its columns."""
    whole, columns = known.problem, part.columns
    bias, most = whole.bias, whole.max_prior_std
    begun = replace(
        part.problem,
        likelihood=whole.likelihood,
        bias=None if bias is None else int(np.searchsorted(columns, bias)),
        start=whole.start.subset(columns),
        max_prior_std=None if most is None else most[columns],
    )
    return replace(part, problem=begun)


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

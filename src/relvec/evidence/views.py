"""Parts of a problem that is too large to be searched at once: some rows and columns.

For a conjugate likelihood rows are only what inner products are made of: as many as
there are columns stand for all of them, exactly.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.design import DesignMatrix
from relvec.design.compressed import Inner, compressed, in_place_of_rows
from relvec.evidence.base import Model, Problem
from relvec.evidence.moments import Moments
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.typing import Array, Indices

_OF_NOISE = 1e-2  # that a function of low rank may be off by


@dataclass(frozen=True)
class View:
    """A problem made of some columns of a larger one."""

    problem: Problem
    columns: Indices  # ascending
    tol: float = 0.0  # entries of its columns are off by no more
    noise: Array | float = 0.0  # (K,) beside which that is little, if there is no less
    whole: bool = False  # whether it is all of the problem

    @property
    def exact(self) -> bool:
        """Whether its columns are those of the dictionary."""
        return self.tol == 0


@dataclass(frozen=True)
class Located:
    """A model of a view as one of the whole problem."""

    inner: Model
    view: View
    problem: Problem  # the whole

    @property
    def likelihood(self) -> Likelihood:
        # What it keeps of rows is of other rows.
        found = self.inner.likelihood.log_parameters
        return self.problem.likelihood.with_parameters(found)

    @property
    def log_evidence(self) -> float:
        """Of all rows, if they are like those of the view."""
        seen = float(self.view.problem.sample_weight.sum())
        share = float(self.problem.sample_weight.sum()) / seen
        return share * self.inner.log_evidence

    @property
    def log_hyperprior(self) -> float:
        return self.inner.log_hyperprior

    @property
    def active(self) -> Indices:
        return self.view.columns[self.inner.active]

    @property
    def prior_precision(self) -> Array:
        return self.inner.prior_precision / self._ratio**2

    @property
    def mean(self) -> Array:
        return self.inner.mean * self._ratio

    @property
    def _ratio(self) -> Array:
        """Norms of the active columns, beside those that they have in the view."""
        norms = self.view.problem.design.column_norms[self.inner.active]
        return np.asarray(self.problem.design.column_norms[self.active] / norms)

    @property
    def effective_parameters(self) -> Array:
        return self.inner.effective_parameters

    @property
    def observations(self) -> PseudoObservations:
        return self.inner.observations

    @property
    def log_determinant(self) -> float:
        return self.inner.log_determinant


@dataclass(frozen=True)
class Start:
    """Columns to be looked at, and where a search of them begins."""

    columns: Indices
    precision: Array  # (M,) α in the user's units, infinite for a function not in it
    likelihood: Likelihood
    digits: bool = False  # whether Gram matrices have too few of them
    # Of some columns, and of the functions as they are, not of unit norm.
    weights: tuple[Indices, Array] | None = None

    @classmethod
    def of(
        cls, problem: Problem, model: Model | None = None, *, digits: bool = False
    ) -> "Start":
        """From a model of the problem, or what the problem begins with."""
        precision = np.full(problem.design.shape[1], np.inf)
        likelihood, weights = problem.likelihood, None
        if model is not None:
            units = problem.precision_units[model.active]
            precision[model.active] = model.prior_precision * units
            likelihood = model.likelihood
            norms = problem.design.column_norms[model.active]
            # A column that vanishes has no norm, and its weight no meaning.
            weights = model.active, model.mean / np.where(norms > 0, norms, np.inf)
        elif problem.start is not None:
            precision = problem.start
        inside = np.isfinite(precision)
        if problem.bias is not None:
            inside[problem.bias] = True
        columns = np.flatnonzero(inside)
        return cls(columns, precision, likelihood, digits, weights)

    @property
    def size(self) -> float:
        """Σ|w| of what is known, of the output where it is largest."""
        if self.weights is None:
            return 0.0
        return float(np.abs(self.weights[1]).sum(axis=1).max())

    @property
    def noise(self) -> float:
        """Beside these weights, the least of any output."""
        if self.likelihood.unit is not None:
            return 1.0
        return float(np.min(self.likelihood.scale))

    def weights_of(self, columns: Indices) -> Array | None:
        """(outputs, len(columns)), zero where none is known; None if none is at all."""
        if self.weights is None:
            return None
        active, known = self.weights
        weights = np.zeros((len(known), len(self.precision)))
        weights[:, active] = known
        return weights[:, columns]

    def beside(self, more: Indices) -> "Start":
        """With further columns."""
        return replace(self, columns=np.union1d(self.columns, more))


def rows_of(problem: Problem, start: Start, rows: Indices | None) -> View:
    """The columns on some rows, or on all."""
    columns = start.columns
    y, weight = problem.y, problem.sample_weight
    if rows is not None:
        y, weight = y[rows], weight[rows]
    design = problem.design.view(columns, rows)
    everything = rows is None and len(columns) == problem.design.shape[1]
    part = replace(problem, design=design, y=y, sample_weight=weight)
    return View(_begun(part, problem, start), columns, whole=everything)


def in_gram_form(view: View, chosen: Indices, moments: Moments) -> View:
    """Some of its columns (ascending), on as few rows as stand for their products."""
    part = view.problem
    bias, weights, most = part.bias, part.start_weights, part.max_prior_std
    smaller = replace(
        part,
        bias=None if bias is None else int(np.searchsorted(chosen, bias)),
        start=None if part.start is None else part.start[chosen],
        start_weights=None if weights is None else weights[:, chosen],
        max_prior_std=None if most is None else most[chosen],
    )
    whole = view.whole and len(chosen) == len(view.columns)
    narrow = replace(view, problem=smaller, columns=view.columns[chosen], whole=whole)
    norms = part.design.column_norms[chosen]
    unit_norms = np.where(norms > 0, norms, 1.0)
    return _on_rows(narrow, _stand_in(part, moments, unit_norms))


def begun_at(view: View, problem: Problem, start: Start) -> View:
    """The same view of a problem, with another model to begin with."""
    at = replace(start, columns=view.columns)
    return replace(view, problem=_begun(view.problem, problem, at))


def compressed_rows(view: View, *, digits: bool) -> View:
    """The same columns on as few rows as stand for all, with all digits or most."""
    part = view.problem
    columns = np.arange(part.design.shape[1])
    norms = np.where(part.design.column_norms > 0, part.design.column_norms, 1.0)
    weight, y = part.sample_weight, part.y
    if digits or not share_rows(part):
        V, z = part.design.coordinates(columns, weight, y)
        return _on_rows(view, in_place_of_rows(V * norms, z, float(weight.sum())))
    return _on_rows(view, _stand_in(part, moments_of(part), norms))


def share_rows(problem: Problem) -> bool:
    """Whether outputs differ by their targets alone."""
    return problem.y.shape[1] == 1 or problem.likelihood.unit is not None


def moments_of(problem: Problem) -> Moments:
    """Inner products of all columns of a problem, whose likelihood is conjugate."""
    weight, target = problem.sample_weight[:, None], observed(problem).target
    columns = np.arange(problem.design.shape[1])
    return Moments(
        problem.design.gram(columns, weight),
        problem.design.rmatvec(weight * target, columns),
        np.sum(weight * target**2, axis=0),
        float(weight.sum()),
    )


def observed(problem: Problem) -> PseudoObservations:
    """What the data are to a likelihood that is conjugate, with its parameters."""
    at = problem.y, problem.y, problem.sample_weight
    return problem.likelihood.pseudo_observations(*at)


def _stand_in(
    part: Problem, moments: Moments, norms: Array
) -> tuple[DesignMatrix, Array, Array]:
    """Rows with these inner products, of columns with norms (M,)."""
    unit = part.likelihood.unit
    if unit is not None:
        moments = moments.in_targets(unit)
    gram = moments.gram[0] * norms * norms[:, None]
    inner = gram, moments.target.T * norms[:, None], moments.target_squares
    return compressed(Inner(*inner, moments.count))


def low_rank(
    problem: Problem, start: Start, rows: Indices | None, tol: float
) -> View | None:
    """Many columns by the few features that describe them; None if these are many."""
    columns = start.columns
    y, weight = problem.y, problem.sample_weight
    if rows is not None:
        y, weight = y[rows], weight[rows]
    found = problem.design.low_rank(columns, rows, y, tol)
    if found is None:
        return None
    # Weights are no larger than what is left out of columns allows, beside the noise.
    noise = start.noise * problem.scale
    most = np.full(problem.design.shape[1], _OF_NOISE * noise / tol)
    if problem.max_prior_std is not None:
        most = np.minimum(most, problem.max_prior_std)
    norms = problem.design.column_norms[columns]
    V, z = found
    stand_in = in_place_of_rows(V * np.where(norms > 0, norms, 1.0), z, weight.sum())
    bounded = replace(problem, max_prior_std=most)
    known = start.likelihood.scale
    view = View(_begun(bounded, bounded, start), columns, tol, known)
    return _on_rows(view, stand_in)


def _on_rows(view: View, rows: tuple[DesignMatrix, Array, Array]) -> View:
    """The same with these rows in place of its own."""
    design, y, weight = rows
    part = replace(view.problem, design=design, y=y, sample_weight=weight)
    return replace(view, problem=part)


def _begun(part: Problem, problem: Problem, start: Start) -> Problem:
    """The part with what the problem says of its columns."""
    columns, bias, most = start.columns, problem.bias, problem.max_prior_std
    return replace(
        part,
        likelihood=start.likelihood,
        bias=None if bias is None else int(np.searchsorted(columns, bias)),
        start=start.precision[columns],
        start_weights=start.weights_of(columns),
        max_prior_std=None if most is None else most[columns],
        n_distinct=problem.design.shape[1],
    )

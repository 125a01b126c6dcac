"""Fitting an LS-SVM as a function: a specification and rows in, a model out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.basis import Basis, Group, as_rows
from relvec.design import Rows
from relvec.design.pivots import Pivots
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.linalg import single_threaded
from relvec.lssvm.conjugate import held_kernel, solved_by_products
from relvec.lssvm.dual import DualSolution, DualSystem
from relvec.lssvm.evidence import Evidence, LeftOut
from relvec.lssvm.landmarks import (
    cholesky_pivots,
    independent_rows,
    landmark_pivots,
    pivots_at,
    uniform_pivots,
)
from relvec.lssvm.model import LeastSquaresModel, Outcome, Spread
from relvec.lssvm.pruning import merged, support_rows
from relvec.lssvm.ridge import FeatureRows, Ridge
from relvec.lssvm.specification import LeastSquares
from relvec.lssvm.tuning import Search, scaled
from relvec.modelling import (
    Regression,
    Specification,
    TrainingRows,
    TrainingSet,
    logger,
    maximised,
    variance_factor,
)
from relvec.parameters import as_share
from relvec.precision import NOISE_FLOOR, TINY
from relvec.typing import Array, Indices

# Of the budget, for features that are kept from one pass to the next.
_FEATURES = 0.25
# Landmarks that tell where C and the width are: all rows of few, of more an eighth, for
# which five widths take about as long as two factors of K.
_SCREENED, _SHARE_SCREENED, _ALL = 300, 8, 600
_MANY, _LEAST_FREEDOM = 60, 3.0  # as ``relvec.modelling.fit`` has them


def fit_least_squares(spec: LeastSquares, data: TrainingSet) -> LeastSquaresModel:
    """The LS-SVM of these data."""
    method = spec.method_for(data.rows)
    logger.info("method: %s", method)
    with single_threaded():
        found = _FITS[method](replace(spec, method=method), data)
        return found.model()


@dataclass(frozen=True, eq=False)
class _Solved:
    """What every method comes to."""

    spec: LeastSquares
    data: TrainingSet
    kernel: Kernel
    C: float
    centres: Any
    indices: Indices
    coefficients: Array
    bias: Array
    spread: Spread | None
    evidence: Evidence
    left_out: LeftOut | None
    outcome: Outcome

    def model(self) -> LeastSquaresModel:
        """With noise, and probabilities that are calibrated."""
        scale, noise = self._variances()
        freedom = max(self.evidence.freedom, _LEAST_FREEDOM)
        freedom = freedom if freedom < _MANY else np.inf
        family = self.spec.family.with_noise(noise * variance_factor(freedom), freedom)
        if self.left_out is not None:
            family = family.calibrated_on(self.data.targets, self.left_out)
        return LeastSquaresModel(
            basis=Basis.of(self.kernel, self.centres, bias=False),
            coefficients=self.coefficients,
            bias=self.bias + self.data.offset,
            spread=self.spread if family.has_bars else None,
            scale=scale,
            C=self.C,
            family=family,
            indices=self.indices,
            features=self.data.rows.features,
            outcome_=self.outcome,
        )

    def _variances(self) -> tuple[float, float]:
        """1/μ and 1/ζ: of rows left out if they are known, else of most evidence."""
        if self.left_out is None:
            scale = self.evidence.scale
            return scale, scale / self.C
        least = NOISE_FLOOR * float(np.mean(self.evidence.squares))
        noise = max(self.left_out.noise_variance, least, TINY)
        return noise * self.C, noise


def _exact(spec: LeastSquares, data: TrainingSet) -> _Solved:
    """By factors of K + I/C."""
    data = replace(data, rows=_loaded(data.rows))
    if spec.n_support is not None:
        data = merged(data)
    centres, indices = data.rows.rows.whole(), data.rows.indices
    if spec.precomputed:
        centres = indices
    systems: dict[float, DualSystem] = {}

    def solved(width: float, C: float) -> DualSolution:
        functions = Group(scaled(spec.kernel, width), centres)
        system = DualSystem(functions, data.table, data.weight, spec.intercept)
        return systems.setdefault(width, system).solved(data.targets, C)

    search, width, C = _searched(spec, data, _screening(spec, data))
    if search is None:
        solution = solved(1.0, C)
    else:
        C, solution = search.confirmed(width, C, lambda other: solved(width, other))
    if spec.n_support is not None:
        return _pruned(spec, data, solution, C, search)
    return _exact_found(spec, data, solution, C, search)


def _pruned(
    spec: LeastSquares,
    data: TrainingSet,
    solution: DualSolution,
    C: float,
    search: Search | None,
) -> _Solved:
    """In the span of some of the functions, and by all rows."""
    count = max(as_share("n_support", spec.n_support, len(data)), 1)
    kernel = solution.system.functions.kernel
    candidates = independent_rows(kernel, data.rows)
    rows, more = support_rows(solution, C, candidates, count)
    pivots, indices = pivots_at(kernel, data.rows, rows)
    found = _of_rank(spec, data, (pivots, indices), C, search)
    n_solved = more + (1 if search is None else search.n_exact)
    return replace(found, outcome=replace(found.outcome, n_iter=n_solved))


def _exact_found(
    spec: LeastSquares,
    data: TrainingSet,
    solution: DualSolution,
    C: float,
    search: Search | None,
) -> _Solved:
    left_out = solution.left_out if spec.wants_left_out else None
    evidence = solution.evidence()
    functions = solution.system.functions
    return _Solved(
        spec=spec,
        data=data,
        kernel=functions.kernel,
        C=C,
        centres=functions.centres,
        indices=data.rows.indices,
        coefficients=solution.coefficients,
        bias=solution.bias,
        spread=None if spec.precomputed else solution.spread,
        evidence=evidence,
        left_out=left_out,
        outcome=Outcome(
            method=spec.method,
            log_evidence=evidence.log_density,
            status=_status(evidence),
            n_iter=1 if search is None else search.n_exact,
            history=None if search is None else search.history,
            left_out=left_out,
            remarks=_remark_on_shift(solution, C),
        ),
    )


def _remark_on_shift(solution: DualSolution, C: float) -> tuple[str, ...]:
    if not solution.factor.shift:
        return ()
    return (
        f"K + I/C is singular to working precision with C={C:.3g}, and was solved as "
        f"with C={solution.error_weight:.3g}: lower C, or give a narrower kernel",
    )


def _status(evidence: Evidence) -> Status:
    constant = not np.any(evidence.squares)
    return Status.CONSTANT_TARGET if constant else Status.CONVERGED


def _low_rank(spec: LeastSquares, data: TrainingSet) -> _Solved:
    """By landmarks: those of Nyström, or the pivots of incomplete Cholesky."""
    search, width, C = _searched(spec, data, _ridges(spec, data))
    found = _pivots(spec, data, scaled(spec.kernel, width))
    return _of_rank(spec, data, found, C, search)


def _of_rank(
    spec: LeastSquares,
    data: TrainingSet,
    landmarks: tuple[Pivots, Indices],
    C: float,
    search: Search | None,
) -> _Solved:
    """In the span of these functions."""
    pivots, indices = landmarks
    ridge = _ridge(spec, data, pivots).with_digits(C)
    coefficients, bias = ridge.coefficients(C)
    left_out = ridge.left_out(C) if spec.wants_left_out else None
    evidence = ridge.evidence(C)
    return _Solved(
        spec=spec,
        data=data,
        kernel=pivots.kernel,
        C=C,
        centres=pivots.rows,
        indices=indices,
        coefficients=coefficients,
        bias=bias,
        spread=ridge.spread(C),
        evidence=evidence,
        left_out=left_out,
        outcome=Outcome(
            method=spec.method,
            log_evidence=evidence.log_density,
            status=_status(evidence),
            history=None if search is None else search.history,
            left_out=left_out,
        ),
    )


def _conjugate(spec: LeastSquares, data: TrainingSet) -> _Solved:
    """By products of K; error bars and leverages are those of the preconditioner."""
    data = replace(data, rows=_loaded(data.rows))
    low = _low_rank(replace(spec, method="cholesky"), data)
    pivots, _ = _pivots(replace(spec, method="cholesky"), data, low.kernel)
    ridge = _ridge(spec, data, pivots)
    design = held_kernel(low.kernel, data.rows, spec.budget)
    found = solved_by_products(
        design, ridge, low.C, tol=spec.tol, max_iter=spec.max_iter
    )
    left_out = low.left_out
    if left_out is not None:
        left_out = replace(left_out, residual=found.residual)
    status = low.outcome.status if found.converged else Status.UNSOLVED
    return replace(
        low,
        spec=spec,
        centres=data.table,
        indices=data.rows.indices,
        coefficients=found.coefficients,
        bias=found.bias,
        left_out=left_out,
        outcome=replace(
            low.outcome,
            method=spec.method,
            status=status,
            n_iter=found.n_iter,
            left_out=left_out,
        ),
    )


_FITS: dict[str, Callable[[LeastSquares, TrainingSet], _Solved]] = {
    "exact": _exact,
    "nystrom": _low_rank,
    "cholesky": _low_rank,
    "cg": _conjugate,
}


def _searched(
    spec: LeastSquares, data: TrainingSet, ridge_of: Callable[[Kernel], Ridge]
) -> tuple[Search | None, float, float]:
    """The width and C of a specification, or those that tuning finds."""
    if spec.tuning is None:
        return None, 1.0, spec.C
    mean = _mean_diagonal(spec, data.rows)
    search = Search.of(spec.tuning, spec.kernel, ridge_of, mean)
    if not spec.kernel.positive_definite:
        return search, 1.0, spec.C
    return search, *search.screened()


def _mean_diagonal(spec: LeastSquares, rows: TrainingRows) -> float:
    """Of k(x, x), over some rows."""
    some = rows.loaded(rows.drawn(_ALL))
    X = some.rows.whole()
    if spec.precomputed:
        diagonal = X[np.arange(len(some)), some.indices]
    else:
        diagonal = spec.kernel.diagonal(as_rows(X))
    mean = float(np.average(np.abs(diagonal), weights=some.weight))
    return mean if mean > 0 else 1.0


def _screening(spec: LeastSquares, data: TrainingSet) -> Callable[[Kernel], Ridge]:
    """Of all rows by some of them as landmarks."""
    count = len(data)
    if count > _ALL:
        count = max(_SCREENED, count // _SHARE_SCREENED)

    def ridge_of(kernel: Kernel) -> Ridge:
        return _ridge(spec, data, uniform_pivots(kernel, data.rows, count))

    return ridge_of


def _ridges(spec: LeastSquares, data: TrainingSet) -> Callable[[Kernel], Ridge]:
    """Of the landmarks asked for."""
    return lambda kernel: _ridge(spec, data, _pivots(spec, data, kernel)[0])


def _ridge(spec: LeastSquares, data: TrainingSet, pivots: Pivots) -> Ridge:
    entries = len(data) * len(pivots)
    kept = 8 * entries <= _FEATURES * spec.budget.bytes
    features = FeatureRows(pivots, data.rows, kept)
    return Ridge.of(features, data.targets, intercept=spec.intercept)


def _pivots(
    spec: LeastSquares, data: TrainingSet, kernel: Kernel
) -> tuple[Pivots, Indices]:
    rows, rank = data.rows, spec.rank_for(data.rows)
    if spec.method == "cholesky":
        most = _FEATURES * spec.budget.bytes / 8
        return cholesky_pivots(kernel, rows, rank, spec.tol, most)

    def relevant(kernel: Kernel) -> Indices:
        sparse = Specification(
            kernels=(kernel,),
            family=Regression(centred=spec.intercept),
            intercept=spec.intercept,
            budget=spec.budget,
            seed=rows.seed,
        )
        return maximised(sparse, data).indices

    return landmark_pivots(kernel, rows, spec.landmarks, rank, relevant)


def _loaded(rows: TrainingRows) -> TrainingRows:
    """All rows in memory."""
    if rows.in_memory:
        return rows
    return replace(rows, rows=Rows.of(rows.rows.whole()), in_memory=True)

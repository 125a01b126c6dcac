"""Fits in the span of a few kernel functions, and exact ones by way of them."""

from dataclasses import replace

from relvec.design.pivots import Pivots
from relvec.kernels import Kernel
from relvec.lssvm.conjugate import held_kernel, solved_by_products
from relvec.lssvm.landmarks import cholesky_pivots, landmark_pivots
from relvec.lssvm.ridge import FeatureRows, Ridge
from relvec.lssvm.solved import Solved
from relvec.lssvm.specification import LeastSquares
from relvec.lssvm.tuning import Chosen, chosen, scaled
from relvec.modelling import Regression, Specification, TrainingSet, maximised
from relvec.typing import Indices

# Of the budget, for features that are kept from one pass to the next.
_FEATURES = 0.25
_LITTLE = 0.01  # of the noise's variance


def low_rank(spec: LeastSquares, data: TrainingSet) -> Solved:
    """By landmarks: those of Nyström, or the pivots of incomplete Cholesky."""
    ridge, indices, found = _tuned(spec, data)
    solved = of_rank(ridge, indices, found.C, spec, data)
    return replace(solved, history=found.history)


def conjugate(spec: LeastSquares, data: TrainingSet) -> Solved:
    """By products of K; error bars and leverages are those of the preconditioner."""
    data = replace(data, rows=data.rows.held())
    ridge, indices, by = _tuned(replace(spec, method="cholesky"), data)
    low = of_rank(ridge, indices, by.C, spec, data)
    design = held_kernel(low.kernel, data.rows, spec.budget)
    found = solved_by_products(
        design, ridge, by.C, tol=spec.tol, max_iter=spec.max_iter
    )
    return replace(
        low,
        # What is exact of it leaves a lower bound, of which the scale is exact.
        evidence=replace(low.evidence, energy=found.energy),
        centres=data.table,
        indices=data.rows.indices,
        coefficients=found.coefficients,
        bias=found.bias,
        n_iter=found.n_iter,
        history=by.history,
        converged=found.converged,
        remarks=found.remarks,
    )


def of_rank(
    ridge: Ridge, indices: Indices, C: float, spec: LeastSquares, data: TrainingSet
) -> Solved:
    """In the span of the functions at its pivots, whose rows have these numbers."""
    ridge = ridge.with_digits(C)
    coefficients, bias = ridge.coefficients(C)
    pivots = ridge.features.pivots
    # Where landmarks miss what matters beside the noise, only rows left out tell how
    # much noise there is.
    missing = C * ridge.left > _LITTLE * ridge.count
    return Solved(
        spec=spec,
        data=data,
        kernel=pivots.kernel,
        C=C,
        centres=pivots.rows,
        indices=indices,
        coefficients=coefficients,
        bias=bias,
        spread=ridge.spread(C),
        evidence=ridge.evidence(C),
        left_out=ridge.left_out(C) if spec.wants_left_out or missing else None,
    )


def ridge_at(pivots: Pivots, spec: LeastSquares, data: TrainingSet) -> Ridge:
    """By one pass over the rows, whose features are kept if they fit."""
    kept = 8 * len(data) * len(pivots) <= _FEATURES * spec.budget.bytes
    features = FeatureRows(pivots, data.rows, kept)
    return Ridge.of(features, data.targets, intercept=spec.intercept)


def _tuned(spec: LeastSquares, data: TrainingSet) -> tuple[Ridge, Indices, Chosen]:
    """Sums over rows, with the numbers of landmarks and what was chosen."""

    def ridge_of(kernel: Kernel) -> Ridge:
        return ridge_at(_pivots(spec, data, kernel)[0], spec, data)

    found = chosen(spec, data, ridge_of)
    pivots, indices = _pivots(spec, data, scaled(spec.kernel, found.width))
    return ridge_at(pivots, spec, data), indices, found


def _pivots(
    spec: LeastSquares, data: TrainingSet, kernel: Kernel
) -> tuple[Pivots, Indices]:
    rows, rank = data.rows, spec.rank_for(data.rows)
    if spec.method == "cholesky":
        most = _FEATURES * spec.budget.bytes / 8
        return cholesky_pivots(
            kernel, rows, rank, tol=spec.tol, noise=1 / spec.largest_weight, most=most
        )

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

"""Fit an LS-SVM: by a factor, by conjugate gradients, or with a low rank.

ConjugateSolution gradients are exact and need products of the kernel matrix only:

Solves   DX = V^½[1 y] with D = tV^½KV^½ + uI, for all right sides at once
Given    products of K, held in memory if it fits and evaluated in blocks if not
By       scipy's conjugate gradients, preconditioned by FFᵀ for K: with features F of
         low rank, (tV^½FFᵀV^½ + uI)⁻¹ is a factor of r × r
Until    residuals are ``tol`` of the right sides

All right sides are one vector to the method: a step is one product of matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from relvec.basis import Basis, Group
from relvec.design import Budget, DesignMatrix, Dictionary, choose_design
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.linalg import single_threaded, threads_for
from relvec.lssvm.dual import DualSolution, DualSystem, merged, support_rows
from relvec.lssvm.model import (
    Evidence,
    LatentVariance,
    LeastSquaresModel,
    LeaveOneOut,
    Outcome,
)
from relvec.lssvm.ridge import (
    FeatureRows,
    Ridge,
    cholesky_pivots,
    independent_rows,
    landmark_pivots,
    pivots_at,
    uniform_pivots,
)
from relvec.lssvm.specification import LeastSquares
from relvec.lssvm.tuning import TunedParameters, tune, with_width
from relvec.modelling import (
    Regression,
    Specification,
    TrainingRows,
    TrainingSet,
    logger,
    maximised,
)
from relvec.parameters import as_share
from relvec.pivots import Pivots
from relvec.precision import NOISE_FLOOR, TINY
from relvec.typing import AnyArray, Array, Indices

# Number of rows from which Student's distribution is replaced by a Gaussian, whose
# intervals are 1.6 % narrower; and the least degrees of freedom, as two have no
# variance.
_MANY, _LEAST_FREEDOM = 60, 3.0


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a system."""

    spec: LeastSquares
    data: TrainingSet
    kernel: Kernel
    C: float
    centres: Any
    indices: Indices
    coefficients: Array  # (n, K)
    bias: Array  # (K,)
    spread: LatentVariance | None
    evidence: Evidence
    left_out: LeaveOneOut | None
    n_iter: int = 1
    history: dict[str, AnyArray] | None = None  # of tuning
    converged: bool = True
    remarks: tuple[str, ...] = ()

    def model(self) -> LeastSquaresModel:
        """Build the model, with its noise and calibrated probabilities."""
        scale, noise = self._scale_and_noise()
        freedom = max(self.evidence.freedom, _LEAST_FREEDOM)
        freedom = freedom if freedom < _MANY else np.inf
        family = self.spec.family.with_noise(noise, freedom)
        calibration = None
        if self.left_out is not None:
            family = family.calibrated_on(self.data.targets, self.left_out)
            calibration = family.calibration_on(self.data.targets, self.left_out)
        order = np.argsort(self.indices, kind="stable")  # in the order of the rows
        return LeastSquaresModel(
            basis=Basis.of(self.kernel, self.centres[order], bias=False),
            coefficients=self.coefficients[order],
            bias=self.bias + self.data.offset,
            spread=self.spread if family.has_bars else None,
            scale=scale,
            C=self.C,
            family=family,
            indices=self.indices[order],
            features=self.data.rows.features,
            fit=replace(self._outcome(), calibration=calibration),
        )

    def _scale_and_noise(self) -> tuple[float, float]:
        """1/μ and 1/ζ, by leave-one-out errors if known, else by the evidence."""
        if self.left_out is None:
            scale = self.evidence.scale
            return scale, scale / self.evidence.C
        least = NOISE_FLOOR * float(np.mean(self.evidence.squares))
        noise = max(self.left_out.noise_variance, least, TINY)
        return noise * self.evidence.C, noise

    def _outcome(self) -> Outcome:
        status = Status.CONVERGED if self.converged else Status.UNSOLVED
        if not np.any(self.evidence.squares):
            status = Status.CONSTANT_TARGET
        return Outcome(
            method=self.spec.method,
            log_evidence=self.evidence.log_density,
            status=status,
            n_iter=self.n_iter,
            history=self.history,
            left_out=self.left_out,
            remarks=self.remarks,
        )


# Least 1/C relative to the largest column of K, for a preconditioner with enough
# digits.
_LEAST_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class ConjugateSolution:
    """The solution by conjugate gradients."""

    coefficients: Array  # α (N, K)
    bias: Array  # (K,)
    energy: Array  # (y − b)ᵀα (K,)
    n_iter: int
    converged: bool
    remarks: tuple[str, ...] = ()


def kernel_design(kernel: Kernel, rows: TrainingRows, budget: Budget) -> DesignMatrix:
    """K between all rows, as an array if the budget allows it."""
    X = rows.rows.whole()
    dictionary = Dictionary(
        basis=Basis.of(kernel, X, bias=False),
        rows=rows.rows,
        sample_weight=rows.weight,
        budget=budget,
        seed=rows.seed,
        in_memory=True,
        at_once=True,
    )
    choice = choose_design("auto", dictionary)
    if choice is None:
        choice = choose_design("auto", replace(dictionary, at_once=False))
    if choice is None:
        raise ValueError(
            f"products of {dictionary.words} do not fit into a memory_budget of "
            f"{budget.words}: raise it"
        )
    return choice.design


def solve_by_products(
    design: DesignMatrix, ridge: Ridge, C: float, *, tol: float, max_iter: int
) -> ConjugateSolution:
    """Solve for α and b; ``ridge`` holds targets and the preconditioner's features."""
    largest = float(np.max(design.column_norms, initial=1.0))
    limited = min(C, 1 / (_LEAST_SHARE * largest))
    t = min(limited, 1.0)
    root = np.sqrt(ridge.weight)[:, None]
    # Centre the targets first, as in an exact solution.
    right = np.hstack([root, root * (ridge.targets - ridge.target_mean)])
    norms = np.linalg.norm(right, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    system = _ProductSystem(design, root, t, t / limited)
    found, steps, failed = system.solved(
        right / norms,
        _preconditioner(ridge, t, t / limited, right.shape),
        tol,
        max_iter,
    )
    g, rest = found[:, 0] * norms[0], found[:, 1:] * norms[1:]
    b = np.zeros(rest.shape[1])
    if ridge.intercept:
        b = (root[:, 0] @ rest) / float(root[:, 0] @ g)
    rest = rest - np.outer(g, b)
    return ConjugateSolution(
        coefficients=t * root * rest,
        bias=ridge.target_mean + b,
        energy=t * np.sum(right[:, 1:] * rest, axis=0),
        n_iter=steps,
        converged=not failed,
        remarks=()
        if limited == C
        else (
            f"C={C:.3g} is too large for conjugate gradients, and the system was "
            f"solved as with C={limited:.3g}: lower C, or use method='exact'",
        ),
    )


@dataclass(frozen=True, eq=False)
class _ProductSystem:
    """D = tV^½KV^½ + uI by its products."""

    design: DesignMatrix  # K
    root: Array  # V^½ (N, 1)
    t: float
    u: float

    def solved(
        self, right: Array, preconditioner: LinearOperator, tol: float, max_iter: int
    ) -> tuple[Array, int, bool]:
        """D⁻¹ right, the number of steps, and whether it failed to converge."""
        shape, size, steps = right.shape, right.size, 0

        def product(x: Array) -> Array:
            return np.ravel(self.product(x.reshape(shape)))

        def count(_: Array) -> None:
            nonlocal steps
            steps += 1

        found, failed = cg(
            LinearOperator((size, size), product),
            np.ravel(right),
            rtol=tol,
            maxiter=max_iter,
            M=preconditioner,
            callback=count,
        )
        return found.reshape(shape), steps, bool(failed)

    def product(self, columns: Array) -> Array:
        """D times columns; K is symmetric, and its transpose needs no copy."""
        norms = self.design.column_norms[:, None]
        with threads_for(float(len(columns)) * columns.size * 20):
            values = self.design.rmatvec(self.root * columns).T * norms
        return self.t * self.root * values + self.u * columns


def _preconditioner(
    ridge: Ridge, t: float, u: float, shape: tuple[int, ...]
) -> LinearOperator:
    """(GGᵀ + uI)⁻¹ = [I − G(uI + GᵀG)⁻¹Gᵀ]/u with G = √t V^½F."""
    G = ridge.features.matrix() * np.sqrt(t * ridge.weight)[:, None]
    with threads_for(float(G.size) * G.shape[1]):
        inner = G.T @ G
    inner[np.diag_indices(len(inner))] += u
    factor = cho_factor(inner, lower=True, check_finite=False)

    def solve(x: Array) -> Array:
        columns = x.reshape(shape)
        with threads_for(float(G.size) * shape[1] * 20):
            return np.ravel((columns - G @ cho_solve(factor, G.T @ columns)) / u)

    size = shape[0] * shape[1]
    return LinearOperator((size, size), solve)


# Share of the budget for features that are kept between passes.
_FEATURES = 0.25
_LITTLE = 0.01  # negligible share of the noise variance


def fit_low_rank(spec: LeastSquares, data: TrainingSet) -> Solution:
    """Fit with Nyström's landmarks or the pivots of incomplete Cholesky."""
    ridge, indices, found = _tuned_ridge(spec, data)
    solved = solution_at_pivots(ridge, indices, found.C, spec, data)
    return replace(solved, history=found.history)


def fit_conjugate(spec: LeastSquares, data: TrainingSet) -> Solution:
    """Fit by conjugate gradients; error bars are those of the preconditioner."""
    data = replace(data, rows=data.rows.held())
    ridge, indices, by = _tuned_ridge(replace(spec, method="cholesky"), data)
    low = solution_at_pivots(ridge, indices, by.C, spec, data)
    design = kernel_design(low.kernel, data.rows, spec.budget)
    found = solve_by_products(design, ridge, by.C, tol=spec.tol, max_iter=spec.max_iter)
    return replace(
        low,
        # The energy is exact and the volume is bounded, so this is a bound at exact
        # scale.
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


def solution_at_pivots(
    ridge: Ridge, indices: Indices, C: float, spec: LeastSquares, data: TrainingSet
) -> Solution:
    """Solve in the span of the functions at the pivots."""
    ridge = ridge.with_digits(C)
    coefficients, bias = ridge.coefficients(C)
    pivots = ridge.features.pivots
    # If landmarks miss more than the noise, only leave-one-out errors show the noise.
    missing = C * ridge.left > _LITTLE * ridge.count
    return Solution(
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
    """Sum over all rows in one pass, keeping their features if they fit."""
    kept = 8 * len(data) * len(pivots) <= _FEATURES * spec.budget.bytes
    features = FeatureRows(pivots, data.rows, kept)
    return Ridge.of(features, data.targets, intercept=spec.intercept)


def _tuned_ridge(
    spec: LeastSquares, data: TrainingSet
) -> tuple[Ridge, Indices, TunedParameters]:
    """Tune, then return the sums, the landmarks' row numbers and the parameters."""

    def ridge_of(kernel: Kernel) -> Ridge:
        return ridge_at(_pivots(spec, data, kernel)[0], spec, data)

    found = tune(spec, data, ridge_of)
    pivots, indices = _pivots(spec, data, with_width(spec.kernel, found.width))
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


# Landmarks for a first search of C and the width: all of few rows, a tenth of more,
# with which five widths take about as long as two factors of K.
_SCREENED, _SHARE_SCREENED, _ALL = 200, 10, 600


def fit_exact(spec: LeastSquares, data: TrainingSet) -> Solution:
    """Fit by a factor of all of K."""
    data = replace(data, rows=data.rows.held())
    if spec.n_support is not None:
        data = merged(data)
    if spec.tuning is not None:
        data = data.shuffled()  # the last rows are left out to compare fits
    found = tune(spec, data, _screening(spec, data))
    centres = data.rows.indices if spec.precomputed else data.table

    def solved(width: float, C: float) -> DualSolution:
        functions = Group(with_width(spec.kernel, width), centres)
        system = DualSystem(functions, data.table, data.weight, spec.intercept)
        if not functions.positive_definite:
            system.check_symmetry()
        return system.solved(data.targets, C)

    C, solution = found.confirmed_by_factors(solved)
    if spec.n_support is None:
        return _from_dual(spec, data, solution, C, found)
    return _pruned(spec, data, solution, C, found)


def _screening(spec: LeastSquares, data: TrainingSet) -> Callable[[Kernel], Ridge]:
    """A low rank of all rows; for the evidence, of some rows."""
    count = len(data)
    if count > _ALL:
        count = max(_SCREENED, count // _SHARE_SCREENED)
    if spec.tuning is not None and spec.tuning.criterion == "evidence":
        count = min(len(data), _ALL)
        data = data.drawn(count)
    return lambda kernel: ridge_at(uniform_pivots(kernel, data.rows, count), spec, data)


def _from_dual(
    spec: LeastSquares,
    data: TrainingSet,
    solution: DualSolution,
    C: float,
    by: TunedParameters,
) -> Solution:
    functions = solution.system.functions
    return Solution(
        spec=spec,
        data=data,
        kernel=functions.kernel,
        C=C,
        centres=functions.centres,
        indices=data.rows.indices,
        coefficients=solution.coefficients,
        bias=solution.bias,
        spread=None if spec.precomputed else solution.spread,
        evidence=solution.evidence(),
        left_out=solution.left_out if spec.wants_left_out else None,
        n_iter=by.n_exact,
        history=by.history,
        remarks=_remark_on_shift(solution, C),
    )


def _remark_on_shift(solution: DualSolution, C: float) -> tuple[str, ...]:
    if not solution.factor.shift:
        return ()
    return (
        f"K + I/C is singular to working precision with C={C:.3g}, and was solved as "
        f"with C={solution.error_weight:.3g}: lower C, or give a narrower kernel",
    )


def _pruned(
    spec: LeastSquares,
    data: TrainingSet,
    solution: DualSolution,
    C: float,
    by: TunedParameters,
) -> Solution:
    """Solve in the span of some functions, with all rows."""
    count = max(as_share("n_support", spec.n_support, len(data)), 1)
    kernel = solution.system.functions.kernel
    candidates = independent_rows(kernel, data.rows)
    rows, more = support_rows(solution, C, candidates, count)
    pivots, indices = pivots_at(kernel, data.rows, rows)
    found = solution_at_pivots(ridge_at(pivots, spec, data), indices, C, spec, data)
    return replace(found, n_iter=by.n_exact + more, history=by.history)


_METHODS: dict[str, Callable[[LeastSquares, TrainingSet], Solution]] = {
    "exact": fit_exact,
    "nystrom": fit_low_rank,
    "cholesky": fit_low_rank,
    "cg": fit_conjugate,
}


def fit_least_squares(spec: LeastSquares, data: TrainingSet) -> LeastSquaresModel:
    """Fit the LS-SVM of a specification."""
    method = spec.method_for(data.rows)
    logger.info("method: %s", method)
    with single_threaded():
        return _METHODS[method](replace(spec, method=method), data).model()

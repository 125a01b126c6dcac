"""Exact fits, by factors of K + I/C; and those that are pruned then."""

from collections.abc import Callable
from dataclasses import replace

from relvec.basis import Group
from relvec.kernels import Kernel
from relvec.lssvm.dual import DualSolution, DualSystem
from relvec.lssvm.landmarks import independent_rows, pivots_at, uniform_pivots
from relvec.lssvm.low_rank import of_rank, ridge_at
from relvec.lssvm.pruning import merged, support_rows
from relvec.lssvm.ridge import Ridge
from relvec.lssvm.solved import Solved
from relvec.lssvm.specification import LeastSquares
from relvec.lssvm.tuning import Chosen, chosen, scaled
from relvec.modelling import TrainingSet
from relvec.parameters import as_share

# Landmarks that tell where C and the width are: all rows of few, of more a tenth, for
# which five widths take about as long as two factors of K.
_SCREENED, _SHARE_SCREENED, _ALL = 200, 10, 600


def exact(spec: LeastSquares, data: TrainingSet) -> Solved:
    """By a factor of all of it."""
    data = replace(data, rows=data.rows.held())
    if spec.n_support is not None:
        data = merged(data)
    if spec.tuning is not None:
        data = data.shuffled()  # the last rows will judge
    found = chosen(spec, data, _screening(spec, data))
    centres = data.rows.indices if spec.precomputed else data.table

    def solved(width: float, C: float) -> DualSolution:
        functions = Group(scaled(spec.kernel, width), centres)
        system = DualSystem(functions, data.table, data.weight, spec.intercept)
        if not functions.positive_definite:
            system.check_symmetry()
        return system.solved(data.targets, C)

    C, solution = found.confirmed(solved)
    if spec.n_support is None:
        return _of_solution(spec, data, solution, C, found)
    return _pruned(spec, data, solution, C, found)


def _screening(spec: LeastSquares, data: TrainingSet) -> Callable[[Kernel], Ridge]:
    """Of all rows by some of them as landmarks; for the evidence, of some rows."""
    count = len(data)
    if count > _ALL:
        count = max(_SCREENED, count // _SHARE_SCREENED)
    if spec.tuning is not None and spec.tuning.criterion == "evidence":
        count = min(len(data), _ALL)
        data = data.drawn(count)
    return lambda kernel: ridge_at(uniform_pivots(kernel, data.rows, count), spec, data)


def _of_solution(
    spec: LeastSquares, data: TrainingSet, solution: DualSolution, C: float, by: Chosen
) -> Solved:
    functions = solution.system.functions
    return Solved(
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
    spec: LeastSquares, data: TrainingSet, solution: DualSolution, C: float, by: Chosen
) -> Solved:
    """In the span of some of the functions, and by all rows."""
    count = max(as_share("n_support", spec.n_support, len(data)), 1)
    kernel = solution.system.functions.kernel
    candidates = independent_rows(kernel, data.rows)
    rows, more = support_rows(solution, C, candidates, count)
    pivots, indices = pivots_at(kernel, data.rows, rows)
    found = of_rank(ridge_at(pivots, spec, data), indices, C, spec, data)
    return replace(found, n_iter=by.n_exact + more, history=by.history)

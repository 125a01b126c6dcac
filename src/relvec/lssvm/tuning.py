"""Choose C and the kernel's width, by leave-one-out errors or by the evidence.

For each width, a low rank yields the whole path of C at once (``ridge.py``). If all
rows are landmarks, this is exact and takes one eigendecomposition. With more rows it
only says where to look, since an eigendecomposition of K takes as long as sixteen
factors. The evidence of a low rank is a bound, and far from tight with few landmarks;
there a subset of the rows, all of them landmarks, is more reliable. Factors of K then
decide: between some widths, and at the best C and its neighbours, as long as one of
them is better.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from relvec.basis import as_rows
from relvec.kernel_search import radial
from relvec.kernels import Checked, Kernel
from relvec.lssvm.dual import DualSolution
from relvec.lssvm.ridge import Ridge
from relvec.lssvm.specification import LeastSquares, Tuning, as_path
from relvec.modelling import TrainingRows, TrainingSet
from relvec.typing import Array

# Path of C in units of 1/mean k(x, x); beyond, 1 − h has few digits.
_C = 10.0 ** np.arange(-3, 7.5, 0.5)
# Widths in units of the length scale of gamma="scale", in steps of 2.5: from the
# narrowest that was best on a table (0.29, protein) to one that is nearly linear.
_WIDTHS = (0.3, 0.75, 1.9, 4.7, 12.0)
# Rows left out to compare factors, at least a quarter of all: the same rows for each
# factor, in an eighth of the time of all rows or less.
_JUDGED = 1000
# Relative to the best score: such a width may still win with another C.
_CLOSE = 1.1
_SOME = 1000  # rows for the mean of k(x, x)
_HALF_STEP = 1.6  # half of such a step, to either side of the best


Solve = Callable[[float, float], DualSolution]  # of a width and C


@dataclass(frozen=True)
class TuningTrial:
    """A width, an index into the path of C, and its score by a factor of K."""

    score: float
    width: float
    place: int


@dataclass(eq=False)
class TuningSearch:
    """All trials and their scores; lower is better."""

    tuning: Tuning
    kernel: Kernel
    ridge_of: Callable[[Kernel], Ridge]
    path: Array  # of C
    tried: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in ("C", "width", "score", "exact")}
    )
    # The best by a factor of K; others are not kept in memory.
    kept: tuple[TuningTrial, DualSolution] | None = None

    @classmethod
    def of(
        cls,
        tuning: Tuning,
        kernel: Kernel,
        ridge_of: Callable[[Kernel], Ridge],
        scale: float,
    ) -> "TuningSearch":
        """Start a search; ``scale`` is the mean of k(x, x)."""
        if tuning.widths is not None and radial(kernel) is None:
            raise ValueError(
                "widths of Tuning are multiples of a kernel's length scale, and "
                f"{kernel!r} has none that can be changed: leave them out, or give a "
                "kernel such as 'rbf' or relvec.kernels.Matern()"
            )
        path = _C / scale if tuning.C is None else as_path("C", tuning.C)
        return cls(tuning, kernel, ridge_of, path)

    def best_of_low_rank(self) -> tuple[float, float]:
        """Width and C with the best score of a low rank."""
        given = self.tuning.widths
        if radial(self.kernel) is None:
            return self._best([1.0])
        if given is not None:
            return self._best(list(as_path("widths", given)))
        width, _ = self._best(list(_WIDTHS))
        return self._best([width / _HALF_STEP, width * _HALF_STEP])

    def _best(self, widths: list[float]) -> tuple[float, float]:
        """The best of these trials and all earlier ones."""
        for width in widths:
            ridge = self.ridge_of(with_width(self.kernel, width))
            self._note(width, self.path, self._scores(ridge), exact=False)
        best = int(np.argmin(self.tried["score"]))
        return self.tried["width"][best], self.tried["C"][best]

    def _scores(self, ridge: Ridge) -> Array:
        if self.tuning.criterion == "loo":
            return ridge.press(self.path)
        found = [-ridge.evidence(C).log_density for C in self.path]
        return np.array(found)

    def _note(self, width: float, path: Any, scores: Any, *, exact: bool) -> None:
        path, scores = np.atleast_1d(path), np.atleast_1d(scores)
        finite = np.where(np.isfinite(scores), scores, np.inf)
        self.tried["C"] += path.tolist()
        self.tried["width"] += [width] * len(path)
        self.tried["score"] += finite.tolist()
        self.tried["exact"] += [exact] * len(path)

    def confirmed_by_factors(self, solved: Solve) -> tuple[float, DualSolution]:
        """The best C by factors of K, with its solution."""
        if not self.tried["score"]:
            self._try_all(solved)
        else:
            self._look_around(solved)
        assert self.kept is not None
        best, solution = self.kept
        return float(self.path[best.place]), solution

    def _look_around(self, solved: Solve) -> None:
        """Try factors of K near the best width of a low rank."""
        starts = self._starts()
        best, second = self._exact_trial(*starts[0], solved), None
        for start in starts[1:]:
            found = self._exact_trial(*start, solved)
            best, second = sorted((best, found), key=lambda one: one.score)
            if best is not found and self.tuning.criterion == "loo":
                break
        moved = self._ascend(best, solved).place - best.place
        if second is None or not moved or second.score > _CLOSE * best.score:
            return
        # The errors of low ranks are similar for widths with similar scores.
        place = int(np.clip(second.place + moved, 0, len(self.path) - 1))
        other = self._exact_trial(second.width, place, solved)
        assert self.kept is not None
        if other is self.kept[0]:
            self._ascend(other, solved)

    def _ascend(self, best: TuningTrial, solved: Solve) -> TuningTrial:
        """Improve the C of a width until its neighbours are no better.

        Scores are assumed to have one minimum along C. The search goes upwards until
        they rise, and downwards if they rise at once.
        """
        for step in (1, -1):
            start, place = best.place, best.place + step
            while 0 <= place < len(self.path):
                found = self._exact_trial(best.width, place, solved)
                if found.score >= best.score:
                    break
                best, place = found, place + step
            if best.place != start:
                break
        return best

    def _starts(self) -> list[tuple[float, int]]:
        """Widths to try, each with the index of its best C.

        With the evidence, which is computed for some rows only, try all widths. With
        leave-one-out errors, try the best width and narrower ones as long as they
        improve, since a low rank favours wide kernels.
        """
        scores = np.array(self.tried["score"]).reshape(-1, len(self.path))
        widths = np.array(self.tried["width"][:: len(self.path)])
        order = np.argsort(-widths)
        if self.tuning.criterion == "loo":
            order = order[int(np.argmin(scores.min(axis=1)[order])) :]
        return [(float(widths[row]), int(np.argmin(scores[row]))) for row in order]

    def _exact_trial(self, width: float, place: int, solved: Solve) -> TuningTrial:
        """Try a width and C by a factor of K."""
        solution = solved(width, float(self.path[place]))
        found = TuningTrial(self._exact_score(solution), width, place)
        self._note(width, self.path[place], found.score, exact=True)
        if self.kept is None or found.score < self.kept[0].score:
            self.kept = found, solution
        return found

    def _try_all(self, solved: Solve) -> None:
        """Try the whole path, for kernels without a low rank."""
        trials = [
            self._exact_trial(1.0, place, solved) for place in range(len(self.path))
        ]
        if all(np.isinf(trial.score) for trial in trials):
            raise ValueError(
                "tune='evidence' needs a kernel whose matrix is positive definite, and "
                "that of this one is not: use tune='loo'"
            )

    def _exact_score(self, solution: DualSolution) -> float:
        if self.tuning.criterion == "loo":
            return solution.leave_last_out(
                max(_JUDGED, len(solution.targets) // 4)
            ).mean_square
        found = -solution.evidence().log_density
        return found if np.isfinite(found) else np.inf

    @property
    def n_exact(self) -> int:
        """Number of solved systems."""
        return int(sum(self.tried["exact"]))

    @property
    def history(self) -> dict[str, Any]:
        """All trials in order."""
        return {name: np.array(values) for name, values in self.tried.items()}


@dataclass(frozen=True, eq=False)
class TunedParameters:
    """A width and C, given or found by a search."""

    C: float
    width: float = 1.0
    search: TuningSearch | None = None

    def confirmed_by_factors(self, solved: Solve) -> tuple[float, DualSolution]:
        """C and its solution, confirmed by factors of K."""
        if self.search is None:
            return self.C, solved(self.width, self.C)
        return self.search.confirmed_by_factors(solved)

    @property
    def n_exact(self) -> int:
        """Number of solved systems."""
        return 1 if self.search is None else self.search.n_exact

    @property
    def history(self) -> dict[str, Any] | None:
        """The trials of a search."""
        return None if self.search is None else self.search.history


def tune(
    spec: LeastSquares, data: TrainingSet, ridge_of: Callable[[Kernel], Ridge]
) -> TunedParameters:
    """Width and C as specified, or tuned with a low rank."""
    if spec.tuning is None:
        return TunedParameters(spec.C)
    scale = _mean_diagonal(spec, data.rows)
    search = TuningSearch.of(spec.tuning, spec.kernel, ridge_of, scale)
    if not spec.kernel.positive_definite:
        return TunedParameters(spec.C, 1.0, search)
    width, C = search.best_of_low_rank()
    return TunedParameters(C, width, search)


def _mean_diagonal(spec: LeastSquares, rows: TrainingRows) -> float:
    """Mean of k(x, x) over some rows."""
    some = rows.loaded(rows.drawn(_SOME))
    X = some.rows.whole()
    if spec.precomputed:
        diagonal = X[np.arange(len(some)), some.indices]
    else:
        diagonal = spec.kernel.diagonal(as_rows(X))
    mean = float(np.average(np.abs(diagonal), weights=some.weight))
    return mean if mean > 0 else 1.0


def with_width(kernel: Kernel, width: float) -> Kernel:
    """The kernel with its length scale multiplied by a factor."""
    inner = radial(kernel)
    if inner is None or width == 1.0:
        return kernel
    wide = replace(inner, length_scale=inner.scale * width, width=None)
    return Checked(wide) if isinstance(kernel, Checked) else wide

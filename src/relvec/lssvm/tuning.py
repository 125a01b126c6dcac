"""C and the kernel's width by rows left out or by the evidence, along paths of both.

Of every width a low rank tells all of a path of C at once (``ridge.py``). With all rows
as landmarks that is exact, from one eigendecomposition. Of more rows it says where to
look: an eigendecomposition of K takes as long as sixteen of its factors. The evidence
of a low rank is a bound, and far from tight where landmarks are few, so that some rows
alone tell more, of which all are landmarks. Then factors of K decide: between some
widths, and at the C found and those beside it, as long as one is better.
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
from relvec.lssvm.settings import Tuning, as_path
from relvec.lssvm.specification import LeastSquares
from relvec.modelling import TrainingRows, TrainingSet
from relvec.typing import Array

# In units of 1/mean k(x, x); beyond, few digits are left of 1 − h.
_C = 10.0 ** np.arange(-3, 7.5, 0.5)
# In steps of 2.5 of the length scale that gamma="scale" is, from the narrowest that was
# best on a table (0.29, protein) to what makes a plane of most data.
_WIDTHS = (0.3, 0.75, 1.9, 4.7, 12.0)
_SOME = 1000  # rows whose k(x, x) tell its mean
_HALF_STEP = 1.6  # half of such a step, to either side of the best


Solve = Callable[[float, float], DualSolution]  # of a width and C


@dataclass(frozen=True, eq=False)
class Confirmed:
    """A width and C of the path, with their score by a factor of K."""

    score: float
    width: float
    place: int
    C: float
    solution: DualSolution


@dataclass(eq=False)
class Search:
    """All that was tried; the lower a score the better."""

    tuning: Tuning
    kernel: Kernel
    ridge_of: Callable[[Kernel], Ridge]
    path: Array  # of C
    tried: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in ("C", "width", "score", "exact")}
    )

    @classmethod
    def of(
        cls,
        tuning: Tuning,
        kernel: Kernel,
        ridge_of: Callable[[Kernel], Ridge],
        scale: float,
    ) -> "Search":
        """``scale`` is the mean of k(x, x)."""
        if tuning.widths is not None and radial(kernel) is None:
            raise ValueError(
                "widths of Tuning are multiples of a kernel's length scale, and "
                f"{kernel!r} has none that can be changed: leave them out, or give a "
                "kernel such as 'rbf' or relvec.kernels.Matern()"
            )
        path = _C / scale if tuning.C is None else as_path("C", tuning.C)
        return cls(tuning, kernel, ridge_of, path)

    def screened(self) -> tuple[float, float]:
        """Width and C of the best score of a low rank, or of K if all rows are in."""
        given = self.tuning.widths
        if radial(self.kernel) is None:
            return self._best([1.0])
        if given is not None:
            return self._best(list(as_path("widths", given)))
        width, _ = self._best(list(_WIDTHS))
        return self._best([width / _HALF_STEP, width * _HALF_STEP])

    def _best(self, widths: list[float]) -> tuple[float, float]:
        """Of these and all that were tried before."""
        for width in widths:
            ridge = self.ridge_of(scaled(self.kernel, width))
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

    def confirmed(self, solved: Solve) -> "Confirmed":
        """The best by factors of K, from what was screened."""
        if not self.tried["score"]:
            return self._exhausted(solved)
        best = min(
            (self._exactly(*start, solved) for start in self._starts()),
            key=lambda found: found.score,
        )
        # Scores have one minimum along C, as far as it is known: upwards until they
        # rise, and downwards if they rise at once.
        for step in (1, -1):
            start = best.place
            while 0 <= best.place + step < len(self.path):
                beside = self._exactly(best.width, best.place + step, solved)
                if beside.score >= best.score:
                    break
                best = beside
            if best.place != start:
                break
        return best

    def _starts(self) -> list[tuple[float, int]]:
        """Widths to look at, each with the place of its best C.

        All of the evidence's, which takes no more than a factor of K and comes from
        some rows only. Of rows left out the best one, and those beside it where widths
        are ours to choose: low rank is in favour of wide kernels.
        """
        scores = np.array(self.tried["score"]).reshape(-1, len(self.path))
        widths = np.array(self.tried["width"][:: len(self.path)])
        order = np.argsort(widths)
        best = int(np.argmin(scores.min(axis=1)[order]))
        if self.tuning.criterion == "loo":
            beside = int(self.tuning.widths is None)
            order = order[max(best - beside, 0) : best + beside + 1]
        return [(float(widths[row]), int(np.argmin(scores[row]))) for row in order]

    def _exactly(self, width: float, place: int, solved: Solve) -> "Confirmed":
        """A score by a factor of K, with what it comes from."""
        solution = solved(width, float(self.path[place]))
        score = self._exact_score(solution)
        self._note(width, self.path[place], score, exact=True)
        return Confirmed(score, width, place, float(self.path[place]), solution)

    def _exhausted(self, solved: Solve) -> "Confirmed":
        """The best C of all, for kernels that have no low rank to go by."""
        best = self._exactly(1.0, 0, solved)
        for place in range(1, len(self.path)):
            found = self._exactly(1.0, place, solved)
            best = found if found.score < best.score else best
        if np.isinf(best.score):
            raise ValueError(
                "tune='evidence' needs a kernel whose matrix is positive definite, and "
                "that of this one is not: use tune='loo'"
            )
        return best

    def _exact_score(self, solution: DualSolution) -> float:
        if self.tuning.criterion == "loo":
            return solution.left_out.mean_square
        found = -solution.evidence().log_density
        return found if np.isfinite(found) else np.inf

    @property
    def n_exact(self) -> int:
        """Systems that were solved."""
        return int(sum(self.tried["exact"]))

    @property
    def history(self) -> dict[str, Any]:
        """Of all that was tried, in order."""
        return {name: np.array(values) for name, values in self.tried.items()}


@dataclass(frozen=True, eq=False)
class Chosen:
    """A width and C, as given or found by a search."""

    C: float
    width: float = 1.0
    search: Search | None = None

    def confirmed(self, solved: Solve) -> tuple[float, DualSolution]:
        """C and its solution; what a search has found is looked at by factors."""
        if self.search is None:
            return self.C, solved(self.width, self.C)
        found = self.search.confirmed(solved)
        return found.C, found.solution

    @property
    def n_exact(self) -> int:
        """Systems that were solved."""
        return 1 if self.search is None else self.search.n_exact

    @property
    def history(self) -> dict[str, Any] | None:
        """Of a search, after it."""
        return None if self.search is None else self.search.history


def chosen(
    spec: LeastSquares, data: TrainingSet, ridge_of: Callable[[Kernel], Ridge]
) -> Chosen:
    """Width and C of a specification, or those that tuning finds by low rank."""
    if spec.tuning is None:
        return Chosen(spec.C)
    scale = _mean_diagonal(spec, data.rows)
    search = Search.of(spec.tuning, spec.kernel, ridge_of, scale)
    if not spec.kernel.positive_definite:
        return Chosen(spec.C, 1.0, search)
    width, C = search.screened()
    return Chosen(C, width, search)


def _mean_diagonal(spec: LeastSquares, rows: TrainingRows) -> float:
    """Of k(x, x), over some rows."""
    some = rows.loaded(rows.drawn(_SOME))
    X = some.rows.whole()
    if spec.precomputed:
        diagonal = X[np.arange(len(some)), some.indices]
    else:
        diagonal = spec.kernel.diagonal(as_rows(X))
    mean = float(np.average(np.abs(diagonal), weights=some.weight))
    return mean if mean > 0 else 1.0


def scaled(kernel: Kernel, width: float) -> Kernel:
    """The kernel with so many times its length scale."""
    inner = radial(kernel)
    if inner is None or width == 1.0:
        return kernel
    wide = replace(inner, length_scale=inner.scale * width, width=None)
    return Checked(wide) if isinstance(kernel, Checked) else wide

"""C and the kernel's width by rows left out or by the evidence, along paths of both.

Of every width a low rank tells all of a path of C at once (``ridge.py``). With all rows
as landmarks that is exact, from one eigendecomposition. Of more rows it says where to
look: an eigendecomposition of K takes as long as sixteen of its factors. Then factors
of K decide, at the C found and those beside it, as long as a neighbour is better.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from relvec.kernel_search import radial
from relvec.kernels import Checked, Kernel
from relvec.lssvm.dual import DualSolution
from relvec.lssvm.ridge import Ridge
from relvec.lssvm.settings import Tuning, as_path
from relvec.typing import Array

# In units of 1/mean k(x, x); beyond, few digits are left of 1 − h.
_C = 10.0 ** np.arange(-3, 7.5, 0.5)
# In steps of 2.5 of the length scale that gamma="scale" is, from the narrowest that was
# best on a table (0.29, protein) to what makes a plane of most data.
_WIDTHS = (0.3, 0.75, 1.9, 4.7, 12.0)
_HALF_STEP = 1.6  # half of such a step, to either side of the best


@dataclass(frozen=True)
class Choice:
    """A kernel and C."""

    kernel: Kernel
    C: float


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

    def confirmed(
        self, width: float, C: float, solved: Callable[[float], DualSolution]
    ) -> tuple[float, DualSolution]:
        """The best C by factors of K, from one found and those beside it."""
        if not self.tried["score"]:  # nothing was screened
            return self._exhausted(width, solved)
        place = int(np.argmin(np.abs(np.log(self.path / C))))
        best = self._exactly(width, place, solved)
        # Scores have one minimum along C, as far as it is known: upwards until they
        # rise, and downwards if they rise at once.
        for step in (1, -1):
            start = place
            while 0 <= place + step < len(self.path):
                beside = self._exactly(width, place + step, solved)
                if beside[0] >= best[0]:
                    break
                best, place = beside, place + step
            if place != start:
                break
        return float(self.path[place]), best[1]

    def _exactly(
        self, width: float, place: int, solved: Callable[[float], DualSolution]
    ) -> tuple[float, DualSolution]:
        """A score by a factor of K, with what it comes from."""
        C = float(self.path[place])
        solution = solved(C)
        score = self._exact_score(solution)
        self._note(width, C, score, exact=True)
        return score, solution

    def _exhausted(
        self, width: float, solved: Callable[[float], DualSolution]
    ) -> tuple[float, DualSolution]:
        """The best C of all, for kernels that have no low rank to go by."""
        best = self._exactly(width, 0, solved)
        chosen = 0
        for place in range(1, len(self.path)):
            found = self._exactly(width, place, solved)
            if found[0] < best[0]:
                best, chosen = found, place
        if np.isinf(best[0]):
            raise ValueError(
                "tune='evidence' needs a kernel whose matrix is positive definite, and "
                "that of this one is not: use tune='loo'"
            )
        return float(self.path[chosen]), best[1]

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


def scaled(kernel: Kernel, width: float) -> Kernel:
    """The kernel with so many times its length scale."""
    inner = radial(kernel)
    if inner is None or width == 1.0:
        return kernel
    wide = replace(inner, length_scale=inner.scale * width, width=None)
    return Checked(wide) if isinstance(kernel, Checked) else wide

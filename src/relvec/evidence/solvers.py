"""The ways to maximise the evidence, by name."""

from dataclasses import dataclass
from typing import Any

from relvec.evidence.base import EvidenceMaximiser
from relvec.evidence.fixed_point import UPDATES, FixedPoint
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import Rounds
from relvec.evidence.sequential import Sequential
from relvec.evidence.top_down import TopDown

SOLVERS = ("sequential", *UPDATES)


@dataclass(frozen=True)
class Solver:
    """What users may choose; the rest has its defaults."""

    name: str = "sequential"
    schedule: str = "pool"
    selection: str = "gain"
    start: int | None = None  # the function to begin with
    tol: float = 1e-4
    noise_interval: int = 10  # of the greedy schedule
    polish: bool = True
    seed: int = 0

    @property
    def maximiser(self) -> EvidenceMaximiser[Any]:
        """The algorithm with these settings."""
        if self.name == "sequential":
            return self._sequential
        fixed_point = FixedPoint(self.name, tol=self.tol)
        return TopDown(fixed_point, self._sequential) if self.polish else fixed_point

    @property
    def _sequential(self) -> Sequential | Pooled:
        single = Sequential(
            selection=self.selection,
            start=self.start,
            tol=self.tol,
            noise_interval=self.noise_interval,
            seed=self.seed,
        )
        if self.schedule == "greedy":
            return single
        return Pooled(single, Rounds(selection=self.selection, seed=self.seed))

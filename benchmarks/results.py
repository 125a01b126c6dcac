"""What was measured, and the numbers that follow from it."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

LARGE = 10_000  # from where on growth is fitted


@dataclass
class Results:
    """Runs, footprints and predictions of one session."""

    machine: dict[str, Any]
    runs: list[Any] = field(default_factory=list)
    footprints: list[Any] = field(default_factory=list)
    predictions: list[Any] = field(default_factory=list)

    def of(self, problem, contender, size):
        """Successful runs by seed."""
        wanted = problem, contender, size
        return {
            run.seed: run
            for run in self.runs
            if (run.problem, run.contender, run.size) == wanted and run.laps
        }

    def names(self, problem):
        return list(
            dict.fromkeys(run.contender for run in self.runs if run.problem == problem)
        )

    def sizes(self, problem):
        return sorted({run.size for run in self.runs if run.problem == problem})

    def median(self, problem, contender, size, value="seconds"):
        """Median over the seeds, nan where there is none."""
        found = self.of(problem, contender, size).values()
        values = [getattr(run, value) for run in found]
        values = [number for number in values if number is not None]
        return float(np.median(values)) if values else np.nan

    def ratio(self, problem, one, other, value="seconds"):
        """Median over the seeds of one (contender, size) over another, or nan."""
        first, second = self.of(problem, *one), self.of(problem, *other)
        ratios = [
            getattr(first[seed], value) / getattr(second[seed], value)
            for seed in first.keys() & second.keys()
        ]
        return float(np.median(ratios)) if ratios else np.nan

    def exponent(self, problem, contender):
        """Slope of log seconds on log rows among the large sizes, or nan."""
        sizes = [
            size
            for size in self.sizes(problem)
            if size >= LARGE and self.of(problem, contender, size)
        ]
        if len(sizes) < 2:
            return np.nan
        seconds = [self.median(problem, contender, size) for size in sizes]
        return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])

    def footprint(self, problem, way, size):
        """Gigabytes that a fit needed, or nan."""
        for found in self.footprints:
            wanted = (found.problem, found.way, found.size) == (problem, way, size)
            if wanted and found.fit is not None:
                return found.fit / 1e9
        return np.nan

    def prediction_ratio(self, problem, rival, size):
        """Seconds of relvec over those of a rival, fitted on so many rows, or nan."""
        for found in self.predictions:
            if (found.problem, found.size) == (problem, size):
                return found.seconds["relvec"] / found.seconds[rival]
        return np.nan

    def as_dictionary(self):
        return {
            "machine": self.machine,
            "runs": [asdict(run) for run in self.runs],
            "footprints": [asdict(found) for found in self.footprints],
            "predictions": [asdict(found) for found in self.predictions],
        }

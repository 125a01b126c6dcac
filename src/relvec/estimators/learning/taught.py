"""Sparse models that begin with what a Gaussian process says.

A search for functions ends in one of many local maxima of the evidence, and where
kernels are wide they differ much. The process with the same kernel has no functions to
choose, so it is a measure of them: models that begin with the functions that say what
it says, to within a part of the noise, and of all models the one closest to it.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.estimators.learning.trials import Trial, Trials
from relvec.kernel_learning import Process, Range
from relvec.likelihoods import Gaussian
from relvec.typing import Array

_WITHIN = (0.1, 0.01)  # of the noise variance


@dataclass(frozen=True)
class Taught:
    """Trials with the length scales of a process, and what it says of their rows."""

    trials: Trials
    scales: Array  # (1 or d,)
    mean: Array  # (N, K)
    noise: Array  # (K,), a variance

    @classmethod
    def by_process(
        cls, trials: Trials, starts: list[Array], allowed: Range, *, tied: bool
    ) -> "Taught":
        """With scales found from several, in the time there is."""
        targets, rows = trials.targets, trials.rows
        spread, ended = targets.spread, trials.out_of_time
        values = targets.values / spread
        process = Process.of(trials.template, rows, values, trials.weight, tied=tied)
        found = process.proposed(starts, allowed, ended)
        mean = process.mean(found, rows) * spread
        return cls(trials, found.scales, mean, found.noise * spread**2)

    def closest(self, *known: Trial) -> Trial:
        """Of known trials and those taught, the one closest to the process."""
        found = list(known)
        for part in _WITHIN:
            if self.trials.ended:
                break
            found.append(self.trials.of(self.scales, self._beginning(part)))
        return min(found, key=self.distance)

    def _beginning(self, part: float) -> Trial:
        """Functions that say what the process says, to within a part of the noise."""
        targets = self.trials.targets
        likelihood = Gaussian(1 / (part * self.noise), estimated=False)
        lesson = replace(targets, values=self.mean, likelihood=likelihood)
        trial = self.trials.unjudged(self.scales, lesson)
        noise = targets.likelihood.with_parameters(-np.log(self.noise))
        return replace(trial, fit=replace(trial.fit, likelihood=noise))

    def distance(self, trial: Trial) -> float:
        """Mean square of what is between a model and the process, over rows."""
        targets = self.trials.targets
        said = trial.model.model_.latent(self.trials.rows)[0] - targets.offset
        apart = np.sum((said - self.mean) ** 2 / self.noise, axis=1)
        return float(np.average(apart, weights=self.trials.weight))

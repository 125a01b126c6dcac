"""Sparse models by projection of a reference model, a Gaussian process.

A search for functions ends in one of many local maxima of the evidence, and where
kernels are wide they differ much. The process with the same kernel has no functions to
choose, so it is a reference for them (Goutis and Robert, 1998): models begin with the
functions that say what it says, to within a part of the noise, and of all the one
closest to it is kept.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.kernel_learning import GaussianProcess, Range
from relvec.kernel_search.trials import Trial, Trials
from relvec.likelihoods import Gaussian
from relvec.typing import Array

_WITHIN = (0.1, 0.01)  # of the noise variance; 0.3, 0.03 and more were as good


@dataclass(frozen=True)
class ReferenceProjection:
    """Trials with the length scales of a process, and its mean at their rows."""

    trials: Trials
    scales: Array  # (1 or d,)
    mean: Array  # (N, K)
    noise: Array  # (K,), a variance

    @classmethod
    def by_process(
        cls, trials: Trials, starts: list[Array], allowed: Range, *, tied: bool
    ) -> "ReferenceProjection":
        """With scales found from several, in the time there is."""
        data, rows = trials.data, trials.data.table
        unit = data.root_mean_squares
        values = data.targets / unit
        process = GaussianProcess.of(
            trials.template, rows, values, data.weight, tied=tied
        )
        found = process.proposed(starts, allowed, trials.out_of_time)
        mean = process.mean(found, rows) * unit
        return cls(trials, found.scales, mean, found.noise * unit**2)

    def closest(self, *known: Trial) -> Trial:
        """Of known trials and those projected, the one closest to the process."""
        found = list(known)
        for part in _WITHIN:
            if self.trials.ended:
                break
            found.append(self.trials.of(self.scales, self._beginning(part)))
        return min(found, key=self.distance)

    def _beginning(self, part: float) -> Trial:
        """Functions that say what the process says, to within a part of the noise."""
        data = self.trials.data
        likelihood = Gaussian(1 / (part * self.noise), estimated=False)
        projected = replace(data, targets=self.mean, likelihood=likelihood)
        trial = self.trials.unjudged(self.scales, projected)
        noise = data.likelihood.with_parameters(-np.log(self.noise))
        fit = replace(trial.model.fit, likelihood=noise)
        return replace(trial, model=replace(trial.model, fit=fit))

    def distance(self, trial: Trial) -> float:
        """Mean square of the difference of a model and the process, over rows."""
        data = self.trials.data
        eta = trial.model.latent(data.table)[0] - data.offset
        differences = np.sum((eta - self.mean) ** 2 / self.noise, axis=1)
        return float(np.average(differences, weights=data.weight))

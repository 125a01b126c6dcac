"""Length scales of each vector's own."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.estimators.candidates import Candidates
from relvec.estimators.learning.checks import as_varying
from relvec.estimators.learning.shared import Stages, begin, described
from relvec.estimators.learning.starts import Distances, given_shape
from relvec.estimators.learning.targets import Targets
from relvec.estimators.learning.trials import Trials, observed, placed
from relvec.evidence import EvidenceFit
from relvec.kernel_learning import (
    Observed,
    OwnScales,
    Placed,
    Range,
    ScalePrior,
    charged_loss,
)
from relvec.typing import Array, Indices

N_SCALES = 5  # of the dictionary to begin with
_STEPS = 8  # of all scales, between two functions that leave
_TAMED = 1.0  # precision of log ℓ by feature about what all vectors share


def learn_adaptive(model: Any, targets: Targets) -> None:
    """Fit a dictionary of several length scales, then thin it out as they move."""
    stages = Stages.of(model, targets)
    trials = stages.most
    by_feature = model.kernel_learning == "adaptive-ard"
    shape, prior = given_shape(trials.template), None
    if by_feature:
        scales = begin(stages, by_feature=True).on_more.scales
        shape = scales / np.exp(np.mean(np.log(scales)))
    widths = Distances.of(trials.seen_rows, shape, trials.seed).several(N_SCALES)
    kernels = trials.with_scales(*(width * shape for width in widths))
    rich, fit = trials.fitted(targets, kernels)
    thin = rich
    if len(rich.relevance_):
        ends = np.log(widths[0] * shape), np.log(widths[-1] * shape)
        if by_feature:
            prior = ScalePrior(np.mean(ends, axis=0)[None], _TAMED)
        own = OwnScales(Range(*ends), steps=_STEPS, prior=prior)
        moving = Moving(trials, rich, fit)
        thin = moving.refitted(moving.thinned(own), targets)
    described(model, thin, trials, stages.done)


@dataclass(frozen=True)
class Moving:
    """A model whose functions get scales of their own."""

    trials: Trials
    model: Any
    fit: EvidenceFit

    def thinned(self, own: OwnScales) -> Placed:
        """The functions that are left, with scales of their own."""
        start, data = self.placed()
        return own.thinned(
            start, data, self._observed, self._loss, self.trials.out_of_time
        )

    def placed(self) -> tuple[Placed, Observed]:
        """The functions as they are, and what the data are to them."""
        rows = self.trials.rows
        data = self._observed(self.model.model_.latent(rows)[0] - self._part.offset)
        return placed(self.model, self.fit, data, rows), data

    @property
    def _part(self) -> Targets:
        return self.trials.targets

    def _observed(self, eta: Array) -> Observed:
        return observed(self.fit, self._part, eta)

    def _loss(self, eta: Array, n_functions: int) -> float:
        part = self._part
        weight = part.training.weight
        return charged_loss(self.fit.likelihood, part.values, eta, weight, n_functions)

    def refitted(self, left: Placed, targets: Targets) -> Any:
        """These functions as a dictionary of their own."""
        candidates, precision = self.candidates(left)
        model = copy(self.model)
        model.max_seconds = self.trials.seconds_left
        likelihood = targets.likelihood
        if likelihood.noise_ceiling is not None:
            likelihood = likelihood.with_parameters(np.log(left.noise_precision))
        model._fit_candidates(
            candidates, replace(targets, likelihood=likelihood), precision
        )
        model.max_seconds = self.model.max_seconds
        return model

    def candidates(self, left: Placed) -> tuple[Candidates, Array]:
        """The functions left and their prior precisions."""
        basis = self.model.model_.basis
        n_fixed = left.fixed.shape[1]
        others, moved = left.numbers[:n_fixed], left.numbers[n_fixed:]
        fixed = basis.subset(others)
        groups = [group for group in fixed.groups if as_varying(group) is None]
        bias = int(fixed.bias)
        names = np.concatenate([moved, others[bias:]]) - basis.bias
        alpha = left.prior_precision
        precision = [alpha[:bias], alpha[n_fixed:], alpha[bias:n_fixed]]
        return (
            Candidates(
                Basis((left.varying, *groups), fixed.bias),
                self.model.relevance_[names],
                self._kernels(self.model.relevance_kernel_[names]),
            ),
            np.concatenate(precision),
        )

    def _kernels(self, numbers: Indices) -> Indices:
        """Of the list that was given, where one kernel stands for all its scales."""
        more = len(self.model.learned_kernels_) - len(self.trials.kernels)
        first = self.trials.place
        return np.where(numbers > first + more, numbers - more, numbers.clip(max=first))

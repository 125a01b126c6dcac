"""Length scales that all functions share: one, or one for each feature.

One kernel has those of a Gaussian process on few rows. Where a criterion is asked for,
or there are other kernels beside, it chooses among widths from a grid, and among what
the gradient of the evidence proposes from there: the evidence of a sparse model prefers
narrow kernels, so it does not choose. The last fit is of all rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.evidence import Status
from relvec.kernel_learning import better_scales
from relvec.kernel_search.length_scales import (
    Distances,
    given_shape,
    natural_shape,
    scalable,
)
from relvec.kernel_search.process import ProcessFit
from relvec.kernel_search.trials import Trial, Trials, described
from relvec.kernels import Linear
from relvec.likelihoods import at_ceiling
from relvec.modelling import FittedModel
from relvec.typing import Array


@dataclass(frozen=True)
class SharedSettings:
    """Constants; those of a grid are from docs/theory/kernel_learning.md."""

    few: int = (
        500  # rows that scales are learned from, for the sake of time; not varied
    )
    most: int = 8000  # rows that models with them are compared on; the last has all
    slack: float = 0.005  # nats per row that a wider kernel may cost
    cycles: int = 8  # of steps along the gradient and a fit
    most_failures: int = 3  # fits end in other local maxima: the first is not the end
    # Quasi-Newton steps between two fits: 10 to 15 did what alternations with steps on
    # α and β as well did not.
    steps: int = 15
    least_move: float = 0.03  # in log ℓ: less is not worth a fit
    # Of the rows: as many as generalised cross-validation takes for all of them.
    most_functions: float = 1 / 3
    same: float = 0.1  # in log ℓ, 10 %
    trapped: float = 0.05  # nats per row by which a fit of all rows is worse


SETTINGS = SharedSettings()


def learn_shared(everything: Trials) -> FittedModel:
    """The model with the best length scales found, perhaps of several families."""
    few, most = everything.on(SETTINGS.few), everything.on(SETTINGS.most)
    if len(most.data) == len(few.data):
        most = few
    if proposes(everything):
        best = _by_process(few, most)
    else:
        best = best_of_grid(few)
        if most is not few:
            best = most.of(best.scales, best.model if few.ended else None)
    last = best.model
    if len(most.data) < len(everything.data):
        last = _of_all(everything, best)
    model = described(last, most, everything.done)
    kernel = best.kernels[everything.index]
    model = replace(model, learned=replace(model.learned, kernel=kernel))
    if isinstance(kernel, Linear):
        return model
    remark = WidthSearch(few, len(best.scales) > 1).distances.remark(best.scales)
    return model.remarked(remark) if len(model.indices) else model


def proposes(trials: Trials) -> bool:
    """Whether a process proposes scales, and not a criterion from a grid."""
    return trials.judge.criterion == "auto" and len(trials.spec.kernels) == 1


def _by_process(few: Trials, most: Trials) -> Trial:
    """With the scales of a process, and as good as it on the rows that it has seen."""
    process = ProcessFit.of(few)
    kernel, scales = process.trials.template, process.scales
    more_rows = most is not few
    few, most = few.with_kernel(kernel), most.with_kernel(kernel)
    if process.of_planes(more_rows=more_rows):
        return most.of_kernels((Linear(),), np.array([np.nan]))
    # What few rows have to say is there in time.
    limited = more_rows and most.spec.deadline.limited
    before = few.of(scales).model if limited else None
    trial = most.of(scales, before)
    if process.surpasses(trial):
        others = [most.of(scales, each) for each in process.beginnings()]
        trial = min([trial, *others], key=process.distance)
    return trial


def _of_all(everything: Trials, best: Trial) -> FittedModel:
    """The model of all rows, searched for twice if it falls short.

    Without time it is that of the rows that models were compared on.
    """
    if everything.out_of_time():
        return best.model.ended_as(Status.MAX_SECONDS)
    data, part = everything.data, best.model.fit.n_observations
    last = everything.fitted(data, best.kernels)
    least = best.log_evidence / part - SETTINGS.trapped
    if last.log_evidence / data.weight.sum() < least:
        again = everything.fitted(data, best.kernels, best.model)
        last = max(last, again, key=lambda model: model.log_evidence)
    return last


def best_of_grid(trials: Trials) -> Trial:
    """The best of a grid of widths, and of what the gradient finds from there."""
    mode = trials.judge.mode
    several = trials.seen_rows.shape[1] > 1
    if mode == "width" or not several:
        return WidthSearch(trials, by_feature=False).best()
    free = WidthSearch(trials, by_feature=True)
    if mode == "ard":
        return free.best()
    shared = WidthSearch(trials, by_feature=False).best()
    scales = shared.scales * np.ones(trials.seen_rows.shape[1])
    own = free.along_gradient(replace(shared, scales=scales))
    alike = np.max(np.abs(np.log(own.scales / shared.scales))) < SETTINGS.same
    return shared if alike else min(shared, own, key=by_loss)


@dataclass(frozen=True)
class WidthSearch:
    """For one length scale, or one of each feature."""

    trials: Trials
    by_feature: bool

    @cached_property
    def distances(self) -> Distances:
        """Between rows, in the shape that the search begins with."""
        trials, rows = self.trials, self.trials.seen_rows
        shape = given_shape(trials.template)
        if self.by_feature:
            shape = natural_shape(trials.template, rows, trials.data.weight)
        return Distances.of(rows, shape, trials.data.rows.seed)

    def best(self) -> Trial:
        """By the criterion, of widths and of scales along the gradient."""
        found = self.over_widths()
        moves = self.by_feature or self.trials.judge.criterion == "evidence"
        return self.along_gradient(found) if moves else found

    def over_widths(self) -> Trial:
        """The widest of several widths that are about as good as the best."""
        widths = self.distances.widths(self.trials.judge.n_restarts)
        from_centre = np.abs(np.log(widths / self.distances.centre))
        found: list[Trial] = []
        for width in widths[np.argsort(from_centre, kind="stable")]:
            if not (found and self.trials.ended):
                found.append(self.trials.of(width * self.distances.shape))
        least = min(map(by_loss, found)) + SETTINGS.slack
        return max(
            (trial for trial in found if trial.loss <= least),
            key=lambda trial: trial.scales[0],
        )

    def along_gradient(self, best: Trial) -> Trial:
        """Steps along the gradient of the evidence and fits from nothing in turn."""
        current, failures = best, 0
        for _ in range(SETTINGS.cycles):
            if failures == SETTINGS.most_failures or self.trials.ended:
                break
            scales = self._proposed(current)
            if np.max(np.abs(np.log(scales / current.scales))) < SETTINGS.least_move:
                break
            current = self.trials.of(scales)
            failures = failures + 1 if current.loss >= best.loss else 0
            best = min(best, current, key=by_loss)
        return best

    def _proposed(self, trial: Trial) -> Array:
        """Scales at which the functions of a model have more evidence."""
        data, model = self.trials.data, trial.model
        many = len(model.basis) > SETTINGS.most_functions * data.weight.sum()
        if many or at_ceiling(model.fit.likelihood):
            return trial.scales
        start, seen = scalable(model, data)
        if len(start.varying) == 0:
            return trial.scales
        found, _ = better_scales(
            start,
            seen,
            self.distances.allowed,
            steps=SETTINGS.steps,
            tied=not self.by_feature,
            ended=self.trials.out_of_time,
        )
        if len(found.varying) == 0:
            return trial.scales
        return np.asarray(found.varying.scales[0])


def by_loss(trial: Trial) -> float:
    """What the criterion says."""
    return trial.loss

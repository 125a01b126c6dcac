"""A search for length scales that all functions share, on given rows.

The evidence prefers narrow kernels, whose fits promise more than they hold. So the
gradient of the evidence proposes scales, and a criterion disposes. Numbers below are
those of docs/theory/kernel_learning.md, "One width, and one for each feature".
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.kernel_learning import better_scales
from relvec.kernel_search.scalable import scalable
from relvec.kernel_search.starts import Distances, given_shape, natural_shape
from relvec.kernel_search.trials import Trial, Trials
from relvec.likelihoods import at_ceiling
from relvec.typing import Array

# Nats per observation that a wider kernel may cost: half a nat in a hundred rows.
_SLACK = 0.005
# Nats per observation, in so many trials: narrow fits are the dear ones and rarely win.
_MUCH_WORSE, _MOST_WORSE = 0.05, 2
# A factor, and nats per observation: set after looking at test figures of one draw of
# abalone, ccpp, california and kin8nm. No more than so many fits of most rows: five
# come to as much as all that was before, and narrow ones are the dear ones.
_NARROWER, _LITTLE_WORSE, _MOST_NARROWER = 0.7, 0.01, 4
_MOST_FAILURES = 3  # every fit ends in another local maximum: the first is not the end
# Quasi-Newton steps between two fits: 10 to 15 did what alternations with steps on α
# and β as well did not.
_STEPS = 15
_LEAST_MOVE = 0.03  # in log ℓ: less is not worth a fit
# Of the observations: as many as generalised cross-validation takes for all of them.
_MOST_FUNCTIONS = 1 / 3
_SAME_SHAPE = 0.4  # in log ℓ, a factor of 1.5 between features
_OTHERS = 1  # widths besides the best that are gone on with, where rows are few
# Beginnings with one feature: those of four features are tried, so many gone on with.
_MOST_SINGLE, _SINGLE = 8, 2


@dataclass(frozen=True)
class Search:
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

    def has_shape(self, scales: Array) -> bool:
        """Whether these are about what the search would begin with."""
        ratio = np.log(scales / self.distances.shape)
        return bool(np.ptp(ratio) < _SAME_SHAPE)

    def as_own(self, trial: Trial) -> Trial:
        """A trial with one length scale, as one with as many as this search has."""
        return replace(trial, scales=trial.scales * np.ones(len(self.distances.shape)))

    def over_widths(self) -> tuple[Trial, float]:
        """The best of several widths, from the middle outwards; and their ratio."""
        widths = self.distances.widths(self.trials.judge.n_restarts)
        middle = int(np.argmin(np.abs(np.log(widths / self.distances.centre))))
        first = self.trials.of(widths[middle] * self.distances.shape)
        best = self._walked(first, first, widths[middle + 1 :])
        best = self._walked(best, first, widths[:middle][::-1])
        step = np.log(widths[-1] / widths[0]) / max(1, len(widths) - 1)
        return best, float(step)

    def others(self, best: Trial) -> list[Trial]:
        """The next best of the widths tried, to begin with as well."""
        known = [trial for trial in self.trials.done if self.has_shape(trial.scales)]
        known = [trial for trial in known if trial.model is not best.model]
        return [self.as_own(trial) for trial in sorted(known, key=by_loss)[:_OTHERS]]

    def _walked(self, best: Trial, last: Trial, widths: Array) -> Trial:
        """The best of the widths in their order from ``last`` on, and ``best``."""
        failures = 0
        for width in widths:
            if failures == _MOST_WORSE or self.trials.ended:
                break
            last = self.tried(width * self.distances.shape, last)
            failures = failures + 1 if last.loss > best.loss + _MUCH_WORSE else 0
            best = _preferred(best, last)
        return best

    def tried(self, scales: Array, last: Trial) -> Trial:
        """These scales, twice if they disappoint after another trial.

        Searches with wide kernels may end near to nothing; not so where they begin
        with the functions of narrower ones.
        """
        trial = self.trials.of(scales)
        if self.trials.ended and trial.n_vectors < last.n_vectors:
            # Without time a search goes nowhere; from functions it has these at least.
            return self.trials.of(scales, last)
        narrower = np.mean(np.log(scales)) < np.mean(np.log(last.scales)) - 1e-9
        fine = trial.loss <= last.loss + _MUCH_WORSE
        hopeless = last.loss > min(map(by_loss, self.trials.done)) + _MUCH_WORSE
        # Cross-validation has other fits, and does not depend on where this one begins.
        indifferent = self.trials.judge.criterion == "cv"
        if self.trials.ended or narrower or fine or hopeless or indifferent:
            return trial
        return min(trial, self.trials.of(scales, last), key=by_loss)

    def between_widths(self, best: Trial, step: float) -> Trial:
        """With the widths half a step away."""
        for half in (0.5 * step, -0.5 * step):
            if step > 0 and not self.trials.ended:
                best = _preferred(best, self.trials.of(best.scales * np.exp(half)))
        return best

    def narrowed(self, best: Trial, full: float) -> Trial:
        """With narrower widths, as long as functions are not too many."""
        scales, failures = best.scales, 0
        for _ in range(_MOST_NARROWER):
            crowded = self.trials.done[-1].n_vectors > full
            if failures == 2 or crowded or self.trials.ended:
                break
            scales = scales * _NARROWER
            if np.any(np.log(scales) < self.distances.allowed.low):
                break
            trial = self.trials.of(scales)
            if trial.loss > best.loss + _LITTLE_WORSE:
                break
            best, before = _preferred(best, trial), best
            failures = failures + 1 if best is before else 0
        return best

    def along_gradient(self, best: Trial, cycles: int, *, warm: bool = False) -> Trial:
        """Fits and steps of their evidence in turn; warm, each from the one before."""
        current, failures = best, 0
        for _ in range(cycles):
            if failures == _MOST_FAILURES or self.trials.ended:
                break
            scales = self._proposed(current)
            if np.max(np.abs(np.log(scales / current.scales))) < _LEAST_MOVE:
                break
            if warm:
                current = self.trials.of(scales, current)
            else:
                current = self.tried(scales, current)
            failures = failures + 1 if current.loss >= best.loss else 0
            best = min(best, current, key=by_loss)
        return best

    def _proposed(self, trial: Trial) -> Array:
        """Scales at which the functions of a model have more evidence."""
        data, model = self.trials.data, trial.model
        many = len(model.basis) > _MOST_FUNCTIONS * data.weight.sum()
        if many or at_ceiling(model.fit.likelihood):
            return trial.scales
        start, seen = scalable(model, data)
        if len(start.varying) == 0:
            return trial.scales
        found, _ = better_scales(
            start,
            seen,
            self.distances.allowed,
            steps=_STEPS,
            tied=not self.by_feature,
            ended=self.trials.out_of_time,
        )
        if len(found.varying) == 0:
            return trial.scales
        return np.asarray(found.varying.scales[0])

    def single_features(self) -> list[Trial]:
        """Beginnings with one feature each, the best of all, where they are few."""
        shapes = self.distances.single_features()
        if len(shapes) > _MOST_SINGLE or self.trials.judge.n_restarts == 1:
            return []
        found = [self.trials.of(each) for each in shapes if not self.trials.ended]
        return sorted(found, key=by_loss)[:_SINGLE]


def by_loss(trial: Trial) -> float:
    """What the criterion says."""
    return trial.loss


def _preferred(one: Trial, other: Trial) -> Trial:
    """The one of less loss; if that is nearly the same, the wider."""
    wide, narrow = (one, other) if one.scales[0] >= other.scales[0] else (other, one)
    return narrow if narrow.loss < wide.loss - _SLACK else wide

"""Length scales that all functions share: one, or one for each feature.

The evidence prefers narrow kernels, whose fits promise more than they hold. So slopes
of the evidence propose scales, and a criterion disposes.
"""

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from relvec.estimators.learning.relevance import feature_relevance, length_scales
from relvec.estimators.learning.starts import Distances, given_shape, natural_shape
from relvec.estimators.learning.targets import Targets
from relvec.estimators.learning.trials import Trial, Trials, observed, placed
from relvec.kernel_learning import better_scales
from relvec.typing import Array

_MOST_ROWS = 2000  # to learn from; the last fit is of all
_SLACK = 0.005  # nats per observation that a wider kernel may cost
_MUCH_WORSE, _MOST_WORSE = 0.05, 3  # nats per observation, in so many trials
_MOST_CYCLES, _MOST_FAILURES = 8, 3
_STEPS = 15  # of the slopes, between two fits
_LEAST_MOVE = 0.03  # in log ℓ
_MOST_SINGLE, _SINGLE = 8, 2  # beginnings with one feature: tried, and gone on with


def learn_shared(model: Any, targets: Targets) -> None:
    """Fit ``model`` with the best length scales found."""
    trials = begun(model, targets)
    best = []
    if model.kernel_learning != "ard":
        best.append(Search(trials, by_feature=False).best())
    if model.kernel_learning != "width":
        best.append(Search(trials, by_feature=True).best())
    chosen = min(best, key=_loss)
    last = chosen.model
    if trials.targets is not targets:
        last, _ = trials.fitted(targets, trials.with_scales(chosen.scales))
    described(model, last, trials)
    model.kernel_ = model.learned_kernels_[trials.place]


def begun(model: Any, targets: Targets) -> Trials:
    """Nothing tried yet, on some of the rows."""
    for name in ("learned_kernels_", "kernel_"):
        model.__dict__.pop(name, None)
    kernels = model._kernel_choice.resolve(targets.training)
    return Trials(model, targets.some(_MOST_ROWS), kernels, perf_counter())


def described(model: Any, fitted: Any, trials: Trials) -> None:
    """Make ``model`` the one fitted, with attributes that tell what it learned."""
    model.__dict__ = fitted.__dict__
    model.kernel_history_ = trials.history
    model.length_scales_ = length_scales(model.model_.basis)
    model.feature_relevance_ = feature_relevance(model, trials.rows, trials.weight)


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
            shape = natural_shape(trials.template, rows, trials.weight)
        return Distances.of(rows, shape, trials.seed)

    def best(self) -> Trial:
        """By the criterion."""
        trial, step = self._over_widths()
        if self.by_feature:
            starts = [trial, *self._single_features()]
            return min(map(self._along_slopes, starts), key=_loss)
        if self.trials.model.criterion == "evidence":
            return self._along_slopes(trial)
        return self._between_widths(trial, step)

    def _single_features(self) -> list[Trial]:
        """Beginnings with one feature each, the best of all, where they are few."""
        shapes = self.distances.single_features()
        if len(shapes) > _MOST_SINGLE or self.trials.model.n_restarts == 1:
            return []
        found: list[Trial] = []
        for scales in shapes:
            if not (found and found[-1].ended):
                found.append(self.trials.of(scales))
        return sorted(found, key=_loss)[:_SINGLE]

    def _over_widths(self) -> tuple[Trial, float]:
        """The best of several widths, from the middle outwards; and their ratio."""
        widths = self.distances.widths(self.trials.model.n_restarts)
        middle = int(np.argmin(np.abs(np.log(widths / self.distances.centre))))
        first = self.trials.of(widths[middle] * self.distances.shape)
        best = self._walked(first, first, widths[:middle][::-1])
        best = self._walked(best, first, widths[middle + 1 :])
        step = np.log(widths[-1] / widths[0]) / max(1, len(widths) - 1)
        return best, float(step)

    def _walked(self, best: Trial, last: Trial, widths: Array) -> Trial:
        """The best of the widths in their order from ``last`` on, and ``best``."""
        failures = 0
        for width in widths:
            if failures == _MOST_WORSE or last.ended:
                break
            last = self._tried(width * self.distances.shape, last)
            failures = failures + 1 if last.loss > best.loss + _MUCH_WORSE else 0
            best = _preferred(best, last)
        return best

    def _tried(self, scales: Array, last: Trial) -> Trial:
        """These scales, twice if they disappoint.

        Searches with wide kernels may end near to nothing; not so where they begin
        with the functions of narrower ones.
        """
        trial = self.trials.of(scales)
        wider = np.mean(np.log(scales)) > np.mean(np.log(last.scales))
        if trial.ended or not wider or trial.loss <= last.loss + _MUCH_WORSE:
            return trial
        again = self.trials.of(scales, last)
        return min(trial, again, key=_loss)

    def _between_widths(self, best: Trial, step: float) -> Trial:
        """The widths half a step away."""
        for half in (0.5 * step, -0.5 * step):
            if not best.ended:
                best = _preferred(best, self.trials.of(best.scales * np.exp(half)))
        return best

    def _along_slopes(self, best: Trial) -> Trial:
        """Fits and steps of their evidence in turn."""
        current, failures = best, 0
        for _ in range(_MOST_CYCLES):
            if failures == _MOST_FAILURES or current.ended:
                break
            scales = self._proposed(current)
            if np.max(np.abs(np.log(scales / current.scales))) < _LEAST_MOVE:
                break
            current = self._tried(scales, current)
            failures = failures + 1 if current.loss >= best.loss else 0
            best = min(best, current, key=_loss)
        return best

    def _proposed(self, trial: Trial) -> Array:
        """Scales at which the functions of a model have more evidence."""
        targets, X = self.trials.targets, self.trials.rows
        if len(trial.model.relevance_) == 0:
            return trial.scales
        eta = trial.model.model_.latent(X)[0] - targets.offset
        data = observed(trial.fit, targets, eta)
        start = placed(trial.model, trial.fit, data, X)
        if len(start.varying) == 0:
            return trial.scales
        found, _ = better_scales(
            start,
            data,
            self.distances.allowed,
            steps=_STEPS,
            tied=not self.by_feature,
        )
        if len(found.varying) == 0:
            return trial.scales
        return np.asarray(found.varying.scales[0])


def _loss(trial: Trial) -> float:
    return trial.loss


def _preferred(one: Trial, other: Trial) -> Trial:
    """The one of less loss; if that is nearly the same, the wider."""
    wide, narrow = (one, other) if one.scales[0] >= other.scales[0] else (other, one)
    return narrow if narrow.loss < wide.loss - _SLACK else wide

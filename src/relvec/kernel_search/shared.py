"""Length scales that all functions share: one, or one for each feature.

On few rows to begin with, where fits cost little, then on more: the more rows there
are, the narrower the best kernel is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.evidence import Status
from relvec.kernel_search.reference import Reference
from relvec.kernel_search.relevance import feature_relevance, length_scales
from relvec.kernel_search.search import Search, by_loss
from relvec.kernel_search.trials import STOPPED, Trial, Trials
from relvec.modelling import FittedModel, Learned

# Rows to learn from, for the sake of time; the last fit is of all. 500 was not varied.
FEW, MORE, MOST = 500, 1000, 8000
# Of steps along the gradient and fits, where these are all rows or some: on kin8nm with
# 1500 rows the first was the best.
_CYCLES, _CYCLES_OF_PART = 8, 2
# Of the observations, as functions of a model that has enough of them: set after
# looking at test figures of one draw of abalone, ccpp, california and kin8nm.
_FULL = 0.05
_SAME = 0.1  # in log ℓ, 10 %
# Nats per observation below what fewer rows have: as much worse as in ``search``.
_TRAPPED = 0.05


@dataclass(frozen=True)
class Stages:
    """Trials on few rows, on more and on most; the same where there are no more."""

    few: Trials
    more: Trials
    most: Trials

    @classmethod
    def of(cls, everything: Trials, most: int = MOST) -> "Stages":
        """Nothing tried yet, of some of the rows of all trials."""
        stages: list[Trials] = []
        for count in (FEW, MORE, most):
            part = everything.data.drawn(count)
            if not stages or len(part) > len(stages[-1].data):
                stages.append(replace(everything, data=part, done=[]))
        return cls(stages[0], stages[min(1, len(stages) - 1)], stages[-1])

    @property
    def done(self) -> list[Trial]:
        """All trials."""
        stages = {id(trials): trials for trials in (self.few, self.more, self.most)}
        return [trial for trials in stages.values() for trial in trials.done]


@dataclass(frozen=True)
class Begun:
    """The best that few rows and some more have to say."""

    on_few: Trial
    on_more: Trial
    by_feature: bool


def learn_shared(everything: Trials) -> FittedModel:
    """The model with the best length scales found."""
    stages = Stages.of(everything)
    reference = reference_of(stages.few)
    if reference is not None:
        best = _by_reference(stages, reference)
    else:
        best = _by_criterion(stages)
    if len(stages.most.data) < len(everything.data):
        last = _of_all(everything, best)
    else:
        last = stages.most.completed(best)
    model = described(last, stages.most, stages.done)
    kernel = best.kernels[everything.index]
    model = replace(model, learned=replace(model.learned, kernel=kernel))
    search = Search(stages.few, by_feature=len(best.scales) > 1)
    remark = search.distances.remark(best.scales)
    return model.remarked(remark) if len(model.indices) else model


def reference_of(trials: Trials) -> Reference | None:
    """The process that proposes scales; None where a criterion chooses from a grid."""
    if trials.judge.criterion != "auto" or len(trials.spec.kernels) > 1:
        return None
    return Reference.of(trials)


def _by_reference(stages: Stages, reference: Reference) -> Trial:
    """With the scales of a process, and as good as it on the rows that it has seen."""
    trials, scales = stages.most, reference.scales
    limited = trials is not stages.few and trials.spec.deadline.limited
    # What few rows have to say is there in time.
    before = stages.few.of(scales) if limited else None
    # Mostly this is the one that stays, and has as many steps as it needs.
    trial = trials.of(scales, before, steps=None)
    if reference.surpasses(trial):
        others = [trials.of(scales, each) for each in reference.beginnings()]
        trial = min([trial, *others], key=reference.distance)
    full = trial.n_vectors > _FULL * trials.data.weight.sum()
    seen = trials is stages.few or not trials.data.likelihood.conjugate
    if full or seen or not reference.by_feature:
        return trial
    # Of numbers that the process has not seen there is more to be learned.
    search = Search(trials, by_feature=True)
    return search.along_gradient(trial, _CYCLES_OF_PART, warm=True)


def _by_criterion(stages: Stages) -> Trial:
    """The best of a grid of scales, and of what the gradient finds from there."""
    mode = stages.few.judge.mode
    several = stages.few.seen_rows.shape[1] > 1
    begun: list[Begun] = []
    if mode != "ard" or not several:
        begun.append(begin(stages, by_feature=False))
    if mode != "width" and several:
        begun.append(begin(stages, by_feature=True, known=begun[0] if begun else None))
    return _finished(stages, _better(begun))


def _better(begun: list[Begun]) -> Begun:
    """By the criterion; one width where scales of each feature are the same."""
    first, last = begun[0].on_more, begun[-1].on_more
    if np.max(np.abs(np.log(last.scales / first.scales))) < _SAME:
        return begun[0]
    return min(begun, key=lambda one: one.on_more.loss)


def begin(stages: Stages, *, by_feature: bool, known: Begun | None = None) -> Begun:
    """One width for all features, or more; the first may be known already."""
    search = Search(stages.few, by_feature=by_feature)
    if known is not None and search.has_shape(known.on_few.scales):
        few, step = search.as_own(known.on_few), 0.0
    else:
        few, step = search.over_widths()
    evidence = stages.few.judge.criterion == "evidence"
    if stages.few is stages.most and not by_feature and not evidence:
        more = search.between_widths(few, step)
        return Begun(few, more, by_feature)
    more = few
    if stages.more is not stages.few:
        search = Search(stages.more, by_feature=by_feature)
        more = search.tried(few.scales, few)
    if by_feature or evidence:
        cycles = _CYCLES if stages.more is stages.most else _CYCLES_OF_PART
        starts = [more, *(search.single_features() if by_feature else [])]
        if stages.few is stages.most:
            starts += search.others(few)
        paths = (search.along_gradient(start, cycles) for start in starts)
        more = min(paths, key=by_loss)
    return Begun(few, more, by_feature)


def _finished(stages: Stages, begun: Begun) -> Trial:
    """What most rows make of it."""
    trial = begun.on_more
    if stages.most is stages.few:
        return trial
    search = Search(stages.most, by_feature=begun.by_feature)
    if stages.most is not stages.more:
        trial = search.tried(trial.scales, trial)
    full = _FULL * stages.most.data.weight.sum()
    trial = search.narrowed(trial, full)
    if not begun.by_feature or trial.n_vectors > full:
        return trial
    return search.along_gradient(trial, _CYCLES_OF_PART, warm=True)


def _of_all(everything: Trials, best: Trial) -> FittedModel:
    """The model of all rows, searched for twice if it falls short.

    Without time it is that of the rows that the kernel was learned from.
    """
    if everything.out_of_time():
        return best.model.ended_as(Status.MAX_SECONDS)
    data = everything.data
    last = everything.fitted(data, best.kernels)
    part = best.model.fit.n_observations
    least = best.log_evidence / part - _TRAPPED
    if last.log_evidence / data.weight.sum() < least:
        again = everything.fitted(data, best.kernels, best.model)
        last = again if again.log_evidence > last.log_evidence else last
    return last


def described(model: FittedModel, trials: Trials, done: Sequence[Any]) -> FittedModel:
    """The model with all that it has learned, by some trials, of what was tried."""
    if stopped := [tried.status for tried in done if tried.status in STOPPED]:
        model = model.ended_as(stopped[0])
    relevance = feature_relevance(model, trials.data.table, trials.data.weight)
    learned = Learned(
        length_scales=length_scales(model.basis),
        feature_relevance=relevance,
        history=history(done),
    )
    return replace(model, learned=learned)


def history(done: Sequence[Any]) -> dict[str, Any]:
    """Of all that was tried, trials and reduced dictionaries, in its order."""
    size = max((len(tried.scales) for tried in done), default=1)
    scales = [np.zeros(size) + tried.scales for tried in done]
    return {
        "n_rows": np.array([tried.n_rows for tried in done], dtype=np.intp),
        "length_scale": np.array(scales).reshape(-1, size),
        "criterion": np.array([tried.loss for tried in done]),
        "log_evidence": np.array([tried.log_evidence for tried in done]),
        "n_vectors": np.array([tried.n_vectors for tried in done], dtype=np.intp),
    }

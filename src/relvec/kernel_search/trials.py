"""Kernels tried one after another on the same rows, and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from relvec.evidence import Status
from relvec.kernel_learning import CRITERIA, LeaveOneOut
from relvec.kernel_search.length_scales import (
    feature_relevance,
    length_scales,
    radial,
    radial_index,
)
from relvec.kernel_search.settings import Adaptive, KernelFamily, LengthScales
from relvec.kernels import Kernel
from relvec.kernels.stationary import Radial
from relvec.modelling import (
    FittedModel,
    Learned,
    Monitor,
    Specification,
    TrainingSet,
    leave_one_out,
    logger,
    maximised,
)
from relvec.typing import Array

_FOLDS = 3  # those of the comparison in docs/theory/kernel_learning.md
_FEWEST_JUDGES = 500  # rows by which a model is judged when time runs out
STOPPED = (Status.MAX_SECONDS, Status.STOPPED)


@dataclass(frozen=True)
class Trial:
    """A model with one kernel."""

    model: FittedModel
    kernels: tuple[Kernel, ...]
    scales: Array  # (1 or d,) of the kernel that learns
    loss: float  # by the criterion
    n_rows: int

    @property
    def nu(self) -> float:
        """How smooth the kernel that learns is; nan for a linear one."""
        found = [smoothness(one) for one in self.kernels if radial(one) is not None]
        return found[0] if found else np.nan

    @property
    def status(self) -> Status:
        """How its fit ended."""
        return self.model.status

    @property
    def log_evidence(self) -> float:
        """The log evidence of its fit."""
        return self.model.log_evidence

    @property
    def n_vectors(self) -> int:
        """The number of its relevance vectors."""
        return len(self.model.indices)


@dataclass
class Trials:
    """What all trials have in common, and what came of them."""

    spec: Specification  # with the kernels as they were given
    settings: LengthScales | Adaptive
    data: TrainingSet
    start: FittedModel | None
    monitor: Monitor
    done: list[Any] = field(default_factory=list)  # trials and the like, on any rows

    def on(self, most_rows: int) -> "Trials":
        """The same on at most so many rows; what they try is done here as well."""
        data = self.data.drawn(most_rows)
        return self if data is self.data else replace(self, data=data)

    def with_kernel(self, kernel: Radial) -> "Trials":
        """The same with another kernel that learns."""
        kernels: list[Kernel] = list(self.spec.kernels)
        kernels[self.index] = kernel
        return replace(self, spec=replace(self.spec, kernels=tuple(kernels)))

    @property
    def judge(self) -> LengthScales:
        """The settings of a search that judges."""
        assert isinstance(self.settings, LengthScales)
        return self.settings

    @cached_property
    def index(self) -> int:
        """The index of the kernel that learns, in the list of kernels."""
        settings = self.settings
        name = settings.mode if isinstance(settings, LengthScales) else settings
        return radial_index(self.spec.kernels, repr(name))

    @property
    def template(self) -> Radial:
        """That kernel, as it was given."""
        found = radial(self.spec.kernels[self.index])
        assert found is not None
        return found

    @cached_property
    def seen_rows(self) -> Array:
        """What the kernel that learns sees of the rows."""
        return self.template.seen(self.data.table)[0]

    def with_scales(self, *scales: Array) -> tuple[Kernel, ...]:
        """The kernels, one with each of these length scales for that which learns."""
        kernels: list[Kernel] = list(self.spec.kernels)
        values = [float(one[0]) if len(one) == 1 else one.copy() for one in scales]
        kernels[self.index : self.index + 1] = [
            replace(self.template, length_scale=value, width=None) for value in values
        ]
        return tuple(kernels)

    def fitted(
        self,
        data: TrainingSet,
        kernels: tuple[Kernel, ...],
        before: FittedModel | None = None,
    ) -> FittedModel:
        """A model that begins with the functions and the noise of another."""
        spec = replace(self.spec, kernels=kernels)
        if before is not None:
            data = data.with_parameters(before.fit.likelihood.log_parameters)
        start = before or self.start
        return maximised(spec, data, start=start, monitor=self.monitor)

    @property
    def ended(self) -> bool:
        """Whether there is no time for another, or somebody wants no more."""
        return bool(self.done) and self.done[-1].status in STOPPED

    def out_of_time(self) -> bool:
        """Whether none is left."""
        return self.spec.deadline.passed

    def of(self, scales: Array, before: FittedModel | None = None) -> Trial:
        """The model with these length scales, judged."""
        return self.of_kernels(self.with_scales(scales), scales, before)

    def of_kernels(
        self,
        kernels: tuple[Kernel, ...],
        scales: Array,
        before: FittedModel | None = None,
    ) -> Trial:
        """The model with these kernels, whose length scales they are, judged."""
        criterion = self.judge.criterion
        model = self.fitted(self.data, kernels, before)
        if criterion == "cv":
            loss = self._cross_validated(kernels)
        else:
            loss = self._judged(model, CRITERIA[criterion])
        trial = Trial(model, kernels, scales, loss, len(self.data))
        self.done.append(trial)
        words = np.array2string(scales, precision=3, separator=", ")
        logger.info("length scale %s: %s %.4f", words, criterion, loss)
        return trial

    def _judged(
        self, model: FittedModel, criterion: Callable[[LeaveOneOut], float]
    ) -> float:
        """By all rows, or by as many as there is time for."""

        def by_rows(count: int) -> float:
            return criterion(leave_one_out(model, self.data.drawn(count)))

        end = self.spec.deadline.end
        return end.in_time(by_rows, len(self.data), _FEWEST_JUDGES)

    def _cross_validated(self, kernels: tuple[Kernel, ...]) -> float:
        """Log loss of rows that the model has not seen."""
        total = 0.0
        for training, test in self.data.folds(_FOLDS):
            model = self.fitted(training, kernels)
            mean, variance = model.latent(test.table)
            terms = model.fit.likelihood.log_predictive(
                test.targets, mean - test.offset, variance
            )
            total -= float(test.weight @ terms)
        return total / float(self.data.weight.sum())


def smoothness(kernel: Kernel) -> float:
    """ν of a Matérn kernel; infinite for others, as for the Gaussian."""
    return float(getattr(radial(kernel), "nu", np.inf))


def described(model: FittedModel, trials: Trials, done: Sequence[Any]) -> FittedModel:
    """The model with all that it has learned, by some trials, of what was tried."""
    if stopped := [tried.status for tried in done if tried.status in STOPPED]:
        model = model.ended_as(stopped[0])
    learned = Learned(
        length_scales=length_scales(model.basis),
        feature_relevance=feature_relevance(
            model, trials.data.table, trials.data.weight
        ),
        history=_history(done),
    )
    if learned.history is not None and isinstance(trials.settings, KernelFamily):
        learned.history["nu"] = np.array([tried.nu for tried in done])
    return replace(model, learned=learned)


def _history(done: Sequence[Any]) -> dict[str, Any]:
    """Everything that was tried, trials or reduced dictionaries, in its order."""
    size = max((len(tried.scales) for tried in done), default=1)
    scales = [np.zeros(size) + tried.scales for tried in done]
    return {
        "n_rows": np.array([tried.n_rows for tried in done], dtype=np.intp),
        "length_scale": np.array(scales).reshape(-1, size),
        "criterion": np.array([tried.loss for tried in done]),
        "log_evidence": np.array([tried.log_evidence for tried in done]),
        "n_vectors": np.array([tried.n_vectors for tried in done], dtype=np.intp),
    }

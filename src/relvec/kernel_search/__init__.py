"""Fits in which parameters of kernels are learned in turn with the model."""

from dataclasses import replace

from relvec.kernel_search.adaptive import SETTINGS as ADAPTIVE
from relvec.kernel_search.adaptive import learn_adaptive, learn_alternating
from relvec.kernel_search.length_scales import (
    feature_relevance,
    length_scales,
    radial,
)
from relvec.kernel_search.process import ProcessFit
from relvec.kernel_search.settings import (
    Adaptive,
    KernelFamily,
    KernelWeights,
    Learning,
    LengthScales,
    as_learning,
)
from relvec.kernel_search.shared import SETTINGS as SHARED
from relvec.kernel_search.shared import learn_shared
from relvec.kernel_search.trials import Trials
from relvec.kernel_search.weights import learn_weights
from relvec.kernels import Kernel, Linear
from relvec.linalg import single_threaded
from relvec.modelling import (
    FittedModel,
    Monitor,
    Specification,
    TrainingSet,
    calibrated,
    checked_by_folds,
    fit,
    silent,
)

__all__ = [
    "Adaptive",
    "KernelFamily",
    "Learning",
    "LengthScales",
    "as_learning",
    "feature_relevance",
    "learn",
    "learns_together",
    "length_scales",
    "n_kernels",
    "proposed_kernels",
    "radial",
]


def learn(
    learning: Learning,
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model with the kernels that are learned, from those of the specification."""
    with single_threaded():
        model = _learned(learning, spec, data, start, monitor)
        model = calibrated(model, spec, data)
    kernel = model.learned.kernel
    if isinstance(learning, KernelFamily) and kernel and data.likelihood.conjugate:
        # The kernel stays as it is: a process chooses nothing among the rows.
        fixed = replace(spec, kernels=(kernel,))
        model = checked_by_folds(model, fit, fixed, data, rough=True)
    return model


def learns_together(learning: Learning | None) -> bool:
    """Whether outputs that share their vectors may share what is learned as well."""
    if learning is None:
        return True
    return isinstance(learning, LengthScales) and not learning.adaptive


def _learned(
    learning: Learning,
    spec: Specification,
    data: TrainingSet,
    start: FittedModel | None,
    monitor: Monitor,
) -> FittedModel:
    if isinstance(learning, KernelWeights):
        return learn_weights(spec, data, start, monitor)
    trials = Trials(spec, learning, data, start, monitor)
    if isinstance(learning, Adaptive):
        return learn_alternating(learning, trials)
    return learn_adaptive(trials) if learning.adaptive else learn_shared(trials)


def proposed_kernels(
    learning: Learning | None, spec: Specification, data: TrainingSet
) -> tuple[Kernel, ...]:
    """The kernels with the width learned that a model begins with, before any fit."""
    settings = learning if isinstance(learning, LengthScales) else LengthScales()
    trials = Trials(spec, settings, data.drawn(SHARED.few), None, silent)
    with single_threaded():
        process = ProcessFit.of(trials)
    if process.of_planes(more_rows=len(data) > SHARED.few):
        return (Linear(),)
    return process.trials.with_scales(process.scales)


def n_kernels(learning: Learning | None, given: int) -> int:
    """How many kernels have functions of their own, of so many that were given."""
    if isinstance(learning, KernelWeights):
        return 1
    if isinstance(learning, LengthScales) and learning.adaptive:
        return given - 1 + ADAPTIVE.n_scales
    return given

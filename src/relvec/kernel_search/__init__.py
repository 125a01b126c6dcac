"""Fits in which parameters of kernels are learned in turn with the model."""

from relvec.kernel_search.adaptive import N_SCALES, learn_adaptive
from relvec.kernel_search.alternating import learn_alternating
from relvec.kernel_search.settings import (
    Adaptive,
    KernelWeights,
    Learning,
    LengthScales,
    as_learning,
)
from relvec.kernel_search.shared import learn_shared
from relvec.kernel_search.trials import Trials
from relvec.kernel_search.weights import learn_weights
from relvec.linalg import single_threaded
from relvec.modelling import FittedModel, Monitor, Specification, TrainingSet, silent

__all__ = ["Adaptive", "Learning", "LengthScales", "as_learning", "learn", "n_kernels"]


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
        if isinstance(learning, KernelWeights):
            return learn_weights(spec, data, start, monitor)
        trials = Trials(spec, learning, data, start, monitor)
        if isinstance(learning, Adaptive):
            return learn_alternating(learning, trials)
        return learn_adaptive(trials) if learning.adaptive else learn_shared(trials)


def n_kernels(learning: Learning | None, given: int) -> int:
    """How many kernels have functions of their own, of so many that were given."""
    if isinstance(learning, KernelWeights):
        return 1
    if isinstance(learning, LengthScales) and learning.adaptive:
        return given - 1 + N_SCALES
    return given

"""Parameters of kernels, learned in turn with the model."""

from collections.abc import Callable
from typing import Any

from relvec.estimators.learning.adaptive import N_SCALES, learn_adaptive
from relvec.estimators.learning.alternating import learn_alternating
from relvec.estimators.learning.checks import Adaptive, check_learning
from relvec.estimators.learning.shared import forget, learn_shared
from relvec.estimators.learning.targets import Targets
from relvec.estimators.learning.weights import learn_weights

__all__ = ["Adaptive", "Targets", "check_learning", "forget", "learner", "n_kernels"]

_BY_NAME: dict[str, Callable[[Any, Targets], None]] = {
    "weights": learn_weights,
    "width": learn_shared,
    "ard": learn_shared,
    "auto": learn_shared,
    "adaptive": learn_adaptive,
    "adaptive-ard": learn_adaptive,
}


def learner(learning: Any) -> Callable[[Any, Targets], None]:
    """What fits a model and learns its kernel, by the word for it."""
    return learn_alternating if isinstance(learning, Adaptive) else _BY_NAME[learning]


def n_kernels(learning: Any, given: int) -> int:
    """How many kernels have functions of their own, of so many that were given."""
    if isinstance(learning, str) and learning == "weights":
        return 1
    if isinstance(learning, str) and learning.startswith("adaptive"):
        return given - 1 + N_SCALES
    return given

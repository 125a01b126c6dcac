"""Classes that a model has no use for."""

from numbers import Integral
from typing import Any

import numpy as np

from relvec.estimators.schemes import probabilities
from relvec.estimators.training import Training
from relvec.evidence import Status
from relvec.typing import Indices

_SHOWN = 5  # classes named in a message


def remark_on_lost_classes(
    model: Any, training: Training, labels: Indices
) -> str | None:
    """What to say of classes without a vector that are never predicted.

    Training rows are classified only if a class has no vector among its rows, and not
    at all if they come in blocks, which would be one more pass over the source, or if
    the search was stopped before its end or came to nothing, which is told already.
    """
    told = model.status_ is Status.EMPTY or not model.status_.success
    if told or not training.in_memory:
        return None
    without = np.setdiff1d(labels, labels[_vectors(model, training)])
    if len(without) == 0:
        return None
    latent = model.model_.latent(training.rows.whole())
    predicted = np.argmax(probabilities(model.scheme_.decision(*latent)), axis=1)
    lost = np.setdiff1d(without, predicted)
    return _words(model.classes_.tolist(), labels, lost) if len(lost) else None


def _vectors(model: Any, training: Training) -> Indices:
    """Places of the relevance vectors among the rows that count."""
    is_matrix = model._kernel_choice.precomputed
    if model.kernel is None or (is_matrix and isinstance(model.candidates, Integral)):
        return np.empty(0, dtype=np.intp)  # these are features or columns
    rows = model.relevance_[model.relevance_ >= 0]
    return np.searchsorted(training.numbers, rows)


def _words(classes: list[Any], labels: Indices, lost: Indices) -> str:
    named = [
        f"class {classes[one]!r} ({np.sum(labels == one)} of {len(labels)} rows)"
        for one in lost[:_SHOWN]
    ]
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    return (
        "no relevance vector and no prediction on the training rows for "
        f"{', '.join(named)}{more}: give its rows a larger sample_weight, for instance "
        "sklearn.utils.class_weight.compute_sample_weight('balanced', y), or see "
        "whether the kernel is too wide to tell it from the others"
    )

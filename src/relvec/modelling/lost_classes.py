"""Classes that a model has no use for."""

from typing import Any

import numpy as np

from relvec.evidence import Status
from relvec.modelling.advice import has_width
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray, Indices

_SHOWN = 5  # classes named in a message


def remark_on_lost_classes(
    model: Any, rows: TrainingRows, classes: Indices, labels: AnyArray, at_rows: bool
) -> str | None:
    """What to say of classes without a vector that are never predicted.

    Training rows are classified only if a class has no vector among its rows, and not
    at all if they come in blocks, which would be one more pass over the source, or if
    the search was stopped before its end or came to nothing, which is told already.
    ``at_rows`` says that the functions' indices are those of rows.
    """
    told = model.status is Status.EMPTY or not model.status.success
    if told or not rows.in_memory:
        return None
    vectors = model.indices[model.indices >= 0] if at_rows else np.empty(0, np.intp)
    with_vector = classes[np.isin(rows.indices, vectors)]
    without = np.setdiff1d(classes, with_vector)
    if len(without) == 0:
        return None
    predicted = model.predictive(rows.rows.whole()).predicted
    lost = without[~np.isin(labels[without], predicted)]
    if len(lost) == 0:
        return None
    remedy = "give its rows a larger sample_weight, for instance "
    remedy += "sklearn.utils.class_weight.compute_sample_weight('balanced', y)"
    if has_width(model.kernels):
        remedy += ", or see whether the kernel is too wide to tell it from the others"
    return f"{_words(labels.tolist(), classes, lost)}: {remedy}"


def _words(labels: list[Any], classes: Indices, lost: Indices) -> str:
    named = [
        f"class {labels[one]!r} ({np.sum(classes == one)} of {len(classes)} rows)"
        for one in lost[:_SHOWN]
    ]
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    return (
        "no relevance vector and no prediction on the training rows for "
        f"{', '.join(named)}{more}"
    )

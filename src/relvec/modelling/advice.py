"""What to do about the way a fit has ended, and about classes it never predicts."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from relvec.evidence import Status
from relvec.kernels import Checked, Columns, Linear, Polynomial, Sigmoid
from relvec.kernels.combinations import Mixture
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray, Indices

_WIDTHS = ("length_scale", "support")  # how such parameters are called
# What kernels there are: of a width, of scalar products, none at all, any other.
_GIVEN, _LEARNED, _PRODUCTS, _COLUMNS, _OTHERS = range(5)
_EMPTY = {
    _GIVEN: "check that the features are scaled and the kernel width suits their "
    "distances",
    _LEARNED: "no width of the kernel helps, so check that the features are scaled and "
    "have to do with the target",
    _PRODUCTS: "check that the features have to do with the target, or try a kernel "
    "for other functions than linear and polynomial ones, such as 'rbf'",
    _COLUMNS: "check that the columns of X have to do with the target, or add others",
    _OTHERS: "check that the features have to do with the target, or try another "
    "kernel, such as 'rbf'",
}
_TOO_RICH = {
    _GIVEN: "if the data are noisy the kernel is too narrow for their distances, so "
    "widen it (or its support) or give noise_variance",
    _LEARNED: "if the data are noisy no width of the kernel leaves their noise over, "
    "so give noise_variance, leave out features, or choose a smoother kernel",
    _PRODUCTS: "if the data are noisy there are too many features for so many rows, so "
    "leave some out, lower the degree if the kernel has one, or give noise_variance",
    _COLUMNS: "if the data are noisy X has too many columns for so many rows, so leave "
    "some out or give noise_variance",
    _OTHERS: "if the data are noisy the kernel has too many independent functions for "
    "so many rows, so choose a smoother one, leave out features, or give "
    "noise_variance",
}
_REMEDIES = {
    Status.EMPTY: _EMPTY,
    Status.PERFECT_FIT: _TOO_RICH,
    Status.INTERPOLATION: _TOO_RICH,
}


def in_words(status: Status, kernels: Iterable[Any], *, learned: bool) -> str:
    """What happened, and what to do with kernels such as these.

    ``learned`` says that the fit has found their width.
    """
    remedies = _REMEDIES.get(status)
    if remedies is None:
        return status.value
    found = [_unwrapped(kernel) for kernel in kernels]
    kind = _OTHERS
    if has_width(found):
        kind = _LEARNED if learned else _GIVEN
    elif all(isinstance(kernel, Linear | Polynomial | Sigmoid) for kernel in found):
        kind = _PRODUCTS
    elif all(isinstance(kernel, Columns) for kernel in found):
        kind = _COLUMNS
    return f"{status.event}: {remedies[kind]}"


def has_width(kernels: Iterable[Any]) -> bool:
    """Whether one of the kernels has a length scale or a support to widen."""
    return any(map(_has_width, kernels))


def _has_width(kernel: Any) -> bool:
    kernel = _unwrapped(kernel)
    if isinstance(kernel, Mixture):
        return has_width(kernel.kernels)
    names = kernel.get_params() if hasattr(kernel, "get_params") else ()
    return any(name.endswith(_WIDTHS) for name in names)


def _unwrapped(kernel: Any) -> Any:
    return kernel.function if isinstance(kernel, Checked) else kernel


_MOST_CLASSES_NAMED = 5  # classes named in a message


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
    return f"{_lost_in_words(labels.tolist(), classes, lost)}: {remedy}"


def _lost_in_words(labels: list[Any], classes: Indices, lost: Indices) -> str:
    named = [
        f"class {labels[one]!r} ({np.sum(classes == one)} of {len(classes)} rows)"
        for one in lost[:_MOST_CLASSES_NAMED]
    ]
    more = (
        f" and {len(lost) - _MOST_CLASSES_NAMED} more"
        if len(lost) > _MOST_CLASSES_NAMED
        else ""
    )
    return (
        "no relevance vector and no prediction on the training rows for "
        f"{', '.join(named)}{more}"
    )

"""Fitted attributes of several binary models as those of one."""

from itertools import accumulate
from typing import Any

import numpy as np

from relvec.estimators.coupling import Coupling
from relvec.estimators.warm_start import function_keys
from relvec.evidence import Status
from relvec.model import SparseModels
from relvec.typing import AnyArray

_SHOWN = 5  # classifiers named in a message


def joined_attributes(
    binaries: list[Any], coupling: Coupling, n_kernels: list[int] | None
) -> dict[str, Any]:
    """By name. ``n_kernels`` of every model, None if all share the same ones."""
    return {
        "estimators_": binaries,
        "scheme_": coupling,
        "model_": SparseModels(tuple(one.model_ for one in binaries)),
        "intercept_": np.array([one.intercept_ for one in binaries]),
        "intercept_precision_": np.array(
            [one.intercept_precision_ for one in binaries]
        ),
        "log_evidence_": float(sum(one.log_evidence_ for one in binaries)),
        "n_iter_": sum(one.n_iter_ for one in binaries),
        "history_": _history(binaries),
        "status_": _worst(binaries),
        **_functions(binaries, n_kernels),
        **_learned(binaries),
    }


def _learned(binaries: list[Any]) -> dict[str, Any]:
    """What the features mean to all models, where kernels were learned."""
    if not hasattr(binaries[0], "feature_relevance_"):
        return {}
    each = np.array([one.feature_relevance_ for one in binaries])
    return {"feature_relevance_": each.mean(axis=0)}


def _functions(binaries: list[Any], n_kernels: list[int] | None) -> dict[str, Any]:
    """The functions of all models, each once, by kernel and row."""
    first = [0] * len(binaries)
    if n_kernels is not None:
        first = list(accumulate(n_kernels[:-1], initial=0))
    keys = [
        [(start, key) for key in function_keys(one.model_.basis)]
        for one, start in zip(binaries, first, strict=True)
    ]
    # Kernel, row, and where it is found, of every function.
    names: dict[Any, tuple[int, ...]] = {}
    for number, (one, mine) in enumerate(zip(binaries, keys, strict=True)):
        for place, key in enumerate(mine):
            kernel = first[number] + int(one.relevance_kernel_[place])
            name = (kernel, int(one.relevance_[place]), number, place)
            names[key] = min(names.get(key, name), name)
    ordered = sorted(names, key=names.__getitem__)
    column = {key: place for place, key in enumerate(ordered)}
    found = np.array([names[key] for key in ordered], dtype=np.intp).reshape(-1, 4)
    dual_coef = np.zeros((len(binaries), len(ordered)))
    precision = np.full(dual_coef.shape, np.inf)
    for number, (one, mine) in enumerate(zip(binaries, keys, strict=True)):
        columns = [column[key] for key in mine]
        dual_coef[number, columns] = one.dual_coef_
        precision[number, columns] = one.prior_precision_
    names_of = {"relevance_vectors_", "length_scales_"} & set(vars(binaries[0]))
    return {
        "relevance_": found[:, 1],
        "relevance_kernel_": found[:, 0],
        **{name: _of_functions(binaries, name, found) for name in names_of},
        "dual_coef_": dual_coef,
        "prior_precision_": precision,
    }


def _of_functions(binaries: list[Any], name: str, found: AnyArray) -> AnyArray:
    """An attribute of every function, where it is found; none if columns are those."""
    parts = [getattr(one, name) for one in binaries]
    if binaries[0]._kernel_choice.selects_columns:
        return parts[0]
    starts = np.cumsum([0, *map(len, parts[:-1])])
    return np.concatenate(parts)[starts[found[:, 2]] + found[:, 3]]


def _history(binaries: list[Any]) -> dict[str, AnyArray]:
    histories = [one.history_ for one in binaries]
    lengths = [len(history["iteration"]) for history in histories]
    # Without steps some quantities have no name either.
    names = max(histories, key=len)
    joined = {
        name: np.concatenate([each[name] for each in histories if name in each])
        for name in names
    }
    return {**joined, "classifier": np.repeat(np.arange(len(binaries)), lengths)}


def _worst(binaries: list[Any]) -> Status:
    """The one that comes last in the list of all."""
    order = list(Status)
    return max((one.status_ for one in binaries), key=order.index)


def outcome(model: Any) -> str:
    """Which of its binary models ended worst, and what that means."""
    status, binaries = model.status_, model.estimators_
    named = zip(model.scheme_.keys, binaries, strict=True)
    keys = [key for key, one in named if one.status_ is status]
    names = ", ".join(repr(key) for key in keys[:_SHOWN])
    more = ", ..." if len(keys) > _SHOWN else ""
    return f"{len(keys)} of {len(binaries)} classifiers ({names}{more}): {status.value}"

"""Pipelines and transformers of columns as a model file has them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from relvec.model_file import Kind, ModelFileError
from relvec.persistence.raw_rows import (
    column_numbers,
    in_numbers,
    inputs_of,
    without_names,
)
from relvec.persistence.transformers import check_output, common_fields, note_names

_WORDS = ("passthrough", "drop")


def pipeline_kinds() -> list[Kind]:
    """Of what is made of other transformers."""
    columns = ("params", "n_features", "names", "parts", "rest", "sparse", "row")
    return [
        Kind("sklearn.Pipeline", Pipeline, ("steps",), frozenset(), _steps, _pipeline),
        Kind(
            "sklearn.ColumnTransformer",
            ColumnTransformer,
            columns,
            frozenset(),
            _columns,
            _column_transformer,
        ),
    ]


def _steps(pipeline: Any) -> Mapping[str, Any]:
    """Where results are cached is not kept, nor what is told meanwhile."""
    for _, step in pipeline.steps:
        check_output(step)
    return {"steps": [[name, step] for name, step in pipeline.steps]}


def _pipeline(steps: Any) -> Pipeline:
    named = [(name, step) for name, step in steps]
    if not named or not all(isinstance(name, str) for name, _ in named):
        raise ModelFileError("a pipeline has no steps, or steps without names")
    if len({name for name, _ in named}) < len(named):
        raise ModelFileError("two steps of a pipeline have the same name")
    for _, step in named[:-1]:
        if not (hasattr(step, "transform") or step in (None, "passthrough")):
            raise ModelFileError("a step of a pipeline is no transformer")
    return Pipeline(named)


_REFITTED = ("transformers", "remainder", "n_jobs", "force_int_remainder_cols")


def _columns(transformer: Any) -> Mapping[str, Any]:
    found = common_fields(transformer)
    params = {k: v for k, v in found["params"].items() if k not in _REFITTED}
    given = {name: (one, own) for name, one, own in transformer.transformers}
    given["remainder"] = (transformer.remainder, [])
    parts, rest = [], [_kept(transformer.remainder, None, []), []]
    for name, fitted, columns in transformer.transformers_:
        original, own = given[name]
        places = column_numbers(transformer, columns)
        one = _kept(original, fitted, places)
        if name == "remainder":
            rest = [one, places]
        else:
            parts.append([name, one, columns if callable(own) else own, places])
    total = max(part.stop for part in transformer.output_indices_.values())
    row = in_numbers(inputs_of(transformer, np.zeros((1, total))))
    sparse = bool(transformer.sparse_output_)
    more = {"parts": parts, "rest": rest, "sparse": sparse, "row": row}
    return {**found, "params": params, **more}


def _kept(original: Any, fitted: Any, places: list[int]) -> Any:
    """A word stays one, in whose place scikit-learn has put a transformer.

    One that has no columns was not fitted.
    """
    if isinstance(original, str):
        return original
    return fitted if places else "drop"


def _column_transformer(
    *,
    params: Any,
    n_features: Any,
    names: Any,
    parts: Any,
    rest: Any,
    sparse: Any,
    row: Any,
) -> ColumnTransformer:
    """Fitted to one row, its transformers as they are."""
    if not isinstance(row, np.ndarray) or row.shape != (1, n_features):
        raise ModelFileError("a transformer of columns has no row of all of them")
    if type(sparse) is not bool:
        raise ModelFileError("a transformer of columns has no sparse of its own")
    frozen = [(name, _frozen(one), places) for name, one, _, places in parts]
    remainder, left = rest
    quiet = {**params, "verbose": False}
    found = ColumnTransformer(frozen, remainder=_frozen(remainder), **quiet)
    with without_names():
        found.fit(row.astype(object))
    found.verbose = params["verbose"]
    found.transformers_ = [
        (name, getattr(one, "estimator", one), places)
        for name, one, places in found.transformers_
    ]
    others = [list(own) for name, _, own in found.transformers_ if name == "remainder"]
    if others != ([left] if left else []):
        raise ModelFileError("a transformer of columns has others left")
    found.transformers = [(name, one, given) for name, one, given, _ in parts]
    found.remainder = remainder
    found.sparse_output_ = sparse
    note_names(found, n_features, names)
    return found


def _frozen(one: Any) -> Any:
    if isinstance(one, str):
        if one not in _WORDS:
            raise ModelFileError(f"{one[:40]!r} is no transformer")
        return one
    return FrozenEstimator(one)

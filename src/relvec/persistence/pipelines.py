"""Pipelines and column transformers in a model file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from relvec.model_file import Kind, ModelFileError
from relvec.persistence.self_test import (
    column_numbers,
    in_numbers,
    inputs_of,
    numbers_of,
)
from relvec.persistence.transformers import (
    check_features,
    check_output,
    check_params,
    common_fields,
    note_names,
    set_later,
)

_WORDS = ("passthrough", "drop")
_MOST_PARTS = 500


def pipeline_kinds() -> list[Kind]:
    """Kinds of transformers that contain others."""
    columns = ("params", "n_features", "names", "parts", "rest", "sparse", "row")
    return [
        Kind(
            "sklearn.Pipeline",
            Pipeline,
            ("steps",),
            _steps,
            _pipeline,
            costly=True,
        ),
        Kind(
            "sklearn.ColumnTransformer",
            ColumnTransformer,
            columns,
            _columns,
            _column_transformer,
            costly=True,
        ),
    ]


def _steps(pipeline: Any) -> Mapping[str, Any]:
    """Omit the cache and verbosity."""
    for _, step in pipeline.steps:
        check_output(step)
    return {"steps": [[name, step] for name, step in pipeline.steps]}


def _pipeline(steps: Any) -> Pipeline:
    named = [(name, step) for name, step in _several(steps)]
    if not named or not all(isinstance(name, str) for name, _ in named):
        raise ModelFileError("a pipeline has no steps, or steps without names")
    if len({name for name, _ in named}) < len(named):
        raise ModelFileError("two steps of a pipeline have the same name")
    for _, step in named[:-1]:
        if not (_transforms(step) or _is_passed(step)):
            raise ModelFileError("a step of a pipeline is not a transformer")
    return Pipeline(named)


def _several(parts: Any) -> list[Any]:
    if type(parts) is not list or len(parts) > _MOST_PARTS:
        raise ModelFileError(f"there must be a list of at most {_MOST_PARTS} parts")
    return parts


def _transforms(step: Any) -> bool:
    return hasattr(step, "transform")


def _is_passed(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _columns(transformer: Any) -> Mapping[str, Any]:
    found = common_fields(transformer)
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
    return {**found, **more}


def _kept(original: Any, fitted: Any, places: list[int]) -> Any:
    """Keep a string, which scikit-learn replaces by a transformer when it fits.

    A transformer without columns was not fitted.
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
    """Fit to one row, with the transformers frozen."""
    check_features(n_features, names)
    check_params(ColumnTransformer, params, n_features)
    if not isinstance(row, np.ndarray) or row.shape != (1, n_features):
        raise ModelFileError("a transformer of columns has no row of all of them")
    if type(sparse) is not bool:
        raise ModelFileError("a transformer of columns has no sparse of its own")
    _check_parts(parts, n_features, names)
    remainder, left = rest
    frozen = [(name, _frozen(one), places) for name, one, _, places in parts]
    # In this process, whatever joblib's settings are.
    own = {**params, "verbose": False, "n_jobs": 1}
    found = ColumnTransformer(frozen, remainder=_frozen(remainder), **own)
    found.fit(row.astype(object))
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
    set_later(
        found,
        n_jobs=None,
        verbose=params["verbose"],
        transformers_=_as_given(found, parts, names),
    )
    return found


def _check_parts(parts: Any, n_features: int, names: list[str] | None) -> None:
    """Require that the given columns are the selected ones."""
    for name, _, given, places in _several(parts):
        whole = type(places) is list and all(type(one) is int for one in places)
        if type(name) is not str or not whole:
            raise ModelFileError("a part of columns has no name, or no columns")
        if numbers_of(given, n_features, names or []) != places:
            raise ModelFileError(f"columns of {name!r} are others than was given")


def _as_given(
    transformer: ColumnTransformer, parts: list[Any], names: list[str] | None
) -> list[Any]:
    """Restore columns as given, so that other columns are refused."""
    columns = {name: given for name, _, given, _ in parts}
    kinds = {_kind_of(given) for given in columns.values()}
    found = []
    for name, one, places in transformer.transformers_:
        if name != "remainder":
            found.append((name, one, columns[name]))
        elif kinds == {str} and names is not None:
            found.append((name, one, [names[place] for place in places]))
        elif kinds == {bool}:
            flags = [place in places for place in range(transformer.n_features_in_)]
            found.append((name, one, flags))
        else:
            found.append((name, one, places))
    return found


def _kind_of(columns: Any) -> Any:
    """Whether columns were given by names, booleans or numbers."""
    if isinstance(columns, slice):
        ends = [end for end in (columns.start, columns.stop) if end is not None]
        return type(ends[0]) if ends else int
    listed = np.atleast_1d(columns).tolist()
    return type(listed[0]) if listed else None


def _frozen(one: Any) -> Any:
    if isinstance(one, str):
        if one not in _WORDS:
            raise ModelFileError(f"{one!r} is not a transformer")
        return one
    if not _transforms(one):
        raise ModelFileError("a part of columns is not a transformer")
    return FrozenEstimator(one)

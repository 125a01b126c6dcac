"""Rows before they were transformed, where none are at hand to try a pipeline."""

import warnings
from collections import UserList
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from relvec.model_file import ModelFileError
from relvec.typing import AnyArray


def inputs_of(transformer: Any, outputs: AnyArray) -> AnyArray:
    """Rows that have about these outputs, as many; of encoders any that they know."""
    if isinstance(transformer, Pipeline):
        for _, step in reversed(transformer.steps):
            outputs = inputs_of(step, outputs)
        return outputs
    if isinstance(transformer, ColumnTransformer):
        return _inputs_of_columns(transformer, outputs)
    if isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        return _known(transformer.categories_, len(outputs))
    if isinstance(transformer, SimpleImputer):
        return _imputed(transformer, outputs)
    if hasattr(transformer, "inverse_transform"):
        return np.asarray(transformer.inverse_transform(outputs))
    return outputs  # passed through


@contextmanager
def without_names() -> Iterator[None]:
    """Rows of ours have no names, and need none: nobody has to be told."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def in_numbers(rows: AnyArray) -> AnyArray:
    """As an array of numbers, if they are such."""
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError):
        return rows


def column_numbers(transformer: Any, columns: Any) -> list[int]:
    """Of columns of a fitted transformer."""
    names = list(getattr(transformer, "feature_names_in_", ()))
    return numbers_of(columns, transformer.n_features_in_, names)


def numbers_of(columns: Any, count: int, names: list[str]) -> list[int]:
    """Of columns given by names, numbers, flags or a slice."""
    if isinstance(columns, UserList):
        columns = columns.data  # as scikit-learn 1.6 has the remainder, with a warning
    if isinstance(columns, slice):
        ends = (columns.start, columns.stop)
        if not any(isinstance(end, str) for end in ends):
            return list(range(count))[columns]
        first, last = (None if end is None else names.index(end) for end in ends)
        return list(range(first or 0, count if last is None else last + 1))
    listed = [columns] if isinstance(columns, str) else np.atleast_1d(columns).tolist()
    if not all(isinstance(one, str | int) for one in listed):
        raise ModelFileError("columns must be names, whole numbers or flags")
    if listed and isinstance(listed[0], bool):
        return [place for place, chosen in enumerate(listed) if chosen]
    by_name = {name: place for place, name in enumerate(names)}
    return [
        by_name[one] if isinstance(one, str) else int(one) % count for one in listed
    ]


def _inputs_of_columns(transformer: Any, outputs: AnyArray) -> AnyArray:
    found = np.zeros((len(outputs), transformer.n_features_in_), dtype=object)
    for name, one, columns in transformer.transformers_:
        own = column_numbers(transformer, columns)
        if own and not (isinstance(one, str) and one == "drop"):
            part = outputs[:, transformer.output_indices_[name]]
            found[:, own] = inputs_of(one, part)
    return found


def _known(categories: list[AnyArray], count: int) -> AnyArray:
    found = np.empty((count, len(categories)), dtype=object)
    for place, column in enumerate(categories):
        found[:, place] = np.resize(column, count).tolist()
    return found


def _imputed(imputer: SimpleImputer, outputs: AnyArray) -> AnyArray:
    statistics = np.asarray(imputer.statistics_, dtype=object)
    found = np.tile(statistics, (len(outputs), 1))
    empty = [isinstance(value, float) and np.isnan(value) for value in statistics]
    kept = ~np.array(empty)
    found[:, ~kept] = imputer.missing_values
    found[:, kept] = outputs[:, : int(kept.sum())]
    return found

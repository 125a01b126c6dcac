"""The self-test of a model file: a few rows and what the model predicts for them.

The rows of a pipeline are rows before its first step. As no such rows are at hand when
a model is saved, they are derived from the vectors of the model.
"""

import sys
import warnings
from collections import UserList
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from relvec.lssvm import LeastSquaresModel
from relvec.lssvm.dual import DualVariance
from relvec.model_file import ModelFileError
from relvec.modelling import trial_rows
from relvec.typing import AnyArray, Array


def inputs_of(transformer: Any, outputs: AnyArray) -> AnyArray:
    """Rows that a transformer maps to about these outputs, with known categories."""
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
    """Silence warnings about missing feature names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def in_numbers(rows: AnyArray) -> AnyArray:
    """Convert rows to numbers if possible."""
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError):
        return rows


def column_numbers(transformer: Any, columns: Any) -> list[int]:
    """Indices of columns of a fitted transformer."""
    names = list(getattr(transformer, "feature_names_in_", ()))
    return numbers_of(columns, transformer.n_features_in_, names)


def numbers_of(columns: Any, count: int, names: list[str]) -> list[int]:
    """Indices of columns given by names, numbers, booleans or a slice."""
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


_ROWS = 8
# Tolerances relative to the largest value: another machine sums in another order, and a
# later version may approximate the integrals of probabilities differently.
_TOLERANCE, _OF_INTEGRALS = 1e-6, 1e-2
# Rows up to which the factor for error bars, which is not in the file, is computed.
_MOST_FACTORED = 1000


def self_test(estimator: Any) -> dict[str, Any]:
    """Rows as the estimator takes them, and its predictions."""
    model = final_model(estimator)
    rows: AnyArray = trial_rows(model, _ROWS)
    try:
        expected = _outputs(model, rows)
    except ValueError:  # a kernel of counts
        rows = np.abs(rows)
        expected = _outputs(model, rows)
    if isinstance(estimator, Pipeline):
        for _, step in reversed(estimator.steps[:-1]):
            rows = inputs_of(step, rows)
        rows = in_numbers(rows)
        given = _as_frame(rows, getattr(estimator, "feature_names_in_", None))
        quiet = without_names() if given is rows else nullcontext()
        with quiet:
            expected = _outputs(model, _transformed(estimator, given))
    return {"rows": rows, "expected": expected}


def errors(estimator: Any, test: Any) -> dict[str, float]:
    """Error of each output, relative to the largest expected value."""
    rows, expected = test["rows"], test["expected"]
    known = isinstance(rows, np.ndarray) and rows.ndim == 2
    if not known or not 1 <= len(rows) <= _ROWS:
        raise ModelFileError(f"its self-test has no table of up to {_ROWS} rows")
    if isinstance(estimator, Pipeline):
        rows = _transformed(estimator, rows)
    found = _outputs(final_model(estimator), rows)
    if not isinstance(expected, dict) or set(found) != set(expected):
        raise ModelFileError("its self-test expects other outputs than the model has")
    return {name: _error(name, each, expected[name]) for name, each in found.items()}


def check_errors(found: dict[str, float]) -> None:
    """Refuse a model whose predictions have changed."""
    for name, error in found.items():
        integral = name in {"probabilities", "votes"}
        if not error <= (_OF_INTEGRALS if integral else _TOLERANCE):
            raise ModelFileError(
                f"{name} of its self-test differs from what is written by {error:.3g} "
                "of the largest value"
            )


def final_model(estimator: Any) -> Any:
    """The model of an estimator, or of the last step of a pipeline."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return last.model_


def _as_frame(rows: AnyArray, names: AnyArray | None) -> Any:
    """Rows as a data frame, if columns were selected by name."""
    for library in ("pandas", "polars") if names is not None else ():
        found: Any = sys.modules.get(library)
        if found is not None:
            columns = zip(names, rows.T.tolist(), strict=True)  # type: ignore[arg-type]
            return found.DataFrame(dict(columns))
    return rows


def _transformed(pipeline: Pipeline, rows: Any) -> AnyArray:
    for _, step in pipeline.steps[:-1]:
        if step is not None and step != "passthrough":
            rows = step.transform(rows)
    # Numbers in a table with strings are objects.
    return np.asarray(rows, dtype=np.float64)


def _outputs(model: Any, rows: AnyArray) -> dict[str, Array]:
    """Mean and standard deviation, or latent values and probabilities."""
    with np.errstate(all="ignore"):
        real = model.labels is None
        values = _of_targets(model, rows) if real else _of_classes(model, rows)
    for name, value in values.items():
        if not np.isfinite(value).all():
            raise ModelFileError(f"{name} of its self-test is not finite")
    return values


def _of_targets(model: Any, rows: AnyArray) -> dict[str, Array]:
    if _is_dear(model) or (isinstance(model, LeastSquaresModel) and not model.spread):
        return {"mean": model.predicted(rows)}
    found = model.predictive(rows)
    return {"mean": found.mean, "std": found.std}


def _of_classes(model: Any, rows: AnyArray) -> dict[str, Array]:
    if _is_dear(model):
        return {"latent": model.values(rows)}
    latent, spread = model.latent(rows)
    found = model.predictive(rows)
    if not hasattr(found, "probabilities"):
        return {"latent": latent, "spread": spread, "votes": found.decision}
    return {"latent": latent, "spread": spread, "probabilities": found.probabilities}


def _is_dear(model: Any) -> bool:
    spread = getattr(model, "spread", None)
    return isinstance(spread, DualVariance) and len(spread.system) > _MOST_FACTORED


def _error(name: str, found: Array, expected: Any) -> float:
    known = isinstance(expected, np.ndarray) and expected.dtype == np.float64
    if not known or expected.shape != found.shape or not np.isfinite(expected).all():
        raise ModelFileError(f"{name} of its self-test is not what a model says")
    largest = max(float(np.max(np.abs(expected))), np.finfo(float).tiny)
    return float(np.max(np.abs(found - expected) / largest))

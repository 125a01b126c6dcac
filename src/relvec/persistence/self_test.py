"""A few rows and what a model says of them, so that a file can be tried."""

import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from relvec.lssvm import LeastSquaresModel
from relvec.lssvm.dual import DualSpread
from relvec.model_file import ModelFileError
from relvec.modelling import trial_rows
from relvec.persistence.raw_rows import in_numbers, inputs_of, without_names
from relvec.typing import AnyArray, Array

_ROWS = 8
# Of the largest value: another machine sums in another order; and where probabilities
# are integrals, a later version may approximate them otherwise.
_TOLERANCE, _OF_INTEGRALS = 1e-6, 1e-2
# Rows of a factor that error bars would ask for, which is not in the file.
_MOST_FACTORED = 1000


def self_test(estimator: Any) -> dict[str, Any]:
    """Rows as the estimator takes them, and what it says of them."""
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
    """How far each output is from what it once was, of the largest value."""
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
    """Refuse a model that says something else than it once did."""
    for name, error in found.items():
        integral = name in {"probabilities", "votes"}
        if not error <= (_OF_INTEGRALS if integral else _TOLERANCE):
            raise ModelFileError(
                f"{name} of its self-test differs from what is written by {error:.3g} "
                "of the largest value"
            )


def final_model(estimator: Any) -> Any:
    """That of the estimator, or of the last step."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return last.model_


def _as_frame(rows: AnyArray, names: AnyArray | None) -> Any:
    """Rows as they were given to the fit, where columns may be chosen by names."""
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
    # Columns beside words come as objects.
    return np.asarray(rows, dtype=np.float64)


def _outputs(model: Any, rows: AnyArray) -> dict[str, Array]:
    """Mean and deviation; of classes latent values and what is made of them."""
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
    return isinstance(spread, DualSpread) and len(spread.system) > _MOST_FACTORED


def _error(name: str, found: Array, expected: Any) -> float:
    known = isinstance(expected, np.ndarray) and expected.dtype == np.float64
    if not known or expected.shape != found.shape or not np.isfinite(expected).all():
        raise ModelFileError(f"{name} of its self-test is not what a model says")
    largest = max(float(np.max(np.abs(expected))), np.finfo(float).tiny)
    return float(np.max(np.abs(found - expected) / largest))

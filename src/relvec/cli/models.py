"""Model files: what a model expects and contains (``relvec inspect``)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

import relvec
from relvec.cli.columns import Columns, check_has_columns, feature_frame
from relvec.cli.errors import CliError
from relvec.cli.paths import check_readable, is_table
from relvec.model_file import read_limited, unpacked


def load_model(path: Path) -> "Model":
    """Load the model of a file."""
    check_readable(path)
    if is_table(path):
        raise CliError(
            f"{path} is a table: name the model, a file that fit has written"
        )
    return Model(relvec.load(path))


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted estimator, or a pipeline that ends with one."""

    whole: Any

    @property
    def steps(self) -> list[Any]:
        """Steps of the pipeline, or the estimator alone."""
        if isinstance(self.whole, Pipeline):
            return [step for _, step in self.whole.steps]
        return [self.whole]

    @property
    def estimator(self) -> Any:
        """The estimator, which is the last step."""
        return self.steps[-1]

    @property
    def classes(self) -> bool:
        """Whether the model is a classifier."""
        return hasattr(self.estimator, "classes_")

    @property
    def labels(self) -> list[Any]:
        """Labels of the classes."""
        return list(getattr(self.estimator, "classes_", []))

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        several = np.ndim(self.estimator.dual_coef_) > 1 and not self.classes
        return len(self.estimator.dual_coef_) if several else 1

    @property
    def names(self) -> list[str] | None:
        """Names of the columns it was fitted to, if they had any."""
        found = getattr(self.whole, "feature_names_in_", None)
        return None if found is None else list(found)

    @property
    def imputes(self) -> bool:
        """Whether the model imputes missing values."""
        return any(isinstance(each, SimpleImputer) for each in _all_steps(self.steps))

    def facts(self) -> dict[str, Any]:
        """Summarise the model in a few values."""
        last = self.estimator
        noise = getattr(last, "noise_variance_", None)
        calibration = getattr(last, "calibration_", None)
        return {
            "estimator": type(last).__name__,
            "kernel": _kernel_name(getattr(last, "kernel_", last.kernel)),
            "vectors": len(last.model_.indices),
            "noise_std": None if noise is None else np.sqrt(noise).tolist(),
            "log_evidence": float(last.log_evidence_),
            "status": last.status_.name.lower(),
            "calibration": None if calibration is None else calibration.as_dict(),
        }

    def feature_names(self) -> list[str]:
        """Names of the encoded features that the estimator receives."""
        number = int(self.estimator.n_features_in_)
        names = self.names or [f"x{place}" for place in range(number)]
        for step in self.steps[:-1]:
            names = list(step.get_feature_names_out(names))
        return names

    def categories(self) -> dict[str, set[Any]]:
        """Categories of the encoder, by column."""
        return {
            name: set(known)
            for step in self.steps
            if isinstance(step, ColumnTransformer)
            for _, part, names in step.transformers_
            for name, known in zip(names, _encoder_categories(part), strict=False)
        }

    def columns_of(self, known: list[str]) -> Columns:
        """Select the columns that the model needs; refuse a table that lacks one."""
        names = self.names
        if names is None:
            self._check_column_count(len(known))
            return Columns(tuple(known), ())
        check_has_columns(known, names)
        texts = self.categories()
        return Columns(
            tuple(name for name in names if name not in texts),
            tuple(name for name in names if name in texts),
        )

    def rows_of(self, frame: pd.DataFrame) -> Any:
        """Convert a table to inputs of the model."""
        columns = self.columns_of(list(frame.columns))
        found = feature_frame(frame, columns, missing=self.imputes)
        return found.to_numpy() if self.names is None else found[self.names]

    def _check_column_count(self, found: int) -> None:
        """Refuse another number of columns than the model was fitted to."""
        number = int(self.whole.n_features_in_)
        if found != number:
            raise CliError(
                f"the table has {found} columns, and the model was fitted to {number} "
                "without names: give it these alone, in the same order"
            )

    def unknown_texts(self, X: Any) -> dict[str, set[str]]:
        """Texts that are no category of the model, by column."""
        known = self.categories() if self.names is not None else {}
        return {name: set(X[name].dropna()) - known[name] for name in known}


def _kernel_name(kernel: Any) -> str:
    """Name a kernel without its parameters."""
    if kernel is None:
        return "none"
    if isinstance(kernel, list | tuple):
        return ", ".join(map(_kernel_name, kernel))
    kernel = getattr(kernel, "function", kernel)  # what a checked kernel wraps
    return kernel if isinstance(kernel, str) else type(kernel).__name__


def _all_steps(steps: list[Any]) -> list[Any]:
    """List steps, including nested ones."""
    found = []
    for step in steps:
        found.append(step)
        if isinstance(step, Pipeline):
            found += _all_steps([inner for _, inner in step.steps])
        if isinstance(step, ColumnTransformer):
            found += _all_steps([part for _, part, _ in step.transformers_])
    return found


def _encoder_categories(part: Any) -> list[Any]:
    """Categories of an encoder of texts, perhaps at the end of a pipeline."""
    last = part.steps[-1][1] if isinstance(part, Pipeline) else part
    found = getattr(last, "categories_", [])
    texts = all(np.asarray(each).dtype.kind in "OUT" for each in found)
    return list(found) if texts else []


def inspect_model(model: Path) -> dict[str, Any]:
    """Describe a model file."""
    found = load_model(model)
    content = unpacked(read_limited(model))
    summary = content["summary"]
    return {
        "model": str(model),
        "bytes": model.stat().st_size,
        "steps": [type(step).__name__ for step in found.steps],
        **found.facts(),
        **_status_meaning(summary),
        "rounds": summary["n_iter"],
        "seconds": summary["seconds"],
        "classes": [str(label) for label in found.labels] or None,
        "completes_missing_values": found.imputes,
        "written_by": content["written_by"],
        "columns": _column_rows(found),
        "features": _feature_rows(found),
    }


def _status_meaning(summary: dict[str, Any]) -> dict[str, str]:
    """Explain the status unless its name says it all."""
    meaning = str(summary["meaning"])
    return {} if meaning == "converged" else {"meaning": meaning}


def _column_rows(model: Model) -> list[dict[str, Any]]:
    """List the columns that a table must have."""
    texts = model.categories()
    return [
        {
            "name": name,
            "holds": "text" if name in texts else "numbers",
            "values": sorted(map(str, texts[name])) if name in texts else None,
        }
        for name in model.names or []
    ]


def _feature_rows(model: Model) -> list[dict[str, Any]]:
    """List the features with their relevance and length scales."""
    last, number = model.estimator, model.estimator.n_features_in_
    unknown = np.full(number, np.nan)
    relevance = getattr(last, "feature_relevance_", unknown)
    kernel = getattr(last, "kernel_", None)
    scales = np.atleast_1d(getattr(kernel, "length_scale", unknown))
    scales = np.broadcast_to(scales, unknown.shape)
    rows = zip(model.feature_names(), relevance, scales, strict=True)
    return [
        {"feature": name, "relevance": float(share), "length_scale": float(scale)}
        for name, share, scale in rows
    ]

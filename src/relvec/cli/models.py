"""What a model from a file takes, and what it holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

import relvec
from relvec.cli.columns import Columns, check_named, features
from relvec.cli.exits import Problem
from relvec.cli.places import check_readable, is_table


def loaded(path: Path) -> "Model":
    """The model of a file."""
    check_readable(path)
    if is_table(path):
        raise Problem(f"{path} is a table: name the model, a file that fit has written")
    return Model(relvec.load(path))


@dataclass(frozen=True, eq=False)
class Model:
    """An estimator, or a pipeline that ends with one."""

    whole: Any

    @property
    def steps(self) -> list[Any]:
        """All of a pipeline, or the one estimator."""
        if isinstance(self.whole, Pipeline):
            return [step for _, step in self.whole.steps]
        return [self.whole]

    @property
    def estimator(self) -> Any:
        """The last step."""
        return self.steps[-1]

    @property
    def classes(self) -> bool:
        """Whether it tells classes apart."""
        return hasattr(self.estimator, "classes_")

    @property
    def labels(self) -> list[Any]:
        """Of its classes."""
        return list(getattr(self.estimator, "classes_", []))

    @property
    def n_outputs(self) -> int:
        """Numbers that it predicts of a row."""
        several = np.ndim(self.estimator.dual_coef_) > 1 and not self.classes
        return len(self.estimator.dual_coef_) if several else 1

    @property
    def names(self) -> list[str] | None:
        """Of the columns that it was fitted with, if they had any."""
        found = getattr(self.whole, "feature_names_in_", None)
        return None if found is None else list(found)

    @property
    def imputes(self) -> bool:
        """Whether it completes rows."""
        return any(isinstance(each, SimpleImputer) for each in _within(self.steps))

    def facts(self) -> dict[str, Any]:
        """What it is, in a few values."""
        last = self.estimator
        noise = getattr(last, "noise_variance_", None)
        calibration = getattr(last, "calibration_", None)
        return {
            "estimator": type(last).__name__,
            "kernel": _name(getattr(last, "kernel_", last.kernel)),
            "vectors": len(last.model_.indices),
            "noise_std": None if noise is None else np.sqrt(noise).tolist(),
            "log_evidence": float(last.log_evidence_),
            "status": last.status_.name.lower(),
            "calibration": None if calibration is None else calibration.as_dict(),
        }

    def feature_names(self) -> list[str]:
        """Of what the estimator sees, encoded."""
        number = int(self.estimator.n_features_in_)
        names = self.names or [f"x{place}" for place in range(number)]
        for step in self.steps[:-1]:
            names = list(step.get_feature_names_out(names))
        return names

    def categories(self) -> dict[str, set[Any]]:
        """Texts that an encoder knows, by column."""
        return {
            name: set(known)
            for step in self.steps
            if isinstance(step, ColumnTransformer)
            for _, part, names in step.transformers_
            for name, known in zip(names, _categories(part), strict=False)
        }

    def columns_of(self, known: list[str]) -> Columns:
        """Those of a table's columns that it takes; or refuse the table."""
        names = self.names
        if names is None:
            self._check_number(len(known))
            return Columns(tuple(known), ())
        check_named(known, names)
        texts = self.categories()
        return Columns(
            tuple(name for name in names if name not in texts),
            tuple(name for name in names if name in texts),
        )

    def rows_of(self, frame: pd.DataFrame) -> Any:
        """Columns of a table as the model takes them; or refuse."""
        columns = self.columns_of(list(frame.columns))
        found = features(frame, columns, missing=self.imputes)
        return found.to_numpy() if self.names is None else found[self.names]

    def _check_number(self, found: int) -> None:
        """Of columns, which a model without names takes in their order."""
        number = int(self.whole.n_features_in_)
        if found != number:
            raise Problem(
                f"the table has {found} columns, and the model was fitted to {number} "
                "without names: give it these alone, in the same order"
            )

    def unknown_texts(self, X: Any) -> dict[str, set[str]]:
        """What the model never saw, by column that has a name."""
        known = self.categories() if self.names is not None else {}
        return {name: set(X[name].dropna()) - known[name] for name in known}


def _name(kernel: Any) -> str:
    """Without its parameters, of which there may be many."""
    if kernel is None:
        return "none"
    if isinstance(kernel, list | tuple):
        return ", ".join(map(_name, kernel))
    kernel = getattr(kernel, "function", kernel)  # what a checked kernel wraps
    return kernel if isinstance(kernel, str) else type(kernel).__name__


def _within(steps: list[Any]) -> list[Any]:
    """Steps, and those inside them."""
    found = []
    for step in steps:
        found.append(step)
        if isinstance(step, Pipeline):
            found += _within([inner for _, inner in step.steps])
        if isinstance(step, ColumnTransformer):
            found += _within([part for _, part, _ in step.transformers_])
    return found


def _categories(part: Any) -> list[Any]:
    """Of an encoder of texts, perhaps at the end of a pipeline."""
    last = part.steps[-1][1] if isinstance(part, Pipeline) else part
    found = getattr(last, "categories_", [])
    texts = all(np.asarray(each).dtype.kind in "OUT" for each in found)
    return list(found) if texts else []

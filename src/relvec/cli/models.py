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
from relvec.cli.tables import check_readable, listed


def loaded(path: Path) -> "Model":
    """The model of a file."""
    check_readable(path)
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
        return {
            "estimator": type(last).__name__,
            "kernel": _name(getattr(last, "kernel_", last.kernel)),
            "vectors": len(last.model_.indices),
            "noise_std": None if noise is None else float(np.sqrt(noise)),
            "log_evidence": float(last.log_evidence_),
            "status": last.status_.name.lower(),
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

    def rows_of(self, frame: pd.DataFrame) -> Any:
        """Columns of a table as the model takes them; or refuse."""
        names = self.names
        if names is None:
            return self._by_place(frame)
        check_named(frame.columns, names)
        texts = self.categories()
        columns = Columns(
            tuple(name for name in names if name not in texts),
            tuple(name for name in names if name in texts),
        )
        return features(frame, columns, missing=self.imputes)[names]

    def _by_place(self, frame: pd.DataFrame) -> Any:
        """Columns in their order, for a model that was fitted without names."""
        number = int(self.whole.n_features_in_)
        if frame.shape[1] != number:
            raise Problem(
                f"the table has {frame.shape[1]} columns, and the model was fitted to "
                f"{number} without names: give it these alone, in the same order"
            )
        columns = Columns(tuple(frame.columns), ())
        return features(frame, columns, missing=self.imputes).to_numpy()

    def unknown_texts(self, X: Any) -> list[str]:
        """A remark for each column that has texts which the model never saw."""
        remarks = []
        for name, known in self.categories().items():
            new = sorted(set(X[name].dropna()) - known)
            if new:
                remarks.append(
                    f"column {name!r} has texts that the model never saw "
                    f"({listed(map(repr, new))}): it takes them for none of its own"
                )
        return remarks


def _name(kernel: Any) -> str:
    """Without its parameters, of which there may be many."""
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

"""From a table to a fitted pipeline: encoding, scaling, kernel, hold-out."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from relvec import RVC, RVR
from relvec.cli.choices import Choices
from relvec.cli.columns import Columns, check_complete, chosen, features
from relvec.cli.exits import Problem
from relvec.cli.targets import Target, target_of
from relvec.kernels import Matern
from relvec.typing import AnyArray

_NU = {"matern32": 1.5, "matern52": 2.5}
_TOL = 3e-4  # large tables take half the time, for errors a percent or so larger
LEAST = 2  # rows of either part
# A file is of a model, not of somebody who watched, or how long he would wait.
UNWATCHED: dict[str, Any] = {"verbose": 0, "max_seconds": None}


@dataclass(frozen=True, eq=False)
class Data:
    """Features and target of a table."""

    X: pd.DataFrame
    target: Target
    columns: Columns

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, numbers: AnyArray) -> "Data":
        """Some of them."""
        values = Target(
            self.target.name, self.target.values[numbers], self.target.classes
        )
        return Data(self.X.iloc[numbers], values, self.columns)


def data_of(frame: pd.DataFrame, target: str, choices: Choices) -> Data:
    """Checked features and target."""
    columns = chosen(frame, target, choices.drop, choices.most_categories)
    found = target_of(frame, target, choices.task)
    check_complete(frame, columns)
    return Data(features(frame, columns, missing=choices.impute), found, columns)


def split(data: Data, holdout: float, seed: int) -> tuple[AnyArray, AnyArray]:
    """Numbers of rows to fit and of those held out; of each class its share."""
    rng = np.random.default_rng(seed)
    groups: list[AnyArray] = [np.arange(len(data))]
    if data.target.classes:
        codes = pd.factorize(data.target.values)[0]
        groups = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    held = [
        rng.permutation(group)[: round(holdout * len(group) * (len(group) > 1))]
        for group in groups
    ]
    out = np.sort(np.concatenate(held))
    kept = np.setdiff1d(np.arange(len(data)), out)
    if len(kept) < LEAST or (holdout > 0 and len(out) < LEAST):
        raise Problem(
            f"{len(data)} row{'s' * (len(data) > 1)} cannot be split into {LEAST} or "
            "more to fit and as many to hold out: add rows, or --holdout 0"
        )
    return kept, out


def prepared(columns: Columns, *, impute: bool) -> Any:
    """What makes numbers of about unit size of the features."""
    if not columns.texts and not impute:
        return StandardScaler()  # alone, so that the model can be exported
    numbers: list[Any] = [StandardScaler()]
    texts: list[Any] = [OneHotEncoder(handle_unknown="ignore", sparse_output=False)]
    if impute:
        numbers.insert(0, SimpleImputer(strategy="median"))
        texts.insert(0, SimpleImputer(strategy="most_frequent"))
    parts = [
        (name, _chained(steps), list(names))
        for name, steps, names in (
            ("numbers", numbers, columns.numbers),
            ("texts", texts, columns.texts),
        )
        if names
    ]
    return ColumnTransformer(parts)


def _chained(steps: list[Any]) -> Any:
    names = [type(step).__name__.lower() for step in steps]
    return Pipeline(list(zip(names, steps, strict=True))) if steps[1:] else steps[0]


def estimator(choices: Choices, *, classes: bool) -> Any:
    """A relevance vector machine whose length scales are learned."""
    name = choices.kernel
    if name == "auto":
        # Numbers in tables seldom vary as smoothly as a Gaussian kernel has it.
        name = "rbf" if classes else "matern32"
    kernel: Any = Matern(nu=_NU[name]) if name in _NU else name
    learning = "ard" if name in _NU else None
    common: dict[str, Any] = {
        "max_seconds": choices.max_seconds,
        "random_state": choices.seed,
        "verbose": choices.verbose,
    }
    if classes:
        return RVC(kernel, kernel_learning=learning, **common)
    return RVR(kernel, kernel_learning=learning, tol=_TOL, **common)


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted pipeline, and what was said while it was fitted."""

    model: Any
    remarks: list[str] = field(default_factory=list)


def trained(data: Data, choices: Choices) -> Trained:
    """Scaled and encoded, and fitted."""
    last = estimator(choices, classes=data.target.classes)
    steps = [
        ("prepare", prepared(data.columns, impute=choices.impute)),
        ("model", last),
    ]
    model = Pipeline(steps)
    with remarks() as said:
        model.fit(data.X, data.target.values)
    last.set_params(**UNWATCHED)
    return Trained(model, said)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """What a fit warns of, each once; complete when it has ended."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said.extend(dict.fromkeys(str(each.message) for each in caught))

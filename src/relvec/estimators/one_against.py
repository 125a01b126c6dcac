"""One binary model per class or pair of classes, by scikit-learn's meta-estimators."""

from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from relvec.estimators.callbacks import Task
from relvec.estimators.coupling import Coupling, Rest
from relvec.estimators.joined import joined_attributes
from relvec.estimators.kernels_by_class import as_list, by_classifier
from relvec.estimators.progress import logger, progress
from relvec.estimators.relabelled import Labels, relabelled
from relvec.estimators.training import Training
from relvec.typing import AnyArray, Indices

_LEAST_SECONDS = 1e-3


def taken_back(model: Any) -> dict[Any, Any]:
    """Binary models of an earlier fit, by what they decide on, out of ``model``."""
    binaries = vars(model).pop("estimators_", None)
    if binaries is None:
        return {}
    del model.model_
    return dict(zip(model.scheme_.keys, binaries, strict=True))


@dataclass(frozen=True)
class Rows:
    """What there is to fit to."""

    X: Any
    sample_weight: Any
    training: Training
    labels: Indices  # 0, 1, ... of the rows that count
    earlier: dict[Any, Any]  # binary models to begin with

    @property
    def n_rows(self) -> int:
        """Whether they count or not; of rows in memory."""
        weight = self.sample_weight
        return len(self.labels if weight is None else np.asarray(weight))

    def part(self, places: Indices, y: AnyArray) -> tuple[Any, Any, Any]:
        """Some of the rows that count, with these targets."""
        training = self.training
        mine = Labels(training.numbers[places], y, training.weight[places])
        return relabelled(self.X, mine, self.n_rows)


@dataclass(frozen=True)
class Shared:
    """All that binary models have in common."""

    model: Any  # the one they are parts of
    coupling: Coupling
    kernels: list[Any]  # one per classifier
    rows: Rows
    started: float

    def fitted(self, places: Indices, y: AnyArray) -> Any:
        """The model of some of the rows that count, y telling the two sides."""
        number = self._number(places, y)
        key = self.coupling.keys[number]
        total = len(self.coupling.keys)
        logger.info("classifier %d of %d: %s", number + 1, total, key)
        parameters = {
            **self.model.get_params(deep=False),
            "multi_class": "auto",
            "kernel": self.kernels[number],
            "gamma": self._gamma,
            "max_seconds": self._seconds(total - number),
        }
        binary = self._begun(key, parameters)
        X, y, weight = self.rows.part(places, y)
        # Not ``fit``: of all that there is to tell, the user is told once.
        binary._fit(X, y, weight, Task(binary, X, y))
        return binary

    def _begun(self, key: Any, parameters: dict[str, Any]) -> Any:
        if self.model.warm_start and key in self.rows.earlier:
            return copy(self.rows.earlier[key]).set_params(**parameters)
        return type(self.model)(**parameters)

    def _number(self, places: Indices, y: AnyArray) -> int:
        """Which of the classifiers it is that decides so."""
        sides = [self.rows.labels[places[y == side][0]] for side in (0, 1)]
        if isinstance(self.coupling, Rest):
            return int(sides[1])
        pair = tuple(self.coupling.labels[side] for side in sides)
        return self.coupling.keys.index(pair)

    @property
    def _gamma(self) -> Any:
        """That of all rows, as SVC has it, though a pair of classes sees fewer."""
        model, training = self.model, self.rows.training
        objects = training.drawn_rows.dtype == object
        if model._kernel_choice.selects_columns or objects:
            return model.gamma
        return model._kernel_choice.gamma_for(training)

    def _seconds(self, n_left: int) -> float | None:
        """The same share for all that are left of the time that is left."""
        if self.model.max_seconds is None:
            return None
        left = self.model.max_seconds - (perf_counter() - self.started)
        return max(left, _LEAST_SECONDS) / n_left


class Part(ClassifierMixin, BaseEstimator):
    """A binary model as scikit-learn's meta-estimators see it.

    They cut a problem into pieces by row numbers, so that rows may be anything.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def fit(self, numbers: AnyArray, y: AnyArray) -> Self:
        """Fit the model of these rows."""
        self.model_ = self.shared.fitted(numbers[:, 0], y)
        return self

    def __sklearn_clone__(self) -> "Part":
        # The data are not to be copied.
        return Part(self.shared)


def fit_one_against(model: Any, rows: Rows, coupling: Coupling) -> None:
    """Fit ``model`` by a binary model for each of the keys."""
    kernels = by_classifier(model.kernel, coupling.keys)
    shared = Shared(model, coupling, kernels, rows, perf_counter())
    n_kernels = None
    if isinstance(model.kernel, dict) or model.kernel_learning is not None:
        n_kernels = [len(as_list(kernel)) for kernel in kernels]
    attributes = joined_attributes(_binaries(shared), coupling, n_kernels)
    vars(model).update(attributes)


def _binaries(shared: Shared) -> list[Any]:
    is_rest = isinstance(shared.coupling, Rest)
    meta = OneVsRestClassifier if is_rest else OneVsOneClassifier
    labels = shared.rows.labels
    numbers = np.arange(len(labels))[:, None]
    with progress(int(shared.model.verbose)):
        fitted = meta(Part(shared)).fit(numbers, labels)
    return [part.model_ for part in fitted.estimators_]

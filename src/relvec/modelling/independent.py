"""Several targets of a row by a model for each, with vectors and a noise of its own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from relvec.data import RowBlocks
from relvec.modelling.fitted import FittedModel
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.predictive import Residuals, TargetDistribution
from relvec.modelling.several_models import SeveralModels
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray, Array


def fit_independent(
    fit: Callable[..., FittedModel],
    spec: Specification,
    rows: TrainingRows,
    y: AnyArray,
    families: list[Any],
    *,
    starts: list[FittedModel | None],
    monitor: Monitor = silent,
) -> "IndependentModel":
    """A model for each column of y (N, K), by a family each and perhaps from another.

    Each has an equal share of the time that is left.
    """
    models: list[FittedModel] = []
    for number, family in enumerate(families):
        logger.info("output %d of %d", number + 1, len(families))
        time = spec.deadline.share(len(families) - number)
        own = replace(spec, family=family).until(time)
        data = family.encoded(rows, y[:, number])
        models.append(fit(own, data, start=starts[number], monitor=monitor))
    # Kernels that were learned differ, and so do their functions.
    learned = any(one.learned.length_scales is not None for one in models)
    learned = learned or any(one.learned.weights is not None for one in models)
    step = len(spec.kernels) if learned else 0
    return IndependentModel(tuple(models), tuple(step * k for k in range(len(models))))


@dataclass(frozen=True, eq=False)
class IndependentModel(SeveralModels):
    """A model for each output."""

    noun: ClassVar[str] = "output"

    @property
    def keys(self) -> list[Any]:
        return list(range(len(self.models)))

    @property
    def labels(self) -> None:
        """Outputs are no classes."""
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """Of all families, by their names."""
        each = [one.family.parameters for one in self.models]
        return {name: np.array([one[name] for one in each]) for name in each[0]}

    @property
    def residuals(self) -> Residuals | None:
        """Of all outputs, if rows were left out of each."""
        each = [one.residuals for one in self.models if one.residuals is not None]
        return Residuals.of_outputs(each) if len(each) == len(self.models) else None

    def values(self, X: AnyArray | RowBlocks) -> Array:
        """The mean of η alone (n_rows, n_models)."""
        return np.hstack([one.values(X) for one in self.models])

    predicted = values

    def predictive(self, X: AnyArray | RowBlocks) -> "SideBySide":
        """The distribution of the targets of some rows."""
        return SideBySide(tuple(one.predictive(X) for one in self.models))

    def given(self, values: Array) -> "SideBySide":
        """The distribution of targets where latent values (n_rows, K) are known."""
        parts = zip(self.models, values.T, strict=True)
        return SideBySide(tuple(one.given(part[:, None]) for one, part in parts))

    def start_for(self, key: Any) -> FittedModel | None:
        """The model of an output, if there is one."""
        known = key is not None and key < len(self.models)
        return self.models[key] if known else None


@dataclass(frozen=True)
class SideBySide:
    """Distributions of several targets, a column of each."""

    each: tuple[TargetDistribution, ...]

    @property
    def mean(self) -> Array:
        """(n_rows, K)."""
        return np.column_stack([one.mean for one in self.each])

    @property
    def std(self) -> Array:
        """(n_rows, K) of the targets, noise included."""
        return np.column_stack([one.std for one in self.each])

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds (n_rows, K) between which targets lie with this probability."""
        lower, upper = zip(*(one.interval(coverage) for one in self.each), strict=True)
        return np.column_stack(lower), np.column_stack(upper)

"""Several models as one, which has the functions of all, each once."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.modelling.fitted import FittedModel, Learned
from relvec.modelling.predictive import Calibration
from relvec.modelling.same_functions import function_keys
from relvec.modelling.stacked import Stack
from relvec.modelling.training_rows import Features
from relvec.typing import AnyArray, Array, Indices

_SHOWN = 5  # models named in a message


@dataclass(frozen=True, eq=False)
class SeveralModels(ABC):
    """What models say together.

    The first axis of weights and precisions is that of the models; where one does not
    use a function, its weight is zero and its precision infinite.
    """

    models: tuple[FittedModel, ...]
    first_kernels: tuple[int, ...]  # of every model, in the list of all kernels
    remarks: tuple[str, ...] = ()  # what a user should be told besides the status
    noun: ClassVar[str]  # what each of them is

    @property
    @abstractmethod
    def keys(self) -> list[Any]:
        """What each model is known by."""

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is made again; skops could not write its keys.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of the models' outputs, (n_rows, n_models) each."""
        return self._stack.latent(self.features.checked(X))

    @cached_property
    def _stack(self) -> Stack:
        return Stack.of(self.models)

    def drawn(self, X: AnyArray, count: int, chance: np.random.Generator) -> Array:
        """Functions of every model, (count, n_rows, n_models), by themselves."""
        return np.concatenate([one.drawn(X, count, chance) for one in self.models], -1)

    @property
    def features(self) -> Features:
        return self.models[0].features

    @property
    def selects_columns(self) -> bool:
        """Whether the functions of each are columns of X."""
        return self.models[0].selects_columns

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Of the functions of all."""
        return tuple(kernel for one in self.models for kernel in one.kernels)

    def in_order(self) -> Self:
        """With the functions of every model by their indices, as those of all are."""
        return replace(self, models=tuple(one.in_order() for one in self.models))

    def remarked(self, *remarks: str | None) -> Self:
        """With more to tell."""
        told = tuple(remark for remark in remarks if remark is not None)
        return replace(self, remarks=self.remarks + told)

    @property
    def status(self) -> Status:
        """The worst, which comes last in the list of all."""
        return max((one.status for one in self.models), key=list(Status).index)

    @property
    def calibration(self) -> Calibration | None:
        """What rows left out say of all of them; None if some do not know."""
        return Calibration.of_models([one.calibration for one in self.models])

    @property
    def outcome(self) -> str:
        """Which models ended worst, and what that means, unless all converged."""
        if self.status is Status.CONVERGED:
            return self.status.value
        named = zip(self.keys, self.models, strict=True)
        worst = [(key, one) for key, one in named if one.status is self.status]
        keys = [key for key, _ in worst]
        names = ", ".join(repr(key) for key in keys[:_SHOWN])
        more = ", ..." if len(keys) > _SHOWN else ""
        count = f"{len(keys)} of {len(self.models)} {self.noun}s ({names}{more})"
        return f"{count}: {worst[0][1].outcome}"

    @property
    def log_evidence(self) -> float:
        return float(sum(one.log_evidence for one in self.models))

    @property
    def n_iter(self) -> int:
        return sum(one.n_iter for one in self.models)

    @property
    def history(self) -> dict[str, AnyArray]:
        """One after the other, an entry named as models are telling whose it is."""
        histories = [one.history for one in self.models]
        lengths = [len(history["iteration"]) for history in histories]
        # Without steps some quantities have no name either.
        names = max(histories, key=len)
        joined = {
            name: np.concatenate([each[name] for each in histories if name in each])
            for name in names
        }
        return {**joined, self.noun: np.repeat(np.arange(len(lengths)), lengths)}

    @property
    def intercept(self) -> Array:
        return np.array([one.intercept for one in self.models])

    @property
    def intercept_precision(self) -> Array:
        return np.array([one.intercept_precision for one in self.models])

    @cached_property
    def _functions(self) -> dict[Any, tuple[int, int, int, int]]:
        """Kernel, row, model and place of each function where it comes first."""
        found: dict[Any, tuple[int, int, int, int]] = {}
        for number, (one, keys) in enumerate(zip(self.models, self._keys, strict=True)):
            for place, key in enumerate(keys):
                kernel = self.first_kernels[number] + int(one.kernel_indices[place])
                name = (kernel, int(one.indices[place]), number, place)
                found[key] = min(found.get(key, name), name)
        return dict(sorted(found.items(), key=lambda entry: entry[1]))

    @cached_property
    def _keys(self) -> list[list[Any]]:
        """What tells the functions of every model apart."""
        return [
            [(first, key) for key in function_keys(one.basis)]
            for one, first in zip(self.models, self.first_kernels, strict=True)
        ]

    @cached_property
    def _names(self) -> Indices:
        """(functions, 4) kernels, rows, models and places."""
        names = list(self._functions.values())
        return np.array(names, dtype=np.intp).reshape(-1, 4)

    @property
    def indices(self) -> Indices:
        return self._names[:, 1]

    @property
    def kernel_indices(self) -> Indices:
        return self._names[:, 0]

    @property
    def centres(self) -> AnyArray:
        return self._of_functions([one.centres for one in self.models])

    @property
    def weights(self) -> Array:
        return self._by_model([one.weights for one in self.models], 0.0)

    @property
    def prior_precision(self) -> Array:
        return self._by_model([one.prior_precision for one in self.models], np.inf)

    @property
    def learned(self) -> Learned:
        """What the features mean to all models, where kernels were learned.

        Or the one kernel that all have, if it was learned before them.
        """
        each = [one.learned for one in self.models]
        if each[0].length_scales is None:
            return Learned(kernel=each[0].kernel)
        relevance: list[Any] = [one.feature_relevance for one in each]
        scales: list[Any] = [one.length_scales for one in each]
        return Learned(
            feature_relevance=np.mean(relevance, axis=0),
            length_scales=self._of_functions(_equally_wide(scales)),
        )

    @property
    def partition(self) -> None:
        """Each model has its own way to go by parts."""
        return None

    def _by_model(self, parts: list[Array], rest: float) -> Array:
        """Values of every model's functions among those of all."""
        column = {key: place for place, key in enumerate(self._functions)}
        values = np.full((len(parts), len(column)), rest)
        for row, part, keys in zip(values, parts, self._keys, strict=True):
            row[[column[key] for key in keys]] = part
        return values

    def _of_functions(self, parts: list[AnyArray]) -> AnyArray:
        """What every function has, where it comes first; nothing of columns."""
        if sum(map(len, parts)) < len(self._functions):
            return parts[0]
        starts = np.cumsum([0, *map(len, parts[:-1])])
        _, _, model, place = self._names.T
        return np.concatenate(parts)[starts[model] + place]


def _equally_wide(parts: list[Any]) -> list[Array]:
    """Length scales of several models, by feature if one of them has such."""
    tables = [part if part.ndim == 2 else part[:, None] for part in parts]
    width = max(table.shape[1] for table in tables)
    if width == 1:
        return parts
    return [np.broadcast_to(table, (len(table), width)) for table in tables]

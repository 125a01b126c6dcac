"""Several classes by a binary model for each class or pair of classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from relvec.data import RowBlocks
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.likelihoods.logistic_integral import moderated_log_odds
from relvec.modelling.coupling import Coupling
from relvec.modelling.families import class_family
from relvec.modelling.families.probabilities import DoubtOfEach
from relvec.modelling.fitted import FittedModel, Learned, latent_of
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.predictive import ClassDistribution, ClassVotes
from relvec.modelling.same_functions import function_keys
from relvec.modelling.specification import Specification
from relvec.modelling.stacked import Stack
from relvec.modelling.training_rows import Features, TrainingRows
from relvec.typing import AnyArray, Array, Indices

_SHOWN = 5  # classifiers named in a message


# ``fit``, or another function of its arguments that learns the kernel as well.
Fit = Callable[..., FittedModel]


def fit_pairwise(
    fit: Fit,
    spec: Specification,
    rows: TrainingRows,
    classes: Indices,
    coupling: Coupling,
    *,
    kernels: Sequence[tuple[Kernel, ...]],
    shared: bool,
    start: Callable[[Any], FittedModel | None],
    monitor: Monitor = silent,
) -> "PairwiseModel":
    """A binary model for each of the coupling's keys.

    ``kernels`` has a tuple for each model; ``shared`` says that these are the same and
    stay as they are, so that models may have functions in common. ``start`` tells
    which model one begins with. Each has an equal share of the time that is left.
    """
    family = class_family("auto", np.array([0, 1]))
    models = []
    for number, (key, own) in enumerate(zip(coupling.keys, kernels, strict=True)):
        logger.info("classifier %d of %d: %s", number + 1, len(kernels), key)
        chosen, sides = coupling.binary(classes, number)
        data = family.encoded(rows.subset(chosen), sides)
        time = spec.deadline.share(len(kernels) - number)
        binary = replace(spec, kernels=own, family=family).until(time)
        models.append(fit(binary, data, start=start(key), monitor=monitor))
    each = accumulate(map(len, kernels[:-1]), initial=0)
    first = (0,) * len(models) if shared else tuple(each)
    return PairwiseModel(tuple(models), coupling, first)


@dataclass(frozen=True, eq=False)
class PairwiseModel:
    """Binary models as one, which has the functions of all, each once.

    The first axis of weights and precisions is that of the models; where one does not
    use a function, its weight is zero and its precision infinite.
    """

    models: tuple[FittedModel, ...]
    coupling: Coupling
    first_kernels: tuple[int, ...]  # of every model, in the list of all kernels
    remarks: tuple[str, ...] = ()  # what a user should be told besides the status

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is made again; skops could not write its keys.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of the models' outputs, (n_rows, n_models) each."""
        return self._stack.latent(self.features.checked(X))

    @cached_property
    def _stack(self) -> Stack:
        return Stack.of(self.models)

    def predictive(self, X: AnyArray | RowBlocks) -> ClassDistribution | ClassVotes:
        """The distribution of the classes of some rows, or votes for them."""
        return self._coupled(*latent_of(self, X))

    def drawn(self, X: AnyArray, count: int, chance: np.random.Generator) -> Array:
        """Functions of every model, (count, n_rows, n_models), by themselves."""
        return np.concatenate([one.drawn(X, count, chance) for one in self.models], -1)

    def given(self, values: Array) -> ClassDistribution | ClassVotes:
        """The distribution of classes where outputs (n_rows, n_models) are known."""
        return self._coupled(values, np.zeros_like(values))

    def _coupled(self, mean: Array, variance: Array) -> ClassDistribution | ClassVotes:
        odds = moderated_log_odds(mean.ravel(), variance.ravel()).reshape(mean.shape)
        if self._doubt is not None:
            odds = self._doubt.applied(odds)
        return self.coupling.predictive(odds)

    @cached_property
    def _doubt(self) -> DoubtOfEach | None:
        doubts = [getattr(one.family, "doubt", None) for one in self.models]
        return DoubtOfEach.of(doubts) if any(doubts) else None

    @property
    def features(self) -> Features:
        return self.models[0].features

    @property
    def labels(self) -> AnyArray:
        return self.coupling.labels

    def start_for(self, key: Any) -> FittedModel | None:
        """The model that decides on a class or pair, if there is one."""
        return dict(zip(self.coupling.keys, self.models, strict=True)).get(key)

    def in_order(self) -> "PairwiseModel":
        """With the functions of every model by their indices, as those of all are."""
        return replace(self, models=tuple(one.in_order() for one in self.models))

    def remarked(self, *remarks: str | None) -> "PairwiseModel":
        """With more to tell."""
        told = tuple(remark for remark in remarks if remark is not None)
        return replace(self, remarks=self.remarks + told)

    @property
    def status(self) -> Status:
        """The worst, which comes last in the list of all."""
        return max((one.status for one in self.models), key=list(Status).index)

    @property
    def outcome(self) -> str:
        """Which models ended worst, and what that means."""
        named = zip(self.coupling.keys, self.models, strict=True)
        keys = [key for key, one in named if one.status is self.status]
        names = ", ".join(repr(key) for key in keys[:_SHOWN])
        more = ", ..." if len(keys) > _SHOWN else ""
        count = f"{len(keys)} of {len(self.models)} classifiers ({names}{more})"
        return f"{count}: {self.status.value}"

    @property
    def log_evidence(self) -> float:
        return float(sum(one.log_evidence for one in self.models))

    @property
    def n_iter(self) -> int:
        return sum(one.n_iter for one in self.models)

    @property
    def history(self) -> dict[str, AnyArray]:
        """One after the other, ``classifier`` telling whose it is."""
        histories = [one.history for one in self.models]
        lengths = [len(history["iteration"]) for history in histories]
        # Without steps some quantities have no name either.
        names = max(histories, key=len)
        joined = {
            name: np.concatenate([each[name] for each in histories if name in each])
            for name in names
        }
        return {**joined, "classifier": np.repeat(np.arange(len(lengths)), lengths)}

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

    @cached_property
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

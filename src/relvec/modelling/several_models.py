"""Several models as one: binary models of pairs of classes, or one model per target.

The functions of all models are kept once each. Binary models decide between one class
and the rest, or between two classes; their log odds are coupled to the probabilities of
all classes, or counted as votes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate, combinations
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy.special import expit, log_expit

from relvec.basis import blocks
from relvec.data import RowBlocks
from relvec.evidence import Status
from relvec.kernels import Kernel
from relvec.likelihoods.bernoulli import moderated_log_odds
from relvec.modelling.families import class_family
from relvec.modelling.families.classes import MixingOfEach
from relvec.modelling.fitted import Fit, FittedModel, Learned, latent_of
from relvec.modelling.latent import Stack, function_keys
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.predictive import (
    Calibration,
    ClassDistribution,
    ClassVotes,
    Residuals,
    TargetDistribution,
)
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import Features, TrainingRows
from relvec.parameters import check_choice
from relvec.parametric import Parametric
from relvec.precision import ROUNDING
from relvec.typing import AnyArray, Array, Indices

_SHOWN = 5  # models named in a message


@dataclass(frozen=True, eq=False)
class SeveralModels(ABC):
    """Several fitted models as one.

    The first axis of weights and precisions is that of the models; where one does not
    use a function, its weight is zero and its precision infinite.
    """

    models: tuple[FittedModel, ...]
    first_kernels: tuple[int, ...]  # of every model, in the list of all kernels
    remarks: tuple[str, ...] = ()  # what a user should be told besides the status
    noun: ClassVar[str]  # what one of the models is called

    @property
    @abstractmethod
    def keys(self) -> list[Any]:
        """What each model is known by."""

    def __getstate__(self) -> dict[str, Any]:
        # Cached values are computed again; skops could not write their keys.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of the models' outputs, (n_rows, n_models) each."""
        return self._stack.latent(self.features.checked(X))

    @cached_property
    def _stack(self) -> Stack:
        return Stack.of(self.models)

    def drawn(self, X: AnyArray, count: int, chance: np.random.Generator) -> Array:
        """Functions drawn independently for every model, (count, n_rows, n_models)."""
        return np.concatenate([one.drawn(X, count, chance) for one in self.models], -1)

    @property
    def features(self) -> Features:
        return self.models[0].features

    @property
    def selects_columns(self) -> bool:
        """Whether the functions of every model are columns of X."""
        return self.models[0].selects_columns

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels of the functions of all models."""
        return tuple(kernel for one in self.models for kernel in one.kernels)

    def in_order(self) -> Self:
        """Sort the functions of every model by their indices."""
        return replace(self, models=tuple(one.in_order() for one in self.models))

    def remarked(self, *remarks: str | None) -> Self:
        """The model with further remarks; None is skipped."""
        told = tuple(remark for remark in remarks if remark is not None)
        return replace(self, remarks=self.remarks + told)

    @property
    def status(self) -> Status:
        """The worst status, which comes last in the enumeration."""
        return max((one.status for one in self.models), key=list(Status).index)

    @property
    def calibration(self) -> Calibration | None:
        """Calibration of all models together; None if some have none."""
        return Calibration.of_models([one.calibration for one in self.models])

    @property
    def outcome(self) -> str:
        """Which models ended worst, and what to do about it."""
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
        """Keys by which the functions of every model are compared."""
        return [
            [(first, key) for key in function_keys(one.basis)]
            for one, first in zip(self.models, self.first_kernels, strict=True)
        ]

    @cached_property
    def _names(self) -> Indices:
        """Kernel, row, model and place of every function (functions, 4)."""
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
        """Length scales and feature relevance of all models, if kernels were learned.

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
        """None: every model has a summary of its own."""
        return None

    def _by_model(self, parts: list[Array], rest: float) -> Array:
        """Spread the values of each model over the functions of all models."""
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


ONE_AGAINST = ("ovr", "ovo")

# The linear system is solved to about this error, below which nothing is known.
_LEAST_PROBABILITY = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False, repr=False)
class OneAgainstOne(Parametric):
    """Settings of ``multi_class="ovo"``, a binary model for each pair of classes.

    Parameters
    ----------
    decision : {"coupled", "votes"}, default="coupled"
        Whether the probabilities of all pairs are coupled to those of all classes, or
        every pair has one vote and the class with most of them is predicted. Among
        classes with equally many the log odds of their pairs decide, summed. With votes
        there is no ``predict_proba``: the class of most votes need not be the most
        probable one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, OneAgainstOne
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVC(gamma=0.1, multi_class=OneAgainstOne("votes")).fit(X, y)
    >>> model.decision_function(X[:1]).round().astype(int)
    array([[2, 1, 0]])
    """

    decision: str = "coupled"

    def __post_init__(self) -> None:
        check_choice("decision", self.decision, ("coupled", "votes"))


class Coupling(Protocol):
    """How binary models decide between several classes."""

    @property
    def labels(self) -> AnyArray:
        """Labels of the classes."""

    @property
    def keys(self) -> list[Any]:
        """The class, or pair of classes, that each binary model decides on."""

    def binary(self, classes: Indices, number: int) -> tuple[Indices, Indices]:
        """Rows of one binary model and their two classes, from the classes of all."""

    def predictive(self, odds: Array) -> ClassDistribution | ClassVotes:
        """The distribution of classes from the log odds (N, models) of all models."""


@dataclass(frozen=True, eq=False)
class Rest:
    """One model per class, against all others; their probabilities are scaled to 1."""

    labels: AnyArray

    @property
    def keys(self) -> list[Any]:
        labels = self.labels.tolist()
        # With two classes, one model decides.
        return labels if len(labels) > 2 else labels[1:]

    def binary(self, classes: Indices, number: int) -> tuple[Indices, Indices]:
        return np.arange(len(classes)), (classes == number).astype(np.intp)

    def predictive(self, odds: Array) -> ClassDistribution:
        # Logarithms, since far from a class its probability may underflow.
        log_p = log_expit(odds)
        log_p -= log_p.max(axis=1, keepdims=True)
        log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
        return ClassDistribution(self.labels, np.asarray(log_p))


@dataclass(frozen=True, eq=False)
class Pairs:
    """One model per pair of classes, coupled after Wu, Lin and Weng (2004)."""

    labels: AnyArray

    @property
    def keys(self) -> list[Any]:
        return list(combinations(self.labels.tolist(), 2))

    def binary(self, classes: Indices, number: int) -> tuple[Indices, Indices]:
        pairs = np.triu_indices(len(self.labels), 1)
        first, second = (int(each[number]) for each in pairs)
        rows = np.flatnonzero((classes == first) | (classes == second))
        return rows, (classes[rows] == second).astype(np.intp)

    def predictive(self, odds: Array) -> ClassDistribution | ClassVotes:
        n_classes = len(self.labels)
        p = np.empty((len(odds), n_classes))
        for rows in blocks(len(odds), 4 * (n_classes + 1) ** 2):
            p[rows] = coupled(odds[rows], n_classes)
        return ClassDistribution(self.labels, np.log(p))


class VotingPairs(Pairs):
    """One model per pair of classes, each with one vote."""

    def predictive(self, odds: Array) -> ClassVotes:
        return ClassVotes(self.labels, voted(odds, len(self.labels)))


def is_one_against(multi_class: Any) -> bool:
    """Whether classes are told apart by several binary models."""
    return isinstance(multi_class, OneAgainstOne) or multi_class in ONE_AGAINST


def coupling_for(multi_class: str | OneAgainstOne, labels: AnyArray) -> Coupling:
    """How the classes are divided between binary models."""
    if multi_class == "ovr":
        return Rest(labels)
    voting = multi_class == OneAgainstOne("votes")
    return VotingPairs(labels) if voting else Pairs(labels)


def voted(odds: Array, n_classes: int) -> Array:
    """Votes (N, K) from log odds (N, pairs) of each pair's second class.

    Odds that are even, but for rounding, are a vote for the first. To the votes of a
    class a number between -1/3 and 1/3 is added that rises with the sum of its log
    odds, so that it tells apart what has equally many votes and nothing else, as in
    scikit-learn's ``OneVsOneClassifier``.
    """
    first, second = (np.eye(n_classes)[side] for side in np.triu_indices(n_classes, 1))
    won = (odds > ROUNDING).astype(np.float64)
    votes = won @ second + (1 - won) @ first
    confidence = odds @ (second - first)
    return np.asarray(votes + confidence / (3 * (np.abs(confidence) + 1)))


def coupled(odds: Array, n_classes: int) -> Array:
    """Probabilities p (N, K) from log odds (N, pairs) of each pair's second class.

    With r_ij the probability of i among i and j, p minimises
    Σᵢ Σ_{j≠i} (r_ji pᵢ - r_ij pⱼ)² subject to Σp = 1: the second method of T.-F. Wu,
    C.-J. Lin and R. C. Weng (2004), "Probability estimates for multi-class
    classification by pairwise coupling", Journal of Machine Learning Research 5,
    975-1005, equations (21) and (22).
    """
    first, second = np.triu_indices(n_classes, 1)
    r = np.zeros((len(odds), n_classes, n_classes))
    r[:, first, second] = expit(-odds)
    r[:, second, first] = expit(odds)
    # Σp = 1 borders Q. Since r_ij + r_ji = 1, at most one class is beaten by none, so
    # the system can be solved even where probabilities are 0 and 1.
    system = np.ones((len(odds), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = np.sum(r**2, axis=1)
    system[:, -1, -1] = 0
    target = np.zeros((len(odds), n_classes + 1, 1))
    target[:, -1] = 1
    p = np.maximum(np.linalg.solve(system, target)[:, :-1, 0], _LEAST_PROBABILITY)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


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
    return PairwiseModel(tuple(models), first, coupling=coupling)


@dataclass(frozen=True, eq=False)
class PairwiseModel(SeveralModels):
    """Binary models of classes or pairs of classes as one classifier."""

    coupling: Coupling = field(kw_only=True)
    noun: ClassVar[str] = "classifier"

    @property
    def keys(self) -> list[Any]:
        return list(self.coupling.keys)

    def predictive(self, X: AnyArray | RowBlocks) -> ClassDistribution | ClassVotes:
        """The distribution of the classes of some rows, or votes for them."""
        return self._coupled(*latent_of(self, X))

    def given(self, values: Array) -> ClassDistribution | ClassVotes:
        """The distribution of classes given outputs (n_rows, n_models)."""
        return self._coupled(values, np.zeros_like(values))

    def _coupled(self, mean: Array, variance: Array) -> ClassDistribution | ClassVotes:
        odds = moderated_log_odds(mean.ravel(), variance.ravel()).reshape(mean.shape)
        if self._doubt is not None:
            odds = self._doubt.applied(odds)
        return self.coupling.predictive(odds)

    @cached_property
    def _doubt(self) -> MixingOfEach | None:
        doubts = [getattr(one.family, "doubt", None) for one in self.models]
        return MixingOfEach.of(doubts) if any(doubts) else None

    @property
    def labels(self) -> AnyArray:
        return self.coupling.labels

    def start_for(self, key: Any) -> FittedModel | None:
        """The model that decides on a class or pair, if there is one."""
        return dict(zip(self.coupling.keys, self.models, strict=True)).get(key)


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
    """Fit a model to each column of y (N, K), each with a family of its own.

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
    """Models of several outputs, one each."""

    noun: ClassVar[str] = "output"

    @property
    def keys(self) -> list[Any]:
        return list(range(len(self.models)))

    @property
    def labels(self) -> None:
        """None: outputs are not classes."""
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of all families, by name."""
        each = [one.family.parameters for one in self.models]
        return {name: np.array([one[name] for one in each]) for name in each[0]}

    @property
    def residuals(self) -> Residuals | None:
        """Residuals of all outputs, if rows were left out of each."""
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
        """The distribution of targets given latent values (n_rows, K)."""
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
        """Means (n_rows, K)."""
        return np.column_stack([one.mean for one in self.each])

    @property
    def std(self) -> Array:
        """Standard deviations (n_rows, K) of the targets, noise included."""
        return np.column_stack([one.std for one in self.each])

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Bounds (n_rows, K) that hold the targets with probability ``coverage``."""
        lower, upper = zip(*(one.interval(coverage) for one in self.each), strict=True)
        return np.column_stack(lower), np.column_stack(upper)

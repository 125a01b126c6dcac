"""A fitted model: all that predicting, describing and exporting it needs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from relvec.basis import Basis, blocks
from relvec.chance import generator
from relvec.data import RowBlocks, is_row_blocks
from relvec.evidence import EvidenceFit, Status
from relvec.kernel_learning import LeaveOneOut
from relvec.kernels import Kernel
from relvec.modelling.advice import in_words
from relvec.modelling.families import Family
from relvec.modelling.latent import (
    ROW_ENTRIES,
    AugmentedVariance,
    ExcessVariance,
    LinearPredictor,
    Pruned,
    Stack,
    values_among,
)
from relvec.modelling.predictive import Calibration, Residuals
from relvec.modelling.training_rows import Features, TrainingSet
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned about the kernels; None where nothing was."""

    kernel: Kernel | None = None  # with length scales that all functions share
    weights: Array | None = None  # (kernels,) of a mixture
    length_scales: Array | None = None  # (n,) or (n, d) of every function
    feature_relevance: Array | None = None  # (features,)
    history: dict[str, AnyArray] | None = None  # of all that was tried


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """Summary of a fit by parts of the rows."""

    size: int  # P, rows of a partition
    number: int  # of partitions
    sparseness_ratio: float  # vectors to rows of a first look; nan without one
    history: dict[str, AnyArray]  # of every set


@dataclass(frozen=True)
class Beginning:
    """Starting values for the functions of a dictionary."""

    precision: Array  # α, perhaps for each output: infinite if pruned, nan if not known
    weights: Array  # (outputs, n), zero if not known
    labels: AnyArray | None  # of classes, if outputs are such
    steps: int = 0  # of a search that had not ended


class KnownFunctions(Protocol):
    """A source of starting values for another fit."""

    def beginning(self, basis: Basis) -> Beginning:
        """Starting values for the functions of a dictionary."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """η(x) = offset + Σᵢ wᵢφᵢ(x) with a Gaussian posterior over the weights."""

    basis: Basis  # the functions in the model
    fit: EvidenceFit
    family: Family  # with its parameters found
    offset: Array | float  # (outputs,) of several targets
    indices: Indices  # of the kernel functions' rows or columns; -1 for neither
    kernel_indices: Indices  # of their kernels
    features: Features
    pruned: Pruned = field(default_factory=Pruned)  # by a search from the top down
    learned: Learned = field(default_factory=Learned)
    remarks: tuple[str, ...] = ()  # what a user should be told besides the status
    partition: PartitionSummary | None = None  # if it was fitted by parts
    surroundings: AugmentedVariance | None = None  # what is not known far from the data
    residuals: Residuals | None = None  # of rows left out, if they are known
    calibration: Calibration | None = None  # what rows left out say of predictions
    noise_model: "FittedModel | None" = None  # of targets' variances, if these vary

    def __getstate__(self) -> dict[str, Any]:
        # Cached values are computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of η, (n_rows, outputs) each, in blocks of rows.

        Of coupled outputs the covariance, (n_rows, outputs, outputs).
        """
        X = self.features.checked(X)
        if not self.posterior.coupled:
            return self._stack.latent(X)
        mean = np.empty((len(X), len(self.posterior.mean)))
        variance = np.empty((len(X), *self.posterior.spread_shape))
        for rows, functions in self._functions(X):
            mean[rows], variance[rows] = self._moments(X[rows], functions)
        return mean + self.offset, variance

    @cached_property
    def _stack(self) -> Stack:
        """The functions as matrices, so that single rows are fast."""
        return Stack.of([self])

    def _moments(self, X: AnyArray, functions: Any) -> tuple[Array, Array]:
        """Mean and variance of η less the offset, at rows whose functions are given."""
        moments = self.posterior.predict(functions)
        if self.surroundings is None:
            return moments
        return self.surroundings.joined(X, functions, *moments)

    def values(self, X: AnyArray | RowBlocks) -> Array:
        """Targets from the mean of η alone, which is faster; η itself for classes."""
        if is_row_blocks(X):
            return np.concatenate([self.values(block.X) for block in X])
        return self.family.response(self._means(np.asarray(X), self.offset))

    def predicted(self, X: AnyArray | RowBlocks) -> Array:
        """The values in the shape that targets had."""
        values = self.values(X)
        return values if np.ndim(self.intercept) else values[:, 0]

    def predictor(self, X: AnyArray) -> Array:
        """Φw (n_rows, outputs): the mean of η without the offset."""
        return self._means(X, 0.0)

    def _means(self, X: AnyArray, offset: Array | float) -> Array:
        X, linear = self.features.checked(X), LinearPredictor.of(self, offset)
        widest = max(len(self.basis), X.shape[1])
        parts = [linear(X[rows]) for rows in blocks(len(X), widest, ROW_ENTRIES)]
        return np.concatenate(parts) if len(parts) > 1 else [*parts, linear(X)][0]

    def _functions(self, X: AnyArray) -> Iterator[tuple[slice, Any]]:
        """Yield slices of rows and the functions there, sparse if they are compact."""
        evaluate = self.basis.sparse if self.basis.compact else self.basis
        for rows in blocks(len(X), max(len(self.basis), X.shape[1]), ROW_ENTRIES):
            yield rows, evaluate(X[rows])

    def predictive(self, X: AnyArray | RowBlocks) -> Any:
        """The predictive distribution of the targets of some rows."""
        found = self.family.predictive(*latent_of(self, X))
        if self.noise_model is None:
            return found
        return replace(found, noise_variance=self.noise_model.values(X)[:, 0])

    def drawn(self, X: AnyArray, count: int, chance: np.random.Generator) -> Array:
        """Functions η drawn from the posterior, (count, n_rows, outputs)."""
        X, mean = self.features.checked(X), self.posterior.mean
        normal = chance.standard_normal((count, *mean.shape))
        weights = self.posterior.drawn(normal).reshape(-1, mean.shape[1])
        found, beyond = np.empty((len(X), len(weights))), []
        for rows, functions in self._functions(X):
            found[rows] = functions @ weights.T
            if self.surroundings is not None:
                moments = self.posterior.predict(functions)
                given = self.surroundings, X[rows], functions
                beyond.append(ExcessVariance.of(*given, *moments))
        drawn = np.moveaxis(found.reshape(len(X), count, -1), 0, 1) + self.offset
        if self.surroundings is None:
            return drawn
        kernel = self.surroundings.pivots.kernel
        return drawn + ExcessVariance.joined(beyond).drawn(kernel, X, count, chance)

    def given(self, values: Array) -> Any:
        """The distribution of targets given latent values (n_rows, outputs)."""
        return self.family.predictive(values, np.zeros_like(values))

    @property
    def labels(self) -> AnyArray | None:
        """Labels of the classes; None for real targets."""
        return self.family.labels

    @property
    def posterior(self) -> Posterior:
        """Posterior of the weights of the functions."""
        return self.fit.posterior

    @property
    def status(self) -> Status:
        """How the search ended."""
        return self.fit.status

    @property
    def outcome(self) -> str:
        """How the search ended in words, with a remedy."""
        learned = self.learned.length_scales is not None
        return in_words(self.status, self.kernels, learned=learned)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels of the functions in the model."""
        return tuple(group.kernel for group in self.basis.groups)

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood."""
        return self.fit.log_evidence

    @property
    def n_iter(self) -> int:
        """Number of steps of the search."""
        return self.fit.n_iter

    @property
    def history(self) -> dict[str, AnyArray]:
        """One array per quantity, an entry for every step."""
        return self.fit.history

    @property
    def selects_columns(self) -> bool:
        """Whether its functions are columns of X, without a kernel."""
        return any(group.centres.ndim == 1 for group in self.basis.groups)

    @property
    def centres(self) -> AnyArray:
        """Centres of all kernel functions, as rows were given; empty for columns."""
        if self.selects_columns:
            return np.empty((0, 0))
        centres = np.concatenate([group.centres for group in self.basis.groups])
        single = centres.dtype == object and centres.shape[1] == 1
        return centres[:, 0] if single else centres

    @property
    def weights(self) -> Array:
        """Weights of the kernel functions, along the last axis."""
        return self._weights[..., self.basis.bias :].copy()

    @property
    def prior_precision(self) -> Array:
        """Prior precisions of the kernel functions' weights, along the last axis."""
        return self.fit.prior_precision[..., self.basis.bias :].copy()

    @property
    def intercept(self) -> Any:
        """The constant of the model, or one for each class."""
        weights = self._weights
        without = np.zeros(weights.shape[:-1])
        constant = weights[..., 0] if self.basis.bias else without
        return self.offset + (constant if constant.ndim else float(constant))

    @property
    def intercept_precision(self) -> Any:
        """Prior precision of the constant; infinite if it is not in the model."""
        precision = self.fit.prior_precision
        held = precision[..., 0] if self.basis.bias else np.inf
        return held if np.ndim(held) else float(held)

    @property
    def _weights(self) -> Array:
        return self.family.output_weights(self.posterior.mean)

    def start_for(self, key: Any) -> "FittedModel | None":
        """The model another fit starts from; None if a ``key`` names one of several."""
        return self if key is None else None

    def beginning(self, basis: Basis) -> Beginning:
        """α and weights of the functions of a dictionary, where they are known."""
        alpha = values_among(self.basis, self.fit.prior_precision, basis)
        if len(self.posterior.active):  # else there is nothing to go on with
            left = np.isnan(alpha) & self.pruned.among(basis)
            alpha = np.where(left, np.inf, alpha)
        weights = np.nan_to_num(values_among(self.basis, self.fit.search_mean, basis))
        goes_on = not self.status.success and not np.isnan(alpha).any()
        steps = self.fit.n_iter + self.fit.steps_before if goes_on else 0
        return Beginning(alpha, weights, self.labels, steps)

    def in_order(self) -> "FittedModel":
        """Sort the functions of each kernel by their indices."""
        sizes = [len(group) for group in self.basis.groups]
        order = np.lexsort((self.indices, np.repeat(np.arange(len(sizes)), sizes)))
        if np.all(order[1:] > order[:-1]):
            return self
        functions = np.r_[: self.basis.bias, self.basis.bias + order]
        learned = self.learned
        if learned.length_scales is not None:
            learned = replace(learned, length_scales=learned.length_scales[order])
        return replace(
            self,
            basis=self.basis.subset(functions),
            fit=replace(
                self.fit,
                posterior=self.posterior.reordered(functions),
                search_mean=self.fit.search_mean[:, functions],
            ),
            indices=self.indices[order],
            kernel_indices=self.kernel_indices[order],
            learned=learned,
            surroundings=self.surroundings and self.surroundings.reordered(order),
        )

    def ended_as(self, status: Status) -> "FittedModel":
        """The model with another status."""
        return replace(self, fit=replace(self.fit, status=status))

    def remarked(self, *remarks: str | None) -> "FittedModel":
        """The model with further remarks; None is skipped."""
        told = tuple(remark for remark in remarks if remark is not None)
        return replace(self, remarks=self.remarks + told)


# ``fit``, or another function of its arguments that learns the kernel as well.
Fit = Callable[..., FittedModel]


def latent_of(model: Any, X: AnyArray | RowBlocks) -> tuple[Array, Array]:
    """Moments of latent values for rows in memory, or in blocks read one at a time."""
    if not is_row_blocks(X):
        return model.latent(X)
    means, variances = zip(*(model.latent(block.X) for block in X), strict=True)
    return np.concatenate(means), np.concatenate(variances)


def leave_one_out(
    model: FittedModel, data: TrainingSet, *, columns_are_rows: bool = False
) -> LeaveOneOut:
    """What leave-one-out criteria need of a fitted model.

    Functions that are columns of X belong to no row unless ``columns_are_rows``.
    """
    basis, X = model.basis, data.table
    first = int(basis.bias)
    if any(group.centres.ndim == 1 for group in basis.groups):
        columns = model.indices if columns_are_rows else model.indices[:0]
        _, rows, functions = np.intersect1d(
            data.rows.indices, columns, return_indices=True
        )
        own = rows, functions + first
    else:
        centres = np.concatenate([group.centres for group in basis.groups])
        own = equal_pairs(X, centres, first)
    return LeaveOneOut(
        y=data.targets,
        sample_weight=data.weight,
        # Copies, so that the model does not keep cached intermediate results.
        likelihood=model.fit.likelihood.rescaled(1.0),
        functions=basis.sparse(X).toarray() if basis.compact else basis(X),
        posterior=replace(model.posterior.separated),
        own=own,
        log_evidence=model.log_evidence,
    )


def equal_pairs(X: AnyArray, centres: AnyArray, first: int) -> tuple[Indices, Indices]:
    """Indices of rows and of the functions centred on them, numbered from ``first``."""
    centred: dict[bytes, list[int]] = {}
    for index, centre in enumerate(np.asarray(centres, dtype=X.dtype), start=first):
        centred.setdefault(centre.tobytes(), []).append(index)
    pairs = [
        (row, function)
        for row, values in enumerate(np.ascontiguousarray(X))
        for function in centred.get(values.tobytes(), ())
    ]
    rows, functions = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return rows, functions


# How far from one centre towards another, and a little beyond it.
_FURTHEST = 1.25


def known_places(model: Any) -> AnyArray:
    """Centres of a model; for a constant alone the pivots about it."""
    surroundings = getattr(model, "surroundings", None)
    if len(model.centres) or surroundings is None:
        return model.centres
    return surroundings.pivots.centres


def trial_rows(model: Any, count: int = 8, *, seed: int = 0) -> Array:
    """Rows (count, features) between the centres of a model and near them.

    They are the same every time. A model of columns, or of the constant alone, has no
    centres: then rows are those of unit normal features.
    """
    chance, number = generator(seed), model.features.number
    centres = known_places(model)
    noise = chance.standard_normal((count, number))
    if centres.ndim != 2 or centres.shape[1] != number or len(centres) == 0:
        return noise
    centres = np.asarray(centres, dtype=np.float64)
    first, second = centres[chance.integers(len(centres), size=(2, count))]
    rows = first + _FURTHEST * chance.random((count, 1)) * (second - first)
    width = np.std(centres, axis=0)
    size = np.max(np.abs(centres), axis=0)
    return rows + 0.1 * np.where(width > 0, width, np.maximum(size, 1.0)) * noise

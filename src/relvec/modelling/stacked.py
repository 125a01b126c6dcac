"""Latent values of one model or of several, whose functions are evaluated once.

Of a single row the calls count, not the numbers. So pivots of a process about a model
are evaluated with the model's functions, those of several models together, and

    [ΦWᵀ, z] = kM + c        W the whitener of the posterior, z of the process

is one product. Sums of its squares, another, are the variances of all outputs and what
the process knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from relvec.basis import Basis, Functions, Group, blocks
from relvec.kernels import Kernel
from relvec.modelling.same_functions import evaluated_once
from relvec.modelling.surroundings import Surroundings
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices

# Of the widest value at once: what is made of it then stays in cache, and memory that
# is used again costs no page faults, which took half of the time.
ROW_ENTRIES = 16_384


class Stackable(Protocol):
    """A model whose outputs have variances, and no covariances."""

    @property
    def basis(self) -> Basis: ...
    @property
    def posterior(self) -> Posterior: ...
    @property
    def offset(self) -> Array | float: ...
    @property
    def surroundings(self) -> Surroundings | None: ...


@dataclass(frozen=True, eq=False)
class Stack:
    """M models of K outputs each."""

    groups: tuple[Functions, ...]  # k, all that is evaluated, none of it twice
    places: (
        Indices | None
    )  # (M, m) of a model's functions and pivots; None: as they are
    weights: Array  # (M, n, K) of the functions, which are first
    level: Array  # (M, 1, K) to which they are added
    matrix: Array  # (M, m, c)
    constant: Array  # (M, 1, c)
    sums: Array  # (M, c, K), or (M, c, K + 2) with what a process knows
    processes: "Processes | None"

    @classmethod
    def of(cls, models: Sequence[Stackable]) -> "Stack":
        """Of models with as many outputs each."""
        known = any(one.surroundings is not None for one in models)
        parts = [_Part.of(one, known) for one in models]
        groups, places = parts[0].groups, None
        if len(parts) > 1:
            groups, numbers = evaluated_once([part.groups for part in parts])
            places = _padded(numbers)
        return cls(
            groups,
            places,
            _padded([part.weights for part in parts]),
            _padded([part.level for part in parts]),
            _padded([part.matrix for part in parts]),
            _padded([part.constant for part in parts]),
            _padded([part.sums for part in parts]),
            Processes.of(models) if known else None,
        )

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of all outputs, (n_rows, M·K) each, in blocks of rows."""
        n_models, size, width = self.matrix.shape
        widest = max(n_models * size, n_models * width, X.shape[1])
        if len(X) * widest <= ROW_ENTRIES:
            return self._moments(X)
        parts = [self._moments(X[rows]) for rows in blocks(len(X), widest, ROW_ENTRIES)]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    def _moments(self, X: AnyArray) -> tuple[Array, Array]:
        values, n_outputs = self._values(X), self.level.shape[2]
        own = _first(values, self.weights.shape[1])
        mean = _times(own, self.weights) + self.level
        turned = _times(values, self.matrix)
        turned += self.constant
        turned *= turned
        sums = turned @ self.sums
        if self.processes is None:
            return _side_by_side(mean), _side_by_side(sums)
        variance, known = sums[:, :, :n_outputs], sums[:, :, n_outputs:]
        moments = self.processes.joined(X, known, mean, variance)
        return _side_by_side(moments[0]), _side_by_side(moments[1])

    def _values(self, X: AnyArray) -> Any:
        """k (n_rows, m), or that of every model, (M, n_rows, m)."""
        values = functions_at(self.groups, X)
        if self.places is None:
            return values
        own: Array = _dense(values).T[self.places]
        return own.transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class Linear:
    """Φw + offset of a model, nothing of which is about its uncertainty."""

    groups: tuple[Functions, ...]
    weights: Array  # (n, K)
    level: Array  # (1, K), the constant of the model with the offset

    @classmethod
    def of(cls, model: Stackable, offset: Array | float) -> "Linear":
        """With an offset that need not be the model's."""
        mean, bias = model.posterior.mean.T, int(model.basis.bias)
        level = mean[:bias].sum(axis=0, keepdims=True) + offset
        groups = tuple(group for group in model.basis.groups if len(group))
        return cls(groups, np.ascontiguousarray(mean[bias:]), level)

    def __call__(self, X: AnyArray) -> Array:
        """(n_rows, K)."""
        return np.asarray(functions_at(self.groups, X) @ self.weights + self.level)


def functions_at(groups: tuple[Functions, ...], X: AnyArray) -> Any:
    """(n_rows, functions), sparse if all of them are."""
    values: list[Any] = [group.values(X) for group in groups]
    if len(values) == 1:
        return values[0]
    if values and all(group.compact for group in groups):
        return sparse.csr_array(sparse.hstack(values))
    return np.hstack([np.empty((len(X), 0)), *map(_dense, values)])


def _dense(values: Any) -> Array:
    """Whether or not they are sparse."""
    return values.toarray() if hasattr(values, "toarray") else values


def _times(values: Any, matrices: Array) -> Array:
    """(M, n_rows, c) of (M, n_rows, n), or of (n_rows, n) for one, perhaps sparse."""
    return (values @ matrices[0])[None] if values.ndim == 2 else values @ matrices


def _first(values: Any, count: int) -> Any:
    """Of the last axis."""
    return values if values.shape[-1] == count else values[..., :count]


@dataclass(frozen=True, eq=False)
class Processes:
    """What several models do not know far from their data, as ``Surroundings`` say."""

    kernels: tuple[Kernel, ...]  # of every model, or the one of all
    amplitude: Array  # (M, 1, K)
    gain: Array  # (M, 1, K) of means, where nothing is known
    powers: Array  # (M, 1, 2) of what is not known, with noise and without

    @classmethod
    def of(cls, models: Sequence[Stackable]) -> "Processes":
        """Of models some of which have one."""
        kernels = [one.surroundings.pivots.kernel for one in models if one.surroundings]
        each = [one.surroundings or _nothing(one, kernels[0]) for one in models]
        shared = all(kernel == kernels[0] for kernel in kernels)
        none = np.zeros_like(each[0].amplitude)
        return cls(
            tuple(one.pivots.kernel for one in each[: 1 if shared else None]),
            np.array([[one.amplitude] for one in each]),
            np.array([[none if one.mean is None else one.mean] for one in each]),
            np.array([[(one.power, one.mean_power)] for one in each]),
        )

    def joined(
        self, X: AnyArray, known: Array, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """Moments (M, N, K) with the processes, of which so much is known (M, N, 2)."""
        prior = np.array([kernel.diagonal(X) for kernel in self.kernels])[:, :, None]
        if (prior != 1).any():
            # A row for which the kernel is zero has no variance either.
            known = known / np.where(prior > 0, prior, 1.0)
        left = np.maximum(1 - known, 0.0) ** self.powers
        wanted = prior * left[:, :, :1] * self.amplitude
        return mean + left[:, :, 1:] * self.gain, np.maximum(variance, wanted)


def _nothing(model: Stackable, kernel: Kernel) -> Surroundings:
    """A process of no variance."""
    none = np.zeros((0, 0))
    amplitude = np.zeros(len(model.posterior.mean))
    return Surroundings(Group(kernel, none), none, none, np.zeros(0), amplitude)


@dataclass(frozen=True, eq=False)
class _Part:
    """What a model adds to a stack."""

    groups: tuple[Functions, ...]
    weights: Array  # (n, K)
    level: Array  # (1, K)
    matrix: Array  # (m, c)
    constant: Array  # (1, c)
    sums: Array  # (c, K) or (c, K + 2)

    @classmethod
    def of(cls, model: Stackable, known: bool) -> "_Part":
        """With sums of what a process knows, if it is to have them."""
        posterior, bias = model.posterior, int(model.basis.bias)
        n_outputs, size = posterior.mean.shape
        linear, factors = Linear.of(model, model.offset), len(posterior.factor)
        turned = np.vstack(list(posterior.whitener[:factors])).T
        sums = np.repeat(np.eye(factors, n_outputs), size, axis=0)
        if factors < n_outputs:
            # All have the same, perhaps each in a unit of its own.
            same = len(posterior.whitener) == factors
            sums = np.ones((size, n_outputs)) * (1.0 if same else posterior.proportions)
        part = cls(
            linear.groups,
            linear.weights,
            linear.level,
            turned[bias:],
            turned[:bias].sum(axis=0, keepdims=True),
            np.hstack([sums, np.zeros((len(sums), 2))]) if known else sums,
        )
        found = model.surroundings
        return part if found is None else part._beside(found)

    def _beside(self, found: Surroundings) -> "_Part":
        """With pivots, and columns for z."""
        size, n_outputs = self.weights.shape
        by_functions = found.by_functions.T
        if len(by_functions) < size:
            by_functions = np.zeros((size, len(found.determined)))
        without = np.zeros((len(found.pivots), self.matrix.shape[1]))
        squares = [np.ones_like(found.determined), 1 / found.determined]
        none = [np.zeros_like(found.determined)] * n_outputs
        return replace(
            self,
            groups=_with_pivots(self.groups, found.pivots),
            matrix=np.block(
                [[self.matrix, by_functions], [without, found.by_pivots.T]]
            ),
            constant=np.hstack([self.constant, np.zeros((1, len(found.determined)))]),
            sums=np.vstack([self.sums, np.column_stack([*none, *squares])]),
        )


def _with_pivots(groups: tuple[Functions, ...], pivots: Group) -> tuple[Any, ...]:
    """In one call with the last functions, where these have the same kernel."""
    last = groups[-1] if groups else None
    if not (isinstance(last, Group) and last.kernel == pivots.kernel):
        return (*groups, pivots)
    centres = np.concatenate([last.centres, pivots.centres])
    return (*groups[:-1], Group(last.kernel, centres))


def _padded(arrays: Sequence[AnyArray]) -> AnyArray:
    """One beside the other, as large as the largest, filled up with zeros."""
    shape = np.max([array.shape for array in arrays], axis=0)
    padded = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    for whole, array in zip(padded, arrays, strict=True):
        whole[tuple(map(slice, array.shape))] = array
    return padded


def _side_by_side(values: Array) -> Array:
    """(N, M·K) of (M, N, K)."""
    if len(values) == 1:
        return values[0]
    return values.transpose(1, 0, 2).reshape(values.shape[1], -1)

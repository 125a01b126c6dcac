"""Latent values of models: means, variances with augmentation, and draws.

**Augmented variance.** Far from its vectors a sparse model has no functions left and is
as certain there as if nothing could happen. A Gaussian process of prior variance
a·k(x, x) is not: the share

    ρ(x) = 1 − ‖z‖²/k(x, x)        z = Tk(Z, x)

of that variance is left, 1 far away, and among the data as little as these determine of
the functions at some of their rows, the pivots Z (Seeger's projected process). With
Σzᵢ²/dᵢ in place of ‖z‖², it is as little as would be left without noise. The variance
of a latent value is the larger of the model's and the process's, a·k(x, x)·ρᵖ.
``relvec.modelling.augmentation`` finds a, p and T.

**Draws.** A function drawn from the posterior gains the same variance at every row. Its
correlation between rows is that of what the rows have not determined of the process,
k(x, z) − kᵀTᵀTk. It is represented by the pivots of an incomplete Cholesky factor; what
these pivots leave of a row belongs to that row alone.

**Stacks.** For a single row the number of calls counts, not the amount of arithmetic.
So pivots are evaluated together with the model's functions, and those of several models
together, and

    [ΦWᵀ, z] = kM + c        W the whitener of the posterior, z of the process

is one product. Sums of its squares, another product, give the variances of all outputs
and the share that the process knows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from relvec.basis import Basis, Functions, Group, blocks, evaluated
from relvec.kernels import Kernel
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.pivots import Pivots
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True, eq=False)
class AugmentedVariance:
    """What a Gaussian process about a model adds to its predictive variance."""

    pivots: Group  # those that are not functions of the model, too
    by_pivots: Array  # (m, pivots) columns of T
    by_functions: Array  # (m, n) those of the model's kernel functions, or (m, 0)
    determined: Array  # (m,) d, shares of the prior variance of each zᵢ
    amplitude: Array  # (K,) a of each output
    power: float = 1.0  # p
    mean: Array | None = None  # (K,) that latent values gain where nothing is known
    mean_power: float = 1.0  # of ρ without noise, whose power is the share of it

    def turned(self, X: AnyArray, functions: Any) -> tuple[Array, Array]:
        """z/√k(x, x) (N, m) and k(x, x), from the functions of the model."""
        turned = np.zeros((len(X), len(self.determined)))
        if len(self.pivots):
            values = evaluated(self.pivots.kernel, X, self.pivots.centres)
            turned += values @ self.by_pivots.T
        shared = self.by_functions.shape[1]
        if shared:
            turned += functions[:, functions.shape[1] - shared :] @ self.by_functions.T
        prior = self.pivots.kernel.diagonal(X)
        if np.any(prior != 1):
            # A row for which the kernel is zero has no variance either.
            turned /= np.sqrt(np.where(prior > 0, prior, 1.0))[:, None]
        return turned, prior

    def left(self, turned: Array) -> Array:
        """ρ (N,)."""
        explained = np.einsum("nm,nm->n", turned, turned)
        return np.clip(1 - explained, 0.0, 1.0)

    def left_without_noise(self, turned: Array) -> Array:
        """ρ (N,) as if targets had no noise."""
        return np.clip(1 - turned**2 @ (1 / self.determined), 0.0, 1.0)

    def joined(
        self, X: AnyArray, functions: Any, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """Moments (N, K) of model and process together; or covariances (N, K, K)."""
        return self.moments(*self.turned(X, functions), mean, variance)

    def moments(
        self, turned: Array, prior: Array, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """Moments for rows whose z and k(x, x) are given."""
        wanted = (prior * self.left(turned) ** self.power)[:, None] * self.amplitude
        if self.mean is not None:
            share = self.left_without_noise(turned) ** self.mean_power
            mean = mean + share[:, None] * self.mean
        if variance.ndim == 2:
            return mean, np.maximum(variance, wanted)
        widened = variance.copy()
        own = np.einsum("nkk->nk", widened)
        np.maximum(own, wanted, out=own)
        return mean, widened

    def reordered(self, order: Indices) -> "AugmentedVariance":
        """Reorder for a model whose kernel functions were reordered."""
        if not self.by_functions.shape[1]:
            return self
        return replace(self, by_functions=self.by_functions[:, order])


_MOST_PIVOTS = 500  # at most: of 10000 rows they take two seconds
_NEGLIGIBLE_SHARE = 1e-8  # of a row's variance, that is too little for another pivot


@dataclass(frozen=True, eq=False)
class ExcessVariance:
    """Mean and variance that the process adds at some rows."""

    turned: Array  # (N, m) z over the root of k(x, x)
    shift: Array  # (N, K) of the mean
    excess: Array  # (N, K) of the variance

    @classmethod
    def of(
        cls,
        found: AugmentedVariance,
        X: AnyArray,
        functions: AnyArray,
        mean: Array,
        variance: Array,
    ) -> "ExcessVariance":
        """Excess at rows whose moments by the model alone are given."""
        turned, prior = found.turned(X, functions)
        moved, widened = found.moments(turned, prior, mean, variance)
        excess = widened - variance
        if excess.ndim == 3:
            excess = np.einsum("nkk->nk", excess)
        return cls(turned, moved - mean, np.maximum(excess, 0.0))

    @classmethod
    def joined(cls, parts: list["ExcessVariance"]) -> "ExcessVariance":
        """Join blocks of rows."""
        columns = zip(
            *((one.turned, one.shift, one.excess) for one in parts), strict=True
        )
        return cls(*map(np.concatenate, columns))

    def drawn(
        self, kernel: Kernel, X: AnyArray, count: int, chance: np.random.Generator
    ) -> Array:
        """(count, N, K), outputs independent of one another."""
        n_rows, n_outputs = self.excess.shape
        found = np.broadcast_to(self.shift, (count, n_rows, n_outputs)).copy()
        rows = np.flatnonzero(self.excess.any(axis=1))
        if len(rows):
            left = _Correlation(kernel, X[rows], self.turned[rows])
            unit = left.drawn(count * n_outputs, chance)
            unit = np.moveaxis(unit.reshape(len(rows), count, n_outputs), 0, 1)
            found[:, rows] += np.sqrt(self.excess[rows]) * unit
        return found


@dataclass(frozen=True, eq=False)
class _Correlation:
    """Correlation of what is left at some rows: a kernel of their numbers."""

    kernel: Kernel
    X: AnyArray
    turned: Array  # (n, m)
    compact: ClassVar[bool] = False
    positive_definite: ClassVar[bool] = True

    def __call__(self, first: AnyArray, second: AnyArray, /) -> Array:
        i, j = first[:, 0], second[:, 0]
        values = evaluated(self.kernel, self.X[i], self.X[j])
        values = values / self._root(i)[:, None] / self._root(j)
        values -= self.turned[i] @ self.turned[j].T
        return np.asarray(values / np.sqrt(self._left(i)[:, None] * self._left(j)))

    def diagonal(self, rows: AnyArray, /) -> Array:
        return np.ones(len(rows))

    def _root(self, rows: AnyArray) -> Array:
        return np.sqrt(self.kernel.diagonal(self.X[rows]))

    def _left(self, rows: AnyArray) -> Array:
        explained = np.einsum("nm,nm->n", self.turned[rows], self.turned[rows])
        return np.maximum(1 - explained, np.finfo(float).eps)

    def drawn(self, count: int, chance: np.random.Generator) -> Array:
        """Draw correlated numbers of unit variance (n, count)."""
        rows = np.arange(len(self.X))[:, None]
        pivots = Pivots.none(self, rows).greedy(rows, _MOST_PIVOTS, _NEGLIGIBLE_SHARE)
        features = pivots.features(rows)
        own = np.sqrt(np.maximum(pivots.residual(rows, features), 0.0))
        shared = features @ chance.standard_normal((len(pivots), count))
        return shared + own[:, None] * chance.standard_normal((len(rows), count))


@dataclass(frozen=True, eq=False)
class Pruned:
    """Functions that a top-down search has removed from a model.

    Of their centres only eight bytes each are kept, so that a model stays small.
    """

    kernels: tuple[Kernel, ...] = ()
    keys: frozenset[Any] = field(default_factory=frozenset)

    @classmethod
    def of(cls, candidates: Basis, active: Indices) -> "Pruned":
        """Record all candidates except the active ones."""
        kernels = tuple(group.kernel for group in candidates.groups)
        left = np.delete(np.arange(len(candidates)), active)
        keys = _keys(candidates)
        short = (_short(keys[place]) for place in left)
        return cls(kernels, frozenset(key for key in short if key is not None))

    def among(self, basis: Basis) -> AnyArray:
        """Whether each function of a dictionary is one of them, with its kernel too."""
        if not self.keys:
            return np.zeros(len(basis), dtype=bool)
        pairs = zip(self.kernels, basis.groups, strict=False)
        same = {place for place, (one, now) in enumerate(pairs) if one == now.kernel}
        return np.array(
            [
                (key == _CONSTANT or key[0] in same) and _short(key) in self.keys
                for key in _keys(basis)
            ],
            dtype=bool,
        )


def values_among(earlier: Basis, values: Array, basis: Basis) -> Array:
    """Values (..., n) of an earlier model's functions among others; nan for the rest.

    A function is the same if it has the same centre and the same place in the list of
    kernels, whose parameters may have changed.
    """
    place = {key: number for number, key in enumerate(_keys(earlier))}
    found = np.array([place.get(key, -1) for key in _keys(basis)], dtype=np.intp)
    result = np.full((*values.shape[:-1], len(basis)), np.nan)
    result[..., found >= 0] = values[..., found[found >= 0]]
    return result


def function_keys(basis: Basis) -> list[Any]:
    """Keys by which kernel functions are compared, without the constant."""
    return _keys(basis)[basis.bias :]


def evaluated_once(
    each: Sequence[tuple[Functions, ...]],
) -> tuple[tuple[Functions, ...], list[Indices]]:
    """Functions of several models without duplicates, and the places of each."""
    pools: list[_Pool] = []
    found = [list(_pooled(groups, pools)) for groups in each]
    starts = np.cumsum([0, *(len(pool.places) for pool in pools)])
    numbers = [
        np.concatenate([np.empty(0, np.intp), *(starts[k] + own for k, own in parts)])
        for parts in found
    ]
    return tuple(pool.functions for pool in pools), numbers


def _pooled(
    groups: tuple[Functions, ...], pools: list["_Pool"]
) -> Iterator[tuple[int, Indices]]:
    """Assign every group to a pool of its kernel; return pools and places."""
    for group in groups:
        ready = (k for k, pool in enumerate(pools) if pool.takes(group))
        number = next(ready, len(pools))
        if number == len(pools):
            pools.append(_Pool([], {}))
        yield number, pools[number].added(group)


@dataclass(frozen=True)
class _Pool:
    """Groups of one kernel."""

    groups: list[Functions]
    places: dict[Any, int]  # of functions, by what tells them apart

    def takes(self, group: Functions) -> bool:
        """Whether a group has the same kernel as this pool."""
        first = self.groups[0]
        plain = isinstance(group, Group) and isinstance(first, Group)
        return plain and group.kernel == first.kernel

    def added(self, group: Functions) -> Indices:
        """Add the functions of a group and return their places."""
        keys = _keys(Basis((group,), bias=False))
        new = [number for number, key in enumerate(keys) if key not in self.places]
        self.groups.append(group.subset(np.array(new, dtype=np.intp)))
        for number in new:
            self.places[keys[number]] = len(self.places)
        return np.array([self.places[key] for key in keys], dtype=np.intp)

    @property
    def functions(self) -> Functions:
        """All functions of the pool as one group."""
        if len(self.groups) == 1:
            return self.groups[0]
        centres = np.concatenate([group.centres for group in self.groups])
        return Group(self.groups[0].kernel, centres)


_CONSTANT = "constant"


def _keys(basis: Basis) -> list[Any]:
    """Keys by which functions are compared."""
    keys: list[Any] = [_CONSTANT] if basis.bias else []
    for number, group in enumerate(basis.groups):
        told_apart = group.centres
        if isinstance(group, PerCentreScale):
            told_apart = np.hstack([group.centres, group.scales])
        keys += [(number, key) for key in _centre_keys(told_apart)]
    return keys


def _short(key: Any) -> Any:
    """Hash a key to eight bytes; None for keys that are places of objects."""
    if key == _CONSTANT:
        return key
    number, centre = key
    if isinstance(centre, _Places):
        return None
    if isinstance(centre, bytes):
        centre = blake2b(centre, digest_size=8).digest()
    return number, centre


def _centre_keys(centres: AnyArray) -> list[Any]:
    """Hashable keys of centres: rows, objects or indices of columns."""
    if centres.dtype != object:
        return [centre.tobytes() for centre in np.asarray(centres, dtype=np.float64)]
    return [_object_key(tuple(row)) for row in centres]


def _object_key(row: tuple[Any, ...]) -> Any:
    try:
        hash(row)
    except TypeError:
        return _Places(id(item) for item in row)
    return row


class _Places(tuple[int, ...]):
    """Identities of objects that cannot be hashed; valid while these exist."""


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
    def surroundings(self) -> AugmentedVariance | None: ...


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
        """Stack models that have the same number of outputs."""
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
        count = self.weights.shape[1]
        own = values if values.shape[-1] == count else values[..., :count]
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
class LinearPredictor:
    """Φw + offset of a model, nothing of which is about its uncertainty."""

    groups: tuple[Functions, ...]
    weights: Array  # (n, K)
    level: Array  # (1, K), the constant of the model with the offset

    @classmethod
    def of(cls, model: Stackable, offset: Array | float) -> "LinearPredictor":
        """The predictor of a model with any offset."""
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
    """Convert sparse values to a dense array."""
    return values.toarray() if hasattr(values, "toarray") else values


def _times(values: Any, matrices: Array) -> Array:
    """(M, n_rows, c) of (M, n_rows, n), or of (n_rows, n) for one, perhaps sparse."""
    return (values @ matrices[0])[None] if values.ndim == 2 else values @ matrices


@dataclass(frozen=True, eq=False)
class Processes:
    """The processes of several models, each as ``AugmentedVariance`` describes it."""

    kernels: tuple[Kernel, ...]  # of every model, or the one of all
    amplitude: Array  # (M, 1, K)
    gain: Array  # (M, 1, K) of means, where nothing is known
    powers: Array  # (M, 1, 2) of what is not known, with noise and without

    @classmethod
    def of(cls, models: Sequence[Stackable]) -> "Processes":
        """Collect the processes of models, some of which may have none."""
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
        """Moments (M, N, K) with the processes, from the shares known (M, N, 2)."""
        prior = np.array([kernel.diagonal(X) for kernel in self.kernels])[:, :, None]
        if (prior != 1).any():
            # A row for which the kernel is zero has no variance either.
            known = known / np.where(prior > 0, prior, 1.0)
        left = np.maximum(1 - known, 0.0) ** self.powers
        wanted = prior * left[:, :, :1] * self.amplitude
        return mean + left[:, :, 1:] * self.gain, np.maximum(variance, wanted)


def _nothing(model: Stackable, kernel: Kernel) -> AugmentedVariance:
    """A process of no variance."""
    none = np.zeros((0, 0))
    amplitude = np.zeros(len(model.posterior.mean))
    return AugmentedVariance(Group(kernel, none), none, none, np.zeros(0), amplitude)


@dataclass(frozen=True, eq=False)
class _Part:
    """The part of a stack that belongs to one model."""

    groups: tuple[Functions, ...]
    weights: Array  # (n, K)
    level: Array  # (1, K)
    matrix: Array  # (m, c)
    constant: Array  # (1, c)
    sums: Array  # (c, K) or (c, K + 2)

    @classmethod
    def of(cls, model: Stackable, known: bool) -> "_Part":
        """The part of a model; ``known`` adds sums of what a process knows."""
        posterior, bias = model.posterior, int(model.basis.bias)
        n_outputs, size = posterior.mean.shape
        linear, factors = LinearPredictor.of(model, model.offset), len(posterior.factor)
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

    def _beside(self, found: AugmentedVariance) -> "_Part":
        """Add pivots, and columns for z."""
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
    """Join pivots with the last functions if both have the same kernel."""
    last = groups[-1] if groups else None
    if not (isinstance(last, Group) and last.kernel == pivots.kernel):
        return (*groups, pivots)
    centres = np.concatenate([last.centres, pivots.centres])
    return (*groups[:-1], Group(last.kernel, centres))


def _padded(arrays: Sequence[AnyArray]) -> AnyArray:
    """Stack arrays, padded with zeros to the largest shape."""
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

"""Which functions of two models are the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from relvec.basis import Basis, Functions, Group
from relvec.kernels import Kernel
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True, eq=False)
class Pruned:
    """Functions that were in a model at first and have left it.

    Of their centres only eight bytes each are kept, so that a model stays small.
    """

    kernels: tuple[Kernel, ...] = ()
    keys: frozenset[Any] = field(default_factory=frozenset)

    @classmethod
    def of(cls, candidates: Basis, active: Indices) -> "Pruned":
        """All candidates but the active ones."""
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
    """Something to compare kernel functions by, the constant left out."""
    return _keys(basis)[basis.bias :]


def evaluated_once(
    each: Sequence[tuple[Functions, ...]],
) -> tuple[tuple[Functions, ...], list[Indices]]:
    """Functions of several models, none of them twice; where those of each are."""
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
    """The pool of every group, a new one if no other has its kernel, and places."""
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
        """Whether it can be one with those here."""
        first = self.groups[0]
        plain = isinstance(group, Group) and isinstance(first, Group)
        return plain and group.kernel == first.kernel

    def added(self, group: Functions) -> Indices:
        """Places of its functions."""
        keys = _keys(Basis((group,), bias=False))
        new = [number for number, key in enumerate(keys) if key not in self.places]
        self.groups.append(group.subset(np.array(new, dtype=np.intp)))
        for number in new:
            self.places[keys[number]] = len(self.places)
        return np.array([self.places[key] for key in keys], dtype=np.intp)

    @property
    def functions(self) -> Functions:
        """All as one."""
        if len(self.groups) == 1:
            return self.groups[0]
        centres = np.concatenate([group.centres for group in self.groups])
        return Group(self.groups[0].kernel, centres)


_CONSTANT = "constant"


def _keys(basis: Basis) -> list[Any]:
    """Something to compare functions by."""
    keys: list[Any] = [_CONSTANT] if basis.bias else []
    for number, group in enumerate(basis.groups):
        told_apart = group.centres
        if isinstance(group, PerCentreScale):
            told_apart = np.hstack([group.centres, group.scales])
        keys += [(number, key) for key in _centre_keys(told_apart)]
    return keys


def _short(key: Any) -> Any:
    """The same in few bytes, if it outlives the objects that it tells apart."""
    if key == _CONSTANT:
        return key
    number, centre = key
    if isinstance(centre, _Places):
        return None
    if isinstance(centre, bytes):
        centre = blake2b(centre, digest_size=8).digest()
    return number, centre


def _centre_keys(centres: AnyArray) -> list[Any]:
    """Of rows, objects or indices of columns."""
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
    """Where objects are that cannot be hashed; others may come there after them."""

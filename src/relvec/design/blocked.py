"""A dictionary that is never held: its columns are evaluated in blocks of rows.

Every product is a sum over blocks of rows that are small enough for the processor's
cache: their columns are evaluated there, and used while they are there. The columns of
the last pass are kept if they take few bytes. A search looks at some columns and some
rows at a time, by ``view``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TypeVar

import numpy as np

from relvec.basis import Basis, blocks
from relvec.blockwise import check_time, in_order
from relvec.design.base import DesignMatrix, each_output, mixed_targets
from relvec.design.held import DenseDesign
from relvec.design.rows import Rows
from relvec.linalg import (
    available_threads,
    cholesky,
    rotated,
    same,
    stacked,
    triangle_beside_prior,
)
from relvec.precision import FACTOR_LIMIT
from relvec.typing import AnyArray, Array, Indices
from relvec.work import count_kernel_values, count_product

Part = TypeVar("Part")
Result = TypeVar("Result")
Columns = tuple[slice, Array]  # rows, and what columns are there
# Entries of a block that stays in the processor's cache with what is made of it.
_CACHED_ENTRIES = 200_000


@dataclass(frozen=True)
class Room:
    """What a design may hold."""

    entries: float  # of a view
    keep: float  # bytes of columns kept for the next pass
    columns: int = 1000  # of a view, with products of all pairs of them


class BlockedDesign:
    """The functions of a basis on rows that come in blocks.

    Columns are divided by ``column_norms``, which are about their norms.
    """

    held = False

    def __init__(
        self,
        rows: Rows,
        basis: Basis,
        column_norms: Array,
        sample_weight: Array,
        room: Room,
    ) -> None:
        self.rows = rows
        self.basis = basis
        self.column_norms = column_norms
        self.sample_weight = sample_weight
        self.room = room
        self._divisors = np.where(column_norms > 0, column_norms, 1.0)
        # Columns (ascending) of the last pass, in groups of blocks of rows.
        self._kept: tuple[Indices, list[list[Columns]]] | None = None
        self._last: tuple[Array, Array] | None = None  # row weights, ΦᵀWΦ

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.n_rows, len(self.basis)

    @property
    def most_entries(self) -> float:
        return self.room.entries

    @property
    def most_columns(self) -> int:
        return self.room.columns

    def view(
        self, columns: Indices, rows: Indices | None = None, *, lazy: bool = False
    ) -> DesignMatrix:
        own, weight = self.rows, self.sample_weight
        if rows is not None:
            own = replace(Rows.of(own.at(rows)), entries=own.entries)
            weight = weight[rows]
        basis = self.basis.subset(columns)
        if not lazy and own.n_rows * len(columns) <= self.room.entries:
            count_kernel_values(own.n_rows * len(columns))
            functions = basis.on_blocks(own.blocks(1), own.n_rows)
            return DenseDesign.weighted(functions, weight)
        norms = self.column_norms[columns]
        view = BlockedDesign(own, basis, norms, weight, self.room)
        if rows is None:
            view._kept = self._kept_of(columns)
        return view

    def _kept_of(self, columns: Indices) -> tuple[Indices, list[list[Columns]]] | None:
        """Some columns of the last pass, if all of them were kept."""
        if self._kept is None or not np.isin(columns, self._kept[0]).all():
            return None
        places = np.searchsorted(self._kept[0], columns)
        groups = [
            [(rows, _taken(block, places)) for rows, block in group]
            for group in self._kept[1]
        ]
        return np.arange(len(columns)), groups

    def matvec(self, weights: Array, indices: Indices) -> Array:
        count_product(self.rows.n_rows, weights.size)
        result = np.empty((self.rows.n_rows, len(weights)))

        def product(rows: slice, columns: Array) -> None:
            result[rows] = columns @ weights.T

        for _ in self._over(indices, product, list):
            pass
        return result

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        def product(rows: slice, columns: Array) -> tuple[Array]:
            return (values[rows].T @ columns,)

        everything = np.arange(len(self.basis)) if indices is None else indices
        count_product(self.rows.n_rows, values.shape[1] * len(everything))
        return self._sums(everything, product)[0]

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        def product(rows: slice, columns: Array) -> tuple[Array, ...]:
            roots = np.sqrt(row_weights[rows]).T
            weighted = (columns * root[:, None] for root in roots)
            return tuple(one.T @ one for one in weighted)

        count_product(self.rows.n_rows, row_weights.shape[1] * len(indices) ** 2)
        return stacked(list(self._sums(indices, product)))

    def beside(
        self, indices: Indices, mixing: Array, row_weights: Array, target: Array
    ) -> tuple[Array, Array, Array, Array]:
        def product(rows: slice, columns: Array) -> tuple[Array, ...]:
            weights, few = row_weights[rows], columns[:, indices]
            weighted = weights * target[rows]
            mixed = [few @ mix for mix in mixing]
            pairs = zip(mixed, cycle(weights.T))
            cross = np.stack([(one * w[:, None]).T @ columns for one, w in pairs])
            squares = weights.T @ (columns * columns)
            half = mixed_targets(mixed, weighted)
            return squares, weighted.T @ columns, cross, half

        count_product(self.rows.n_rows, len(mixing) * len(indices) * len(self.basis))
        squares, products, cross, half = self._sums(np.arange(len(self.basis)), product)
        return squares, products, cross, half

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        return self._inner(row_weights)[:, indices]

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        squares = np.diagonal(self._inner(row_weights), axis1=1, axis2=2)
        return squares, self.rmatvec(row_weights * target)

    def coordinates(
        self, indices: Indices, row_weights: Array, target: Array
    ) -> tuple[Array, Array]:
        """R of QR, block upon block: triangles of parts are rows to the next."""
        root = np.sqrt(row_weights)[:, None]

        def weighted(rows: slice, columns: Array) -> Array:
            return np.hstack([columns, target[rows]]) * root[rows]

        def turn(parts: Iterable[Array]) -> Array:
            return rotated(np.vstack(list(parts)))

        turned = np.empty((0, len(indices) + target.shape[1]))
        count_product(self.rows.n_rows, turned.shape[1] ** 2)
        for block in self._over(indices, weighted, turn):
            turned = rotated(np.vstack([turned, block]))
        return turned[:, : len(indices)], turned[:, len(indices) :]

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        pairs = zip(*each_output(prior_precision, precision), strict=True)
        return np.stack([self._factor(indices, a, b) for a, b in pairs])

    def _factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        root = 1 / np.sqrt(prior_precision)
        gram = root * self.gram(indices, precision[:, None])[0] * root[:, None]
        if gram.diagonal().max(initial=0.0) < FACTOR_LIMIT:
            return cholesky(gram + np.eye(len(indices)))
        V, _ = self.coordinates(indices, precision, np.empty((len(precision), 0)))
        return triangle_beside_prior(V * root)

    def _inner(self, row_weights: Array) -> Array:
        """ΦᵀWΦ of all columns (K, M, M), of which the last is kept."""
        if self._last is None or not same(self._last[0], row_weights):
            self._last = None  # its memory may be needed
            everything = np.arange(len(self.basis))
            self._last = (row_weights, self.gram(everything, row_weights))
        return self._last[1]

    def _sums(
        self, indices: Indices, product: Callable[[slice, Array], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """What ``product`` makes of columns in each block of rows, summed."""
        return _summed(self._over(indices, product, _summed))

    def _over(
        self,
        indices: Indices,
        work: Callable[[slice, Array], Part],
        joined: Callable[[Iterable[Part]], Result],
    ) -> Iterator[Result]:
        """What ``work`` makes of columns in each block, joined by groups of blocks."""
        if self._kept is None or not np.isin(indices, self._kept[0]).all():
            yield from self._evaluated(indices, work, joined)
            return
        known, groups = self._kept
        places = None if same(known, indices) else np.searchsorted(known, indices)

        def again(group: list[Columns]) -> Result:
            chosen = ((rows, _taken(columns, places)) for rows, columns in group)
            return joined(work(*one) for one in chosen)

        yield from in_order(again, groups, available_threads())

    def _evaluated(
        self,
        indices: Indices,
        work: Callable[[slice, Array], Part],
        joined: Callable[[Iterable[Part]], Result],
    ) -> Iterator[Result]:
        """The same of columns that are evaluated, and kept if they take few bytes."""
        self._kept = None  # its memory may be needed
        n_rows, width = self.rows.n_rows, max(1, len(indices))
        keeping = 8.0 * n_rows * len(indices) <= self.room.keep
        order = np.sort(indices)
        basis, scale = self.basis.subset(order), 1 / self._divisors[order]
        places = None if same(order, indices) else np.searchsorted(order, indices)

        def evaluate(item: tuple[slice, AnyArray]) -> tuple[Result, list[Columns]]:
            rows, X = item
            group: list[Columns] = []

            def each() -> Iterator[Part]:
                for part in blocks(len(X), width, _CACHED_ENTRIES):
                    check_time()
                    columns = basis(X[part])
                    columns *= scale
                    own = slice(rows.start + part.start, rows.start + part.stop)
                    if keeping:
                        group.append((own, columns))
                    yield work(own, _taken(columns, places))

            return joined(each()), group

        count_kernel_values(n_rows * len(indices))
        groups: list[list[Columns]] = []
        passes = self.rows.blocks(width)
        for result, group in in_order(evaluate, passes, available_threads()):
            groups.append(group)
            yield result
        if keeping:
            self._kept = (order, groups)


def _taken(columns: Array, places: Indices | None) -> Array:
    """Some of the columns, next to each other; all of them as they are."""
    return columns if places is None else np.take(columns.T, places, axis=0).T


def _summed(parts: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Sums of arrays that come in tuples; the first of these are overwritten."""
    total: tuple[Array, ...] = ()
    for part in parts:
        if not total:
            total = part
            continue
        for one, more in zip(total, part, strict=True):
            np.add(one, more, out=one)
    return total

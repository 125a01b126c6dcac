"""Basis functions: kernels, their centres and perhaps a constant."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from relvec.blockwise import check_time
from relvec.kernels import Kernel
from relvec.typing import AnyArray, Array, Indices

# Entries evaluated at once, 16 MB: large enough for BLAS, small enough that interrupts
# are answered at once and temporaries stay small.
BLOCK_ENTRIES = 2_000_000
# Columns are filled from values that come row by row: such a block, a megabyte, stays
# in cache while it is turned, and has enough columns that work once per row is little.
_TURNED_ENTRIES, _LEAST_COLUMNS = 131_072, 256


class Functions(Protocol):
    """Some functions of rows, each with a centre."""

    @property
    def kernel(self) -> Kernel: ...  # what they are functions of, beside their centres
    @property
    def centres(self) -> AnyArray: ...  # one per function
    @property
    def positive_definite(self) -> bool: ...  # those of one kernel, known to be so
    @property
    def compact(self) -> bool: ...  # they vanish at a distance: ``values`` are sparse
    @property
    def process_kernel(
        self,
    ) -> Kernel | None: ...  # that of a process of such functions
    def __len__(self) -> int: ...

    def values(self, X: AnyArray) -> Any:
        """(n_rows, n_functions), sparse if ``compact``."""

    def fill(self, X: AnyArray, functions: Array) -> None:
        """Evaluate into an array of shape (n_rows, n_functions)."""

    def subset(self, chosen: Indices) -> "Functions":
        """Some of them."""


@dataclass(frozen=True)
class Group:
    """The functions of one kernel."""

    kernel: Kernel
    centres: AnyArray  # one per function; column indices for ``Columns``

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    @property
    def compact(self) -> bool:
        return self.kernel.compact

    @property
    def process_kernel(self) -> Kernel | None:
        return self.kernel if self.positive_definite else None

    def values(self, X: AnyArray) -> Any:
        return self.kernel(X, self.centres)

    def fill(self, X: AnyArray, functions: Array) -> None:
        width = max(*X.shape, 1)
        entries = min(BLOCK_ENTRIES, max(_TURNED_ENTRIES, _LEAST_COLUMNS * width))
        # Kernels copy the second of their rows all at once: only if that is little.
        slim = X.dtype == np.float64 and X.shape[1] <= _LEAST_COLUMNS
        symmetric = self.positive_definite and slim
        # Of a matrix that is symmetric, what is above the diagonal is known by then.
        mirrored = self.positive_definite and _same_rows(X, self.centres)
        for columns in blocks(len(self), width, entries):
            start = columns.start if mirrored else 0
            rows, centres = X[start:], self.centres[columns]
            # Row by row, values of centres and rows are columns of those of rows and
            # centres: nothing has to be turned.
            values = (
                evaluated(self.kernel, centres, rows).T
                if symmetric
                else evaluated(self.kernel, rows, centres)
            )
            functions[start:, columns] = values
            if mirrored:
                functions[columns, columns.stop :] = values[columns.stop - start :].T

    def subset(self, chosen: Indices) -> "Group":
        return Group(self.kernel, self.centres[chosen])


@dataclass(frozen=True)
class Basis:
    """Turns rows of X into rows of Φ; the constant, if any, is function 0."""

    groups: tuple[Functions, ...]
    bias: bool

    @classmethod
    def of(cls, kernel: Kernel, centres: AnyArray, bias: bool) -> "Basis":
        """With a single kernel."""
        return cls((Group(kernel, centres),), bias)

    def __len__(self) -> int:
        return self.bias + sum(map(len, self.groups))

    @property
    def parts(self) -> list[slice]:
        """Where the functions of each group are."""
        starts = accumulate(map(len, self.groups), initial=int(self.bias))
        return [slice(start, stop) for start, stop in pairwise(starts)]

    @property
    def positive_definite(self) -> bool:
        """Whether all kernels are known to be."""
        return all(group.positive_definite for group in self.groups)

    @property
    def compact(self) -> bool:
        """Whether all kernels vanish at a distance, so that Φ is sparse."""
        return all(group.compact for group in self.groups)

    def __call__(self, X: AnyArray) -> Array:
        """Φ (n_rows, n_functions) in column-major order, whose columns are gathered."""
        # Kernels make copies of their rows, in double precision.
        parts = ((rows, X[rows]) for rows in blocks(len(X), X.shape[1]))
        return self.on_blocks(parts, len(X))

    def on_blocks(self, parts: Iterable[tuple[slice, AnyArray]], total: int) -> Array:
        """The same of rows that come in blocks, each with its place among all."""
        functions = np.empty((total, len(self)), order="F")
        if self.bias:
            functions[:, 0] = 1.0
        for rows, X in parts:
            check_time()
            for group, own in zip(self.groups, self.parts, strict=True):
                group.fill(X, functions[rows, own])
        return functions

    def sparse(self, X: AnyArray) -> Any:
        """The same as a sparse array, row by row, for compact kernels."""
        values: list[Any] = [group.values(X) for group in self.groups]
        if self.bias:
            values.insert(0, sparse.csr_array(np.ones((len(X), 1))))
        # Older versions of scipy stack arrays to a matrix.
        return (
            values[0] if len(values) == 1 else sparse.csr_array(sparse.hstack(values))
        )

    def subset(self, functions: Indices) -> "Basis":
        """The chosen functions, group by group, the constant first if it is one."""
        groups = []
        for group, part in zip(self.groups, self.parts, strict=True):
            first, last = np.searchsorted(functions, (part.start, part.stop))
            groups.append(group.subset(functions[first:last] - part.start))
        return Basis(tuple(groups), bool(self.bias and 0 in functions))


def evaluated(kernel: Kernel, X: AnyArray, Z: AnyArray) -> Array:
    """The kernel matrix as an array, whether or not it comes as a sparse one."""
    values: Any = kernel(X, Z)
    return values.toarray() if kernel.compact else values


def _same_rows(X: AnyArray, Z: AnyArray) -> bool:
    """Whether they are the same numbers; objects are not looked into."""
    return X is Z or (X.dtype != object and np.array_equal(X, Z))


def as_rows(X: AnyArray) -> AnyArray:
    """Rows as kernels take them: numbers in double precision, objects as they are."""
    return X if X.dtype == object else np.asarray(X, dtype=np.float64)


def blocks(total: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of 0..total with about so many entries of ``width`` each."""
    step = max(1, (entries or BLOCK_ENTRIES) // max(1, width))
    for start in range(0, total, step):
        yield slice(start, min(total, start + step))

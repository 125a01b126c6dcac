"""Basis functions: a kernel, its centres and perhaps a constant."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from relvec.kernels import Kernel
from relvec.typing import AnyArray, Array, Indices

# Entries evaluated at once: large enough for BLAS, small enough that an interrupt
# is answered at once and temporaries stay small.
BLOCK_ENTRIES = 2_000_000


@dataclass(frozen=True)
class Basis:
    """Turns rows of X into rows of Φ; the constant, if any, is function 0."""

    kernel: Kernel
    centres: AnyArray  # one per kernel function; column numbers for ``Columns``
    bias: bool

    def __len__(self) -> int:
        return len(self.centres) + self.bias

    def __call__(self, X: AnyArray) -> Array:
        """Φ (n_rows, n_functions) in column-major order, whose columns are gathered."""
        functions = np.empty((len(X), len(self)), order="F")
        if self.bias:
            functions[:, 0] = 1.0
        # Kernels make copies of their rows, in double precision.
        for rows in blocks(len(X), X.shape[1]):
            self._evaluate(X[rows], functions[rows, int(self.bias) :])
        return functions

    def _evaluate(self, X: AnyArray, functions: Array) -> None:
        for columns in blocks(len(self.centres), max(*X.shape, 1)):
            functions[:, columns] = self.kernel(X, self.centres[columns])

    def subset(self, functions: Indices) -> "Basis":
        """The chosen functions (ascending), the constant first if it is among them."""
        has_bias = self.bias and 0 in functions
        kernels = functions[has_bias:] - self.bias
        return Basis(self.kernel, self.centres[kernels], bool(has_bias))


def blocks(total: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of 0..total with about so many entries of ``width`` each."""
    step = max(1, (entries or BLOCK_ENTRIES) // max(1, width))
    for start in range(0, total, step):
        yield slice(start, min(total, start + step))

"""Basis functions as expressions, and products with them."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from relvec.basis import Basis, Group
from relvec.export.errors import ExportError
from relvec.export.expressions import Expression, constant, matmul, squared
from relvec.export.kernels import of_squares, values
from relvec.export.pairs import Pairs
from relvec.kernels import Columns
from relvec.kernels.varying import Varying
from relvec.typing import Array


@dataclass(frozen=True, eq=False)
class FunctionValues:
    """φ(x) of all functions of a model, kernel by kernel."""

    parts: list[tuple[slice, Expression]]
    bias: bool

    @classmethod
    def of(cls, basis: Basis, pairs: Pairs) -> "FunctionValues":
        """Of a row."""
        each = zip(basis.parts, basis.groups, strict=True)
        parts = [(place, _of_group(group, pairs)) for place, group in each if group]
        return cls(parts, basis.bias)

    def times(self, matrix: Array) -> Expression:
        """φ(x)ᵀ times (n, m)."""
        total = constant(matrix[0] if self.bias else np.zeros(matrix.shape[1]))
        for place, part in self.parts:
            total = matmul(part, matrix[place]) + total
        return total

    def squares(self, matrix: Array) -> Expression:
        """‖φ(x)ᵀM‖², for M (n, m)."""
        return squared(self.times(matrix)).sum()


@singledispatch
def _of_group(group: Any, pairs: Pairs) -> Expression:
    raise ExportError(f"functions of type {type(group).__name__} cannot be exported")


@_of_group.register
def _(group: Group, pairs: Pairs) -> Expression:
    if isinstance(group.kernel, Columns):
        return pairs.narrowed(group.centres).seen()
    if group.centres.dtype == object:
        raise ExportError(
            "the model is one of objects, which only its own kernel understands: ship "
            "it by joblib"
        )
    return values(group.kernel, pairs.beside(group.centres))


@_of_group.register
def _(group: Varying, pairs: Pairs) -> Expression:
    seen = pairs.beside(group.centres).narrowed(group.kernel.columns)
    return of_squares(group.kernel, seen.squares(group.scales))

"""What a design is chosen for: functions, rows and a memory budget."""

from dataclasses import dataclass

import numpy as np

from relvec.basis import Basis
from relvec.design.rows import Rows
from relvec.typing import Array

# Floats for every pair of functions while products of all of them are formed.
WHOLE_COPIES = 7


@dataclass(frozen=True)
class Budget:
    """Bytes a fit may take."""

    bytes: float

    def holds(self, numbers: float) -> bool:
        """Whether so many floats fit."""
        return 8 * numbers <= self.bytes

    @property
    def most_functions(self) -> int:
        """Whose Gram matrix fits."""
        return int(np.sqrt(self.bytes / 8 / WHOLE_COPIES))

    @property
    def words(self) -> str:
        """As a person writes it."""
        return in_words(self.bytes)


def in_words(n_bytes: float) -> str:
    """1234567 -> "1.2 MB"."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


@dataclass(frozen=True)
class Dictionary:
    """Functions, the rows to evaluate them on, and what is asked of their design."""

    basis: Basis
    rows: Rows
    sample_weight: Array
    budget: Budget
    seed: int
    in_memory: bool
    at_once: bool = False  # whether products of all functions will be asked for

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and functions."""
        return self.rows.n_rows, len(self.basis)

    @property
    def most_functions(self) -> int:
        """Whose Gram matrix the budget holds."""
        return self.budget.most_functions

    @property
    def words(self) -> str:
        """Its shape and size."""
        n_rows, n_basis = self.shape
        size = in_words(8.0 * n_rows * n_basis)
        return f"{n_rows:,} rows × {n_basis:,} functions, {size}"

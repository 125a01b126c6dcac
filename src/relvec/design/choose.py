"""Which design suits a dictionary: by its shape, its kernel and a memory budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import BLOCK_ENTRIES, Basis, as_rows
from relvec.design.base import DesignMatrix
from relvec.design.blocked import BlockedDesign, Room
from relvec.design.held import DenseDesign, SparseDesign, sparse_functions
from relvec.design.rows import Rows
from relvec.linalg import available_threads, column_norms
from relvec.typing import Array
from relvec.work import count_kernel_values

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


# Up to so many entries Φ itself is as fast as anything.
_SMALL = 2_500_000
# Entries of a view, 320 MB: some thousand columns of some thousand rows.
_VIEW = 40_000_000
_FEWEST = 32  # functions of a part, for whose products there must be room
_MOST_DENSITY = 0.1  # from which on products of arrays are faster than sparse ones
# Floats beside Φ while products of it are formed; of a view, those of several.
_DENSE_COPIES, _VIEW_COPIES = 1.25, 6
# Shares of the budget: columns kept for the next pass, of rows in memory and others;
# and what is in blocks on their way.
_KEPT_IN_MEMORY, _KEPT_STREAMED = 0.2, 0.1
_COLUMNS = 0.63  # of the functions whose products would fill it all
_IN_BLOCKS = 1 / 8


@dataclass(frozen=True)
class ChosenDesign:
    """A design and why it was taken."""

    design: DesignMatrix
    reason: str


def choose_design(kind: str, dictionary: Dictionary) -> ChosenDesign | None:
    """By name, or what suits for "auto"; None if only fewer functions would fit.

    A design asked for by name that cannot be had is refused with its size.
    """
    share = _IN_BLOCKS / (1 + available_threads())
    entries = int(min(BLOCK_ENTRIES, dictionary.budget.bytes * share / 8))
    rows = replace(dictionary.rows, entries=max(entries, 1))
    kind = "auto" if kind in DEPRECATED_DESIGNS else kind
    return _KINDS[kind](replace(dictionary, rows=rows))


def _automatic(dictionary: Dictionary) -> ChosenDesign | None:
    n_rows, n_basis = dictionary.shape
    small = n_rows * n_basis <= _SMALL or n_rows <= n_basis // 4
    choice = _sparse(dictionary, most_density=_MOST_DENSITY)
    # What is asked for all products at once is best held, if that is possible.
    if choice is None and dictionary.in_memory and (small or dictionary.at_once):
        why = f"only {dictionary.words}" if small else dictionary.words
        choice = _dense(dictionary, why)
    return choice or _blocked(dictionary)


def _dense_only(dictionary: Dictionary) -> ChosenDesign:
    choice = _dense(dictionary, f"{dictionary.words}, as asked for")
    if choice is None:
        needed = 8 * _dense_numbers(*dictionary.shape)
        raise ValueError(
            f"design='dense' would hold {dictionary.words}, and take "
            f"{in_words(needed)} with the copies that it makes; memory_budget is "
            f"{dictionary.budget.words}: use design='auto', "
            f"{_fewer_candidates(dictionary)}or a larger memory_budget"
        )
    return choice


def _fewer_candidates(dictionary: Dictionary) -> str:
    """Advice on how many candidates a dense design would hold, if it holds any."""
    n_rows, basis = dictionary.shape[0], dictionary.basis
    numbers = dictionary.budget.bytes / 8
    small = numbers / (_DENSE_COPIES + 1)
    large = (numbers - BLOCK_ENTRIES) / _DENSE_COPIES
    functions = int(max(small if small <= BLOCK_ENTRIES else 0, large) / n_rows)
    most = (functions - basis.bias) // len(basis.groups)
    return f"candidates={most} or fewer, " if most > 0 else ""


def _sparse_only(dictionary: Dictionary) -> ChosenDesign:
    if not (dictionary.basis.compact and dictionary.in_memory):
        raise ValueError(
            "design='sparse' needs rows in memory and a kernel that vanishes at a "
            "distance, such as a product with relvec.kernels.Taper: use design='auto'"
        )
    choice = _sparse(dictionary, most_density=1.0)
    if choice is None:
        raise ValueError(
            f"the values that are not zero among {dictionary.words} do not fit into a "
            f"memory_budget of {dictionary.budget.words}: narrow the kernel's support, "
            "raise memory_budget or use design='auto'"
        )
    return choice


def _streamed(dictionary: Dictionary) -> ChosenDesign | None:
    return _blocked(replace(dictionary, in_memory=False))


_KINDS: dict[str, Callable[[Dictionary], ChosenDesign | None]] = {
    "auto": _automatic,
    "dense": _dense_only,
    "sparse": _sparse_only,
    "streamed": _streamed,
}
DESIGNS = tuple(_KINDS)
# Values that have lost their meaning and now mean "auto".
DEPRECATED_DESIGNS = ("low-rank",)


def _dense_numbers(n_rows: int, n_basis: int) -> float:
    """Floats that a dense design takes with the copies that it makes."""
    entries = n_rows * n_basis
    return _DENSE_COPIES * entries + min(entries, BLOCK_ENTRIES)


def _dense(dictionary: Dictionary, why: str) -> ChosenDesign | None:
    if not dictionary.budget.holds(_dense_numbers(*dictionary.shape)):
        return None
    count_kernel_values(int(np.prod(dictionary.shape)))
    functions = dictionary.basis(dictionary.rows.whole())
    design = DenseDesign.weighted(functions, dictionary.sample_weight)
    return ChosenDesign(design, f"dense: {why}")


def _sparse(dictionary: Dictionary, *, most_density: float) -> ChosenDesign | None:
    if not (dictionary.basis.compact and dictionary.in_memory):
        return None
    functions = sparse_functions(
        dictionary.basis,
        dictionary.rows.whole(),
        most_bytes=dictionary.budget.bytes,
        most_density=most_density,
    )
    if functions is None:
        return None
    design = SparseDesign.weighted(functions, dictionary.sample_weight)
    share = functions.nnz / np.prod(np.asarray(functions.shape, dtype=float))
    return ChosenDesign(
        design, f"sparse: {share:.2%} of {dictionary.words}, are not zero"
    )


def _blocked(dictionary: Dictionary) -> ChosenDesign | None:
    needed = len(dictionary.basis)
    if not dictionary.at_once:
        needed = min(needed, _FEWEST)
    if needed > dictionary.most_functions:
        return None
    rows, basis, budget = dictionary.rows, dictionary.basis, dictionary.budget
    share = _KEPT_IN_MEMORY if dictionary.in_memory else _KEPT_STREAMED
    room = Room(
        entries=min(_VIEW, budget.bytes / 8 / _VIEW_COPIES),
        columns=int(_COLUMNS * budget.most_functions),
        keep=share * budget.bytes,
    )
    norms, weight = _norms(dictionary), dictionary.sample_weight
    design = BlockedDesign(rows, basis, norms, weight, room)
    return ChosenDesign(design, f"columns of {dictionary.words}, as they are needed")


def _norms(dictionary: Dictionary) -> Array:
    """Of all columns, or about them where that is known without a look at rows."""
    if dictionary.basis.positive_definite:
        return _largest_norms(dictionary)
    return _exact_norms(dictionary)


def _exact_norms(dictionary: Dictionary) -> Array:
    """Of every column, by a pass over the rows."""
    total = np.zeros(len(dictionary.basis))
    for part, rows in dictionary.rows.blocks(len(dictionary.basis)):
        norms = column_norms(dictionary.basis(rows), dictionary.sample_weight[part])
        total = np.hypot(total, norms)
    return total


def _largest_norms(dictionary: Dictionary) -> Array:
    """What a column has if all rows are at its centre, where the kernel is largest."""
    basis = dictionary.basis
    largest = np.ones(len(basis))
    for group, part in zip(basis.groups, basis.parts, strict=True):
        largest[part] = np.sqrt(group.kernel.diagonal(as_rows(group.centres)))
    return largest * np.sqrt(dictionary.sample_weight.sum())

"""Which design suits a dictionary: by its shape, its kernel and a memory budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import BLOCK_ENTRIES, as_rows
from relvec.design.base import DesignMatrix
from relvec.design.dense import DenseDesign
from relvec.design.dictionary import WHOLE_COPIES, Dictionary
from relvec.design.expansions import Expansion, LowRank, Whole
from relvec.design.factored import FactoredDesign
from relvec.design.sparse import SparseDesign, sparse_functions
from relvec.linalg import available_threads, column_norms
from relvec.typing import Array

TOLERANCE = 1e-4  # of an entry of Φ, relative to the largest k(x, x)
# Up to so many entries Φ itself is as fast as anything.
_SMALL = 2_500_000
_MOST_PIVOTS = 1500  # a pass costs their square for every row; not varied
_MOST_DENSITY = 0.1  # from which on products of arrays are faster than sparse ones
_TALL = 4  # times as many rows as functions: their inner products are much smaller
# Floats beside Φ, or beside C and FᵀWΦ, while products of them are formed.
_DENSE_COPIES = 1.25
_LOW_RANK_COPIES = 5
# Shares of the budget: of what these leave, kept for the next pass, both of features
# and of columns; and in blocks on their way.
_KEPT_IN_MEMORY, _KEPT_STREAMED = 0.4, 0.1
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
    return _KINDS[kind](replace(dictionary, rows=rows))


def _automatic(dictionary: Dictionary) -> ChosenDesign | None:
    n_rows, n_basis = dictionary.shape
    small = n_rows * n_basis <= _SMALL or n_rows <= n_basis // 4
    tall = n_rows >= _TALL * n_basis
    choice = _sparse(dictionary, most_density=_MOST_DENSITY)
    if choice is None and dictionary.in_memory and small:
        choice = _dense(dictionary, f"only {dictionary.words}")
    choice = choice or _low_rank(dictionary)
    if choice is None and dictionary.in_memory and not tall:
        choice = _dense(dictionary, f"{dictionary.words}, of high rank")
    return choice or _whole(dictionary)


def _dense_only(dictionary: Dictionary) -> ChosenDesign:
    choice = _dense(dictionary, f"{dictionary.words}, as asked for")
    if choice is None:
        raise ValueError(
            f"design='dense' would hold {dictionary.words}, and memory_budget is "
            f"{dictionary.budget.words}: use design='auto', fewer candidates (say "
            "candidates=2000), or a larger memory_budget"
        )
    return choice


def _sparse_only(dictionary: Dictionary) -> ChosenDesign:
    if not (dictionary.basis.compact and dictionary.in_memory):
        raise ValueError(
            "design='sparse' needs rows in memory and a kernel that vanishes at a "
            "distance, such as relvec.kernels.CompactMatern: use design='auto'"
        )
    choice = _sparse(dictionary, most_density=1.0)
    if choice is None:
        raise ValueError(
            f"the values that are not zero among {dictionary.words} do not fit into a "
            f"memory_budget of {dictionary.budget.words}: narrow the kernel's support, "
            "raise memory_budget or use design='auto'"
        )
    return choice


def _low_rank_only(dictionary: Dictionary) -> ChosenDesign:
    if not dictionary.basis.positive_definite:
        raise ValueError(
            "design='low-rank' needs a kernel known to be positive definite, such as "
            "'rbf': use design='auto' for this one"
        )
    choice = _low_rank(dictionary, saving=1)
    if choice is None:
        most = _most_pivots(dictionary, saving=1)
        raise ValueError(
            f"design='low-rank' would need more than {most} pivots "
            f"for {dictionary.words}, within a memory_budget of "
            f"{dictionary.budget.words}: widen the kernel (smaller gamma), raise "
            "memory_budget or use design='auto'"
        )
    return choice


def _streamed(dictionary: Dictionary) -> ChosenDesign | None:
    return _low_rank(replace(dictionary, in_memory=False)) or _whole(dictionary)


_KINDS: dict[str, Callable[[Dictionary], ChosenDesign | None]] = {
    "auto": _automatic,
    "dense": _dense_only,
    "sparse": _sparse_only,
    "low-rank": _low_rank_only,
    "streamed": _streamed,
}
DESIGNS = tuple(_KINDS)


def _dense(dictionary: Dictionary, why: str) -> ChosenDesign | None:
    n_rows, n_basis = dictionary.shape
    entries = n_rows * n_basis
    needed = _DENSE_COPIES * entries + min(entries, BLOCK_ENTRIES)
    if not dictionary.budget.holds(needed):
        return None
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


def _most_pivots(dictionary: Dictionary, saving: int) -> int:
    """So many times fewer than functions, or rows, at most; within the budget."""
    n_rows, n_basis = dictionary.shape
    affordable = dictionary.budget.bytes / 8 / _LOW_RANK_COPIES / n_basis
    return int(min(_MOST_PIVOTS, affordable, min(n_rows, n_basis) // saving))


def _low_rank(dictionary: Dictionary, saving: int = 2) -> ChosenDesign | None:
    if not dictionary.basis.positive_definite:
        return None
    basis, most = dictionary.basis, _most_pivots(dictionary, saving)
    expansion = LowRank.of(basis, tol=TOLERANCE, most=most, seed=dictionary.seed)
    if expansion is None:
        return None
    norms = _largest_norms(dictionary)
    design = _blocked(dictionary, expansion, norms, _LOW_RANK_COPIES)
    words = f"low rank: {expansion.n_features} features describe {dictionary.words}"
    return ChosenDesign(design, f"{words}, in blocks")


def _whole(dictionary: Dictionary) -> ChosenDesign | None:
    if len(dictionary.basis) > dictionary.most_functions:
        return None
    expansion = Whole(dictionary.basis)
    design = _blocked(dictionary, expansion, _exact_norms(dictionary), WHOLE_COPIES)
    words = f"inner products of all functions of {dictionary.words}"
    return ChosenDesign(design, f"{words}, in blocks")


def _blocked(
    dictionary: Dictionary, expansion: Expansion, norms: Array, copies: int
) -> FactoredDesign:
    """Which keeps some of what so many copies of C and FᵀWΦ leave of the budget."""
    rows, basis, budget = dictionary.rows, dictionary.basis, dictionary.budget
    left = max(0.0, budget.bytes - 8 * (copies * expansion.n_features) * len(basis))
    share = _KEPT_IN_MEMORY if dictionary.in_memory else _KEPT_STREAMED
    return FactoredDesign(rows, basis, expansion, norms, keep=share * left)


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

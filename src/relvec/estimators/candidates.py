"""From the parameters of an estimator to its dictionary of candidate functions."""

import sys
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from relvec.basis import Basis, Group
from relvec.design import Dictionary
from relvec.estimators.kernel_choice import KernelChoice
from relvec.estimators.training import Training
from relvec.estimators.validation import as_objects
from relvec.parameters import as_floats, check_count
from relvec.typing import AnyArray, Indices

# Rows drawn as centres by candidates="auto"; all of them up to here.
MOST_CANDIDATES = 10_000
# Of partial_fit, which keeps the Gram matrix of all candidates.
MOST_FIXED_CANDIDATES = 2000
# Where neither low rank nor dense is possible, time grows with the square of these.
_FEWER_CANDIDATES = 2000
# Matrices of the size of all pairs of functions, and of all rows and functions, that a
# top-down solver holds at a time.
_SQUARES, _COLUMNS = 6, 3


@dataclass(frozen=True)
class Candidates:
    """A dictionary and what its kernel functions are called in ``relevance_``."""

    basis: Basis
    # Of all functions but the constant: rows, or features where these are the
    # dictionary; -1 for a centre that is no row.
    numbers: Indices
    kernels: Indices  # their numbers in the list of kernels

    @classmethod
    def of(
        cls, choice: KernelChoice, wanted: Any, training: Training, *, bias: bool
    ) -> "Candidates":
        """One function per kernel and distinct row drawn, centre given, or feature.

        Of equal rows the first stands for all: their functions are the same.
        """
        centres, numbers = _centres(choice, wanted, training)
        groups = [Group(kernel, centres) for kernel in choice.resolve(training)]
        kernels = np.repeat(np.arange(len(groups)), len(numbers))
        basis = Basis(tuple(groups), bias)
        return cls(basis, np.tile(numbers, len(groups)), kernels)

    def fewer(self, count: int) -> "Candidates":
        """Of every kernel so many functions, spread evenly over all."""
        chosen = [np.arange(count) * len(each) // count for each in self.basis.groups]
        groups = [
            group.subset(mine)
            for group, mine in zip(self.basis.groups, chosen, strict=True)
        ]
        starts = [part.start - self.basis.bias for part in self.basis.parts]
        places = np.concatenate(
            [start + mine for start, mine in zip(starts, chosen, strict=True)]
        )
        return Candidates(
            Basis(tuple(groups), self.basis.bias),
            self.numbers[places],
            self.kernels[places],
        )


def _centres(
    choice: KernelChoice, wanted: Any, training: Training
) -> tuple[AnyArray, Indices]:
    """Where functions may sit, and the numbers of these places."""
    if choice.selects_columns:
        square = choice.precomputed and not isinstance(wanted, Integral)
        columns = training.numbers if square else np.arange(training.n_features)
        return columns, columns
    if is_centres(wanted):
        centres = _given_centres(wanted, training)
        return centres, np.full(len(centres), -1)
    rows = training.drawn_rows
    first = _first_of_equals(rows)
    centres = rows if len(first) == len(rows) else rows[first]
    return centres, training.numbers[training.drawn[first]]


def fewer_candidates(
    candidates: Candidates, dictionary: Dictionary, *, by_rule: bool
) -> Candidates:
    """As many as the budget holds, if it was for us to choose them; or refuse."""
    n_kernels = len(dictionary.basis.groups)
    affordable = min(_FEWER_CANDIDATES, dictionary.most_functions - 1) // n_kernels
    if affordable < 1 or not by_rule:
        msg = (
            f"nothing of {dictionary.words} fits into a memory_budget of "
            f"{dictionary.budget.words}, which allows {max(affordable, 0)} candidates: "
            "raise it, or set candidates to fewer; for kernel=None, leave out features"
        )
        raise ValueError(msg)
    largest = max(map(len, candidates.basis.groups))
    return candidates.fewer(min(affordable, largest))


def check_top_down(reason: str, dictionary: Dictionary) -> None:
    """Refuse what a solver that begins with all functions could not hold."""
    n_rows, n_basis = dictionary.shape
    if not dictionary.budget.holds(n_basis * (_SQUARES * n_basis + _COLUMNS * n_rows)):
        msg = (
            f"{reason} begins with all of {dictionary.words}, and what it computes "
            f"does not fit into a memory_budget of {dictionary.budget.words}: use "
            "another that does not, or set candidates to fewer"
        )
        raise ValueError(msg)


def check_candidates(value: Any) -> None:
    """A word, a number, or an array of centres."""
    if is_centres(value) or (isinstance(value, str) and value in {"auto", "all"}):
        return
    if isinstance(value, str):
        msg = (
            "candidates must be 'auto', 'all', a number of rows or an array of "
            f"centres; got {value!r}"
        )
        raise ValueError(msg)
    check_count("candidates", value)


def n_drawn(candidates: Any, n_kernels: int) -> int:
    """How many rows are to be drawn as centres."""
    if is_centres(candidates):
        return 0
    if isinstance(candidates, str):
        most = max(1, MOST_CANDIDATES // n_kernels)
        return sys.maxsize if candidates == "all" else most
    return int(candidates)


def is_centres(candidates: Any) -> bool:
    """Whether centres were given rather than a rule."""
    return not isinstance(candidates, str) and hasattr(candidates, "__len__")


def _given_centres(candidates: Any, training: Training) -> AnyArray:
    """A checked array of centres."""
    if training.drawn_rows.dtype == object:
        centres = as_objects(candidates)
    else:
        centres = as_floats("candidates", candidates, 2)
    if centres is None or len(centres) == 0 or centres.shape[1] != training.n_features:
        shape = np.shape(candidates if centres is None else centres)
        msg = (
            f"candidates has shape {shape}: give at least one centre, each "
            f"with the {training.n_features} features of X"
        )
        raise ValueError(msg)
    return centres


def _first_of_equals(rows: AnyArray) -> Indices:
    """Numbers of the rows that equal no earlier one, ascending."""
    if rows.dtype == object:
        return _first_of_equal_objects(rows)
    if rows.shape[1] and len(np.unique(rows[:, 0])) == len(rows):
        return np.arange(len(rows))
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])


def _first_of_equal_objects(rows: AnyArray) -> Indices:
    """Objects that can be hashed are compared; others are all taken as different."""
    seen: dict[Any, int] = {}
    for number, row in enumerate(rows):
        try:
            seen.setdefault(tuple(row), number)
        except TypeError:
            seen[id(row), number] = number
    return np.array(list(seen.values()), dtype=np.intp)

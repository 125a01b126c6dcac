"""What to fit: the candidate functions, how they are held, and every other choice."""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from relvec.basis import Basis, Group
from relvec.design import Budget, DesignMatrix, Dictionary, choose_design
from relvec.evidence import BottomUp, Deadline, Limits, Solver
from relvec.kernels import Kernel
from relvec.modelling.families import Family
from relvec.modelling.monitor import logger
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray, Indices

# If all products are needed and do not fit, time grows with this number squared.
_FEWER_CANDIDATES = 2000
# Matrices of the size of all pairs of functions, and of all rows and functions, that a
# top-down solver holds at a time.
_SQUARES, _COLUMNS = 6, 3


class Centres(Protocol):
    """Where basis functions are centred."""

    @property
    def adjustable(self) -> bool:
        """Whether fewer centres may be used if memory is short."""

    @property
    def are_rows(self) -> bool:
        """Whether their indices are those of rows."""

    @property
    def at_rows(self) -> bool:
        """Whether every function is centred on a row that is fitted."""

    def of(self, rows: TrainingRows) -> tuple[AnyArray, Indices]:
        """The centres and their indices; -1 for one that is no row."""


@dataclass(frozen=True)
class AtRows:
    """Centres on the rows drawn, without duplicates."""

    adjustable: bool = True
    are_rows = True
    at_rows = True

    def of(self, rows: TrainingRows) -> tuple[AnyArray, Indices]:
        drawn = rows.sample.rows
        first = _first_of_equals(drawn)
        centres = drawn if len(first) == len(drawn) else drawn[first]
        return centres, rows.indices[rows.sample.indices[first]]


AT_ROWS = AtRows()


@dataclass(frozen=True, eq=False)
class OnRows:
    """Centres on these rows, which need not be among the rows fitted."""

    rows: AnyArray
    indices: Indices
    adjustable = True
    are_rows = True
    at_rows = True

    def of(self, rows: TrainingRows) -> tuple[AnyArray, Indices]:
        return self.rows, self.indices


@dataclass(frozen=True, eq=False)
class Given:
    """Centres on points that the user gave."""

    centres: AnyArray
    adjustable = False
    are_rows = True
    at_rows = False

    def of(self, rows: TrainingRows) -> tuple[AnyArray, Indices]:
        return self.centres, np.full(len(self.centres), -1)


@dataclass(frozen=True)
class InColumns:
    """The columns of X are the functions: those of the rows that count, or all."""

    square: bool  # whether there is a column for each row given
    adjustable = False

    @property
    def are_rows(self) -> bool:
        return self.square

    @property
    def at_rows(self) -> bool:
        return self.square

    def of(self, rows: TrainingRows) -> tuple[AnyArray, Indices]:
        columns = rows.indices if self.square else np.arange(rows.n_features)
        return columns, columns


@dataclass(frozen=True)
class Candidates:
    """A dictionary, and the row and kernel of each function."""

    basis: Basis
    # Of all functions but the constant.
    indices: Indices  # of rows or columns; -1 for a centre that is neither
    kernels: Indices  # of their kernels in the list

    @classmethod
    def of(
        cls,
        kernels: tuple[Kernel, ...],
        centres: Centres,
        rows: TrainingRows,
        *,
        bias: bool,
    ) -> "Candidates":
        """A function for each kernel and centre."""
        places, indices = centres.of(rows)
        groups = tuple(Group(kernel, places) for kernel in kernels)
        by_kernel = np.arange(len(groups)).repeat(len(indices))
        names = indices if len(groups) == 1 else np.tile(indices, len(groups))
        return cls(Basis(groups, bias), names, by_kernel)

    def fewer(self, count: int) -> "Candidates":
        """Keep ``count`` functions of every kernel, spread evenly over all."""
        chosen = [np.arange(count) * len(each) // count for each in self.basis.groups]
        starts = [part.start for part in self.basis.parts]
        places = [start + mine for start, mine in zip(starts, chosen, strict=True)]
        return self.subset(np.concatenate([np.arange(self.basis.bias), *places]))

    def subset(self, chosen: Indices) -> "Candidates":
        """Some of the functions, ascending."""
        named = chosen[chosen >= self.basis.bias] - self.basis.bias
        basis = self.basis.subset(chosen)
        return Candidates(basis, self.indices[named], self.kernels[named])


def held(
    candidates: Candidates,
    rows: TrainingRows,
    *,
    design: str,
    budget: Budget,
    adjustable: bool,
    solver: Solver,
) -> tuple[Candidates, DesignMatrix]:
    """The candidates that fit into the budget, and how they are held."""
    dictionary = Dictionary(
        basis=candidates.basis,
        rows=rows.rows,
        sample_weight=rows.weight,
        budget=budget,
        seed=rows.seed,
        in_memory=rows.in_memory,
        at_once=not solver.selective,
    )
    if solver.begins_with_all is not None:
        _check_all_at_once(solver.begins_with_all, dictionary)
    choice = choose_design(design, dictionary)
    if choice is None:
        candidates = _affordable(candidates, dictionary, adjustable=adjustable)
        logger.info("candidates: %d, as many as fit", len(candidates.basis))
        dictionary = replace(dictionary, basis=candidates.basis)
        choice = choose_design("streamed", dictionary)
        assert choice is not None
    logger.info("design: %s", choice.reason)
    return candidates, choice.design


def _affordable(
    candidates: Candidates, dictionary: Dictionary, *, adjustable: bool
) -> Candidates:
    """As many candidates as fit into the budget, or an error if they are fixed."""
    n_kernels = len(dictionary.basis.groups)
    affordable = min(_FEWER_CANDIDATES, dictionary.most_functions - 1) // n_kernels
    if affordable < 1 or not adjustable:
        raise ValueError(
            f"nothing of {dictionary.words} fits into a memory_budget of "
            f"{dictionary.budget.words}, which allows {max(affordable, 0)} candidates: "
            "raise it, or set candidates to fewer; for kernel=None, leave out features"
        )
    largest = max(map(len, candidates.basis.groups))
    return candidates.fewer(min(affordable, largest))


def _check_all_at_once(solver: str, dictionary: Dictionary) -> None:
    """Reject problems too large for a solver that starts with all functions."""
    n_rows, n_basis = dictionary.shape
    if not dictionary.budget.holds(n_basis * (_SQUARES * n_basis + _COLUMNS * n_rows)):
        raise ValueError(
            f"{solver} begins with all of {dictionary.words}, and what it computes "
            f"does not fit into a memory_budget of {dictionary.budget.words}: use "
            "another that does not, or set candidates to fewer"
        )


def _first_of_equals(rows: AnyArray) -> Indices:
    """Indices of the rows that equal no earlier one, ascending."""
    if rows.dtype == object:
        return _first_of_equal_objects(rows)
    first = np.sort(rows[:, 0]) if rows.shape[1] else rows.ravel()
    if len(first) == len(rows) and np.all(first[1:] != first[:-1]):
        return np.arange(len(rows))
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])


def _first_of_equal_objects(rows: AnyArray) -> Indices:
    """Compare objects that can be hashed; take all others as different."""
    seen: dict[Any, int] = {}
    for number, row in enumerate(rows):
        try:
            seen.setdefault(tuple(row), number)
        except TypeError:
            seen[id(row), number] = number
    return np.array(list(seen.values()), dtype=np.intp)


_DEFAULT_BUDGET = Budget(2e9)  # as the estimators have it
_NO_LIMITS = Limits()


@dataclass(frozen=True)
class Specification:
    """All choices that define a fit, except the data."""

    kernels: tuple[Kernel, ...]
    family: Family
    centres: Centres = AT_ROWS
    intercept: bool = True
    design: str = "auto"  # how the dictionary is held
    budget: Budget = _DEFAULT_BUDGET
    solver: Solver = field(default_factory=BottomUp)
    tol: float = 1e-4
    limits: Limits = _NO_LIMITS
    seed: int = 0
    augmented: bool = True  # whether error bars are to know where the data are

    @property
    def deadline(self) -> Deadline:
        """When the fit has to end."""
        return self.limits.deadline

    def until(self, deadline: Deadline) -> "Specification":
        """The specification with another deadline."""
        return replace(self, limits=replace(self.limits, deadline=deadline))

    def within(self, steps: int) -> "Specification":
        """The specification with at most ``steps`` steps."""
        most = min(steps, self.limits.max_iter)
        return replace(self, limits=replace(self.limits, max_iter=most))

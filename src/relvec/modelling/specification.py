"""What is to be fitted: every choice made, nothing yet done."""

from dataclasses import dataclass, field, replace

from relvec.design import Budget
from relvec.evidence import BottomUp, Deadline, Limits, Solver
from relvec.kernels import Kernel
from relvec.modelling.candidates import AT_ROWS, Centres
from relvec.modelling.families import Family

_DEFAULT_BUDGET = Budget(2e9)  # as the estimators have it
_NO_LIMITS = Limits()


@dataclass(frozen=True)
class Specification:
    """A model but for its data."""

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
        """When a fit has to be over."""
        return self.limits.deadline

    def until(self, deadline: Deadline) -> "Specification":
        """The same in other time."""
        return replace(self, limits=replace(self.limits, deadline=deadline))

    def within(self, steps: int) -> "Specification":
        """The same in no more than so many steps, if these are fewer."""
        most = min(steps, self.limits.max_iter)
        return replace(self, limits=replace(self.limits, max_iter=most))

"""The ways to maximise the evidence, by name."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.evidence.base import EvidenceMaximiser
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.hyperprior import FLAT, Hyperprior
from relvec.evidence.polished import Polished
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import Rounds
from relvec.evidence.sequential import Sequential
from relvec.evidence.tempering import Tempered
from relvec.evidence.updates import EM, MacKay, Variational
from relvec.parameters import check_choice, check_count, check_positive
from relvec.typing import Array

_UPDATES: dict[str, MacKay] = {
    "mackay": MacKay(),
    "em": EM(),
    "variational": Variational(),
}
SOLVERS = ("sequential", *_UPDATES)


@dataclass(frozen=True)
class TopDown:
    """A solver that begins with all functions, for which its name is not enough.

    Parameters
    ----------
    update : {"mackay", "em", "variational"}, default="mackay"
        The solver.
    initial_precision : float, optional
        Precision of every weight's prior to begin with, in the units of the data. By
        default that of weights with which one function would explain all of ``y``.
    initial_noise_variance : float, optional
        Variance of the noise to begin with; by default a tenth of the variance of
        ``y``.
    noise_interval : int, default=1
        Steps from one estimate of the noise to the next.
    prune : float, optional
        A function leaves when its prior says so many times what the data say of its
        weight; by default 1e6. For "em" and "variational", whose precisions grow only
        in proportion to the number of steps, it is what the data say beside the other
        functions, the default is 10, and no function leaves that would come back.

    Examples
    --------
    >>> from relvec import RVR, TopDown
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(60, seed=0)
    >>> solver = TopDown("mackay", initial_precision=1 / 60, noise_interval=5)
    >>> len(RVR(gamma=1 / 9, solver=solver).fit(X, y).relevance_) < 10
    True
    """

    update: str = "mackay"
    initial_precision: float | None = None
    initial_noise_variance: float | None = None
    noise_interval: int = 1
    prune: float | None = None

    def __post_init__(self) -> None:
        check_choice("update", self.update, _UPDATES)
        check_count("noise_interval", self.noise_interval)
        for name in ("initial_precision", "initial_noise_variance", "prune"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def fixed_point(self, tol: float) -> FixedPoint:
        """The iteration with these settings."""
        update = _UPDATES[self.update]
        if self.prune is not None:
            update = replace(update, prune=self.prune)
        return FixedPoint(update, tol=tol, noise_interval=self.noise_interval)


@dataclass(frozen=True)
class Solver:
    """What users may choose; the rest has its defaults."""

    top_down: TopDown | None = None
    schedule: str = "pool"
    selection: str = "gain"
    start: int | None = None  # the function to begin with
    tol: float = 1e-4
    price: float = 0.0  # nats that a function of the pool's model has to be worth
    noise_interval: int = 10  # of the greedy schedule
    polish: bool = True
    hyperprior: Hyperprior = FLAT
    seed: int = 0

    @property
    def maximiser(self) -> EvidenceMaximiser[Any]:
        """The algorithm with these settings."""
        if self.top_down is None:
            return self._sequential
        iteration = self.top_down.fixed_point(self.tol)
        # What the sequential search maximises is the evidence, and nothing else.
        own_objective = iteration.update.bounded or self.hyperprior.informative
        if own_objective or not self.polish:
            return iteration
        return Polished(iteration, self._sequential)

    @property
    def _sequential(self) -> Sequential | Pooled | Tempered:
        single = Sequential(
            selection=self.selection,
            start=self.start,
            tol=self.tol,
            noise_interval=self.noise_interval,
            seed=self.seed,
        )
        if self.schedule == "greedy":
            return single
        rounds = Rounds(selection=self.selection, seed=self.seed)
        pooled = Pooled(single, rounds, self.price)
        # What tempering adds to a model, a price would take out again.
        return pooled if self.price else Tempered(pooled)


def as_hyperprior(value: Any, top_down: TopDown | None) -> Hyperprior:
    """What a user means by ``hyperprior``: None, a Hyperprior or its four numbers."""
    if value is None:
        return FLAT
    if not isinstance(value, Hyperprior):
        try:
            value = Hyperprior(*value)
        except TypeError:
            msg = (
                "hyperprior must be None, a Hyperprior or its four numbers (a, b, c, "
                f"d); got {value!r}"
            )
            raise ValueError(msg) from None
    if value.informative and top_down is None:
        msg = (
            "solver='sequential' knows flat hyperpriors only: choose solver='mackay', "
            "'em' or 'variational', or leave out hyperprior"
        )
        raise ValueError(msg)
    return value


def as_top_down(solver: Any) -> TopDown | None:
    """What a user means by ``solver``: None for the sequential one."""
    if isinstance(solver, TopDown):
        return solver
    check_choice("solver", solver, SOLVERS)
    return None if solver == "sequential" else TopDown(solver)


def starting_precision(
    top_down: TopDown | None, n_basis: int, known: Array | None = None
) -> Array | None:
    """α to begin with, from another fit (infinite if not in it) or from settings."""
    given = top_down.initial_precision if top_down else None
    if given is None:
        return known
    if known is None:
        return np.full(n_basis, given)
    return np.where(np.isfinite(known), known, given)

"""The ways to maximise the evidence, by name or with settings."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from relvec.evidence.base import (
    FLAT,
    NEVER,
    Callback,
    Deadline,
    EvidenceFit,
    EvidenceMaximiser,
    Hyperprior,
    Problem,
    WarmStart,
    as_hyperprior,
)
from relvec.evidence.fixed_point import (
    EM,
    FixedPoint,
    Held,
    MacKay,
    NoiseRows,
    Variational,
    check_noise_from,
)
from relvec.evidence.maximise import Continued, Limits, maximise
from relvec.evidence.mode import posterior_at_mode, predictor_variances
from relvec.evidence.search import BatchSearch
from relvec.evidence.sequential import Sequential
from relvec.evidence.subsampling import SubsampledSearch
from relvec.likelihoods.student_t import ScaleMixture
from relvec.parameters import (
    as_min_vectors,
    check_choice,
    check_count,
    check_flag,
    check_positive,
)
from relvec.parametric import Parametric
from relvec.typing import Array


@dataclass(frozen=True)
class SolverContext:
    """What a solver is told beside the problem."""

    tol: float = 1e-4
    seed: int = 0
    price: float = 0.0  # nats that a function has to be worth in the end
    constant: int | None = None  # the column that is one, where it is known
    deadline: Deadline = NEVER


class Solver(Parametric, ABC):
    """Settings of a way to maximise the evidence; most are as they are here."""

    initial_noise_variance: float | None = None  # None for a guess

    @abstractmethod
    def maximiser(
        self, problem: Problem, context: SolverContext
    ) -> EvidenceMaximiser[Any]:
        """The algorithm with these settings."""

    @property
    def begins_with_all(self) -> str | None:
        """What to call a solver whose first model has all functions; None if not."""
        return None

    @property
    def selective(self) -> bool:
        """Whether it can do with some functions at a time."""
        return False

    @property
    def begins_with_constant(self) -> bool:
        """Whether its first function is the constant."""
        return False

    @property
    def ends_at_mode(self) -> bool:
        """Whether weights are followed to their mode at the end."""
        return True

    @property
    def own_tolerance(self) -> str | None:
        """How to set what it ends by, if that is not the tolerance of the search."""
        return None

    @property
    def looks_at_rows(self) -> str | None:
        """The setting that tells rows apart, so that their products do not serve."""
        return None

    @property
    def maximises_evidence(self) -> bool:
        """Whether another search for the evidence may go on where it has ended."""
        return True

    @property
    def prior(self) -> Hyperprior:
        """Over the precisions."""
        return FLAT

    @property
    def noise_settings(self) -> list[str]:
        """Settings, other than their defaults, of a noise that is estimated."""
        return []

    def warm_start(self, n_basis: int, known: WarmStart) -> WarmStart:
        """What the search begins with, from settings and what an earlier fit knows."""
        precision, weights = known.precision, known.weights
        if precision is not None:
            # Where every class has its own, the function is as much in the model as in
            # any.
            precision = np.atleast_2d(precision).min(axis=0)
        if self.begins_with_all is None:
            weights = None  # a search that adds functions looks for the mode from zero
        return WarmStart(precision, weights, known.steps)

    def min_vectors_of(self, n_basis: int) -> int:
        """How few of so many functions end the search."""
        return 0

    def stopping_at(self, n_vectors: int) -> "Solver":
        """The same but over as soon as so many functions are left; or as it is."""
        return self

    @property
    def integrates_noise(self) -> bool:
        """Whether the noise is integrated out, so that it has degrees of freedom."""
        return bool(np.isfinite(self.noise_freedom(1.0)))

    def noise_freedom(self, n_observations: float) -> float:
        """Degrees of freedom of the noise, if it is integrated out; else infinite."""
        return np.inf


_UPDATES: dict[str, MacKay] = {
    "mackay": MacKay(),
    "em": EM(),
    "variational": Variational(),
}


@dataclass(frozen=True, eq=False, repr=False)
class BottomUp(Solver):
    """Settings of ``solver="sequential"``, which begins with no function.

    Parameters
    ----------
    schedule : {"batch", "greedy"}, default="batch"
        Whether a pass over the candidates adds a batch of functions to the model, or
        takes a single action, as the paper has it: slow, for teaching and reference.
        With "batch" large problems are searched on some rows and candidates first.
        "pool", the default of version 0.2, now means "batch" and is deprecated.
    selection : {"gain", "random", "cyclic"}, default="gain"
        Which function to act on: the one with the greatest gain in evidence, a random
        one, or the next in order, among those that gain.
    init : {"projection", "bias"}, default="projection"
        Start from the function with the largest normalised projection onto the
        targets, or from the constant, unless it gains nothing, as it rarely does where
        targets are centred.
    noise_interval : int, default=10
        Single actions from one estimate of the noise to the next, with "greedy". With
        "batch" the noise is estimated together with all prior precisions.

    Examples
    --------
    >>> from relvec import RVR, BottomUp
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(60, seed=0)
    >>> model = RVR(gamma=1 / 9, solver=BottomUp(schedule="greedy")).fit(X, y)
    >>> len(model.relevance_) < 10
    True
    """

    schedule: str = "batch"
    selection: str = "gain"
    init: str = "projection"
    noise_interval: int = 10

    def __post_init__(self) -> None:
        if self.schedule == "pool":
            warnings.warn(
                "schedule='pool' is deprecated: pools are gone, and the search adds "
                "batches of functions. Use schedule='batch', the default",
                FutureWarning,
                stacklevel=3,
            )
        else:
            check_choice("schedule", self.schedule, ("batch", "greedy"))
        check_choice("selection", self.selection, ("gain", "random", "cyclic"))
        check_choice("init", self.init, ("projection", "bias"))
        check_count("noise_interval", self.noise_interval)

    def maximiser(
        self, problem: Problem, context: SolverContext
    ) -> EvidenceMaximiser[Any]:
        if self.schedule == "greedy":
            return self._single(context)
        batches = self.batches(context)
        if problem.design.held:
            return batches
        return SubsampledSearch(batches, context.seed)

    def batches(self, context: SolverContext) -> BatchSearch:
        """The search of a dictionary that is held."""
        return BatchSearch(
            tol=context.tol,
            selection=self.selection,
            start=context.constant if self.begins_with_constant else None,
            price=context.price,
            seed=context.seed,
        )

    def _single(self, context: SolverContext) -> Sequential:
        return Sequential(
            selection=self.selection,
            start=context.constant if self.begins_with_constant else None,
            tol=context.tol,
            noise_interval=self.noise_interval,
            seed=context.seed,
        )

    @property
    def begins_with_constant(self) -> bool:
        return self.init == "bias"

    @property
    def selective(self) -> bool:
        return self.schedule != "greedy"

    @property
    def noise_settings(self) -> list[str]:
        return _changed(self, "noise_interval")


@dataclass(frozen=True, eq=False, repr=False)
class TopDown(Solver):
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
    noise_from : {"all", "active"}, int or float, default="all"
        The rows that the noise is estimated from: all; those that functions still in
        the model are centred on; or so many, or such a share, drawn by chance. What is
        maximised is the evidence with "all" only, and with "active" the model may
        follow the noise.
    prune : float, optional
        A function leaves when its prior says so many times what the data say of its
        weight; by default 1e6. For "em" and "variational", whose precisions grow only
        in proportion to the number of steps, it is what the data say beside the other
        functions, the default is 10, and no function leaves that would come back.
    polish : False, optional
        False for the iteration as it is published. By default functions that were
        pruned get a second chance: the search by batches goes on where the iteration
        has ended. It does so wherever the evidence is what is maximised: not for
        "variational", not with an informative hyperprior and not where the noise is
        that of some rows. True is the same as the default and deprecated.
    hyperprior : Hyperprior or its four numbers, optional
        Gamma distributions over the precisions of weights and noise; flat by default.
    min_vectors : int or float, optional
        Stop as soon as so many functions are left, or such a fraction of all.

    Examples
    --------
    >>> from relvec import RVR, TopDown
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(60, seed=0)
    >>> solver = TopDown("mackay", initial_precision=1 / 60, noise_interval=5)
    >>> model = RVR(gamma=1 / 9, solver=solver).fit(X, y)
    >>> len(model.relevance_) < 10
    True
    >>> model.set_params(solver__polish=False).fit(X, y).status_.name
    'CONVERGED'
    """

    update: str = "mackay"
    initial_precision: float | None = None
    initial_noise_variance: float | None = None
    noise_interval: int = 1
    noise_from: Any = "all"
    prune: float | None = None
    polish: bool | None = None
    hyperprior: Any = None
    min_vectors: float | None = None

    def __post_init__(self) -> None:
        check_choice("update", self.update, _UPDATES)
        check_count("noise_interval", self.noise_interval)
        check_noise_from(self.noise_from)
        for name in ("initial_precision", "initial_noise_variance", "prune"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        as_min_vectors(self.min_vectors, 1)
        own = self._own_objective
        if self.polish is not None:
            check_flag("polish", self.polish)
        if self.polish and own is not None:
            raise ValueError(
                f"polish=True goes on with the evidence, and {own} maximises something "
                "else: leave out one of the two"
            )
        if self.polish:
            warnings.warn(
                "polish=True is deprecated: the search by batches goes on where the "
                "iteration ends, by default. Leave it out",
                FutureWarning,
                stacklevel=3,
            )

    @property
    def _own_objective(self) -> str | None:
        """The setting that makes the objective another than the evidence."""
        if _UPDATES[self.update].bounded:
            return f"update={self.update!r}"
        if self.prior.informative:
            return f"hyperprior={self.hyperprior!r}"
        return self.looks_at_rows

    @property
    def begins_with_all(self) -> str:
        return f"solver={self.update!r}"

    @property
    def maximises_evidence(self) -> bool:
        return self._own_objective is None and self.min_vectors is None

    @property
    def looks_at_rows(self) -> str | None:
        return None if self.noise_from == "all" else f"noise_from={self.noise_from!r}"

    @property
    def prior(self) -> Hyperprior:
        return as_hyperprior(self.hyperprior)

    def maximiser(
        self, problem: Problem, context: SolverContext
    ) -> EvidenceMaximiser[Any]:
        update = _UPDATES[self.update]
        if self.prune is not None:
            update = replace(update, prune=self.prune)
        iteration = FixedPoint(
            update,
            tol=context.tol,
            noise_interval=self.noise_interval,
            noise_rows=NoiseRows.of(self.noise_from, problem, context.seed),
            deadline=context.deadline,
        )
        polish = self._own_objective is None if self.polish is None else self.polish
        if not polish:
            return iteration
        return Continued(iteration, BottomUp().batches(context))

    def warm_start(self, n_basis: int, known: WarmStart) -> WarmStart:
        start = super().warm_start(n_basis, known)
        if self.initial_precision is None:
            return start
        given = np.full(n_basis, self.initial_precision)
        if start.precision is not None:
            given = np.where(np.isnan(start.precision), given, start.precision)
        return replace(start, precision=given)

    def min_vectors_of(self, n_basis: int) -> int:
        return as_min_vectors(self.min_vectors, n_basis)

    def stopping_at(self, n_vectors: int) -> "TopDown":
        return replace(self, min_vectors=n_vectors, polish=False)

    @property
    def noise_settings(self) -> list[str]:
        named = _changed(self, "initial_noise_variance", "noise_interval", "noise_from")
        return named + ["hyperprior"] * bool(self.prior.c or self.prior.d)

    def noise_freedom(self, n_observations: float) -> float:
        integrated = self.update == "variational"
        return 2 * self.prior.c + n_observations if integrated else np.inf


@dataclass(frozen=True, eq=False, repr=False)
class HeldPrior(Solver):
    """No search over α, which is given: the posterior, and the noise if that is not."""

    precision: Array  # (M,) α, finite, in the units of the data

    def maximiser(
        self, problem: Problem, context: SolverContext
    ) -> EvidenceMaximiser[Any]:
        return FixedPoint(Held(), tol=context.tol)

    def warm_start(self, n_basis: int, known: WarmStart) -> WarmStart:
        return replace(super().warm_start(n_basis, known), precision=self.precision)


# Made once: nobody gets to see, and so to change, what a name stands for.
_BY_NAME = {"sequential": BottomUp(), **{name: TopDown(name) for name in _UPDATES}}


def _changed(settings: Parametric, *names: str) -> list[str]:
    """Those of the names whose setting is not the default."""
    defaults = {field.name: field.default for field in fields(settings)}
    return [name for name in names if getattr(settings, name) != defaults[name]]


def check_noise_settings(solver: Solver, known: str) -> None:
    """Refuse settings of a noise that is not estimated, saying why it is not."""
    if solver.noise_settings:
        names = " and ".join(solver.noise_settings)
        raise ValueError(
            f"{names} of solver={solver!r} is about a noise that is estimated, and "
            f"{known}: leave out one of the two"
        )


def as_solver(solver: Any) -> Solver:
    """What a user means by ``solver``: a name or an object with settings."""
    if isinstance(solver, BottomUp | TopDown):
        return solver
    if not isinstance(solver, str) or solver not in _BY_NAME:
        words = ", ".join(map(repr, _BY_NAME))
        msg = f"solver must be one of {words}, a BottomUp or a TopDown; got {solver!r}"
        raise ValueError(msg)
    return _BY_NAME[solver]


def solved(
    problem: Problem,
    solver: Solver,
    context: SolverContext,
    limits: Limits,
    callback: Callback | None = None,
) -> EvidenceFit:
    """The maximum of a problem's evidence, found by a solver within limits."""
    problem = replace(problem, hyperprior=solver.prior)
    fewest = solver.min_vectors_of(problem.design.shape[1])
    limits = replace(limits, min_vectors=fewest)
    context = replace(context, deadline=limits.deadline)
    maximiser = solver.maximiser(problem, context)
    at_mode = solver.ends_at_mode
    return maximise(problem, maximiser, limits, callback, at_mode=at_mode)


_MOST_REWEIGHTINGS = 100  # which are 15 to begin with, then 2
_CLOSE_NOISE = 1e-3  # in the logarithm of the noise


def settled(problem: Problem, bound: ScaleMixture) -> ScaleMixture:
    """The row weights and noise of heavy tails, for functions and α that are held.

        ξ² = E[(y − η)²] by the posterior for row precisions βu    (E step, with u(ξ²))
        β  = Σv / Σv(u/ū)ξ²                                        (M step)

    u/ū in the place of u is the M step of a model that has a scale for u, too, which
    would be one in the end: it comes there in fewer steps (Liu, Rubin and Wu, 1998,
    "Parameter expansion to accelerate EM").
    """
    at = problem.initial
    for _ in range(_MOST_REWEIGHTINGS):
        mode = posterior_at_mode(problem, bound, *at)
        variance = predictor_variances(problem, mode.posterior)
        seen = bound.lower_bound(problem.y, mode.eta, variance)
        noise = seen.refitted(problem.sample_weight)
        change = np.log(noise.noise_precision / bound.bounded.noise_precision)
        bound = ScaleMixture(noise, seen.squares)
        if np.max(np.abs(change)) < _CLOSE_NOISE:
            break
    return bound

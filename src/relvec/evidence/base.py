"""The values every maximiser of the evidence shares: problem, outcome, protocol."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from time import perf_counter
from typing import Any, Protocol, TypeVar

import numpy as np

from relvec.design import DesignMatrix
from relvec.likelihoods import Likelihood, PseudoObservations
from relvec.parameters import check_not_negative
from relvec.parametric import Parametric
from relvec.posterior import Posterior
from relvec.precision import TINY
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class Hyperprior(Parametric):
    """Gamma hyperpriors in the units of the data; flat by default.

    Parameters
    ----------
    a, b : float, default=0.0
        Shape and rate of the precision α of every weight's prior.
    c, d : float, default=0.0
        Shape and rate of the precision of the noise.

    Examples
    --------
    >>> from relvec import RVR, Hyperprior, TopDown
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(50, seed=0)
    >>> noise = Hyperprior(c=50.0, d=50.0 * 0.1**2)  # a deviation of about 0.1
    >>> model = RVR(gamma=1 / 9, solver=TopDown(hyperprior=noise)).fit(X, y)
    >>> round(model.noise_variance_**0.5, 1)
    0.1
    """

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0

    def __post_init__(self) -> None:
        for each in fields(self):
            check_not_negative(f"hyperprior's {each.name}", getattr(self, each.name))

    @property
    def informative(self) -> bool:
        """Whether it says anything."""
        return any((self.a, self.b, self.c, self.d))

    def log_density(self, alpha: Array, beta: Array) -> float:
        """What it adds to the log evidence, without constants (thesis 2.5.9).

        Σᵢ (a log αᵢ − b αᵢ) + c log β − d β, as the search is over logarithms.
        """
        weights = np.sum(self.a * np.log(alpha) - self.b * alpha)
        if not (self.c or self.d):
            return float(weights)
        return float(weights + np.sum(self.c * np.log(beta) - self.d * beta))


FLAT = Hyperprior()


def as_hyperprior(value: Any) -> Hyperprior:
    """What a user means by ``hyperprior``: None, a Hyperprior or its four numbers."""
    if value is None or isinstance(value, Hyperprior):
        return value or FLAT
    try:
        return Hyperprior(*value)
    except TypeError:
        raise ValueError(
            "hyperprior must be None, a Hyperprior or its four numbers (a, b, c, d); "
            f"got {value!r}"
        ) from None


Result = TypeVar("Result")

# Seconds, and share of the time asked for, in which a model becomes a fit after the
# search has ended: the larger of the two.
_GRACE, _GRACE_SHARE = 0.5, 0.1


@dataclass(frozen=True)
class Deadline:
    """A moment on the process's own clock; never by default.

    The search ends there. What it has found is made a model in the ``grace`` after it.
    """

    at: float = np.inf
    grace: float = 0.0  # seconds

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """So many seconds from now; None is never."""
        if seconds is None:
            return cls()
        return _from_now(seconds, max(_GRACE, _GRACE_SHARE * seconds))

    def __reduce__(self) -> Any:
        # Another process or machine has a clock of its own.
        left = self.left if self.limited else np.inf
        return _from_now, (left, self.grace)

    @property
    def left(self) -> float:
        """Seconds until then; negative after it."""
        return self.at - perf_counter()

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return perf_counter() >= self.at

    @property
    def limited(self) -> bool:
        """Whether there is one at all."""
        return bool(np.isfinite(self.at))

    @property
    def end(self) -> "Deadline":
        """When all that follows the search has to be over, too."""
        return Deadline(self.at + self.grace)

    def share(self, parts: int) -> "Deadline":
        """The end of the first of so many equal parts of the time left."""
        now = perf_counter()
        left = max(self.at - now, 0.0)
        return Deadline(now + left / parts, self.grace / parts)

    def in_time(
        self,
        work: Callable[[int], Result],
        most: int,
        fewest: int,
        cost: Callable[[Array], Array] = np.asarray,
    ) -> Result:
        """What ``work`` makes of as many rows or functions as there is time for.

        The fewest come first, and the time that these take tells how many more there
        is time for, in proportion to what so many ``cost``. Without a deadline it is
        all of them at once.
        """
        if not self.limited or most <= 2 * fewest:
            return work(most)
        begun = perf_counter()
        found = work(fewest)
        ratio = self.left / max(perf_counter() - begun, np.finfo(float).tiny)
        sizes = np.arange(2 * fewest, most + 1)
        costs = cost(sizes.astype(np.float64))
        limit = ratio * cost(np.array([1.0 * fewest]))[0]
        count = np.searchsorted(costs, limit, side="right")
        return work(int(sizes[count - 1])) if count else found


def _from_now(seconds: float, grace: float) -> Deadline:
    return Deadline(perf_counter() + seconds, grace)


NEVER = Deadline()


# Of the observations on weights: the noise is estimated from what is left.
_NEARLY_ALL = 0.9
# Of a posterior at its mode, and of one that matches moments: ``largest_predictor``.
_LARGEST_AT_MODE, _LARGEST_MATCHED = 1e4, 1e2
_MOST_VISITS = 10.0  # of a row, by algorithms that take so many steps for each


@dataclass(frozen=True)
class WarmStart:
    """What a search begins with, for all functions of a dictionary."""

    # (M,) α in the user's units: infinite for a function that is not in the model, nan
    # where the solver is to decide. (outputs, M) for a solver with an α for each
    # output; None for an empty model, or for what the solver begins with.
    precision: Array | None = None
    # (outputs, M) weights from which the mode is searched for, of functions as they are
    # and in the units of y; None: from zero.
    weights: Array | None = None
    steps: int = 0  # of the search that this one goes on with

    def subset(self, columns: Indices) -> "WarmStart":
        """For some of the functions."""
        precision, weights = (
            None if one is None else one[..., columns]
            for one in (self.precision, self.weights)
        )
        return WarmStart(precision, weights, self.steps)


@dataclass(frozen=True)
class Problem:
    """A dictionary, targets and their likelihood; what stays fixed during a fit."""

    design: DesignMatrix
    y: Array  # (N, K)
    likelihood: Likelihood  # with the parameters to start from
    sample_weight: Array  # (N,) repetitions
    bias: int | None = None  # a column that does not count as a vector
    hyperprior: Hyperprior = field(default_factory=lambda: FLAT)  # in the user's units
    start: WarmStart = WarmStart()
    scale: float = 1.0  # the user's targets are so many times these
    # (M,) the largest prior standard deviation of each weight, in the user's units.
    max_prior_std: Array | None = None
    # The largest prior standard deviation of what one function adds to η, a root mean
    # square over rows.
    max_predictor_std: float | None = None
    # (M,) the row that each function is centred on, -1 for none; None if none is.
    centre_rows: Indices | None = None
    coupled: bool = False  # whether the posterior is to be one of all outputs together
    # Nats of each observation that log densities have besides: where weights are not
    # repetitions but relative precisions, these have a part in them.
    density_shift: float = 0.0

    @property
    def n_sharing(self) -> int:
        """Outputs that share α in units of their noise, and are one problem by that."""
        return 1 if self.likelihood.unit is None else self.y.shape[1]

    @property
    def n_observations(self) -> float:
        """That nats of evidence are compared with."""
        return float(self.sample_weight.sum()) * self.n_sharing

    @property
    def n_visits(self) -> int:
        """Rows, as algorithms count them that take so many steps for each row.

        A weight is a number of repetitions. One beyond ten counts as ten here: weights
        of a million would ask for millions of steps, which change nothing any more.
        """
        return int(np.ceil(np.minimum(self.sample_weight, _MOST_VISITS).sum()))

    @property
    def precision_units(self) -> Array:
        """(M,) by which α is multiplied to have it in the user's units."""
        with np.errstate(over="ignore"):
            return (self.design.column_norms / self.scale) ** 2

    @property
    def noise_unit(self) -> float:
        """The same for the noise precision."""
        return self.scale**-2

    @property
    def start_precision(self) -> Array | None:
        """α to begin with, in the units of the engine."""
        if self.start.precision is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.start.precision / self.precision_units

    def start_weights(self, active: Indices) -> Array:
        """(K, n) of some columns, in the units of the engine."""
        weights = self.start.weights
        if weights is None:
            return np.zeros((self.y.shape[1], len(active)))
        return weights[:, active] * self.design.column_norms[active]

    @property
    def initial(self) -> tuple[Indices, Array, Array]:
        """Columns of the model that the search begins with, their α and weights."""
        start, active = self.start_precision, np.empty(0, dtype=np.intp)
        alpha = np.empty(0)
        if start is not None:
            active = np.flatnonzero(np.isfinite(np.atleast_2d(start)).all(axis=0))
            alpha = self.allowed(active, start[..., active])
        return active, alpha, self.start_weights(active)

    def resumed(self, model: "Model") -> "Problem":
        """The problem of a search that goes on from a model of this one."""
        active, n_basis = model.active, self.design.shape[1]
        precision = np.full(n_basis, np.inf)
        precision[active] = model.prior_precision * self.precision_units[active]
        norms = self.design.column_norms[active]
        weights = np.zeros((len(model.mean), n_basis))
        # A column that vanishes has no norm, and its weight no meaning.
        weights[:, active] = model.mean / np.where(norms > 0, norms, np.inf)
        start = WarmStart(precision, weights)
        return replace(self, likelihood=model.likelihood, start=start)

    @property
    def least_precision(self) -> Array | None:
        """(M,) that α may become, in the units of the engine."""
        if self.max_prior_std is None and self.max_predictor_std is None:
            return None
        most = np.full(self.design.shape[1], np.inf)
        if self.max_predictor_std is not None:
            # Columns of the engine have the norm one: their mean square is 1/Σv.
            most[:] = self.max_predictor_std * np.sqrt(self.sample_weight.sum())
        if self.max_prior_std is not None:
            norms = np.maximum(self.design.column_norms / self.scale, TINY)
            most = np.minimum(most, self.max_prior_std * norms)
        return most**-2

    def allowed(self, active: Indices, alpha: Array) -> Array:
        """α of some columns, raised to the least that it may be."""
        least = self.least_precision
        return alpha if least is None else np.maximum(alpha, least[active])


class Status(Enum):
    """How a fit ended; the value tells the user what it means and what to do.

    It does so for any dictionary. The warning of an estimator tells what to do with the
    kernel that it has.
    """

    CONVERGED = "converged"
    MAX_ITER = (
        "stopped at max_iter before converging: the model is usable; raise max_iter "
        "or tol"
    )
    MAX_SECONDS = (
        "stopped at max_seconds before converging: the model is usable; raise "
        "max_seconds or tol"
    )
    MIN_VECTORS = (
        "stopped at min_vectors before converging: the model is usable; lower "
        "min_vectors or leave it out"
    )
    UNSOLVED = (
        "stopped at max_iter with residuals above tol, so predictions may be far off: "
        "raise max_iter or rank, or lower C"
    )
    STOPPED = "stopped by a callback: the model is usable"
    EMPTY = (
        "no basis function explains the target better than noise, so the model is "
        "constant: check that the functions have to do with the target, or give others"
    )
    PERFECT_FIT = (
        "the fit leaves no residual, so the noise stands at its floor of 1e-6 times "
        "the target's spread: if the data are noisy there are too many independent "
        "functions for so many rows, so leave some out or give noise_variance"
    )
    INTERPOLATION = (
        "the model spends nearly all observations on weights and has none left to "
        "estimate the noise from: if the data are noisy there are too many independent "
        "functions for so many rows, so leave some out or give noise_variance"
    )
    CONSTANT_TARGET = (
        "the target does not vary, so the model is constant: check that y is the "
        "column you meant"
    )

    def __reduce__(self) -> tuple[type["Status"], tuple[str]]:
        # By its value, as for pickle, which skops asks in another way.
        return type(self), (self.value,)

    @property
    def event(self) -> str:
        """What has happened, without what to do about it."""
        return self.value.partition(": ")[0]

    @property
    def success(self) -> bool:
        """Whether the search ended by itself."""
        return self not in {
            Status.MAX_ITER,
            Status.MAX_SECONDS,
            Status.MIN_VECTORS,
            Status.UNSOLVED,
            Status.STOPPED,
        }


@dataclass(frozen=True)
class Snapshot:
    """What the trace keeps of a step and a callback gets to see."""

    iteration: int
    log_evidence: float
    n_vectors: int
    gamma: float  # Σγ, the effective number of parameters
    noise_std: float  # nan where the likelihood has no noise
    seconds: float
    # Of a classifier: likelihoods at the weights, and what moved.
    details: dict[str, float] = field(default_factory=dict, repr=False)
    # For a callback, the model as it is now; not for the trace, which would keep it.
    fit: Callable[[], "EvidenceFit"] | None = field(
        default=None, repr=False, compare=False
    )


Callback = Callable[[Snapshot], object]  # a true answer stops the fit


@dataclass(frozen=True)
class EvidenceFit:
    """A local maximum of the evidence and the way there."""

    likelihood: Likelihood
    posterior: Posterior
    search_mean: Array  # (K, n) of it in the search, which need not have been the mode
    log_evidence: float
    history: dict[str, AnyArray]
    status: Status
    n_iter: int
    n_observations: float  # Σv
    steps_before: int = 0  # of the search that it went on with

    @property
    def prior_precision(self) -> Array:
        """α as the search has it: (n,), or (K, n) where outputs have their own.

        Those that share it do so in units of their noise.
        """
        alpha, posterior = self.posterior.prior_precision, self.posterior
        apart = posterior.coupled or len(posterior.factor) == len(alpha)
        if alpha.ndim == 1 or apart:
            return alpha
        return np.asarray(alpha[0] * self.likelihood.scale[0] ** 2)


@dataclass(frozen=True)
class Model:
    """The model that a search has come to."""

    likelihood: Likelihood  # with the parameters reached
    observations: PseudoObservations  # what the data are to the model
    posterior: Posterior
    log_evidence: float  # or what is maximised in its place
    # What of it is not log evidence.
    log_hyperprior: float = field(default=0.0, kw_only=True)

    @property
    def active(self) -> Indices:
        """Columns in the model."""
        return self.posterior.active

    @property
    def prior_precision(self) -> Array:
        """α of the active columns."""
        return self.posterior.prior_precision

    @property
    def mean(self) -> Array:
        """Posterior mean of their weights (K, n)."""
        return self.posterior.mean

    @property
    def effective_parameters(self) -> Array:
        """Σγ per output."""
        return self.posterior.effective_parameters


class State(Protocol):
    """Where a search stands: a model, and what only the maximiser itself reads."""

    @property
    def steps(self) -> int:
        """How many changes were accepted so far."""

    @property
    def model(self) -> Model:
        """The best model so far."""


StateT = TypeVar("StateT", bound=State)


class EvidenceMaximiser(Protocol[StateT]):
    """Settings and three functions; the driver owns the loop."""

    def init(self, problem: Problem) -> StateT:
        """The state before the first step."""

    def step(self, problem: Problem, state: StateT) -> StateT:
        """The state after one change, if one is accepted: its evidence is no lower."""

    def converged(self, problem: Problem, state: StateT) -> bool:
        """Whether no step is left to take."""


def largest_predictor(likelihood: Likelihood) -> float:
    """The ``max_predictor_std`` of a problem whose targets are classes.

    Weights of classes that can be separated may grow without end: beyond |η| = 28 the
    curvature of a row is below LEAST_PRECISION, and the evidence hardly feels it. So
    the prior of a weight may not become broader than this. A function of root mean
    square r over N rows adds s·r to η if its weight has the deviation s. Columns of
    the engine have r = 1/√N, hence α ≥ 1/(N·bound²).

    The bound is far above 28, because rows often see a small part of what a function
    adds. Wide functions are alike, and their weights cancel; a narrow function may be
    needed where it has nearly vanished. With 1e4 a function can still decide rows
    where it has 0.3 % of its root mean square. Smaller bounds made predictions worse
    (docs/theory/sequential.md has figures). Moments that are matched have a smaller
    one, without which no posterior is found.
    """
    return _LARGEST_AT_MODE if likelihood.ep is None else _LARGEST_MATCHED


def interpolates(problem: Problem, model: Model) -> bool:
    """Whether weights leave no observations to estimate the noise from."""
    estimated = model.likelihood.parameter_ceiling is not None
    spent = np.max(model.effective_parameters, initial=0.0)
    return bool(estimated and spent > _NEARLY_ALL * problem.sample_weight.sum())

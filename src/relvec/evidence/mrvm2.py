"""From all functions downwards, with a prior for every function and class.

Solves   α_nc = (2τ + 1)/(w_nc² + 2ν), (5) of Psorakis et al. 2010, iterated
Given    a multinomial probit coded by classes, and its lower bound of the evidence
By       one update of α, then one of the weights and auxiliary variables, in turn; a
         function leaves when α is beyond a threshold for all classes
Until    no log α changes by more than ``tol``, or after a given number of steps

(5) has no posterior variance: a function must explain four times as much as the
evidence asks of it, q² > 4s, or it fades out. With the variance it is EM's update.
The weights are small at first and would take most functions with them: so α is left as
it is for a few steps. And it matters that they are not followed to their mode, where
α would run away from what two classes have in common.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.hyperprior import Hyperprior
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.solver import Search, Solver
from relvec.evidence.updates import Gammas, MacKay
from relvec.likelihoods import Gaussian, Likelihood
from relvec.parameters import (
    check_choice,
    check_count,
    check_flag,
    check_level,
    check_not_negative,
    check_positive,
)
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices

_BEYOND = 1e6  # times the threshold, where α stays
_TOL = 1e-2  # of log α; on iris 1e-4 takes 4003 steps for 49, and moves p by 0.1
_STANDSTILL = 1e-6  # change of log α at which more steps are of no use


@dataclass(frozen=True, eq=False, repr=False)
class Mrvm2(Solver):
    """Settings of ``multi_class="mrvm2"``.

    Parameters
    ----------
    tau, nu : float, default=0.0
        Shape and rate of the Gamma distribution over the prior precisions.
    threshold : float, default=1e5
        A function leaves when its precisions are beyond this for all classes, its
        values having a mean square of one.
    posterior_variance : bool, default=False
        Whether the update of a precision counts the posterior variance of the weight
        beside its square, as EM does, or not, as (5) of the paper is printed.
    convergence : {"N", "A"}, default="N"
        Whether the search ends after as many steps as there are rows, or as soon as no
        logarithm of a precision changes by more than ``tol``. A row of weight v counts
        v times, but no more than ten times.
    tol : float, optional
        For ``convergence="A"``, by default 1e-2; the steps become short long before
        they end.
    warm_up : int, default=5
        Steps before precisions begin to move.
    passes : int, default=1
        λ of ``convergence="N"``: steps for each row.
    weights : {"mode", "last"}, default="mode"
        Whether weights are followed to their mode at the end, or are those of the last
        step, as published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Mrvm2
    >>> X, y = load_iris(return_X_y=True)
    >>> scheme = Mrvm2(convergence="A")
    >>> model = RVC(gamma=0.1, multi_class=scheme).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    tau: float = 0.0
    nu: float = 0.0
    threshold: float = 1e5
    posterior_variance: bool = False
    convergence: str = "N"
    tol: float | None = None
    warm_up: int = 5
    passes: int = 1
    weights: str = "mode"

    def __post_init__(self) -> None:
        check_not_negative("tau", self.tau)
        check_not_negative("nu", self.nu)
        check_positive("threshold", self.threshold)
        check_flag("posterior_variance", self.posterior_variance)
        check_choice("convergence", self.convergence, ("N", "A"))
        if self.tol is not None:
            check_positive("tol", self.tol)
            if self.convergence == "N":
                raise ValueError(
                    f"tol={self.tol!r} has no use with convergence='N', which counts "
                    "steps: leave it out or set convergence='A'"
                )
        check_level("warm_up", self.warm_up)
        check_count("passes", self.passes)
        if self.passes > 1 and self.convergence == "A":
            raise ValueError(
                f"passes={self.passes!r} has no use with convergence='A', which does "
                "not count steps: leave it out or set convergence='N'"
            )
        check_choice("weights", self.weights, ("mode", "last"))

    @property
    def begins_with_all(self) -> str:
        return "multi_class='mrvm2'"

    @property
    def own_tolerance(self) -> str:
        return "Mrvm2(convergence='A', tol=...)"

    @property
    def ends_at_mode(self) -> bool:
        return self.weights == "mode"

    def maximiser(self, problem: Problem, search: Search) -> FixedPoint:
        """The iteration with these settings; the tolerance is one of them."""
        update = ClassWise(
            prune=self.threshold,
            tau=self.tau,
            nu=self.nu,
            posterior_variance=self.posterior_variance,
            count=float(problem.sample_weight.sum()),
        )
        by_number = self.convergence == "N"
        left = self.warm_up + self.passes * problem.n_visits - problem.steps_before
        return FixedPoint(
            update,
            tol=_STANDSTILL if by_number else self.tol or _TOL,
            enough=max(0, left) if by_number else None,
            warm_up=max(0, self.warm_up - problem.steps_before),
            deadline=search.deadline,
        )

    def starting_precision(self, n_basis: int, known: Array | None) -> Array | None:
        return known  # that of every class


@dataclass(frozen=True)
class ClassWise(MacKay):
    """The update of mRVM2.

    Threshold and start are those of functions with a mean square of one, whatever the
    unit of the kernel is.
    """

    prune: float = 1e5
    tau: float = 0.0
    nu: float = 0.0
    posterior_variance: bool = False
    count: float = 1.0  # Σv
    bounded: ClassVar[bool] = True
    plain: ClassVar[bool] = True

    def starting(self, problem: Problem, active: Indices) -> Array:
        alpha = self._started(problem, active, 1 / self.count)
        return np.broadcast_to(alpha, (problem.y.shape[1], len(active)))

    def weights(self, problem: Problem, active: Indices, alpha: Array) -> Array:
        """As they were, or those for which the auxiliary variables are the labels."""
        if problem.start_weights is not None:
            return super().weights(problem, active, alpha)
        n_outputs = problem.y.shape[1]
        labels = Gaussian.known(1.0, n_outputs)
        nothing = np.zeros((n_outputs, len(active)))
        mode = posterior_at_mode(problem, labels, active, alpha, nothing)
        return mode.posterior.mean

    def staying(self, posterior: Posterior, updated: Array) -> AnyArray:
        return np.any(updated < self._threshold, axis=0)

    def moved(self, before: Array, after: Array) -> Array:
        ends = (np.minimum(each, self._threshold) for each in (before, after))
        return np.abs(np.subtract(*map(np.log, ends)))

    def priors(self, problem: Problem, active: Indices) -> Gammas:
        # ν is in the user's units, as b of a hyperprior is.
        return Gammas.of(Hyperprior(a=self.tau, b=self.nu), problem, active)

    def precisions(self, posterior: Posterior, priors: Gammas) -> Array:
        moments = posterior.mean**2 + 2 * priors.b
        if self.posterior_variance:
            moments = moments + posterior.variances
        most = _BEYOND * self._threshold
        return (2 * self.tau + 1) / np.maximum(moments, (2 * self.tau + 1) / most)

    def log_hyperprior(
        self, problem: Problem, posterior: Posterior, likelihood: Likelihood
    ) -> float:
        return 0.0

    @property
    def _threshold(self) -> float:
        return self.prune / self.count

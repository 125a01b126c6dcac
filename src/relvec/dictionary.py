"""Sparse Bayesian learning over any dictionary, as Tipping's SparseBayes offers it."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from relvec.design import DenseDesign
from relvec.evidence import (
    BottomUp,
    Callback,
    Deadline,
    EvidenceFit,
    HeldPrior,
    Limits,
    Problem,
    Solver,
    SolverContext,
    Status,
    TopDown,
    WarmStart,
    as_solver,
    check_noise_settings,
    solved,
)
from relvec.likelihoods import Bernoulli, Likelihood, gaussian_noise
from relvec.parameters import (
    as_floats,
    as_weights,
    check_choice,
    check_count,
    check_level,
    check_positive,
)
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True)
class SparseBayes:
    """What :func:`sparse_bayes` found.

    Attributes
    ----------
    relevant : ndarray of shape (n_relevant,)
        Columns of the dictionary in the model, ascending.
    weights : ndarray of shape (n_relevant,)
        Posterior mean of their weights.
    covariance : ndarray of shape (n_relevant, n_relevant)
        Posterior covariance of their weights.
    prior_precision : ndarray of shape (n_relevant,)
        Precision α of each weight's prior.
    noise_variance : float
        Of the Gaussian noise; nan for the Bernoulli likelihood.
    log_evidence : float
        Log marginal likelihood with all constants, in the units of ``y``; for the
        Bernoulli likelihood by Laplace's approximation.
    history : dict of ndarray
        ``iteration``, ``log_evidence``, ``n_vectors``, ``gamma`` (effective number of
        parameters), ``noise_std`` and ``seconds``, one entry per accepted step.
    status : Status
        How the search ended; its value says what that means and what to do.
    n_iter : int
        Accepted steps: rounds of the pool, or single actions.
    n_basis : int
        Columns of the dictionary.
    posterior : Posterior
        The Gaussian over the weights, in factored form.
    """

    relevant: Indices
    weights: Array
    covariance: Array
    prior_precision: Array
    noise_variance: float
    log_evidence: float
    history: dict[str, AnyArray]
    status: Status
    n_iter: int
    n_basis: int
    posterior: Posterior

    def predict(self, Phi: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of Φw on new rows of the whole dictionary.

        The variance is that of the weights alone: add ``noise_variance`` for new
        targets. For the Bernoulli likelihood Φw are log odds.

        Parameters
        ----------
        Phi : array-like of shape (n_rows, n_basis)
            All functions on the new rows.

        Returns
        -------
        mean, variance : ndarray of shape (n_rows,)
            Of the linear predictor.
        """
        rows = as_floats("Phi", Phi, 2)
        if rows.shape[1] != self.n_basis:
            raise ValueError(
                f"Phi has {rows.shape[1]} columns and the dictionary {self.n_basis}: "
                "give all of them, in the same order"
            )
        mean, variance = self.posterior.predict(rows[:, self.relevant])
        return mean[:, 0], variance[:, 0]


def sparse_bayes(
    Phi: ArrayLike,
    y: ArrayLike,
    likelihood: Literal["gaussian", "bernoulli"] = "gaussian",
    *,
    sample_weight: ArrayLike | None = None,
    noise_variance: float | Literal["estimate"] = "estimate",
    prior_precision: ArrayLike | Literal["estimate"] = "estimate",
    solver: Literal["sequential", "mackay", "em", "variational"]
    | BottomUp
    | TopDown = "sequential",
    tol: float = 1e-4,
    max_iter: int = 10_000,
    max_seconds: float | None = None,
    random_state: int = 0,
    callback: Callback | None = None,
) -> SparseBayes:
    """Maximise the evidence of a sparse linear model over a dictionary.

    The model is ``y = Phi @ w`` plus Gaussian noise, or ``P(y = 1) = σ(Phi @ w)``,
    with an independent Gaussian prior on each weight whose precision is estimated;
    most precisions become infinite and their columns leave the model [1]_. Nothing is
    centred and no constant is added: put a column of ones into the dictionary.

    Parameters
    ----------
    Phi : array-like of shape (n_samples, n_basis)
        The dictionary, any columns whatever.
    y : array-like of shape (n_samples,)
        Targets; 0 and 1 for ``likelihood="bernoulli"``.
    likelihood : {"gaussian", "bernoulli"}, default="gaussian"
        Regression or two-class classification. Priors may become as broad as the
        evidence asks for; :class:`RVC` bounds them where classes can be separated.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts; rows of weight zero are as if absent.
    noise_variance : "estimate" or float, default="estimate"
        Variance of the Gaussian noise, if it is known.
    prior_precision : "estimate", float or array-like of shape (n_basis,), \
default="estimate"
        Precisions α of the weights' priors, if they are known: one for all columns or
        one for each, infinite for a column to leave out. Nothing is selected then. The
        result is the posterior of all other columns, its mean the penalised
        least-squares estimate with λ = α·noise_variance, and of the noise, if that is
        to be estimated, the evidence for these α is maximised.
    solver : {"sequential", "mackay", "em", "variational"}, BottomUp or TopDown, \
default="sequential"
        Column by column, or by one of the classic iterations that begin with all
        columns and prune them, for small dictionaries. A :class:`BottomUp` is the first
        with its settings, a :class:`TopDown` one of the others.
    tol : float, default=1e-4
        Nats that a column must gain to enter. The search ends when none does, or when
        three rounds in succession gain less than this for each observation. It is also
        the largest change of log α and of the log noise at the end.
    max_iter : int, default=10000
        Most steps to take.
    max_seconds : float, optional
        Longest time to take.
    random_state : int, default=0
        Seed for a solver's ``selection="random"``.
    callback : callable, optional
        Called with a snapshot after every accepted step; a true answer stops.

    Returns
    -------
    SparseBayes
        The columns in the model, their weights, and how they were found.

    References
    ----------
    .. [1] M. E. Tipping and A. C. Faul (2003), "Fast marginal likelihood maximisation
       for sparse Bayesian models", AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec import sparse_bayes
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.standard_normal((60, 20))
    >>> y = 3 * Phi[:, 4] - 2 * Phi[:, 11] + 0.1 * rng.standard_normal(60)
    >>> found = sparse_bayes(Phi, y)
    >>> {4, 11} <= set(found.relevant.tolist())
    True
    >>> found.weights[found.relevant == 4].round(1)
    array([3.])
    """
    matrix, targets, weights = _present_rows(Phi, y, sample_weight)
    columns, solving = _columns(prior_precision, solver, matrix.shape[1])
    matrix = matrix if len(columns) == matrix.shape[1] else matrix[:, columns]
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    if max_seconds is not None:
        check_positive("max_seconds", max_seconds)
    check_level("random_state", random_state)
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of a snapshot; got {callback!r}")
    limits = Limits(max_iter, Deadline.after(max_seconds))
    if likelihood != "gaussian":
        check_noise_settings(solving, f"likelihood={likelihood!r} has none")
    elif noise_variance != "estimate":
        check_noise_settings(solving, f"noise_variance={noise_variance!r} is known")
    initial = solving.initial_noise_variance
    problem = Problem(
        design=DenseDesign.weighted(matrix, weights),
        y=targets[:, None],
        likelihood=_likelihood(likelihood, targets, weights, noise_variance, initial),
        sample_weight=weights,
        start=solving.warm_start(matrix.shape[1], WarmStart()),
    )
    constant = _constant_column(matrix) if solving.begins_with_constant else None
    context = SolverContext(tol, random_state, constant=constant)
    fit = solved(problem, solving, context, limits, callback)
    return _named(fit, columns, np.shape(Phi)[1])


def _named(fit: EvidenceFit, columns: Indices, n_basis: int) -> SparseBayes:
    """The fit, with the columns it was given numbered as those of the dictionary."""
    posterior = replace(fit.posterior, active=columns[fit.posterior.active])
    return SparseBayes(
        relevant=posterior.active,
        weights=posterior.mean[0],
        covariance=posterior.covariance[0],
        prior_precision=posterior.prior_precision,
        noise_variance=float(fit.likelihood.scale[0] ** 2),
        log_evidence=fit.log_evidence,
        history=fit.history,
        status=fit.status,
        n_iter=fit.n_iter,
        n_basis=n_basis,
        posterior=posterior,
    )


def _columns(precision: Any, solver: Any, n_basis: int) -> tuple[Indices, Solver]:
    """The columns that may be in the model, and how their α are found."""
    everything, solving = np.arange(n_basis), as_solver(solver)
    if isinstance(precision, str) and precision == "estimate":
        return everything, solving
    if solver != "sequential":
        raise ValueError(
            f"solver={solver!r} is to search for precisions, and prior_precision gives "
            "them: leave out one of the two"
        )
    wanted = f"'estimate', a positive number, or one for each of {n_basis} columns"
    try:
        given = np.asarray(precision, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(())
    if given.shape not in ((), (n_basis,)) or not np.all(given > 0):
        raise ValueError(
            f"prior_precision must be {wanted}; got {precision!r}. A weight without a "
            "penalty has a small one, a column to leave out an infinite one"
        )
    alpha = np.broadcast_to(given, n_basis)
    finite = np.flatnonzero(np.isfinite(alpha))
    if finite.size == 0:
        msg = "prior_precision leaves out every column: at least one must be finite"
        raise ValueError(msg)
    return finite, HeldPrior(alpha[finite])


def _present_rows(Phi: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
    """Checked arrays without the rows of weight zero."""
    matrix = as_floats("Phi", Phi, 2)
    targets = as_floats("y", y, 1)
    if matrix.size == 0:
        msg = f"Phi has shape {matrix.shape}: it needs at least one row and one column"
        raise ValueError(msg)
    if len(targets) != len(matrix):
        msg = f"Phi has {len(matrix)} rows and y {len(targets)} entries: one per row"
        raise ValueError(msg)
    weights = as_weights(sample_weight, len(targets))
    present = weights > 0
    if present.all():
        return matrix, targets, weights
    return matrix[present], targets[present], weights[present]


def _likelihood(
    name: str,
    y: Array,
    sample_weight: Array,
    noise_variance: Any,
    initial: float | None,
) -> Likelihood:
    check_choice("likelihood", name, ("gaussian", "bernoulli"))
    if name == "gaussian":
        noise = (sample_weight, noise_variance)
        return gaussian_noise(y[:, None], *noise, initial=initial)
    if noise_variance != "estimate":
        msg = f"noise_variance={noise_variance!r} has no meaning for two classes"
        raise ValueError(msg)
    if not np.array_equal(np.unique(y), (0, 1)):
        msg = "y must hold 0 and 1, both of them, for likelihood='bernoulli'"
        raise ValueError(msg)
    return Bernoulli()


def _constant_column(matrix: Array) -> int:
    """The first column without variation."""
    constant = np.flatnonzero((np.ptp(matrix, axis=0) == 0) & (matrix[0] != 0))
    if constant.size == 0:
        raise ValueError(
            "init='bias' needs a constant column and Phi has none: add a column of "
            "ones or use init='projection'"
        )
    return int(constant[0])

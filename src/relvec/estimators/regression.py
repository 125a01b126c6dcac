"""Relevance vector regression."""

from typing import Any, Literal, overload

import numpy as np
from scipy.stats import t as student_t
from sklearn.base import RegressorMixin

from relvec.estimators.callbacks import Task
from relvec.estimators.candidates import Candidates
from relvec.estimators.incremental import IncrementalModel
from relvec.evidence import EvidenceFit, as_hyperprior, as_top_down
from relvec.likelihoods import gaussian_noise
from relvec.parameters import as_floats, check_fraction, check_noise_variance
from relvec.typing import Array


class RVR(RegressorMixin, IncrementalModel):
    """Relevance vector regression.

    A kernel model that keeps a handful of training rows, estimates its own noise and
    returns error bars; there is no C or epsilon to tune [1]_, [2]_.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid", "cosine", \
"chi2", "additive_chi2", "precomputed"}, callable, list of these, or None, default="rbf"
        The kernel: a name, as in :class:`sklearn.svm.SVR` and scikit-learn's
        ``pairwise_kernels``; one of :mod:`relvec.kernels` or of scikit-learn's Gaussian
        processes; or any callable of two arrays of rows that returns the matrix of
        their kernel values. Rows that are no numbers reach it as arrays of objects.
        A list makes one dictionary of several kernels, on the same centres. With None
        the features themselves are the dictionary: sparse linear regression.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels by name that have one: ``"scale"`` is
        1 / (n_features · X.var()), ``"auto"`` is 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Centre ``y`` by its weighted mean and let a constant be one of the candidates.
    kernel_learning : {"width", "ard", "auto", "adaptive", "adaptive-ard", "weights"} \
or Adaptive, optional
        What is learned of the kernel during the fit: one length scale, one for each
        feature, the better of these two; one for each vector, or for each vector and
        feature, with fewer vectors than the kernel as it is given, unless they halve
        the squared error. In a list the one kernel that has length scales learns. With
        "weights" a list of kernels is mixed into one, a convex combination whose
        weights are learned from the evidence; otherwise each has functions of its own.
        An :class:`Adaptive` is the algorithm of [3]_ with its settings.
    criterion : {"auto", "loo", "gcv", "evidence", "cv"}, default="auto"
        What judges the kernels that are tried: rows left out one by one, each with the
        function centred on it, in closed form; generalised cross-validation with a
        charge of three observations for each function; the evidence, which prefers
        narrow kernels; or three folds. "auto" is the sum of the first two, of kernels
        that a Gaussian process proposes; in a list, and for known noise, of a grid.
        "weights" and :class:`Adaptive` have the evidence.
    n_restarts : int, default=10
        How many widths to begin with, for "width", "ard" and "auto". With 1 there is
        no grid: one width, from the median distance between rows. A process has three.
    solver : {"sequential", "mackay", "em", "variational"} or TopDown, \
default="sequential"
        How the evidence is maximised: function by function, or by one of the classic
        iterations that begin with all functions and prune them, for small data. A
        :class:`TopDown` is one of these with its settings.
    polish : bool, default=True
        Whether functions pruned by "mackay" or "em" get a second chance: the
        sequential search goes on where the iteration ended, begins once more from
        nothing, and the higher evidence stays. Not with an informative hyperprior.
    hyperprior : Hyperprior or its four numbers, optional
        Gamma distributions over the precisions of weights and noise, for the solvers
        that begin with all functions; flat by default.
    schedule : {"pool", "greedy"}, default="pool"
        Whether each pass over the candidates lets many of them join a pool, where all
        is searched at once, or only the best one, as the paper has it: slow, for
        teaching and reference.
    design : {"auto", "dense", "sparse", "low-rank", "streamed"}, default="auto"
        How the dictionary is held: as a matrix, as a sparse one for kernels of finite
        support, by its low rank, or not at all, its rows read block by block.
        ``"auto"`` chooses by shape, kernel and ``memory_budget``, and says so with
        ``verbose=1``.
    candidates : {"auto", "all"}, int or array of shape (n_centres, n_features), \
default="auto"
        Where kernel functions may be centred: on all training rows, on so many drawn
        by chance, or on the points (or objects) given. ``"auto"`` is 10000 rows at
        most, divided by the number of kernels. For ``kernel="precomputed"`` a number
        says how many columns a matrix has that need not be square.
    noise_variance : "estimate" or float, default="estimate"
        Variance of the noise, if it is known. An estimate is never below 1e-12 of the
        mean square of the (centred) targets.
    selection : {"gain", "random", "cyclic"}, default="gain"
        Which function to act on: the one with the greatest gain in evidence, a random
        one, or the next in order, among those that gain.
    init : {"projection", "bias"}, default="projection"
        Start from the function with the largest normalised projection onto the
        targets, or from the constant, unless it gains nothing, as it rarely does
        where targets are centred.
    tol : float, default=1e-4
        Largest change of the logarithms of prior precisions and noise at the end; a
        function must gain more than this many nats to enter.
    max_iter : int, default=10000
        Most steps to take.
    max_seconds : float, optional
        Longest time to search.
    min_vectors : int or float, optional
        For the solvers that begin with all functions: stop as soon as so many are
        left, or such a fraction of all.
    warm_start : bool, default=False
        Begin where the last call of ``fit`` ended: with its functions, as far as they
        are candidates again, their prior precisions and its noise.
    memory_budget : float or str, default="2GB"
        Bytes that a fit may take beside the data, as a number or in words such as
        ``"500MB"``. What cannot fit is refused before it is allocated.
    random_state : int, RandomState instance or None, default=None
        For everything drawn by chance: candidates, where there are too many, and
        ``selection="random"``. None is the same every time.
    verbose : int, default=0
        Log progress through the logger "relvec", more often the higher it is.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_vectors,)
        Numbers of the training rows that are relevance vectors, through all blocks; of
        the columns for ``kernel="precomputed"``, of the features for None; -1 for
        centres given as ``candidates``.
    relevance_kernel_ : ndarray of shape (n_vectors,)
        Number of each vector's kernel in the list of kernels; 0 if there is one.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels, for ``kernel_learning="weights"``.
    kernel_ : Kernel
        The kernel with the length scales that were learned, where all vectors share
        them: for "width", "ard" and "auto".
    length_scales_ : ndarray of shape (n_vectors,) or (n_vectors, n_features)
        Learned length scales of each vector, or of each and each feature that the
        kernel sees; nan for vectors of kernels without. Not for "weights".
    feature_relevance_ : ndarray of shape (n_features,)
        Var(xⱼ)·E[(∂f/∂xⱼ)²] of the fitted function f, scaled to sum to 1; all zero if
        it is constant. Where length scales were learned.
    kernel_history_ : dict of ndarray
        ``n_rows``, ``length_scale``, ``criterion`` (the lower the better),
        ``log_evidence`` and ``n_vectors`` of every kernel that was tried; for
        "adaptive" of every dictionary, thinned out, by its middle length scale.
    relevance_vectors_ : ndarray of shape (n_vectors, n_features)
        These rows, or (n_vectors,) objects; empty for ``kernel="precomputed"`` and
        None.
    dual_coef_ : ndarray of shape (n_vectors,)
        Posterior mean of the weights.
    intercept_ : float
        The constant of the model.
    prior_precision_ : ndarray of shape (n_vectors,)
        Precision of each weight's prior.
    intercept_precision_ : float
        Precision of the constant's prior; infinite if the constant is not a vector.
    noise_variance_ : float
        Variance of the noise.
    degrees_of_freedom_ : float
        Of the Student-t distribution of predictions with ``solver="variational"``,
        which integrates the noise out; infinite, so Gaussian, for the others.
    log_evidence_ : float
        Log marginal likelihood with all constants, in the units of ``y``.
    n_iter_ : int
        Steps taken: rounds of the pool, or single actions.
    history_ : dict of ndarray
        ``iteration``, ``log_evidence``, ``n_vectors``, ``gamma``, ``noise_std`` and
        ``seconds`` after every step.
    status_ : Status
        How the search ended; its value says what to do about it.
    model_ : SparseModel
        All that predicting needs.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if ``X`` had names that are all strings.

    See Also
    --------
    RVC : The same for two classes.
    sparse_bayes : The same over any dictionary.

    Notes
    -----
    The error bars add the noise to the uncertainty of the weights. Far from the
    relevance vectors of a local kernel the latter vanishes, so the bars are too small
    there: do not trust them where there are no data.

    References
    ----------
    .. [1] M. E. Tipping (2001), "Sparse Bayesian learning and the relevance vector
       machine", Journal of Machine Learning Research 1, 211-244.
    .. [2] M. E. Tipping and A. C. Faul (2003), "Fast marginal likelihood maximisation
       for sparse Bayesian models", AISTATS.
    .. [3] J. Yuan, L. Bo, K. Wang and T. Yu (2009), "Adaptive spherical Gaussian kernel
       in sparse Bayesian learning framework for nonlinear regression", Expert Systems
       with Applications 36, 3982-3989.

    Examples
    --------
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = RVR(gamma=1 / 3**2).fit(X, y)
    >>> len(model.relevance_) < 10
    True
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> std.round(1)
    array([0.1, 0.1])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        kernel_learning: Any = None,
        criterion: str = "auto",
        n_restarts: int = 10,
        solver: str = "sequential",
        polish: bool = True,
        hyperprior: Any = None,
        schedule: str = "pool",
        design: str = "auto",
        candidates: Any = "auto",
        noise_variance: Any = "estimate",
        selection: str = "gain",
        init: str = "projection",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        min_vectors: float | None = None,
        warm_start: bool = False,
        memory_budget: Any = "2GB",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.kernel_learning = kernel_learning
        self.criterion = criterion
        self.n_restarts = n_restarts
        self.solver = solver
        self.polish = polish
        self.hyperprior = hyperprior
        self.schedule = schedule
        self.design = design
        self.candidates = candidates
        self.noise_variance = noise_variance
        self.selection = selection
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.min_vectors = min_vectors
        self.warm_start = warm_start
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_noise_variance(self.noise_variance)

    def _fit(self, X: Any, y: Any, sample_weight: Any, task: Task) -> None:
        self.__dict__.pop("accumulated_", None)
        training = self._training(X, y, sample_weight, y_numeric=True)
        values, weights = as_floats("y", training.y, 1), training.weight
        offset = 0.0
        if self.fit_intercept:
            offset = float(np.average(values, weights=weights))
        targets = _centred(values, offset)
        noise = gaussian_noise(
            targets[:, None],
            weights,
            self.noise_variance,
            offset,
            self._initial_noise_variance,
        )
        self._maximise(training, targets[:, None], noise, task, offset)

    @property
    def _initial_noise_variance(self) -> float | None:
        """From an earlier fit or from settings; None for a guess."""
        if self.warm_start and hasattr(self, "model_"):
            return self.noise_variance_
        top_down = as_top_down(self.solver)
        return top_down.initial_noise_variance if top_down else None

    def _keep(self, candidates: Candidates, fit: EvidenceFit, offset: float) -> None:
        super()._keep(candidates, fit, offset)
        self.noise_variance_ = float(fit.likelihood.scale[0] ** 2)
        self.degrees_of_freedom_ = np.inf
        top_down = as_top_down(self.solver)
        estimated = fit.likelihood.parameter_ceiling is not None
        if top_down is not None and top_down.update == "variational" and estimated:
            prior = as_hyperprior(self.hyperprior, top_down)
            self.degrees_of_freedom_ = 2 * prior.c + fit.n_observations
            # From 1/E[β] to E[1/β].
            self.noise_variance_ *= _variance_factor(self.degrees_of_freedom_)

    def _moments(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the function (n_rows,) each."""
        mean, variance = self._latent(X)
        return mean[:, 0], variance[:, 0]

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict targets, with their standard deviation if asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowBlocks
            Rows to predict; for ``kernel="precomputed"`` kernel values between them
            and all training rows. Blocks are read one at a time.
        return_std : bool, default=False
            Whether to return the standard deviation of the targets, noise included.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predicted targets.
        std : ndarray of shape (n_samples,)
            Their standard deviation; only with ``return_std=True``.
        """
        mean, variance = self._moments(X)
        if not return_std:
            return mean
        return mean, np.sqrt(variance + self.noise_variance_)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """Bounds between which a target lies with the given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowBlocks
            Rows to predict.
        level : float, default=0.9
            The probability, the same below and above.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)
            Quantiles of a Gaussian; of a Student-t distribution with
            ``degrees_of_freedom_`` where the noise was integrated out.

        Examples
        --------
        >>> from relvec import RVR
        >>> from relvec.data import noisy_sinc
        >>> X, y = noisy_sinc(100, seed=0)
        >>> lower, upper = RVR(gamma=1 / 9).fit(X, y).predict_interval(X, level=0.9)
        >>> bool(0.8 < np.mean((lower < y) & (y < upper)) < 1)
        True
        """
        check_fraction("level", level)
        mean, variance = self._moments(X)
        freedom = self.degrees_of_freedom_
        noise = self.noise_variance_ / _variance_factor(freedom)
        half = student_t.ppf(0.5 + level / 2, freedom) * np.sqrt(variance + noise)
        return mean - half, mean + half


def _variance_factor(degrees_of_freedom: float) -> float:
    """Variance of a Student-t distribution of unit scale, where it has one."""
    if np.isinf(degrees_of_freedom) or degrees_of_freedom <= 2:
        return 1.0
    return degrees_of_freedom / (degrees_of_freedom - 2)


def _centred(y: Array, offset: float) -> Array:
    """y − offset; exactly zero where only rounding is left of it."""
    targets = y - offset
    largest = np.max(np.abs(y))
    if np.max(np.abs(targets)) <= 8 * np.finfo(float).eps * largest:
        return np.zeros_like(targets)
    return targets

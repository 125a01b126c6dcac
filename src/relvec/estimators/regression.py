"""Relevance vector regression."""

from functools import partial
from typing import Any, Self

import numpy as np

from relvec.estimators.base import SparseKernelModel
from relvec.estimators.incremental import IncrementalModel
from relvec.estimators.kernel_model import KernelRegressor, with_callbacks
from relvec.evidence import Deadline
from relvec.kernel_search import learns_together
from relvec.modelling import OUTPUTS, Monitor, Targets, checked_by_folds, has_prior
from relvec.parameters import check_choice, check_one_target
from relvec.typing import Array


class DrawnFunctions(SparseKernelModel):
    """A regression whose posterior can be drawn from."""

    def sample_posterior(self, X: Any, n: int = 1, random_state: Any = None) -> Array:
        """Functions drawn from the posterior, at all rows together.

        Each is one function of X that the data leave possible, smooth as its kernel is,
        and without noise. At every row they have the mean that ``predict`` has, and the
        variance of its error bars but for the noise. With ``uncertainty="augmented"``
        what these gain far from the data is correlated between rows as the process is
        that they gain it by.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows at which the functions are wanted.
        n : int, default=1
            How many functions.
        random_state : int, RandomState instance or None, default=None
            For the draws. None is always the same.

        Returns
        -------
        ndarray of shape (n, n_samples) or (n, n_samples, n_outputs)
            A function in every row, or one of each output.

        Examples
        --------
        >>> import numpy as np
        >>> from relvec import RVR
        >>> from relvec.data import noisy_sinc
        >>> X, y = noisy_sinc(100, seed=0)
        >>> line = np.linspace(-10, 10, 500)[:, None]
        >>> functions = RVR().fit(X, y).sample_posterior(line, 200)
        >>> functions.shape
        (200, 500)
        >>> peaks = functions.max(axis=1)  # how high is the highest point?
        >>> bool(0.9 < peaks.mean() < 1.1), bool(peaks.std() < 0.1)
        (True, True)
        """
        drawn = self._drawn(X, n, random_state)
        return np.stack([self.model_.given(one).mean for one in drawn])


# What outputs do not share.
_ALONE = (
    "another noise than Gaussian, a partition, a hyperprior or a kernel learned for "
    "each vector or by weights"
)


class RVR(KernelRegressor, DrawnFunctions, IncrementalModel):
    """Relevance vector regression.

    A kernel model that keeps a handful of training rows, learns the width of its
    kernel, estimates its own noise and returns error bars; there is nothing to tune
    [1]_, [2]_.

    Parameters
    ----------
    kernel : {"rbf", "auto", "laplacian", "linear", "poly", "polynomial", "sigmoid", \
"cosine", "chi2", "additive_chi2", "precomputed"}, callable, list of these, or None, \
default="rbf"
        The kernel: a name, as in :class:`sklearn.svm.SVR` and scikit-learn's
        ``pairwise_kernels``; "auto" for the better of the Gaussian, two Matérn kernels
        and the linear one, or for "rbf" if ``gamma`` or ``kernel_learning`` is given,
        and in lists; one of :mod:`relvec.kernels` or of scikit-learn's Gaussian
        processes; or any callable of two arrays of rows that returns the matrix of
        their kernel values. Rows that are no numbers reach it as arrays of objects.
        A list makes one dictionary of several kernels, on the same centres. With None
        the features themselves are the dictionary: sparse linear regression.
    gamma : {"learn", "scale", "auto"} or float, default="learn"
        Coefficient of the kernels by name that have one. ``"learn"`` learns the length
        scale of "rbf" and "auto", or one of each feature where the data pay for them;
        for all other kernels it is ``"scale"``, 1 / (n_features · X.var()). ``"auto"``
        is 1 / n_features, as in :class:`sklearn.svm.SVR`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Centre ``y`` by its weighted mean and let a constant be one of the candidates.
    kernel_learning : {"width", "ard", "auto", "adaptive", "adaptive-ard", "weights"}, \
LengthScales or Adaptive, optional
        What is learned of the kernel during the fit, whatever ``gamma`` is: one length
        scale, one for each feature, the better of these two; one for each vector, or
        for each vector and feature. In a list the one kernel that has length scales
        learns. With "weights" a list of kernels is mixed into one, a convex combination
        whose weights are learned from the evidence; otherwise each has functions of its
        own.
        A :class:`LengthScales` says how kernels are judged and where the search begins;
        an :class:`Adaptive` is the algorithm of [3]_.
    solver : {"sequential", "mackay", "em", "variational"}, BottomUp or TopDown, \
default="sequential"
        How the evidence is maximised: function by function, or by one of the classic
        iterations that begin with all functions and prune them, for small data. A
        :class:`BottomUp` is the first with its settings, a :class:`TopDown` another.
    design : {"auto", "dense", "sparse", "streamed"}, default="auto"
        How the dictionary is held: as a matrix, as a sparse one for kernels of finite
        support, or not at all. It is then searched on some rows and candidates first,
        and ``"streamed"`` keeps as little as possible from one pass over the rows to
        the next. ``"auto"`` chooses by shape, kernel and ``memory_budget``, and says so
        with ``verbose=1``. ``"low-rank"`` is deprecated and means ``"auto"``.
    candidates : {"auto", "all"}, int or array of shape (n_centres, n_features), \
default="auto"
        Where kernel functions may be centred: on all training rows, on so many drawn
        by chance, or on the points (or objects) given. ``"auto"`` is every row of an
        array; of rows in blocks, and for solvers and kernel learning that ask for all
        functions at once, 10000 at most, divided by the number of kernels. Of very many
        candidates a search looks at as many as bring something. For
        ``kernel="precomputed"`` a number says how many columns a matrix has that need
        not be square.
    partition : {"split-merge", "incremental", "working-set", "sample"}, SplitMerge, \
Incremental or WorkingSet, optional
        Fit by parts of the rows: by the algorithms of [4]_, or by functions that some
        rows drawn have found and all rows then weigh, "sample". Rows in blocks stay
        where they are, and so do those of a Dask collection, for which "sample" is the
        default: only sums over them come here.
    partition_size : "auto" or int, default="auto"
        Rows of a partition; "auto" is what the model of a few rows suggests, section
        4.2.1 of [4]_. For "sample" it is the number of rows drawn, by default 10000.
    uncertainty : {"augmented", "plain"}, default="augmented"
        Whether error bars know where the data are: a Gaussian process about the model
        widens them where rows tell it nothing. Plain ones are those of the weights,
        which shrink to the noise there, and take half the time. Kernels that are not
        known to be positive definite have plain ones only.
    outputs : {"shared", "independent"}, default="shared"
        How several targets of a row, ``y`` of shape (n_samples, n_outputs), are
        modelled: by the same vectors with one prior precision each, in units of every
        output's noise; or by a model for each output, with vectors, a kernel and a
        noise of its own.
    noise : {"gaussian", "student-t", "heteroscedastic", "poisson"} or StudentT, \
default="gaussian"
        Distribution of the noise: Gaussian, the same everywhere. With ``"student-t"``,
        noise of heavy tails [5]_, rows that are far off count for little; a
        :class:`StudentT` says how heavy the tails are, which are estimated otherwise.
        With ``"heteroscedastic"`` the variance of Gaussian noise has a sparse model of
        its own if rows left out ask for it. Both are for rows in memory, and take
        several fits. With ``"poisson"`` targets are counts, and the logarithm of their
        rate is modelled: predictions are rates.
    noise_variance : "estimate", float or list of float, default="estimate"
        Variance of Gaussian noise, if it is known, perhaps for each output. An estimate
        is never below 1e-12 of the mean square of the (centred) targets.
    tol : float, default=1e-4
        Nats for each observation. The search ends when neither a batch of functions nor
        a single one gains more; with ``BottomUp(schedule="greedy")`` it is nats of all
        observations. It is also the largest change of logarithms of precisions and
        noise at the end.
    max_iter : int, default=10000
        Most steps to take.
    max_seconds : float, optional
        Longest time to take, from the call of ``fit``. What was found by then becomes
        the model, which may take a tenth of that time more, or half a second.
    warm_start : bool, default=False
        Begin where the last call of ``fit`` ended: with its functions, as far as they
        are candidates again, their prior precisions and its noise; what a solver has
        pruned stays out, unless its kernel has changed. Not for "adaptive".
    memory_budget : float or str, default="2GB"
        Bytes that a fit may take beside the data, as a number or in words such as
        ``"500MB"``. What cannot fit is refused before it is allocated.
    random_state : int, RandomState instance or None, default=None
        For everything drawn by chance: candidates and rows, where there are too many to
        look at all, and a solver's ``selection="random"``. None is always the same.
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
        them: for ``gamma="learn"``, "width", "ard" and "auto". For ``kernel="auto"``
        the kernel that was chosen.
    length_scales_ : ndarray of shape (n_vectors,) or (n_vectors, n_features)
        Learned length scales of each vector, or of each and each feature that the
        kernel sees; nan for vectors of kernels without. Not for "weights".
    feature_relevance_ : ndarray of shape (n_features,)
        Var(xⱼ)·E[(∂f/∂xⱼ)²] of the fitted function f, scaled to sum to 1; all zero if
        it is constant. Where length scales were learned.
    kernel_history_ : dict of ndarray
        ``n_rows``, ``length_scale``, ``criterion`` (the lower the better),
        ``log_evidence`` and ``n_vectors`` of every kernel that was tried; for
        "adaptive" of every dictionary, thinned out, by its middle length scale. For
        ``kernel="auto"`` ``nu`` as well, how smooth a kernel is, infinite for the
        Gaussian and nan for the linear one; the first three lines, without vectors, are
        of the processes that choose, their evidence less what length scales cost.
    partition_size_, n_partitions_ : int
        Rows of a partition and how many there are; with ``partition``, as the next two.
    sparseness_ratio_ : float
        Vectors to rows of the model by which the size was found; nan if it was given.
        Near one, partitions gain nothing and the kernel is probably too narrow.
    partition_history_ : dict of ndarray
        ``n_rows`` of every set that was fitted and ``n_vectors`` that it was left with.
    relevance_vectors_ : ndarray of shape (n_vectors, n_features)
        These rows, or (n_vectors,) objects; empty for "precomputed" and None.
    dual_coef_ : ndarray of shape (n_vectors,) or (n_outputs, n_vectors)
        Posterior mean of the weights; zero where a model of one output by itself has
        no such vector.
    intercept_ : float or ndarray of shape (n_outputs,)
        The constant of the model.
    prior_precision_ : ndarray of shape (n_vectors,)
        Precision of each weight's prior; of several outputs that share it in units of
        their noise, and for "independent" of each, (n_outputs, n_vectors).
    intercept_precision_ : float
        Precision of the constant's prior; infinite if the constant is not a vector.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        Variance of the noise, corrected by rows that are predicted without themselves;
        what the evidence has is the last of ``history_["noise_std"]``. With ``y_std``
        the mean square of these; of a Student-t distribution its tails included; of
        noise that varies the mean over the training rows. Not of counts.
    degrees_of_freedom_ : float
        Of the Student-t distribution of predictions, with ``solver="variational"``,
        which integrates the noise out, and where fewer than 60 observations are left
        to estimate it from; otherwise infinite, so Gaussian. With
        ``noise="student-t"`` those of the noise. Not of counts.
    dispersion_ : float
        For "poisson", variance of log rates beside that which the model knows of.
    calibration_ : Calibration
        How well predictions hold for training rows that were left out: ``method``
        ("leave-one-out" or "folds"), ``n_rows`` and ``coverage``, the share of
        their targets in their 90 % intervals. Not after ``partial_fit``, nor for
        blocks of which no row was drawn.
    log_evidence_ : float
        Log marginal likelihood with all constants, in the units of ``y``; with
        ``noise="student-t"`` a lower bound of it.
    n_iter_ : int
        Steps taken: rounds of the search, or single actions.
    history_ : dict of ndarray
        ``iteration``, ``log_evidence``, ``n_vectors``, ``gamma``, ``noise_std`` and
        ``seconds`` after every step. Where some rows are searched first,
        ``log_evidence`` is scaled from these to all rows.
    status_ : Status
        How the search ended; its value says what to do about it.
    model_ : FittedModel
        All of the fitted model in one value, which needs no scikit-learn.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if ``X`` had names that are all strings.

    See Also
    --------
    RVC : The same for classes.
    sparse_bayes : The same over any dictionary.

    Notes
    -----
    The error bars add the noise to the uncertainty of the function: that of the
    weights, or of a process about the model where that is more. Far from the data they
    are as wide as the data have let functions vary.

    References
    ----------
    .. [1] M. E. Tipping (2001), "Sparse Bayesian learning and the relevance vector
       machine", Journal of Machine Learning Research 1, 211-244.
    .. [2] M. E. Tipping and A. C. Faul (2003), "Fast marginal likelihood maximisation
       for sparse Bayesian models", AISTATS.
    .. [3] J. Yuan, L. Bo, K. Wang and T. Yu (2009), "Adaptive spherical Gaussian kernel
       in sparse Bayesian learning framework for nonlinear regression", Expert Systems
       with Applications 36, 3982-3989.
    .. [4] D. Ben-Shimon (2006), "Accelerating the relevance vector machine via data
       partitioning", thesis, Ben-Gurion University of the Negev.
    .. [5] M. E. Tipping and N. D. Lawrence (2005), "Variational inference for Student-t
       models: robust Bayesian interpolation and generalised component analysis",
       Neurocomputing 69, 123-141.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = RVR().fit(X, y)
    >>> len(model.relevance_) < 12
    True
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> std.round(1)
    array([0.1, 0.1])

    Two outputs:

    >>> import numpy as np
    >>> several = RVR().fit(X, np.column_stack([y, 1 - 2 * y]))
    >>> several.predict(X).shape, several.dual_coef_.shape[0]
    ((100, 2), 2)

    Counts:

    >>> counts = np.random.default_rng(0).poisson(np.exp(2 + y))
    >>> RVR(noise="poisson").fit(X, counts).predict([[0.0], [4.5]]).round()
    array([20.,  8.])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "learn",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        kernel_learning: Any = None,
        solver: Any = "sequential",
        design: str = "auto",
        candidates: Any = "auto",
        partition: Any = None,
        partition_size: Any = "auto",
        uncertainty: str = "augmented",
        outputs: str = "shared",
        noise: Any = "gaussian",
        noise_variance: Any = "estimate",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
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
        self.solver = solver
        self.design = design
        self.candidates = candidates
        self.partition = partition
        self.partition_size = partition_size
        self.uncertainty = uncertainty
        self.outputs = outputs
        self.noise = noise
        self.noise_variance = noise_variance
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, y_std: Any = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Training rows, or objects; for ``kernel="precomputed"`` kernel values. They
            are what :meth:`RVC.fit` takes.
        y : array-like of shape (n_samples,)
            Targets; left out for blocks.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts. Rows of weight zero are as if absent.
        y_std : array-like of shape (n_samples,), optional
            Standard deviation of the Gaussian noise of each target, where it is known.
            Nothing of the noise is estimated then, and new rows are taken to have its
            mean square, ``noise_variance_``. For rows in memory.

        Returns
        -------
        object
            The estimator itself.

        Examples
        --------
        >>> import numpy as np
        >>> from relvec import RVR
        >>> X = np.linspace(-10, 10, 100)[:, None]
        >>> std = np.where(X[:, 0] < 0, 0.02, 0.5)
        >>> noise = std * np.random.default_rng(0).standard_normal(100)
        >>> model = RVR().fit(X, np.sinc(X[:, 0] / np.pi) + noise, y_std=std)
        >>> round(model.noise_variance_, 3)
        0.125
        """
        fitted = partial(self._fitted, y_std=y_std)
        return self._fit(X, y, sample_weight, fitted)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("outputs", self.outputs, OUTPUTS)
        self._noise_model.check()

    def _fitted(
        self, X: Any, y: Any, sample_weight: Any, monitor: Monitor, y_std: Any = None
    ) -> Any:
        # Check what was given.
        deadline, centred = Deadline.after(self.max_seconds), bool(self.fit_intercept)
        noise, known = self._noise_model, None
        if y_std is not None:
            known = noise.known(y_std, X, y, sample_weight)
            sample_weight = known.weight
        targets = Targets(self.outputs, noise, centred, self._start)
        family, start = targets.regression(known)
        if self._is_distributed(X):
            noise.check_rows(held=False)
            survey = self._summarised(X, y, sample_weight, classes=False)
            return self._fit_distributed(X, survey, family, deadline, monitor)
        if not self._takes_several:
            check_one_target(y, _ALONE, "set outputs='independent', or leave it out")
        checks = {"y_numeric": True, "multi_output": self._takes_several}
        rows, values = self._training_rows(X, y, sample_weight, **checks)
        noise.check_rows(held=rows.in_memory)
        # Learn the kernel, search, and calibrate by rows left out in closed form.
        spec = self._specification(rows, family, deadline)
        fit = noise.fitting(self._fit_function(self._learning))
        if values.ndim > 1:
            return targets.fitted(fit, spec, rows, values, monitor=monitor)
        data = family.encoded(rows, values)
        if known is not None:
            fit = partial(fit, start=start, monitor=monitor)
            return known.fitted(fit, spec, data)
        model = fit(spec, data, start=start, monitor=monitor)
        # Calibrate by folds where closed forms are blind.
        return checked_by_folds(model, fit, spec, data)

    def _attributes(self, model: Any) -> dict[str, Any]:
        family = getattr(model, "family", model)  # several models have several
        return {**super()._attributes(model), **family.parameters}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_several
        return tags

    @property
    def _takes_several(self) -> bool:
        alone = self.partition is not None or not learns_together(self._learning)
        alone = alone or has_prior(self._solver()) or not self._noise_model.gaussian
        return self.outputs == "independent" or not alone

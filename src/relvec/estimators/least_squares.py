"""Least-squares support vector machines: regression and classification."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from relvec.data import is_row_blocks
from relvec.design import Budget
from relvec.estimators.kernel_model import (
    KernelModel,
    KernelRegressor,
    lazy_on_collections,
)
from relvec.estimators.validation import (
    as_centres,
    check_class_weight,
    check_several,
    is_centres,
    weighted_by_class,
)
from relvec.lssvm import (
    LANDMARKS,
    METHODS,
    MOST_RANK,
    LeastSquares,
    LeastSquaresModel,
    RealTargets,
    SignedClasses,
    as_tuning,
    fit_least_squares,
    n_drawn,
)
from relvec.modelling import Monitor, TrainingRows
from relvec.parameters import (
    as_bytes,
    as_share,
    check_choice,
    check_count,
    check_positive,
)
from relvec.typing import AnyArray, Array


class LeastSquaresMachine(KernelModel):
    """A kernel model of all training rows, or of a few landmarks among them."""

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        method: str = "auto",
        landmarks: Any = "uniform",
        rank: Any = "auto",
        tune: Any = None,
        n_support: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory_budget: Any = "2GB",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.method = method
        self.landmarks = landmarks
        self.rank = rank
        self.tune = tune
        self.n_support = n_support
        self.tol = tol
        self.max_iter = max_iter
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.kernel, list | tuple):
            raise ValueError(
                "kernel is a list, and an LS-SVM has one kernel: add kernels instead, "
                "such as relvec.kernels.Gaussian(2.0) + relvec.kernels.Linear()"
            )
        if isinstance(self.gamma, str) and self.gamma == "learn":
            raise ValueError(
                "gamma='learn' is how RVR and RVC learn a width: set gamma='scale' and "
                "tune='loo' or 'evidence'"
            )
        check_positive("C", self.C)
        check_choice("method", self.method, METHODS)
        self._check_landmarks()
        if not (isinstance(self.rank, str) and self.rank == "auto"):
            check_count("rank", self.rank)
        as_tuning(self.tune)
        if self.n_support is not None:
            as_share("n_support", self.n_support, 1)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)

    def _check_landmarks(self) -> None:
        if not is_centres(self.landmarks):
            check_choice("landmarks", self.landmarks, LANDMARKS)
        given = is_centres(self.landmarks) or self.landmarks != "uniform"
        if given and self.method not in {"auto", "nystrom"}:
            raise ValueError(
                f"landmarks are those of method='nystrom', and method is "
                f"{self.method!r}: leave one of them out"
            )
        if self._kernel_choice.precomputed and self.method not in {"auto", "exact"}:
            raise ValueError(
                f"method={self.method!r} needs rows to evaluate a kernel on, and with "
                "kernel='precomputed' there is its matrix: use method='exact'"
            )

    @property
    def _kernels(self) -> Any:
        # The features themselves as functions of weights with one prior.
        return "linear" if self.kernel is None else self.kernel

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, **checks: Any
    ) -> tuple[TrainingRows, AnyArray]:
        drawn = n_drawn(self._rank or MOST_RANK, in_blocks=is_row_blocks(X))
        return self._taken(X, y, sample_weight, n_drawn=drawn, **checks)

    @property
    def _rank(self) -> int | None:
        return None if isinstance(self.rank, str) else int(self.rank)

    def _specification(self, rows: TrainingRows, family: Any) -> LeastSquares:
        """The specification of a model of these rows."""
        landmarks = self.landmarks
        if is_centres(landmarks):
            landmarks = as_centres(landmarks, rows, name="landmarks")
        choice = self._kernel_choice
        return LeastSquares(
            kernel=choice.resolve(rows)[0],
            family=family,
            precomputed=choice.precomputed,
            C=float(self.C),
            intercept=bool(self.fit_intercept),
            method=self.method,
            rank=self._rank,
            landmarks=landmarks,
            tuning=as_tuning(self.tune),
            n_support=self.n_support,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            budget=Budget(as_bytes("memory_budget", self.memory_budget)),
        )

    def _attributes(self, model: LeastSquaresModel) -> dict[str, Any]:
        outcome = model.fit
        optional = {
            "leave_one_out_error_": (
                None if outcome.left_out is None else outcome.left_out.mean_square
            ),
            "tuning_history_": outcome.history,
            "calibration_": outcome.calibration,
        }
        return {
            "model_": model,
            "support_": model.indices,
            "support_vectors_": model.centres,
            "dual_coef_": model.weights,
            "intercept_": model.intercept,
            "C_": model.C,
            "kernel_": model.kernel,
            "method_": outcome.method,
            "noise_variance_": model.family.noise_variance,
            "log_evidence_": outcome.log_evidence,
            "n_iter_": outcome.n_iter,
            "status_": outcome.status,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @property
    def coef_(self) -> AnyArray:
        """Weights of the features, for ``kernel="linear"`` and None."""
        check_is_fitted(self)
        if isinstance(self._kernels, str) and self._kernels == "linear":
            return self.dual_coef_ @ self.support_vectors_
        raise AttributeError("coef_ exists only for kernel='linear' and kernel=None")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel_choice.precomputed
        return tags


class LSSVR(KernelRegressor, LeastSquaresMachine):
    """Least-squares support vector regression.

    The dense relative of :class:`RVR`: every training row is a support vector, and all
    weights follow from one linear system [1]_, [2]_. With rows too many for that, a few
    landmarks stand for them.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid", "cosine", \
"chi2", "additive_chi2", "precomputed"}, callable or None, default="rbf"
        The kernel, as in :class:`RVR`; None is "linear". Several kernels are added to
        one, as in ``Gaussian(2.0) + Linear()``.
    C : float, default=1.0
        Weight of squared errors beside ½‖w‖²; γ in [1]_. A large one fits closely.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels by name that have one, as in
        :class:`sklearn.svm.SVR`. To have it learned use ``tune``.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether there is a constant b.
    method : {"auto", "exact", "nystrom", "cholesky", "cg"}, default="auto"
        How the system is solved: "exact" by a factor of all of it; "nystrom" and
        "cholesky" in the span of ``rank`` kernel functions, those of ``landmarks`` or
        of the pivots of an incomplete Cholesky factor; "cg" by conjugate gradients,
        whose weights are exact and which hold no matrix that does not fit,
        preconditioned by "cholesky". "auto" is "exact" for up to 10000 rows that
        ``memory_budget`` has room for, "cholesky" beyond, and "nystrom" with
        ``landmarks`` other than the default.
    landmarks : {"uniform", "pivoted", "kmeans", "relevance"} or array of shape \
(n_landmarks, n_features), default="uniform"
        Rows of "nystrom": drawn by chance; pivots of an incomplete Cholesky factor of
        four times as many drawn by chance; means of clusters; those that a relevance
        vector machine of the same kernel keeps; or those given.
    rank : "auto" or int, default="auto"
        Most landmarks or pivots; "auto" is 1500 for up to 22000 rows, fewer of more
        rows so that a fit takes some seconds, and 500 from 200000 rows on.
    tune : {"loo", "evidence"} or Tuning, optional
        Choose C and the kernel's width by the errors of rows left out, in closed form,
        or by the evidence; ``C`` is not looked at then, and ``gamma`` is where widths
        begin. A :class:`Tuning` says which are tried.
    n_support : int or float, optional
        Prune an exact fit to so many kernel functions, or to this share of the rows:
        those of least absolute α leave, a twentieth at a time, and the others are
        solved for again by all rows. Functions that others describe to ten digits
        leave at once.
    tol : float, default=1e-6
        Of "cholesky", what may be left of a row's k(x, x) beside the largest, or beside
        1/C if that is less; of "cg", the residuals beside the right sides.
    max_iter : int, default=1000
        Most steps of "cg".
    memory_budget : float or str, default="2GB"
        Bytes that a fit may take beside the data; what cannot fit is refused at once.
    random_state : int, RandomState instance or None, default=None
        For rows drawn by chance. None is the same every time.
    verbose : int, default=0
        Log what is chosen through the logger "relvec".

    Attributes
    ----------
    support_ : ndarray of shape (n_vectors,)
        Numbers of the training rows with a kernel function; -1 for other landmarks.
    support_vectors_ : ndarray of shape (n_vectors, n_features)
        These rows; empty for ``kernel="precomputed"``.
    dual_coef_ : ndarray of shape (n_vectors,)
        Their weights α.
    intercept_ : float
        b.
    C_ : float
        The weight of errors, as given or tuned.
    kernel_ : Kernel
        The kernel, its width as given or tuned.
    method_ : str
        How the system was solved.
    noise_variance_ : float
        1/ζ: of most evidence given C; as rows left out have it with ``tune="loo"``, and
        where landmarks miss some of what there is.
    log_evidence_ : float
        log N(y given b, I/ζ + K/μ) with C = ζ/μ and b integrated out; of a low rank a
        lower bound of it; nan for kernels that are not positive definite.
    leave_one_out_error_ : float
        Mean squared error of rows predicted by all others, where it was computed.
    calibration_ : Calibration
        As in :class:`RVR`, where rows were left out.
    tuning_history_ : dict of ndarray
        ``C``, ``width`` (a multiple of the kernel's length scale), ``score`` (the lower
        the better) and ``exact`` (whether by all of K or by a low rank) of all tried.
    n_iter_ : int
        Systems solved, or steps of "cg".
    status_ : Status
        How the fit ended; its value says what to do about it.
    model_ : LeastSquaresModel
        All of the fitted model in one value, which needs no scikit-learn.
    n_features_in_, feature_names_in_ : object
        Of the features seen by ``fit``.

    See Also
    --------
    LSSVC : The same for classes.
    RVR : A sparse model with nothing to tune.

    Notes
    -----
    Rows of landmarks that are left out stay landmarks. With "cg" rows left out, tuning
    and the shape of error bars are those of the low rank that preconditions it.

    References
    ----------
    .. [1] R. S. Shah (2005), "Least squares support vector machines", technical note.
    .. [2] J. A. K. Suykens, T. Van Gestel, J. De Brabanter, B. De Moor and
       J. Vandewalle (2002), "Least squares support vector machines", World Scientific.

    Examples
    --------
    >>> from relvec import LSSVR
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = LSSVR(tune="loo").fit(X, y)
    >>> len(model.support_)
    100
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> std.round(1)
    array([0.1, 0.1])
    """

    _no_residuals = (
        "needs rows left out, which cost as much as the fit and were not asked for: "
        "fit with tune='loo', or with a Tuning of one C and one width to keep them"
    )

    def _fitted(
        self, X: Any, y: Any, sample_weight: Any, monitor: Monitor
    ) -> LeastSquaresModel:
        rows, values = self._training_rows(X, y, sample_weight, y_numeric=True)
        family = RealTargets(centred=bool(self.fit_intercept))
        data = family.encoded(rows, values)
        return fit_least_squares(self._specification(rows, family), data)

    def _with_bars(self, rows: Any) -> Any:
        if self.model_.spread is None:
            raise ValueError(
                "there are no error bars: they need the kernel of a row with itself, "
                "which kernel='precomputed' does not have, and a kernel whose matrix "
                "is positive definite; give such a kernel as a callable"
            )
        return super()._with_bars(rows)


class LSSVC(ClassifierMixin, LeastSquaresMachine):
    """Least-squares support vector classification of two or more classes.

    Targets are ±1 and their errors are squared: one linear system for all classes, each
    against the rest [1]_, [2]_. So ten classes take hardly more time than two.

    Parameters
    ----------
    kernel, C, gamma, degree, coef0, fit_intercept : object
        As in :class:`LSSVR`.
    method, landmarks, rank, tune, n_support, tol, max_iter : object
        How the system is solved and its parameters are chosen, as in :class:`LSSVR`.
        Errors of rows left out are those of targets ±1, four times Brier's score.
    class_weight : dict, "balanced" or None, default=None
        By how much the weights of all rows of a class are multiplied, as in
        :class:`RVC`. With ``tune="loo"`` weights are beside the largest of them, which
        for a tuned C is the same, so that a row is left out as a whole.
    memory_budget, random_state, verbose : object
        As in :class:`LSSVR`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    dual_coef_ : ndarray of shape (n_vectors,) or (n_classes, n_vectors)
        Weights α, of two classes those of the second.
    intercept_ : float or ndarray of shape (n_classes,)
        b of each.
    support_, support_vectors_, C_, kernel_, method_, noise_variance_ : object
        As in :class:`LSSVR`.
    log_evidence_, tuning_history_, n_iter_, status_, model_ : object
        As in :class:`LSSVR`.
    leave_one_out_error_ : float
        Mean squared error of rows predicted by all others, of targets ±1.
    calibration_ : Calibration
        As in :class:`RVC`.
    n_features_in_, feature_names_in_ : object
        Of the features seen by ``fit``.

    See Also
    --------
    LSSVR : The same for regression.
    RVC : A sparse model with nothing to tune.

    References
    ----------
    .. [1] R. S. Shah (2005), "Least squares support vector machines", technical note.
    .. [2] J. A. K. Suykens, T. Van Gestel, J. De Brabanter, B. De Moor and
       J. Vandewalle (2002), "Least squares support vector machines", World Scientific.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import LSSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LSSVC(tune="loo").fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        method: str = "auto",
        landmarks: Any = "uniform",
        rank: Any = "auto",
        tune: Any = None,
        n_support: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory_budget: Any = "2GB",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            C=C,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            fit_intercept=fit_intercept,
            method=method,
            landmarks=landmarks,
            rank=rank,
            tune=tune,
            n_support=n_support,
            tol=tol,
            max_iter=max_iter,
            memory_budget=memory_budget,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)

    def _fitted(
        self, X: Any, y: Any, sample_weight: Any, monitor: Monitor
    ) -> LeastSquaresModel:
        rows, values = self._training_rows(X, y, sample_weight)
        check_classification_targets(values)
        tuning = as_tuning(self.tune)
        # Of a row that counts several times rows left out would leave the rest in.
        by_rows = tuning is not None and tuning.criterion == "loo"
        given = self.class_weight, rows, values
        rows, values = weighted_by_class(*given, at_most_one=by_rows)
        labels, classes = np.unique(values, return_inverse=True)
        check_several(labels, self)
        family = SignedClasses(labels)
        data = family.encoded(rows, classes)
        return fit_least_squares(self._specification(rows, family), data)

    def _attributes(self, model: LeastSquaresModel) -> dict[str, Any]:
        return {**super()._attributes(model), "classes_": model.labels}

    @lazy_on_collections
    def decision_function(self, X: Any) -> Array:
        """f of the second of two classes, or of each class against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to decide on; for ``kernel="precomputed"`` kernel values between them
            and all training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            About 2p − 1 for a class of probability p.
        """
        rows = self._checked(X)
        found = self.model_.values(rows)
        return found[:, 0] if found.shape[1] == 1 else found

    @lazy_on_collections
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class.

        Log odds are 2f/S: by Bayes' rule those of targets ±1 with Gaussian noise of
        variance S, which is that of least log loss of the training rows, each predicted
        by all others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``; the largest is that predicted.
        """
        return self._predictive(X).probabilities

    @lazy_on_collections
    def predict(self, X: Any) -> AnyArray:
        """The class of largest f, which is the most probable one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        rows = self._checked(X)
        f = self.model_.values(rows)
        return self.model_.family.predictive(f, np.zeros_like(f)).predicted

"""Least-squares support vector regression."""

from typing import Any

from relvec.estimators.kernel_model import KernelRegressor
from relvec.estimators.least_squares import LeastSquaresMachine
from relvec.lssvm import LeastSquaresModel, RealTargets, fit_least_squares
from relvec.modelling import Monitor


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

"""Least-squares support vector classification."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from relvec.estimators.collections import lazy_on_collections
from relvec.estimators.least_squares import LeastSquaresMachine
from relvec.estimators.multiclass import (
    check_class_weight,
    check_several,
    weighted_by_class,
)
from relvec.lssvm import (
    LeastSquaresModel,
    SignedClasses,
    as_tuning,
    fit_least_squares,
)
from relvec.modelling import Monitor
from relvec.typing import AnyArray, Array


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

"""What a classifier with probabilities says of rows."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from relvec.estimators.base import SparseKernelModel
from relvec.estimators.collections import lazy_on_collections
from relvec.estimators.multiclass import has_probabilities
from relvec.typing import AnyArray, Array


class ClassPredictions(ClassifierMixin, SparseKernelModel):
    """A sparse model of classes."""

    @lazy_on_collections
    def decision_function(self, X: Any) -> Array:
        """Log odds of the second of two classes, or log probabilities of several.

        The uncertainty of the weights is integrated out. With
        ``OneAgainstOne("votes")`` it is the votes of several classes, to which between
        -1/3 and 1/3 is added for the log odds of their pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to decide on; for ``kernel="precomputed"`` kernel values between them
            and all training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, positive where the second is more probable.
        """
        return self._predictive(X).decision

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @lazy_on_collections
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, the uncertainty of the weights integrated out.

        The frequencies of the classes have as much of a share as rows that are
        predicted without themselves ask for. Votes are none: with
        ``OneAgainstOne("votes")`` there is no such method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        return self._predictive(X).probabilities

    @lazy_on_collections
    def predict(self, X: Any) -> AnyArray:
        """The most probable class of each row, or the one with most votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from ``classes_``; the first of those that are equally probable.
        """
        return self._predictive(X).predicted

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def sample_posterior(self, X: Any, n: int = 1, random_state: Any = None) -> Array:
        """Probabilities of the classes by functions drawn from the posterior.

        Each draw is one set of functions of X that the data leave possible, at all rows
        together, and what they make of the classes. ``predict_proba`` is their mean.
        Models of "ovr" and "ovo" are drawn each by itself and then coupled, so theirs
        is that about.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.
        n : int, default=1
            How many draws.
        random_state : int, RandomState instance or None, default=None
            For the draws. None is always the same.

        Returns
        -------
        ndarray of shape (n, n_samples, n_classes)
            Probabilities in the order of ``classes_``.

        Examples
        --------
        >>> from relvec import RVC
        >>> from relvec.data import two_mixtures
        >>> X, y = two_mixtures(200, seed=0)
        >>> model = RVC().fit(X, y)
        >>> p = model.sample_posterior(X[:5], 100)
        >>> p.shape
        (100, 5, 2)
        >>> bool(abs(p.mean(axis=0) - model.predict_proba(X[:5])).max() < 0.05)
        True
        """
        functions = self._drawn(X, n, random_state)
        return np.array([self.model_.given(one).probabilities for one in functions])

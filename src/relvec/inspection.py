"""Stability of a sparse solution when the training rows change."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import (
    RepeatedKFold,
    RepeatedStratifiedKFold,
    check_cv,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from relvec.typing import AnyArray, Array, Indices

__all__ = ["RelevanceStability", "last_step", "relevance_stability"]


@dataclass(frozen=True)
class RelevanceStability:
    """How often each row was a relevance vector.

    Parameters
    ----------
    counts : ndarray of shape (n_samples,)
        Number of fits in which the row was a relevance vector.
    fits : ndarray of shape (n_samples,)
        Number of fits in which the row took part.
    labels : ndarray of shape (n_samples,), optional
        Classes of the rows; None for regression.
    """

    counts: Indices
    fits: Indices
    labels: AnyArray | None = None

    @property
    def frequency(self) -> Array:
        """Share of the fits with a row in which it was a vector; NaN without fits."""
        return np.where(self.fits > 0, self.counts / np.maximum(self.fits, 1), np.nan)


def relevance_stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    n_repeats: int = 10,
    random_state: Any = None,
) -> RelevanceStability:
    """Count how often each row is a relevance vector over repeated folds.

    A row that is a prototype of its class, and not there by chance, is a relevance
    vector in nearly every fit it takes part in [1]_.

    Parameters
    ----------
    estimator : RVR, RVC, or a pipeline or search that ends in one
        Is cloned; parameters stay as they are.
    X : array-like of shape (n_samples, n_features)
        Rows; for ``kernel="precomputed"`` the square matrix between them.
    y : array-like of shape (n_samples,)
        Targets.
    cv : int, splitter or iterable of pairs, default=10
        Number of folds, of rows in random order and of all classes alike; or a splitter
        of scikit-learn or the pairs of row numbers themselves, of which only the first
        is used, to fit on.
    n_repeats : int, default=10
        How often the rows are divided into folds anew, if ``cv`` is a number.
    random_state : int, RandomState instance or None, default=None
        For the order of rows, if ``cv`` is a number. None is the same every time.

    Returns
    -------
    RelevanceStability
        Counts by row; :class:`relvec.plots.StabilityDisplay` draws them.

    References
    ----------
    .. [1] I. Psorakis, T. Damoulas and M. A. Girolami (2010), "Multiclass relevance
       vector machines: sparsity and accuracy", IEEE Transactions on Neural Networks
       21, 1588-1598, section VIII-F.

    Examples
    --------
    >>> from relvec import RVC
    >>> from relvec.data import two_mixtures
    >>> from relvec.inspection import relevance_stability
    >>> X, y = two_mixtures(100)
    >>> found = relevance_stability(RVC(gamma=4.0), X, y, cv=5, n_repeats=2)
    >>> found.fits[:4]
    array([8, 8, 8, 8])
    >>> bool(found.frequency.max() > 0.5)
    True
    """
    if isinstance(cv, Integral):
        make = RepeatedStratifiedKFold if is_classifier(estimator) else RepeatedKFold
        seed = 0 if random_state is None else random_state
        cv = make(n_splits=int(cv), n_repeats=n_repeats, random_state=seed)
    splits = [(train, train) for train, _ in check_cv(cv).split(X, y)]
    result = cross_validate(
        estimator,
        np.asarray(X) if get_tags(estimator).input_tags.pairwise else X,
        y,
        cv=splits,
        # Scores are not needed, but refuse a model without vectors at the first fit.
        scoring=lambda fitted, *_: len(_relevant_rows(fitted)),
        return_estimator=True,
        error_score="raise",
    )
    counts, fits = np.zeros((2, len(y)), dtype=np.intp)
    for (train, _), fitted in zip(splits, result["estimator"], strict=True):
        rows = np.arange(len(y))[train]  # train may be a mask
        fits[rows] += 1
        counts[rows[_relevant_rows(fitted)]] += 1
    labels = np.asarray(y) if is_classifier(estimator) else None
    return RelevanceStability(counts, fits, labels)


def last_step(estimator: Any) -> tuple[Any, Any, Any]:
    """Split an estimator: the best of a search, its preprocessing, its last step.

    None are before an estimator that is not at the end of a pipeline.
    """
    whole = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(whole, Pipeline):
        return whole, None, whole
    return whole, whole[:-1] if len(whole) > 1 else None, whole[-1]


def _relevant_rows(fitted: Any) -> Indices:
    """Indices of the rows that are vectors, without duplicates."""
    *_, model = last_step(fitted)
    if not hasattr(model, "relevance_"):
        raise ValueError(
            f"{type(model).__name__} has no relevance vectors: give RVR, RVC, or a "
            "pipeline or search that ends in one"
        )
    matrix = isinstance(model.kernel, str) and model.kernel == "precomputed"
    columns = matrix and not get_tags(model).input_tags.pairwise
    if model.kernel is None or columns or np.any(model.relevance_ < 0):
        raise ValueError(
            "relevance_ does not count rows where features, columns of a matrix or "
            "centres of one's own are the dictionary: give a kernel, and leave "
            "candidates as it is"
        )
    return np.unique(model.relevance_)

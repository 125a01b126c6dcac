"""Scores of predicted probabilities."""

from typing import Any

import numpy as np

from relvec.parameters import as_floats, as_weights
from relvec.typing import AnyArray

__all__ = ["predictive_log_likelihood", "predictive_log_likelihood_scorer"]


def predictive_log_likelihood(
    y: Any,
    probabilities: Any,
    classes: Any,
    *,
    sample_weight: Any = None,
    normalize: bool = True,
) -> float:
    """Log probability that a model gave to the true class.

    Psorakis, Damoulas and Girolami call it predictive likelihood, log p of the true
    class for a single row [1]_; this is its mean over all rows, or their sum. Unlike
    accuracy it tells a confident model from a doubtful one. Zero is the best value;
    guessing among K classes has -log K.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels.
    probabilities : array-like of shape (n_samples, n_classes)
        Probabilities of all classes, as ``predict_proba`` returns them.
    classes : array-like of shape (n_classes,)
        Labels of the columns, as in ``classes_``.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.
    normalize : bool, default=True
        Return the mean over rows; else the sum.

    Returns
    -------
    float
        Of all rows; minus infinity if a true class was held to be impossible.

    See Also
    --------
    sklearn.metrics.log_loss : Minus the mean, of probabilities that are not too small.

    References
    ----------
    .. [1] I. Psorakis, T. Damoulas and M. A. Girolami (2010), "Multiclass relevance
       vector machines: sparsity and accuracy", IEEE Transactions on Neural Networks
       21, 1588-1598, equation (23).

    Examples
    --------
    >>> from relvec.metrics import predictive_log_likelihood
    >>> probabilities = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
    >>> value = predictive_log_likelihood(["a", "b"], probabilities, ["a", "b", "c"])
    >>> round(value, 3)  # (log 0.7 + log 0.8) / 2
    -0.29
    """
    p = as_floats("probabilities", probabilities, 2)
    labels = np.asarray(classes)
    column = _columns(np.asarray(y), labels, p)
    weight = as_weights(sample_weight, len(p))
    with np.errstate(divide="ignore"):
        terms = np.log(p[np.arange(len(p)), column])
    counted = weight > 0
    total = float(np.sum(weight[counted] * terms[counted]))
    return total / float(weight.sum()) if normalize else total


def predictive_log_likelihood_scorer(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Score a fitted classifier by its mean :func:`predictive_log_likelihood`.

    Parameters
    ----------
    estimator : classifier
        Fitted, with ``predict_proba``.
    X : array-like of shape (n_samples, n_features)
        Rows to test it on.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.

    Returns
    -------
    float
        The greater the better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from relvec import RVC
    >>> from relvec.metrics import predictive_log_likelihood_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(
    ...     RVC(multi_class="ovr"), X, y, scoring=predictive_log_likelihood_scorer
    ... )
    >>> bool(scores.mean() > -0.25)  # guessing has -1.10
    True
    """
    return predictive_log_likelihood(
        y, estimator.predict_proba(X), estimator.classes_, sample_weight=sample_weight
    )


def _columns(y: AnyArray, classes: AnyArray, p: AnyArray) -> AnyArray:
    """Column of the true class of every row."""
    if y.ndim != 1 or classes.ndim != 1 or p.shape != (len(y), len(classes)):
        raise ValueError(
            f"probabilities has shape {p.shape}, y has {y.shape} and classes "
            f"{classes.shape}: give a row for each label in y and a column for each "
            "class"
        )
    if len(y) == 0:
        raise ValueError("y is empty: give at least one row")
    if np.any(p < 0) or np.any(np.abs(p.sum(axis=1) - 1) > 1e-6):
        msg = "probabilities must not be negative, and those of a row must sum to 1"
        raise ValueError(msg)
    order = np.argsort(classes)
    place = np.searchsorted(classes, y, sorter=order).clip(max=len(classes) - 1)
    column = order[place]
    unknown = classes[column] != y
    if np.any(unknown):
        raise ValueError(
            f"y holds labels that are not in classes: "
            f"{np.unique(y[unknown])[:5].tolist()}; the model has never seen them"
        )
    return column

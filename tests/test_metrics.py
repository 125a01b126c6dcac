"""The predictive log likelihood and its scorer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from relvec import RVC
from relvec.metrics import predictive_log_likelihood as likelihood
from relvec.metrics import predictive_log_likelihood_scorer as scorer

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
CLASSES = ["b", "a", "c"]  # in no order
Y = ["b", "a", "a"]
TERMS = np.log([0.7, 0.8, 0.3])


def test_it_is_the_mean_log_probability_of_the_true_class():
    assert_allclose(likelihood(Y, P, CLASSES), TERMS.mean())
    assert_allclose(likelihood(Y, P, CLASSES, normalize=False), TERMS.sum())


def test_weights_are_repetitions():
    value = likelihood(Y, P, CLASSES, sample_weight=[2, 0, 1])

    assert_allclose(value, (2 * TERMS[0] + TERMS[2]) / 3)


def test_it_is_minus_the_log_loss(rng):
    p = rng.dirichlet(np.ones(4), 50)
    y = rng.integers(0, 4, 50)

    assert_allclose(likelihood(y, p, np.arange(4)), -log_loss(y, p, labels=range(4)))


def test_what_happened_must_not_have_been_impossible():
    impossible = [[1.0, 0.0], [0.5, 0.5]]

    assert likelihood([1, 1], impossible, [0, 1]) == -np.inf
    assert_allclose(
        likelihood([1, 1], impossible, [0, 1], sample_weight=[0, 1]), -np.log(2)
    )


@pytest.mark.parametrize(
    ("y", "p", "classes", "message"),
    [
        (["d", "a", "e"], P, CLASSES, r"not in classes: \['d', 'e'\]"),
        (Y, P[:2], CLASSES, r"probabilities has shape \(2, 3\), y has \(3,\)"),
        (Y, P, CLASSES[:2], r"classes \(2,\)"),
        (Y, 2 * P, CLASSES, "must sum to 1"),
        (Y, P - [0.5, 0, -0.5], CLASSES, "must not be negative"),
        (Y, np.where(P > 0.7, np.nan, P), CLASSES, "probabilities contains NaN"),
        ([], np.empty((0, 3)), CLASSES, "y is empty"),
    ],
)
def test_bad_input(y, p, classes, message):
    with pytest.raises(ValueError, match=message):
        likelihood(y, p, classes)


@pytest.mark.parametrize(
    "estimator", [RVC(multi_class="ovo"), LogisticRegression(C=10)]
)
def test_the_scorer_in_a_cross_validation(estimator):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    mine = cross_val_score(estimator, X, y, cv=3, scoring=scorer)
    theirs = cross_val_score(estimator, X, y, cv=3, scoring="neg_log_loss")

    assert_allclose(mine, theirs, rtol=1e-9)


def test_the_scorer_in_a_search():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        RVC(multi_class="ovr"), {"gamma": [0.2, 50.0]}, cv=3, scoring=scorer
    ).fit(X, y)

    assert search.best_params_ == {"gamma": 0.2}
    assert -1 < search.best_score_ < 0

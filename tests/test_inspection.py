"""How often rows are relevance vectors over repeated folds."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVC, RVR
from relvec.data import noisy_sinc, two_mixtures
from relvec.inspection import RelevanceStability, relevance_stability

X, Y = two_mixtures(60, seed=1)
MODEL = RVC(gamma=4.0)


def by_hand(model, rows, targets, splits):
    counts = np.zeros(len(targets), dtype=int)
    for train, _ in splits:
        counts[train[model.fit(rows[train], targets[train]).relevance_]] += 1
    return counts


def test_counts_are_those_of_every_fit():
    splits = list(KFold(4).split(X))
    found = relevance_stability(MODEL, X, Y, cv=splits)

    assert np.array_equal(found.counts, by_hand(RVC(gamma=4.0), X, Y, splits))
    assert (found.fits == 3).all()
    assert np.array_equal(found.frequency, found.counts / 3)
    assert not hasattr(MODEL, "relevance_")


def test_folds_are_repeated():
    found = relevance_stability(MODEL, X, Y, cv=5, n_repeats=3)
    again = relevance_stability(MODEL, X, Y, cv=5, n_repeats=3, random_state=None)
    other = relevance_stability(MODEL, X, Y, cv=5, n_repeats=3, random_state=1)

    assert (found.fits == 12).all()
    assert np.array_equal(found.counts, again.counts)
    assert not np.array_equal(found.counts, other.counts)
    assert found.counts.max() > 6
    assert np.median(found.counts) == 0


def test_regression():
    rows, targets = noisy_sinc(50, seed=0)
    found = relevance_stability(RVR(gamma=0.1), rows, targets, cv=KFold(5))

    assert found.labels is None
    assert np.array_equal(
        found.counts, by_hand(RVR(gamma=0.1), rows, targets, KFold(5).split(rows))
    )


def test_a_row_of_several_kernels_counts_once():
    model = RVC("rbf", multi_class="ovr", gamma=4.0)
    labels = np.where(X[:, 0] > 0.2, 2, Y)
    found = relevance_stability(model, X, labels, cv=KFold(3))
    scales = relevance_stability(
        RVC(["rbf", "laplacian"], gamma=4.0), X, Y, cv=KFold(3)
    )

    assert (found.counts <= found.fits).all()
    assert (scales.counts <= scales.fits).all()


def test_any_rows_and_any_wrapping():
    plain = relevance_stability(MODEL, X, Y, cv=KFold(3)).counts
    K = rbf_kernel(X, gamma=4.0)
    matrix = relevance_stability(RVC("precomputed"), K, Y, cv=KFold(3))
    frame = relevance_stability(MODEL, pd.DataFrame(X), Y.tolist(), cv=KFold(3))
    search = GridSearchCV(RVC(), {"gamma": [4.0]}, cv=2)
    searched = relevance_stability(search, X, Y, cv=KFold(3))
    piped = relevance_stability(
        make_pipeline(StandardScaler(), RVC(gamma=0.3)), X, Y, cv=KFold(3)
    )

    for found in (matrix, frame, searched):
        assert np.array_equal(found.counts, plain)
    assert piped.counts.any()


def test_a_row_without_a_fit_has_no_frequency():
    found = relevance_stability(MODEL, X, Y, cv=[(np.arange(40), np.arange(40, 60))])

    assert np.isnan(found.frequency[40:]).all()
    assert np.isfinite(found.frequency[:40]).all()


def test_the_result_is_frozen():
    found = RelevanceStability(np.array([1]), np.array([2]))

    with pytest.raises(dataclasses.FrozenInstanceError):
        found.counts = np.array([2])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RVC(kernel=None), "relevance_ does not count rows"),
        (RVC(gamma=4.0, candidates=X[:30]), "relevance_ does not count rows"),
        (RVC("precomputed", candidates=2), "relevance_ does not count rows"),
        (LogisticRegression(), "LogisticRegression has no relevance vectors"),
    ],
)
def test_what_has_no_rows_to_count(model, message):
    with pytest.raises(ValueError, match=message):
        relevance_stability(model, X, Y, cv=KFold(2))

"""From pairs of classes to the probabilities of all."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from scipy.special import expit
from sklearn.datasets import make_blobs

from relvec import RVC
from relvec.modelling.several_models import Pairs, coupled, voted

X, Y = read_only(*make_blobs(90, centers=3, cluster_std=2.5, random_state=3))
NEW = read_only(np.random.default_rng(0).uniform(-15, 15, (200, 2)))
MODES = ["ovr", "ovo"]
GAMMA = 0.05


@pytest.mark.parametrize("distance", [1e2, 1e4, 1e8])
def test_probabilities_far_away(distance):
    for mode, kernel in itertools.product(MODES, ["rbf", "linear"]):
        model = RVC(kernel, multi_class=mode, gamma=GAMMA).fit(X, Y)
        p = model.predict_proba(distance * NEW)
        assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert np.isfinite(np.log(p)).all()


@pytest.mark.parametrize("n_classes", [3, 5, 12])
def test_consistent_pairs_give_their_probabilities_back(n_classes):
    p = np.random.default_rng(1).dirichlet(np.ones(n_classes), 50)
    first, second = np.triu_indices(n_classes, 1)

    assert_allclose(coupled(np.log(p[:, second] / p[:, first]), n_classes), p, 1e-9)


def test_inconsistent_pairs_have_the_least_sum_of_squares():
    """Of the second method of Wu, Lin and Weng, among nearby distributions."""
    rng = np.random.default_rng(2)
    odds = rng.normal(0, 2, (1, 6))
    pairs = list(itertools.combinations(range(4), 2))

    def misfit(p):
        r = expit(odds[0])  # of the second
        return sum(
            (r[c] * p[i] - (1 - r[c]) * p[j]) ** 2 for c, (i, j) in enumerate(pairs)
        )

    best = coupled(odds, 4)[0]
    for step in rng.normal(0, 1e-3, (100, 4)):
        assert misfit(best + step - step.mean()) > misfit(best)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
def test_the_class_predicted_has_the_first_of_the_largest_probabilities(n_classes):
    """Also where pairs are even, or in a circle, and classes as good as others."""
    pairs = itertools.product([-0.3, 0.0, 0.3], repeat=n_classes * (n_classes - 1) // 2)
    odds = np.array(list(itertools.islice(pairs, 0, None, 1 + 10 * (n_classes == 5))))
    found = Pairs(np.arange(n_classes)).predictive(odds)

    first = np.argmax(found.probabilities, axis=1)
    assert np.array_equal(found.predicted, first)
    assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-12)
    even = np.flatnonzero(~odds.any(axis=1))
    assert (found.predicted[even] == 0).all()


def test_certain_pairs_can_be_coupled():
    """Also where every probability is 0 or 1, in order or in a circle."""
    certain = np.array([[800.0, 800.0, 800.0], [-800.0, 800.0, -800.0]])
    p = coupled(certain, 3)

    assert_allclose(p[0], [0, 0, 1], atol=1e-15)
    assert_allclose(p[1], [1 / 3, 1 / 3, 1 / 3])


def counted(odds, n_classes):
    """The class that wins most pairs (thesis 5.1.4), pair by pair and row by row."""
    winners = []
    for row in odds:
        votes, strength = np.zeros(n_classes), np.zeros(n_classes)
        pairs = itertools.combinations(range(n_classes), 2)
        for (i, j), value in zip(pairs, row, strict=True):
            votes[j if value > 0 else i] += 1
            strength[j] += value
            strength[i] -= value
        best = np.flatnonzero(votes == votes.max())
        winners.append((votes, best[np.argmax(strength[best])]))
    return [np.array(each) for each in zip(*winners, strict=True)]


@pytest.mark.parametrize("n_classes", [3, 4, 7])
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_most_votes_win_and_odds_break_ties(n_classes, size):
    n_pairs = n_classes * (n_classes - 1) // 2
    odds = size * np.random.default_rng(3).normal(0, 2, (300, n_pairs))
    votes, winners = counted(odds, n_classes)
    decision = voted(odds, n_classes)

    assert np.sum(votes == votes.max(axis=1, keepdims=True)) > 320  # there are ties
    assert np.array_equal(decision.argmax(axis=1), winners)
    assert np.abs(decision - votes).max() < 0.5
    assert np.array_equal(np.round(decision), votes)


def test_even_odds_are_a_vote_for_the_first():
    assert voted(np.zeros((1, 3)), 3).tolist() == [[2, 1, 0]]


def test_odds_that_are_rounding_are_even():
    decision = voted(np.array([[1e-73, 1e-81, 1e-73], [0.0, 0.0, 0.0]]), 3)
    assert np.argmax(decision, axis=1).tolist() == [0, 0]

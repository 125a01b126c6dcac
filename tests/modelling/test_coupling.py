"""From pairs of classes to the probabilities of all."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from scipy.special import expit
from sklearn.datasets import make_blobs

from relvec import RVC
from relvec.modelling.coupling import coupled

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


def test_certain_pairs_can_be_coupled():
    """Also where every probability is 0 or 1, in order or in a circle."""
    certain = np.array([[800.0, 800.0, 800.0], [-800.0, 800.0, -800.0]])
    p = coupled(certain, 3)

    assert_allclose(p[0], [0, 0, 1], atol=1e-15)
    assert_allclose(p[1], [1 / 3, 1 / 3, 1 / 3])

"""A small class is not lost without a word."""

import warnings

import numpy as np
import pytest
from problems import read_only
from sklearn.utils.class_weight import compute_sample_weight

from relvec import RVC, FittedModel, FitWarning
from relvec.data import scan
from relvec.kernels import Gaussian

SIDE = read_only(np.repeat([-2.0, 2.0], 150))


def two_sides(seed):
    """Rows on two sides, and which four of the 60 rightmost are rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (300, 2)) + np.c_[SIDE, np.zeros(300)]
    rightmost = np.argsort(-X[:, 0])[:60]
    return X, np.isin(np.arange(300), rng.choice(rightmost, 4, replace=False))


def in_three(rare):
    """Names of the two sides and of the rare rows."""
    return np.where(rare, "rare", np.where(SIDE < 0, "left", "right"))


X, TWO = read_only(*two_sides(3))
THREE = read_only(in_three(TWO))
WORDS = r"no relevance vector and no prediction .* for class 'rare' \(4 of 300 rows\)"


@pytest.mark.parametrize("mode", ["mrvm1", "softmax", "ovr"])
def test_a_lost_class_is_told_with_its_numbers(mode):
    X, rare = two_sides(5)
    labels = in_three(rare)
    with pytest.warns(FitWarning, match=WORDS) as caught:
        model = RVC(multi_class=mode, gamma=0.05).fit(X, labels)

    assert [warning.filename for warning in caught] == [__file__]
    assert "rare" not in model.predict(X)
    assert "rare" not in labels[model.relevance_]


def test_one_of_two_classes():
    with pytest.warns(FitWarning, match=r"class True \(4 of 300 rows\)"):
        RVC(multi_class="mrvm1", gamma=0.05).fit(X, TWO)


def test_without_vectors_of_its_own_prediction_decides():
    """Where no row can be a vector: features, and centres of one's own."""
    for parameters in ({"kernel": None}, {"candidates": X[:20] + 0.01}):
        with pytest.warns(FitWarning, match=WORDS):
            RVC(multi_class="mrvm1", **parameters).fit(X, THREE)


@pytest.mark.parametrize("mode", ["auto", "mrvm1", "softmax", "ovr", "ovo"])
def test_the_remedy_helps(mode):
    weight = compute_sample_weight("balanced", THREE)
    model = RVC(multi_class=mode, gamma=0.05).fit(X, THREE, sample_weight=weight)

    assert "rare" in model.predict(X)


def test_rows_are_classified_only_if_a_class_has_no_vector(monkeypatch):
    def refused(model, X):
        raise AssertionError

    monkeypatch.setattr(FittedModel, "predictive", refused)
    labels = np.where(SIDE < 0, "left", "right")
    model = RVC(Gaussian(0.5), fit_intercept=False).fit(X, labels)
    assert set(labels[model.relevance_]) == {"left", "right"}
    with pytest.raises(AssertionError):
        RVC(multi_class="mrvm1", gamma=0.05).fit(X, THREE)


def test_blocks_are_not_read_again_for_it():
    table = np.column_stack([X, TWO])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = {"gamma": 0.05, "candidates": 200, "design": "streamed"}
        model = RVC(multi_class="mrvm1", **settings).fit(scan(table, target=2))

    assert not model.predict(X).any()


def test_many_lost_classes_are_counted():
    labels = (SIDE > 0).astype(int)
    labels[::34] = np.arange(2, 11)
    with pytest.warns(FitWarning, match=r"class 6 \(1 of 300 rows\) and \d more: "):
        RVC(multi_class="mrvm1", gamma=0.05).fit(X, labels)


@pytest.mark.filterwarnings("ignore::relvec.estimators.FitWarning")
def test_classes_that_nothing_tells_apart_are_the_first_everywhere():
    """Probabilities of a third each differ by rounding, and not from row to row."""
    X = 3 * np.random.RandomState(0).uniform(size=(20, 3))
    y = np.arange(20) % 3
    model = RVC(kernel=[Gaussian(2.0), Gaussian(10.0)]).fit(X, y)
    assert model.status_.name == "EMPTY"

    one_by_one = np.concatenate([model.predict(row[None]) for row in X])
    assert set(one_by_one) == set(model.predict(X)) == {0}

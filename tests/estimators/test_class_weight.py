"""Weights by class, as scikit-learn has them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only
from sklearn.datasets import make_blobs
from sklearn.utils.class_weight import compute_sample_weight

from relvec import LSSVC, RVC, Tuning
from relvec.data import scan

X, Y = make_blobs([80, 25, 15], cluster_std=2.5, random_state=3)
X, Y = read_only(X, np.array(["plum", "fig", "kiwi"])[Y])
NEW = read_only(np.random.default_rng(0).uniform(-12, 12, (100, 2)))
GIVEN = {"fig": 3.0, "kiwi": 0.5}
MODELS = {
    "rvc": RVC(gamma=0.05),
    "learned": RVC(),
    "ovr": RVC(gamma=0.05, multi_class="ovr"),
    "ovo": RVC(gamma=0.05, multi_class="ovo"),
    "lssvc": LSSVC(gamma=0.05),
    "evidence": LSSVC(gamma=0.05, tune=Tuning("evidence", C=[1.0, 10.0])),
}


@pytest.mark.parametrize("class_weight", ["balanced", GIVEN], ids=["balanced", "dict"])
@pytest.mark.parametrize("name", MODELS)
def test_they_multiply_the_weights_of_rows(name, class_weight):
    model = MODELS[name]
    own = compute_sample_weight(class_weight, Y)
    expected = model.set_params(class_weight=None).fit(X, Y, own).predict_proba(NEW)
    found = model.set_params(class_weight=class_weight).fit(X, Y)

    assert_allclose(found.predict_proba(NEW), expected, atol=1e-9)


def test_balance_is_that_of_weighted_rows():
    weight = np.random.default_rng(1).integers(0, 4, len(Y))
    model = RVC(gamma=0.05, class_weight="balanced")
    weighted, evidence = model.fit(X, Y, weight).predict_proba(NEW), model.log_evidence_
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))

    assert_allclose(evidence, repeated.log_evidence_, rtol=1e-6)
    # Of a row that counts for less than one no more than that can be left out.
    assert_allclose(weighted, repeated.predict_proba(NEW), atol=1e-3)


def test_balance_leaves_the_number_of_observations():
    model = RVC(gamma=0.05, class_weight="balanced").fit(X, Y)

    assert_allclose(model.model_.fit.n_observations, len(Y))


def test_rare_classes_become_as_probable_as_others():
    rng = np.random.default_rng(0)
    rare = rng.random(400) < 0.1
    rows = rng.standard_normal((400, 1)) + rare[:, None]
    for make in (RVC(gamma=0.05), LSSVC(gamma=0.05)):
        before = make.fit(rows, rare).predict_proba([[0.5]])
        after = make.set_params(class_weight="balanced").fit(rows, rare)

        assert before[0, 1] < 0.2
        assert_allclose(after.predict_proba([[0.5]]), 0.5, atol=0.15)


def test_rows_in_blocks():
    blocks = scan([(X[::2], Y[::2]), (X[1::2], Y[1::2])])
    for design in ("auto", "streamed"):
        model = RVC(gamma="scale", class_weight=GIVEN, design=design).fit(blocks)
        here = RVC(gamma="scale", class_weight=GIVEN).fit(X, Y)

        assert_allclose(model.predict_proba(NEW), here.predict_proba(NEW), atol=1e-3)


def test_a_class_of_weight_zero_is_as_if_absent():
    given = {"fig": 1.0, "kiwi": 0.0, "plum": 1.0}
    model = RVC(gamma=0.05, class_weight=given).fit(X, Y)
    left = Y != "kiwi"

    assert model.classes_.tolist() == ["fig", "plum"]
    expected = RVC(gamma=0.05).fit(X[left], Y[left])
    assert_array_equal(model.predict_proba(NEW), expected.predict_proba(NEW))
    assert np.all(left[model.relevance_])


def test_tuned_by_rows_left_out_weights_are_beside_the_largest():
    tune = Tuning("loo", C=[0.1, 1.0, 10.0], widths=[1.0])
    model = LSSVC(gamma=0.05, tune=tune, class_weight={"fig": 100.0}).fit(X, Y)
    own = np.where(Y == "fig", 1.0, 0.01)
    expected = LSSVC(gamma=0.05, tune=tune).fit(X, Y, own)

    assert model.C_ == expected.C_
    assert_allclose(model.predict_proba(NEW), expected.predict_proba(NEW))


def test_models_of_pairs_have_none_of_their_own():
    model = RVC(gamma=0.05, multi_class="ovo", class_weight=GIVEN).fit(X, Y)

    assert {one.class_weight for one in model.estimators_} == {None}


@pytest.mark.parametrize("make", [RVC, LSSVC])
class TestRefusals:
    @pytest.mark.parametrize("value", ["even", 2.0, [1, 2, 3], True])
    def test_other_words(self, make, value):
        with pytest.raises(ValueError, match=r"class_weight must be a dict .*got"):
            make(class_weight=value).fit(X, Y)

    def test_classes_that_are_not_there(self, make):
        model = make(class_weight={"plum": 1.0, "kiwi": 2.0, "pear": 3.0})
        with pytest.raises(ValueError, match=r"\['fig'\], are not in class_weight"):
            model.fit(X, Y)

    def test_negative_weights(self, make):
        with pytest.raises(ValueError, match=r"class_weight must not be negative"):
            make(class_weight={"fig": -1.0}).fit(X, Y)


def test_rows_that_stay_where_they_are():
    blocks = scan([(X[::2], Y[::2]), (X[1::2], Y[1::2])])
    with pytest.raises(ValueError, match=r"class_weight='balanced' needs .*data.scan"):
        RVC(partition="sample", class_weight="balanced").fit(blocks)

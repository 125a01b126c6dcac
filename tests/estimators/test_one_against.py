"""One binary model per class or pair: multi_class "ovr" and "ovo"."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from relvec import RVC, OneAgainstOne, Status
from relvec.data import scan
from relvec.kernels import Gaussian

X, Y = read_only(*make_blobs(90, centers=3, cluster_std=2.5, random_state=3))
NEW = read_only(np.random.default_rng(0).uniform(-15, 15, (200, 2)))
NAMES = np.array(["plum", "fig", "kiwi"])[Y]  # classes_ in another order than Y
MODES = ["ovr", "ovo"]
GAMMA = 0.05
KEYS = [(0, 1), (0, 2), (1, 2)]  # of the pairs, as indices of classes


@pytest.fixture(scope="module", params=MODES)
def model(request):
    return RVC(multi_class=request.param, gamma=GAMMA).fit(X, Y)


@pytest.fixture(scope="module")
def plain(model):
    """Without a process about it, which has functions of its own."""
    return clone(model).set_params(uncertainty="plain").fit(X, Y)


def test_the_binary_models_are_those_of_scikit_learn(model):
    makes = {"ovr": OneVsRestClassifier, "ovo": OneVsOneClassifier}
    theirs = makes[model.multi_class](RVC(gamma=GAMMA)).fit(X, Y)

    assert len(model.estimators_) == 3
    for mine, other in zip(model.estimators_, theirs.estimators_, strict=True):
        assert isinstance(mine, RVC)
        assert mine.multi_class == "auto"
        assert_allclose(
            mine.decision_function(NEW), other.decision_function(NEW), rtol=1e-9
        )
    if model.multi_class == "ovr":
        assert_allclose(
            model.predict_proba(NEW), theirs.predict_proba(NEW), rtol=1e-8, atol=1e-15
        )


def test_the_attributes_are_those_of_the_binary_models_together(model):
    rows = sorted(set().union(*(one.relevance_ for one in model.estimators_)))
    assert model.relevance_.tolist() == rows
    assert np.array_equal(model.relevance_vectors_, X[rows])
    assert not model.relevance_kernel_.any()
    assert model.dual_coef_.shape == model.prior_precision_.shape == (3, len(rows))
    for number, one in enumerate(model.estimators_):
        used = np.isin(rows, one.relevance_)
        assert np.array_equal(model.dual_coef_[number, used], one.dual_coef_)
        assert not model.dual_coef_[number, ~used].any()
        assert np.array_equal(
            model.prior_precision_[number, used], one.prior_precision_
        )
        assert np.isinf(model.prior_precision_[number, ~used]).all()
        assert model.intercept_[number] == one.intercept_
        assert model.intercept_precision_[number] == one.intercept_precision_
    assert_allclose(
        model.log_evidence_, sum(one.log_evidence_ for one in model.estimators_)
    )
    assert model.n_iter_ == sum(one.n_iter_ for one in model.estimators_)
    assert {len(values) for values in model.history_.values()} == {model.n_iter_}
    for number, one in enumerate(model.estimators_):
        mine = model.history_["classifier"] == number
        assert np.array_equal(model.history_["seconds"][mine], one.history_["seconds"])
    assert model.status_ is Status.CONVERGED


def test_weights_and_vectors_are_the_latent_functions(plain):
    """What the attributes say is what the binary models compute."""
    Phi = rbf_kernel(NEW, plain.relevance_vectors_, gamma=GAMMA)
    latent = Phi @ plain.dual_coef_.T + plain.intercept_

    assert_allclose(plain.model_.latent(NEW)[0], latent, rtol=1e-9, atol=1e-9)


def test_probabilities_decisions_and_predictions_agree(model):
    p, decision = model.predict_proba(NEW), model.decision_function(NEW)

    assert p.shape == decision.shape == (200, 3)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert np.array_equal(model.predict(NEW), p.argmax(axis=1))
    assert np.array_equal(decision.argsort(axis=1), p.argsort(axis=1))
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("mode", MODES)
def test_labels_of_any_kind(mode):
    plain = RVC(multi_class=mode, gamma=GAMMA).fit(X, Y)
    model = RVC(multi_class=mode, gamma=GAMMA).fit(X, NAMES)

    assert model.classes_.tolist() == ["fig", "kiwi", "plum"]
    assert_allclose(
        model.predict_proba(NEW), plain.predict_proba(NEW)[:, [1, 2, 0]], rtol=1e-6
    )
    assert set(model.predict(NEW)) <= set(NAMES)


@pytest.mark.parametrize("mode", MODES)
def test_two_classes_are_the_binary_model(mode):
    few = Y < 2
    model = RVC(multi_class=mode, gamma=GAMMA).fit(X[few], Y[few])
    binary = RVC(gamma=GAMMA).fit(X[few], Y[few])

    assert not hasattr(model, "estimators_")
    decision = model.decision_function(NEW)
    assert decision.shape == (200,)
    assert np.array_equal(decision, binary.decision_function(NEW))


WEIGHT = read_only(np.random.default_rng(4).integers(0, 3, len(X)).astype(float))
# A row of weight zero may be anything, also of a class that no other row has.
STRANGE = read_only(np.where(WEIGHT == 0, 7, Y))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_weights_are_repetitions_and_zero_is_absence(mode, kernel):
    again = np.repeat(np.arange(len(X)), WEIGHT.astype(int))
    model = RVC(kernel, multi_class=mode, gamma=GAMMA)
    weighted = clone(model).fit(X, STRANGE, sample_weight=WEIGHT)
    repeated = model.fit(X[again], Y[again])

    assert weighted.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(weighted.relevance_vectors_, repeated.relevance_vectors_)
    assert_allclose(
        weighted.predict_proba(NEW), repeated.predict_proba(NEW), rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("mode", MODES)
def test_columns_of_absent_rows_are_not_looked_at(mode):
    there = WEIGHT > 0
    K, K_new = (rbf_kernel(rows, X, gamma=GAMMA) for rows in (X, NEW))
    model = RVC("precomputed", multi_class=mode)
    weighted = clone(model).fit(K, STRANGE, sample_weight=WEIGHT)
    few = model.fit(K[np.ix_(there, there)], Y[there], sample_weight=WEIGHT[there])

    assert np.array_equal(weighted.relevance_, np.flatnonzero(there)[few.relevance_])
    assert_allclose(
        weighted.predict_proba(K_new), few.predict_proba(K_new[:, there]), rtol=1e-6
    )


def test_a_precomputed_kernel(plain):
    other = clone(plain).set_params(kernel="precomputed")
    other.fit(rbf_kernel(X, gamma=GAMMA), Y)

    assert np.array_equal(other.relevance_, plain.relevance_)
    assert other.relevance_vectors_.shape == (0, 0)
    assert_allclose(
        other.predict_proba(rbf_kernel(NEW, X, gamma=GAMMA)),
        plain.predict_proba(NEW),
        rtol=1e-5,
        atol=1e-12,
    )


@pytest.mark.parametrize("mode", MODES)
def test_features_as_the_dictionary(mode):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((150, 8))
    labels = np.argmax(rows[:, [2, 5, 7]] + 0.3 * rng.standard_normal((150, 3)), axis=1)
    model = RVC(None, multi_class=mode).fit(rows, labels)

    assert {2, 5, 7} <= set(model.relevance_)
    assert model.coef_.shape == (3, 8)
    assert_allclose(
        rows @ model.coef_.T + model.intercept_, model.model_.latent(rows)[0]
    )


@pytest.mark.parametrize("mode", MODES)
def test_objects_as_rows(mode):
    words = [letter * n for letter in "abc" for n in range(1, 11)]
    labels = np.repeat(["a", "b", "c"], 10)

    def shared(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    model = RVC(shared, multi_class=mode).fit(words, labels)

    assert model.predict(["aaaa", "bb", "c"]).tolist() == ["a", "b", "c"]
    assert set(model.relevance_vectors_) <= set(words)
    with pytest.raises(ValueError, match="fitted on objects"):
        model.predict([[1.0]])


@pytest.mark.parametrize("mode", MODES)
def test_blocks_of_rows(mode):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "w": WEIGHT, "y": NAMES})
    blocks = scan(frame, target="y", weight="w", block_rows=17)
    model = RVC(multi_class=mode, gamma=GAMMA)
    streamed = clone(model).fit(blocks)
    other = model.fit(frame[["a", "b"]], NAMES, sample_weight=WEIGHT)

    assert np.isin(streamed.relevance_, np.flatnonzero(WEIGHT)).all()
    assert np.array_equal(streamed.relevance_vectors_, X[streamed.relevance_])
    new = pd.DataFrame(NEW, columns=["a", "b"])
    assert_allclose(
        streamed.predict_proba(scan(new, block_rows=50)),
        other.predict_proba(new),
        atol=1e-3,
    )


def test_blocks_that_are_read_once_can_be_predicted(model):
    parts = (part for part in np.array_split(NEW, 4))

    assert_allclose(model.predict_proba(scan(parts)), model.predict_proba(NEW))


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, np.zeros(90), r"one class only, \[0.0\]"),
        (np.where(X > 9, np.nan, X), Y, "contains NaN"),
        (X, np.linspace(0, 1, 90), "Unknown label type"),
        (X[:20], Y, "inconsistent numbers of samples"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_bad_data(mode, rows, labels, message):
    with pytest.raises(ValueError, match=message):
        RVC(multi_class=mode).fit(rows, labels)


def test_bad_modes():
    words = "'auto', .*'ovr', 'ovo'; got 'one-vs-rest'"
    with pytest.raises(ValueError, match=f"multi_class must be one of {words}"):
        RVC(multi_class="one-vs-rest").fit(X, Y)
    with pytest.raises(NotFittedError):
        RVC(multi_class="ovo").predict_proba(X)


def test_frames_and_their_names(model):
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = clone(model).fit(frame, Y)

    assert named.feature_names_in_.tolist() == ["a", "b"]
    assert_allclose(named.predict_proba(frame), model.predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame[["b", "a"]])


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_all_models_share_the_width_that_is_learned(multi_class):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    y = np.arange(90) % 3
    X[np.arange(90), y % 2] += 2 * y
    model = RVC(multi_class=multi_class).fit(X, y)
    kernels = [one.basis.groups[0].kernel for one in model.model_.models]

    assert all(kernel == model.kernel_ for kernel in kernels)
    assert all(one.kernel_ == model.kernel_ for one in model.estimators_)
    assert not hasattr(RVC(gamma=1.0, multi_class=multi_class).fit(X, y), "kernel_")


@pytest.fixture(scope="module")
def voting():
    return RVC(multi_class=OneAgainstOne("votes"), gamma=GAMMA).fit(X, NAMES)


class TestVotes:
    """One vote for each pair of classes."""

    def test_they_are_those_of_scikit_learn(self, voting):
        theirs = OneVsOneClassifier(RVC(gamma=GAMMA)).fit(X, NAMES)

        assert_allclose(voting.decision_function(NEW), theirs.decision_function(NEW))
        assert np.array_equal(voting.predict(NEW), theirs.predict(NEW))

    def test_a_class_that_wins_both_its_pairs_is_predicted(self, voting):
        wins = np.zeros((len(NEW), 3))
        for pair, one in zip(KEYS, voting.estimators_, strict=True):
            second = one.predict_proba(NEW)[:, 1] > 0.5
            wins[np.arange(len(NEW)), np.where(second, pair[1], pair[0])] += 1
        rows, winners = np.nonzero(wins == 2)

        assert len(rows) > 100
        assert np.array_equal(voting.predict(NEW)[rows], voting.classes_[winners])

    def test_they_are_no_probabilities(self, voting):
        assert not hasattr(voting, "predict_proba")
        with pytest.raises(AttributeError) as caught:
            voting.predict_proba(NEW)
        assert "votes are no probabilities" in str(caught.value.__cause__)
        assert not hasattr(voting.model_.predictive(NEW), "probabilities")
        assert all(hasattr(one, "predict_proba") for one in voting.estimators_)

    def test_the_settings_are_parameters(self, voting):
        other = clone(voting).set_params(multi_class__decision="coupled").fit(X, NAMES)
        plain = RVC(multi_class="ovo", gamma=GAMMA).fit(X, NAMES)

        assert voting.multi_class == OneAgainstOne("votes")
        assert np.array_equal(other.predict_proba(NEW), plain.predict_proba(NEW))
        with pytest.raises(ValueError, match="decision must be one of 'coupled', 'vo"):
            OneAgainstOne("majority")

    def test_two_classes_are_the_binary_model(self):
        few = Y < 2
        model = RVC(multi_class=OneAgainstOne("votes"), gamma=GAMMA)
        binary = RVC(gamma=GAMMA).fit(X[few], Y[few])

        assert np.array_equal(
            model.fit(X[few], Y[few]).decision_function(NEW),
            binary.decision_function(NEW),
        )

    def test_every_pair_may_have_its_kernel(self):
        kernels = {pair: Gaussian(4.0) for pair in [(0, 1), (0, 2), (1, 2)]}
        model = RVC(kernels, multi_class=OneAgainstOne("votes")).fit(X, Y)
        plain = RVC(Gaussian(4.0), multi_class=OneAgainstOne("votes")).fit(X, Y)

        assert np.array_equal(model.predict(NEW), plain.predict(NEW))

"""However the dictionary is held, the model is the same; candidates= and design=."""

import logging
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only, ripples
from sklearn.base import clone

from relvec import RVC, RVR, BottomUp
from relvec.data import noisy_sinc, scan, two_mixtures

NOISE = 0.1
X, Y = ripples(1200, seed=3, noise=NOISE)
POINTS, LABELS = read_only(*two_mixtures(600, seed=0))
WEIGHTS = read_only(np.random.default_rng(4).integers(0, 3, 1200).astype(float))

DESIGNS = ["auto", "streamed"]


def regression(**parameters):
    return RVR(gamma=1 / 4**2, **parameters)


def classification(**parameters):
    return RVC(gamma=1 / 0.5**2, **parameters)


@pytest.fixture(scope="module")
def dense_regression():
    return regression(design="dense").fit(X, Y)


@pytest.fixture(scope="module")
def dense_classification():
    return classification(design="dense").fit(POINTS, LABELS)


@pytest.mark.parametrize("design", DESIGNS)
def test_regression_agrees_with_the_dense_one(design, dense_regression):
    model = regression(design=design).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    dense_mean, dense_std = dense_regression.predict(X, return_std=True)

    # Two maxima of the evidence: models differ by less than either is sure of. That all
    # designs see the same evidence is tested below, where there is one maximum.
    doubt = np.mean(dense_std**2 - dense_regression.noise_variance_)
    assert np.mean((mean - dense_mean) ** 2) < doubt
    assert_allclose(std, dense_std, rtol=0.02)
    assert_allclose(model.log_evidence_, dense_regression.log_evidence_, rtol=0.01)


@pytest.mark.parametrize("design", DESIGNS)
def test_few_functions_give_the_very_same_model(design):
    """With few candidates there is one maximum, and every design finds it."""
    x, y = noisy_sinc(400, seed=1)
    centres = np.linspace(-10, 10, 40)[:, None]
    parameters = {"gamma": 1 / 3**2, "candidates": centres}
    dense = RVR(design="dense", **parameters).fit(x, y)
    model = RVR(design=design, **parameters).fit(x, y)

    assert_allclose(model.relevance_vectors_, dense.relevance_vectors_)
    assert_allclose(model.log_evidence_, dense.log_evidence_, atol=1e-3)
    assert_allclose(model.predict(x), dense.predict(x), atol=1e-3 * NOISE)
    assert_allclose(model.noise_variance_, dense.noise_variance_, rtol=1e-3)


@pytest.mark.parametrize("design", DESIGNS)
def test_classification_agrees_with_the_dense_one(design, dense_classification):
    model = classification(design=design).fit(POINTS, LABELS)
    found = model.predict_proba(POINTS)[:, 1]
    expected = dense_classification.predict_proba(POINTS)[:, 1]

    assert np.mean(np.abs(found - expected)) < 0.01
    assert_allclose(model.log_evidence_, dense_classification.log_evidence_, atol=0.01)


@pytest.mark.parametrize("design", ["dense", *DESIGNS])
def test_weights_are_repetitions(design):
    """Rows of weight zero are absent, those of weight two are there twice."""
    counts = WEIGHTS.astype(int)
    centres = X[::20]
    weighted = regression(design=design, candidates=centres)
    weighted.fit(X, Y, sample_weight=WEIGHTS)
    repeated = regression(design=design, candidates=centres)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))

    assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-6)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3 * NOISE)


@pytest.mark.parametrize("design", DESIGNS)
def test_relevance_counts_rows_of_weight_zero_too(design):
    model = regression(design=design).fit(X, Y, sample_weight=WEIGHTS)

    assert np.all(WEIGHTS[model.relevance_] > 0)
    assert_allclose(model.relevance_vectors_, X[model.relevance_])


@pytest.mark.parametrize("design", DESIGNS)
def test_weighted_classification_agrees_with_the_dense_one(design):
    weights = WEIGHTS[:600]
    expected = classification(design="dense").fit(POINTS, LABELS, sample_weight=weights)
    model = classification(design=design).fit(POINTS, LABELS, sample_weight=weights)
    difference = model.predict_proba(POINTS) - expected.predict_proba(POINTS)

    assert np.mean(np.abs(difference)) < 0.01
    assert np.all(weights[model.relevance_] > 0)


@pytest.mark.parametrize("schedule", ["batch", "greedy"])
@pytest.mark.parametrize("design", DESIGNS)
def test_both_schedules_run_on_every_design(design, schedule):
    x, y = noisy_sinc(200, seed=0)
    model = RVR(gamma=1 / 3**2, design=design, solver=BottomUp(schedule)).fit(x, y)

    assert model.score(x, np.sinc(x[:, 0] / np.pi)) > 0.98
    assert model.status_.success


def test_kernels_that_are_not_definite_go_through_blocks():
    """Sigmoid and any callable: held whole, in blocks."""

    def cauchy(A, B):
        return 1 / (1 + ((A[:, None] - B) ** 2).sum(axis=-1) / 9)

    x, y = noisy_sinc(300, seed=0)
    y = y + np.tanh(x[:, 0])
    for kernel in ("sigmoid", cauchy):
        dense = RVR(kernel, gamma=0.1, design="dense", candidates=50).fit(x, y)
        model = RVR(kernel, gamma=0.1, design="streamed", candidates=50).fit(x, y)
        assert_allclose(model.predict(x), dense.predict(x), atol=1e-3 * NOISE)


def test_features_as_dictionary(rng):
    features = rng.standard_normal((800, 30))
    target = features[:, 3] - 2 * features[:, 17] + 0.1 * rng.standard_normal(800)
    dense = RVR(kernel=None, design="dense").fit(features, target)
    model = RVR(kernel=None, design="streamed").fit(features, target)

    assert np.array_equal(model.relevance_, dense.relevance_)
    assert {3, 17} <= set(model.relevance_)
    assert_allclose(model.coef_, dense.coef_, atol=1e-5)


@pytest.mark.parametrize("n_features", [2, 13])
def test_many_features(n_features, rng):
    """Distances are computed in another way beyond twelve features."""
    rows = rng.standard_normal((300, n_features))
    target = rows[:, 0] + 0.1 * rng.standard_normal(300)
    dense = RVR(gamma=1e-3, design="dense").fit(rows, target)
    model = RVR(gamma=1e-3, design="streamed").fit(rows, target)

    assert_allclose(model.predict(rows), dense.predict(rows), atol=0.5 * NOISE)


# candidates=


def test_all_rows_are_candidates_by_default_while_they_are_few(dense_regression):
    model = regression(design="dense", candidates="all").fit(X, Y)

    assert np.array_equal(model.relevance_, dense_regression.relevance_)


def test_auto_draws_a_limited_number_of_rows_that_are_read(monkeypatch):
    monkeypatch.setattr("relvec.estimators.validation.MOST_CANDIDATES", 60)
    blocks = scan(X, target=Y)
    few = regression().fit(blocks)
    same = regression(candidates=60).fit(blocks)
    all_of_them = regression().fit(X, Y)

    assert np.array_equal(few.relevance_, same.relevance_)
    assert not set(all_of_them.relevance_) <= set(few.relevance_)


def test_a_number_of_candidates_is_drawn_by_a_seed():
    def drawn(random_state, count=100):
        model = regression(candidates=count, random_state=random_state)
        return set(model.fit(X, Y).relevance_)

    assert drawn(0) == drawn(0)
    assert drawn(None) == drawn(None)
    assert drawn(0) != drawn(1)
    assert len(drawn(0, count=5)) <= 5


def test_draws_are_spread_over_all_rows():
    model = regression(candidates=200).fit(X, Y)

    assert model.relevance_.min() < 300
    assert model.relevance_.max() > 900
    assert np.array_equal(model.relevance_, np.sort(model.relevance_))


@pytest.mark.parametrize("design", ["dense", *DESIGNS])
def test_centres_of_ones_own(design, rng):
    centres = rng.uniform(-10, 10, (80, 2))
    model = regression(design=design, candidates=centres).fit(X, Y)
    rows = {tuple(row) for row in centres}

    assert len(model.relevance_) > 0
    assert np.all(model.relevance_ == -1)
    assert {tuple(row) for row in model.relevance_vectors_} <= rows
    assert_allclose(
        clone(model).set_params(candidates=centres.tolist()).fit(X, Y).predict(X[:9]),
        model.predict(X[:9]),
    )


def test_equal_rows_are_one_candidate():
    twice = np.repeat(X[:100], 2, axis=0)
    model = regression().fit(twice, np.repeat(Y[:100], 2))

    assert np.all(model.relevance_ % 2 == 0)


def test_fewer_candidates_where_no_more_fit():
    """A search that looks at all candidates holds no more than there is room for."""
    greedy = BottomUp("greedy")
    model = RVR(gamma=0.5, memory_budget="3MB", solver=greedy, max_iter=9)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(X, Y)

    assert_allclose(model.relevance_vectors_, X[model.relevance_])
    with pytest.raises(ValueError, match=r"nothing of 1,200 rows .* set candidates to"):
        model.set_params(candidates="all").fit(X, Y)


def test_features_are_never_left_out_for_a_budget(rng):
    features = rng.standard_normal((1000, 300))
    with pytest.raises(ValueError, match=r"1,000 rows × 301 functions.*leave out feat"):
        RVR(kernel=None, memory_budget="10kB").fit(features, features[:, 7])


# float32


@pytest.mark.parametrize("design", ["dense", *DESIGNS])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", None])
def test_single_precision_rows_give_nearly_the_same_model(design, kernel, rng):
    target = X[:, 0] - 0.1 * X[:, 1] ** 2 + rng.standard_normal(1200)
    count = "auto" if kernel is None else 60
    parameters = {"gamma": 0.02, "design": design, "candidates": count}
    double = RVR(kernel, **parameters).fit(X, target)
    single = RVR(kernel, **parameters).fit(X.astype(np.float32), target)
    mean = single.predict(X.astype(np.float32))

    assert mean.dtype == np.float64
    assert_allclose(mean, double.predict(X), atol=1e-3)
    assert_allclose(single.log_evidence_, double.log_evidence_, atol=0.01)


def test_single_precision_vectors_stay_as_they_were():
    rows = X.astype(np.float32)
    model = regression(design="streamed").fit(rows, Y)

    assert model.relevance_vectors_.dtype == np.float32
    assert np.array_equal(model.relevance_vectors_, rows[model.relevance_])


def test_single_precision_classification():
    double = classification(design="streamed").fit(POINTS, LABELS)
    single = classification(design="streamed").fit(POINTS.astype(np.float32), LABELS)

    assert_allclose(
        single.predict_proba(POINTS.astype(np.float32)),
        double.predict_proba(POINTS),
        atol=1e-3,
    )


# verbose=


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "design: dense: only 1,200 rows × 1,201 functions"),
        ({"design": "dense"}, "design: dense: 1,200 rows .* as asked for"),
        ({"design": "streamed"}, "design: columns of 1,200 rows .* as they are needed"),
    ],
)
def test_the_choice_is_logged(caplog, parameters, words):
    regression(verbose=1, **parameters).fit(X, Y)
    lines = [record.getMessage() for record in caplog.records]

    assert sum(line.startswith("design: ") for line in lines) == 1
    assert any(re.search(words, line) for line in lines)


def test_fewer_candidates_are_logged(caplog):
    greedy = BottomUp("greedy")
    model = RVR(gamma=0.5, memory_budget="3MB", solver=greedy, max_iter=9, verbose=1)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(X, Y)
    lines = [record.getMessage() for record in caplog.records]

    assert [line for line in lines if line.startswith("candidates: ")]


def test_nothing_is_logged_unless_asked_for(caplog):
    with caplog.at_level(logging.WARNING):
        regression(design="streamed").fit(X, Y)

    assert caplog.records == []


def test_a_source_of_rows_and_its_array_are_logged_alike(caplog):
    regression(verbose=1, design="streamed").fit(scan(X, target=Y))

    assert any("1,200 rows" in record.getMessage() for record in caplog.records)


def test_neighbours_with_large_opposite_weights_do_not_send_the_search_astray():
    """The condition is far beyond 1e6: inner products alone promise what is not so."""
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 10, (2000, 1))
    y = np.sin(40 / x[:, 0]) + 0.1 * rng.standard_normal(2000)
    model = RVR(gamma=50.0).fit(x, y)

    assert model.model_.posterior.condition > 1e6
    assert np.sqrt(np.mean((model.predict(x) - np.sin(40 / x[:, 0])) ** 2)) < 0.05


# Values of version 0.2 whose mechanism is gone


def test_a_low_rank_is_deprecated_and_suits_itself():
    with pytest.warns(FutureWarning, match="'low-rank' is deprecated and means 'auto'"):
        model = classification(design="low-rank").fit(POINTS, LABELS)
    expected = classification().fit(POINTS, LABELS)

    assert_array_equal(model.relevance_, expected.relevance_)
    assert model.log_evidence_ == expected.log_evidence_


def test_a_pool_is_deprecated_and_means_batches():
    with pytest.warns(FutureWarning, match="'pool' is deprecated: .*schedule='batch'"):
        solver = BottomUp(schedule="pool")
    model = classification(solver=solver).fit(POINTS, LABELS)
    expected = classification(solver=BottomUp()).fit(POINTS, LABELS)

    assert_array_equal(model.relevance_, expected.relevance_)
    assert model.log_evidence_ == expected.log_evidence_

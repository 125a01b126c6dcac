"""Regression that adds up inner products call by call."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only

from relvec import RVR, FitWarning, TopDown
from relvec.data import noisy_sinc, scan

X, Y = noisy_sinc(400, seed=2)
ORDER = np.random.default_rng(0).permutation(400)
X, Y = read_only(X[ORDER], Y[ORDER])
WEIGHT = read_only(np.random.default_rng(1).integers(0, 4, 400).astype(float))
CENTRES = np.linspace(-10, 10, 30)[:, None]
PARTS = [slice(0, 50), slice(50, 51), slice(51, 300), slice(300, 400)]


def regression(**parameters):
    plain = {"gamma": 1 / 3**2, "candidates": CENTRES, "uncertainty": "plain"}
    return RVR(**plain | parameters)


def in_parts(model, y=Y, weight=None, parts=PARTS):
    for part in parts:
        weights = None if weight is None else weight[part]
        model.partial_fit(X[part], y[part], weights)
    return model


def assert_same_model(found, expected, atol=1e-6):
    assert_allclose(found.relevance_vectors_, expected.relevance_vectors_)
    assert_allclose(found.log_evidence_, expected.log_evidence_, rtol=1e-6)
    assert_allclose(found.noise_variance_, expected.noise_variance_, rtol=1e-4)
    for one, other in zip(
        found.predict(X, return_std=True),
        expected.predict(X, return_std=True),
        strict=True,
    ):
        assert_allclose(one, other, atol=atol)


def test_parts_are_as_good_as_the_whole():
    assert_same_model(in_parts(regression()), regression().partial_fit(X, Y))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_is_a_fit_with_the_same_centres(fit_intercept):
    model = in_parts(regression(fit_intercept=fit_intercept))
    fitted = regression(fit_intercept=fit_intercept).fit(X, Y)

    assert len(model.relevance_) > 3
    assert_array_equal(model.relevance_, -1)
    assert_same_model(model, fitted, atol=1e-3)


def test_the_order_of_parts_does_not_matter():
    backwards = in_parts(regression(), parts=PARTS[::-1])

    assert_same_model(in_parts(regression()), backwards)


def test_weights_are_repetitions():
    model = in_parts(regression(), weight=WEIGHT + (np.arange(400) == 50))
    counts = (WEIGHT + (np.arange(400) == 50)).astype(int)
    repeated = regression().partial_fit(np.repeat(X, counts, 0), np.repeat(Y, counts))
    fitted = regression().fit(np.repeat(X, counts, 0), np.repeat(Y, counts))

    assert_same_model(model, repeated)
    assert_same_model(model, fitted, atol=1e-3)


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_targets_far_from_zero(offset):
    """A million plus or minus one: squares keep their digits."""
    model = in_parts(regression(), Y + offset)
    near = in_parts(regression())

    assert_allclose(model.predict(X) - offset, near.predict(X), atol=1e-4)
    assert_allclose(model.noise_variance_, near.noise_variance_, rtol=1e-4)
    assert_allclose(model.log_evidence_, near.log_evidence_, rtol=1e-6)


def test_the_noise_may_be_known():
    model = in_parts(regression(noise_variance=0.04))
    fitted = regression(noise_variance=0.04).fit(X, Y)

    assert model.noise_variance_ == pytest.approx(0.04)
    assert_same_model(model, fitted, atol=1e-3)


def test_centres_are_drawn_from_the_first_rows():
    model = RVR(gamma=1 / 3**2, candidates=40, random_state=1)
    in_parts(model, parts=[slice(0, 200), slice(200, 400)])
    again = RVR(gamma=1 / 3**2, candidates=40, random_state=1).partial_fit(X, Y)

    assert model.relevance_.max() < 200
    assert_allclose(model.relevance_vectors_, X[model.relevance_])
    assert again.relevance_.max() >= 200


def test_candidates_are_limited(monkeypatch):
    monkeypatch.setattr("relvec.estimators.incremental._MOST_CANDIDATES", 25)
    for candidates in ("auto", "all", 100):
        model = regression(candidates=candidates).partial_fit(X, Y)
        assert len(model.accumulated_.candidates.basis) == 26


def test_every_call_gives_a_model_of_all_rows_so_far():
    model = regression()
    for last in (100, 200, 300):
        model.partial_fit(X[last - 100 : last], Y[last - 100 : last])
        fitted = regression().fit(X[:last], Y[:last])
        assert_allclose(model.log_evidence_, fitted.log_evidence_, rtol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", None])
def test_other_dictionaries(kernel):
    rows = np.random.default_rng(3).standard_normal((300, 5))
    target = rows[:, 1] - rows[:, 3] + 0.1 * rows[:, 0]
    target += 0.1 * np.random.default_rng(1).standard_normal(300)
    centres = "auto" if kernel is None else rows[:40]
    model = RVR(kernel, gamma=0.2, coef0=1.0, candidates=centres)
    model.partial_fit(rows[:100], target[:100]).partial_fit(rows[100:], target[100:])
    fitted = RVR(kernel, gamma=0.2, coef0=1.0, candidates=centres).fit(rows, target)

    assert_allclose(model.predict(rows), fitted.predict(rows), atol=1e-5)
    if kernel is None:
        assert_array_equal(model.relevance_, fitted.relevance_)
        assert_allclose(model.coef_, fitted.coef_, atol=1e-4)


def test_functions_that_depend_on_each_other():
    """Centres given twice, and far more of them than rows."""
    twice = np.repeat(np.linspace(-10, 10, 60), 2)[:, None]
    model = regression(candidates=twice)
    in_parts(model, parts=[slice(0, 30), slice(30, 60)])
    fitted = regression().fit(X[:60], Y[:60])

    assert np.isfinite(model.predict(X)).all()
    assert model.log_evidence_ > fitted.log_evidence_ - 3


def test_fit_begins_anew():
    model = in_parts(regression()).fit(X[:100], Y[:100])
    assert not hasattr(model, "accumulated_")
    model.partial_fit(X[100:], Y[100:])

    assert_same_model(model, regression().partial_fit(X[100:], Y[100:]))


def test_it_may_begin_after_a_fit():
    model = regression(candidates=50).fit(np.hstack([X, -X]), Y)
    model.set_params(candidates=CENTRES).partial_fit(X, Y)

    assert model.n_features_in_ == 1
    assert_same_model(model, regression().partial_fit(X, Y))


def test_a_model_goes_on_after_it_was_stored():
    stored = pickle.dumps(in_parts(regression(), parts=PARTS[:2]))
    model = in_parts(pickle.loads(stored), parts=PARTS[2:])

    assert_same_model(model, in_parts(regression()))


def test_single_precision():
    model = regression().partial_fit(X.astype(np.float32), Y)

    assert_allclose(
        model.predict(X), regression().partial_fit(X, Y).predict(X), atol=1e-3
    )


def test_blocks():
    blocks = scan(X, target=Y, weight=WEIGHT, block_rows=70)
    once = iter([(X[p], Y[p], WEIGHT[p]) for p in (slice(0, 200), slice(200, 400))])
    expected = regression().partial_fit(X, Y, WEIGHT)

    assert_same_model(regression().partial_fit(blocks), expected)
    assert_same_model(regression().partial_fit(scan(once)), expected)


def test_blocks_after_arrays():
    model = regression().partial_fit(X[:100], Y[:100])
    model.partial_fit(scan(X[100:], target=Y[100:], block_rows=70))

    assert_same_model(model, regression().partial_fit(X, Y))


def test_a_block_whose_weights_are_zero_is_as_if_absent():
    zero = np.zeros(100)
    blocks = [(X[:100], Y[:100], zero), (X[100:], Y[100:], np.ones(300))]
    model = regression().partial_fit(scan(blocks))

    assert_same_model(model, regression().partial_fit(X[100:], Y[100:]))
    with pytest.raises(ValueError, match="weights are all zero"):
        regression().partial_fit(scan([(X[:100], Y[:100], zero)]))


def test_a_constant_target_is_told():
    with pytest.warns(FitWarning, match="does not vary"):
        model = regression().partial_fit(X, np.full(400, 3.0))

    assert_allclose(model.predict(X), 3.0)


# refusals


def test_other_features_are_refused_and_change_nothing():
    model = in_parts(regression(), parts=PARTS[:2])
    before = model.predict(X)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(np.hstack([X, X]), Y)
    with pytest.raises(ValueError, match=r"blocks have 2 features .* fitted with 1"):
        model.partial_fit(scan(np.hstack([X, X]), target=Y))

    assert_array_equal(model.predict(X), before)
    assert_same_model(in_parts(model, parts=PARTS[2:]), in_parts(regression()))


def test_other_names_are_refused():
    model = regression().partial_fit(pd.DataFrame(X, columns=["time"]), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(pd.DataFrame(X, columns=["length"]), Y)


def test_a_source_that_fails_midway_changes_nothing():
    model = in_parts(regression(), parts=PARTS[:2])
    before = pickle.dumps(model)

    def failing():
        yield X[:100], Y[:100]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(scan(failing()))

    assert pickle.dumps(model) == before
    unfitted = regression()
    with pytest.raises(KeyboardInterrupt):
        unfitted.partial_fit(scan(failing()))
    assert not [name for name in vars(unfitted) if name.endswith("_")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((scan(X, target=Y), Y), "leave out y and sample_weight"),
        ((scan(X, target=Y), None, WEIGHT), "leave out y and sample_weight"),
        ((scan(X),), "the blocks have no target: name its column"),
        ((X, np.where(Y > 0.9, np.nan, Y)), "NaN"),
        ((X[:10], Y), "inconsistent numbers of samples"),
        ((X, Y, -WEIGHT), "must not be negative"),
        ((X, Y, np.zeros(400)), "zero for every row"),
        ((X,), "requires y"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        regression().partial_fit(*arguments)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="tol must be a positive number"):
        regression(tol=-1).partial_fit(X, Y)


def test_there_are_no_rows_in_a_precomputed_kernel():
    with pytest.raises(AttributeError, match="partial_fit") as raised:
        RVR(kernel="precomputed").partial_fit(np.eye(3), np.ones(3))

    assert "needs the rows themselves" in str(raised.value.__cause__)
    assert not hasattr(RVR(kernel="precomputed"), "partial_fit")


def test_inner_products_that_do_not_fit_are_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    model = RVR(candidates=X, memory_budget="1MB")

    with pytest.raises(
        ValueError, match=r"all 301 functions, and a memory_budget of 1 MB"
    ):
        model.partial_fit(X, X[:, 0])
    assert not hasattr(model, "model_")


def test_solvers_begin_as_they_are_told():
    """With the noise and the precisions that are given, as in a fit."""
    given = {"initial_noise_variance": 5.0, "initial_precision": 0.5}
    solver = TopDown("mackay", noise_interval=100, polish=False, **given)
    models = [regression(solver=solver, max_iter=1) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, parts = models[0].fit(X, Y), models[1].partial_fit(X, Y)

    assert_allclose(parts.noise_variance_, 5.0)
    assert_allclose(parts.prior_precision_, whole.prior_precision_, rtol=1e-5)


def test_the_intercept_is_that_of_the_dictionary():
    model = regression().partial_fit(X, Y + 5)
    before = model.predict(X)
    model.set_params(fit_intercept=False).partial_fit(X, Y + 5)

    assert_allclose(model.predict(X), before, atol=0.1)

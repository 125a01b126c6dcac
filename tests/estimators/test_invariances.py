"""What must not matter does not: units, order, repetition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from relvec import RVC, RVR, Status

SEEDS = st.integers(0, 2**32 - 1)
# Every example takes two fits: half as many as of other laws.
COSTLY = settings(max_examples=settings.default.max_examples // 2)

# Small samples may be fitted perfectly, or not at all: laws hold there as well.
pytestmark = pytest.mark.filterwarnings("ignore::relvec.estimators.FitWarning")


def regression_data(seed):
    """Continuous data without exact ties, and rows to predict."""
    rng = np.random.default_rng(seed)
    n_samples, n_features = int(rng.integers(12, 30)), int(rng.integers(1, 5))
    X = rng.standard_normal((n_samples, n_features))
    signal = np.sin(2 * X[:, 0]) + 0.3 * X.sum(axis=1)
    y = signal + 10 ** rng.uniform(-2, 0) * rng.standard_normal(n_samples)
    return rng, X, y, rng.standard_normal((15, n_features))


def classification_data(seed):
    rng, X, y, new = regression_data(seed)
    return rng, X, (y > np.median(y)).astype(int), new


def regress(X, y, new, **fit):
    return RVR(gamma="scale").fit(X, y, **fit).predict(new)


def classify(X, y, new, **fit):
    return RVC(gamma="scale").fit(X, y, **fit).predict_proba(new)[:, 1]


def assert_close(one, other):
    assert_allclose(one, other, rtol=0, atol=1e-6 * np.max(np.abs(other)))


KINDS = pytest.mark.parametrize(
    ("data", "predictions"),
    [(regression_data, regress), (classification_data, classify)],
    ids=["RVR", "RVC"],
)


@COSTLY
@given(seed=SEEDS, exponent=st.floats(-12, 12), shift=st.floats(-10, 10))
def test_targets_in_other_units(seed, exponent, shift):
    """y → a·y + c moves the predictions along, scales the bars, shifts the evidence."""
    _, X, y, new = regression_data(seed)
    a = 10.0**exponent
    plain, moved = (
        RVR(gamma="scale").fit(X, y),
        RVR(gamma="scale").fit(X, a * y + a * shift),
    )
    mean, std = plain.predict(new, return_std=True)
    moved_mean, moved_std = moved.predict(new, return_std=True)

    assert_close(moved_mean / a - shift, mean)
    assert_close(moved_std / a, std)
    assert_close(moved.log_evidence_ + len(y) * np.log(a), plain.log_evidence_)
    assert np.array_equal(moved.relevance_, plain.relevance_)


@KINDS
@COSTLY
@given(seed=SEEDS, exponent=st.floats(-100, 100))
def test_features_in_other_units(data, predictions, seed, exponent):
    _, X, y, new = data(seed)
    a = 10.0**exponent

    assert_close(predictions(a * X, y, a * new), predictions(X, y, new))


@KINDS
@COSTLY
@given(seed=SEEDS)
def test_order_of_rows(data, predictions, seed):
    rng, X, y, new = data(seed)
    order = rng.permutation(len(X))

    assert_close(predictions(X[order], y[order], new), predictions(X, y, new))


@KINDS
@COSTLY
@given(seed=SEEDS)
def test_order_of_features(data, predictions, seed):
    rng, X, y, new = data(seed)
    order = rng.permutation(X.shape[1])

    assert_close(predictions(X[:, order], y, new[:, order]), predictions(X, y, new))


@KINDS
@COSTLY
@given(seed=SEEDS)
def test_a_weight_is_a_number_of_repetitions(data, predictions, seed):
    """Zero leaves a row out, two counts it twice."""
    rng, X, y, new = data(seed)
    counts = rng.integers(0, 4, len(X))
    counts[np.argmin(y)], counts[np.argmax(y)] = 1, 2
    rows = np.repeat(np.arange(len(X)), counts)

    weighted = predictions(X, y, new, sample_weight=counts)
    assert_close(weighted, predictions(X[rows], y[rows], new))


@COSTLY
@given(seed=SEEDS)
def test_evidence_counts_repetitions(seed):
    rng, X, y, _ = regression_data(seed)
    counts = rng.integers(0, 3, len(X)) + (np.arange(len(X)) < 6)
    rows = np.repeat(np.arange(len(X)), counts)
    weighted = RVR(gamma="scale").fit(X, y, sample_weight=counts)
    repeated = RVR(gamma="scale").fit(X[rows], y[rows])

    assert_close(weighted.log_evidence_, repeated.log_evidence_)
    if weighted.status_ is not Status.PERFECT_FIT:
        # Otherwise it comes from residuals that are rounding.
        assert_close(weighted.noise_variance_, repeated.noise_variance_)
    assert np.array_equal(X[weighted.relevance_], X[rows][repeated.relevance_])


@KINDS
@COSTLY
@given(seed=SEEDS)
def test_order_of_the_classes_or_sign_of_the_targets(data, predictions, seed):
    _, X, y, new = data(seed)
    plain = predictions(X, y, new)
    if predictions is classify:
        assert_close(1 - predictions(X, 1 - y, new), plain)
    else:
        assert_close(-predictions(X, -y, new), plain)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("data", "model"),
    [(regression_data, RVR()), (classification_data, RVC())],
    ids=["RVR", "RVC"],
)
def test_learned_widths(data, model, seed):
    """Order and repetition do not matter to them, and units only scale them."""
    rng, X, y, new = data(seed)
    order, counts = rng.permutation(len(X)), rng.integers(1, 3, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    plain = model.fit(X, y).kernel_.length_scale
    expected = model.predict(new)

    model.fit(X[order], y[order])
    assert_allclose(model.kernel_.length_scale, plain)
    # Several searches with it end near to each other, and one of them is chosen.
    assert_allclose(model.predict(new), expected, atol=0.1)
    model.fit(1024 * X, y)
    assert_allclose(model.kernel_.length_scale, 1024 * plain)
    assert_allclose(model.predict(1024 * new), expected, atol=0.1)
    weighted = model.fit(X, y, sample_weight=counts).kernel_.length_scale
    assert_allclose(model.fit(X[rows], y[rows]).kernel_.length_scale, weighted)

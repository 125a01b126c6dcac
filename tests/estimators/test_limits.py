"""Data at the edge: a defined answer, at most a warning, never NaN."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from sklearn.datasets import make_friedman1

from relvec import RVC, RVR, Status, sparse_bayes
from relvec.data import noisy_sinc
from relvec.design import DenseDesign
from relvec.estimators import FitWarning
from relvec.kernels import Gaussian

X, Y = read_only(*make_friedman1(60, noise=1.0, random_state=0))
LABELS = (np.median(Y) < Y).astype(int)
SPAN = X * 10.0 ** np.linspace(-150, 150, X.shape[1])

REGRESSIONS = {
    "plain": (RVR(), X, Y),
    "constant column": (RVR(), np.c_[X, np.ones(60)], Y),
    "constant column alone": (RVR(kernel=None), np.ones((60, 1)), Y),
    "column twice": (RVR(), np.c_[X, X[:, 0]], Y),
    "column twice, no kernel": (RVR(kernel=None), np.c_[X, X], Y),
    "every row four times": (RVR(), np.repeat(X, 4, axis=0), np.repeat(Y, 4)),
    "equal rows, different targets": (RVR(), np.repeat(X[:20], 3, axis=0), Y),
    "all rows equal": (RVR(), np.ones((60, 3)), Y),
    "huge features": (RVR(), X * 1e150, Y),
    "tiny features": (RVR(), X * 1e-150, Y),
    "features far away": (RVR(), X + 1e6, Y),
    "features spanning 300 decades": (RVR(), SPAN, Y),
    "features spanning 300 decades, linear": (RVR(kernel="linear"), SPAN, Y),
    "features spanning 300 decades, no kernel": (RVR(kernel=None), SPAN, Y),
    "huge targets": (RVR(), X, Y * 1e120),
    "tiny targets": (RVR(), X, Y * 1e-120),
    "targets far away": (RVR(), X, Y + 1e8),
    "constant target": (RVR(), X, np.full(60, 0.1)),
    "constant target, no intercept": (RVR(fit_intercept=False), X, np.full(60, 0.1)),
    "zero target": (RVR(), X, np.zeros(60)),
    "noise alone": (RVR(), X, np.random.default_rng(0).standard_normal(60)),
    "no noise": (RVR(), *noisy_sinc(60, noise=0)),
    "exactly linear": (RVR(kernel=None), X, X @ np.arange(10.0)),
    "one row": (RVR(), X[:1], Y[:1]),
    "two rows": (RVR(), X[:2], Y[:2]),
    "three rows": (RVR(), X[:3], Y[:3]),
    "more features than rows": (RVR(kernel=None), X[:6], Y[:6]),
    "kernel of zero width": (RVR(gamma=1e12), X, Y),
    "kernel of infinite width": (RVR(gamma=1e-14), X, Y),
    "far too little noise given": (RVR(noise_variance=1e-12), X[:30], Y[:30]),
    "far too much noise given": (RVR(noise_variance=1e12), X, Y),
}
CLASSIFICATIONS = {
    "plain": (RVC(), X, LABELS),
    "separable": (RVC(), X, (X[:, 0] > 0.5).astype(int)),
    "separable, linear": (RVC(kernel="linear"), X - 0.5, (X[:, 0] > 0.5).astype(int)),
    "separable, no kernel": (RVC(kernel=None), X - 0.5, (X[:, 0] > 0.5).astype(int)),
    "two rows": (RVC(), X[:2], [0, 1]),
    "one row of a class": (RVC(), X, (np.arange(60) == 7).astype(int)),
    "all rows equal": (RVC(), np.ones((60, 3)), LABELS),
    "every row four times": (RVC(), np.repeat(X, 4, axis=0), np.repeat(LABELS, 4)),
    "labels by chance": (RVC(), X, np.random.default_rng(1).integers(2, size=60)),
    "huge features": (RVC(), X * 1e150, LABELS),
    "features spanning 300 decades": (RVC(kernel=None), SPAN, LABELS),
    "kernel of zero width": (RVC(gamma=1e12), X, LABELS),
    "kernel of infinite width": (RVC(gamma=1e-14), X, LABELS),
}


def fit(model, rows, targets):
    """Fit where warnings other than relvec's own are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FitWarning)
        return model.fit(rows, targets)


def fit_weighted(model, rows, targets, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return model.fit(rows, targets, sample_weight=weights)


def assert_trace_rises(model):
    """From step to step, and what is reported is where it ended."""
    trace = model.history_["log_evidence"]
    unit = np.max(np.abs(trace), initial=0.0)  # the evidence may pass through zero
    assert np.all(np.diff(trace) >= -1e-9 * unit)
    if len(trace):
        assert_allclose(trace[-1], model.log_evidence_, rtol=0, atol=1e-7 * unit)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression_has_a_finite_answer(name):
    model, rows, targets = REGRESSIONS[name]
    fit(model, rows, targets)
    mean, std = model.predict(rows, return_std=True)

    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert np.all(std > 0)
    assert np.isfinite(model.log_evidence_)
    assert model.noise_variance_ > 0
    assert model.status_.success
    assert_trace_rises(model)


@pytest.mark.parametrize("name", CLASSIFICATIONS)
def test_classification_has_a_finite_answer(name):
    model, rows, labels = CLASSIFICATIONS[name]
    fit(model, rows, labels)
    probabilities = model.predict_proba(rows)

    assert np.isfinite(probabilities).all()
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    assert np.isfinite(model.log_evidence_)
    assert model.status_.success
    assert_trace_rises(model)


@pytest.mark.parametrize("seed", range(40))
def test_any_width_and_any_given_noise(seed):
    """Also where no prior is broad enough for the noise that was claimed."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((int(rng.integers(10, 60)), int(rng.integers(1, 4))))
    targets = np.sin(rows[:, 0]) + 0.1 * rng.standard_normal(len(rows))
    noise = 10 ** rng.uniform(-9, -1) if seed % 4 else "estimate"
    model = RVR(gamma=10 ** rng.uniform(-5, 0), noise_variance=noise)
    fit(model, rows, targets)

    assert np.isfinite(model.predict(rows)).all()
    assert_trace_rises(model)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e9])
def test_many_rows_of_one_target(value):
    """Without residuals the evidence has no curvature: its search ran for ever."""
    rows = np.random.default_rng(0).standard_normal((3000, 3))
    model = fit(RVR(), rows, np.full(3000, value))

    assert model.status_.name == "CONSTANT_TARGET"
    assert np.all(model.predict(rows[:10]) == value)


@pytest.mark.parametrize("gamma", [1.0, 1e-2, 1e-3])
def test_wide_kernels_which_are_worth_nothing_alone(gamma):
    """A straight line needs two of them, or one and the constant."""
    x = np.linspace(0, 1, 40)[:, None]
    noise = 0.05 * np.random.default_rng(0).standard_normal(40)
    regression = fit(RVR(gamma=gamma), x, x[:, 0] + noise)
    classes = (x[:, 0] + 2 * noise > 0.5).astype(int)
    classification = fit(RVC(gamma=gamma), x, classes)

    assert regression.score(x, x[:, 0]) > 0.97
    assert classification.score(x, classes) >= 0.9
    assert len(regression.relevance_) < 6


def test_heavy_weights_on_a_wide_kernel_take_few_newton_steps(monkeypatch):
    """A search for the mode ends where rounding begins."""
    steps = []
    factor = DenseDesign.factor
    monkeypatch.setattr(DenseDesign, "factor", lambda *a: steps.append(1) or factor(*a))
    model = RVC(gamma=0.1)
    fit_weighted(model, X[:, :2], LABELS, np.full(60, 100.0))

    assert len(steps) < 60 * model.n_iter_ + 200


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7])
def test_a_constant_target_is_predicted_with_a_warning(value):
    with pytest.warns(FitWarning, match="does not vary"):
        model = RVR().fit(X, np.full(60, value))

    assert model.status_ is Status.CONSTANT_TARGET
    assert_allclose(model.predict(X), value)
    assert len(model.relevance_) == 0


def test_a_single_row_is_predicted():
    with pytest.warns(FitWarning, match="does not vary"):
        model = RVR().fit([[1.0, 2.0]], [5.0])

    assert_allclose(model.predict([[7.0, 8.0]]), 5.0)


def test_one_row_of_positive_weight_is_predicted():
    with pytest.warns(FitWarning, match="does not vary"):
        model = RVR().fit(X, Y, sample_weight=(np.arange(60) == 7).astype(float))

    assert_allclose(model.predict(X), Y[7])


def test_nothing_to_explain_gives_the_mean_with_a_warning():
    with pytest.warns(FitWarning, match="no basis function explains"):
        model = RVR().fit(np.ones((60, 2)), Y)

    assert model.status_ is Status.EMPTY
    assert_allclose(model.predict(np.ones((1, 2))), Y.mean())
    assert_allclose(model.noise_variance_, Y.var(), rtol=5e-2)


def test_a_perfect_fit_has_a_name():
    coefficients = np.r_[3.0, -2.0, np.zeros(8)]
    with pytest.warns(FitWarning, match="noise stands at its floor"):
        model = RVR(kernel=None).fit(X, X @ coefficients)

    assert model.status_ is Status.PERFECT_FIT
    assert_allclose(model.coef_, coefficients, atol=1e-5)
    spread = np.var(X @ coefficients)
    floor = 1e-12 * spread
    assert_allclose(model.model_.fit.likelihood.noise_variance, floor, rtol=1e-6)
    assert floor < model.noise_variance_ < 4 * floor


def test_the_same_features_in_every_magnitude_give_the_same_fit():
    plain = fit(RVR(kernel=None), X, Y)
    spanned = fit(RVR(kernel=None), SPAN, Y)

    assert np.array_equal(plain.relevance_, spanned.relevance_)
    assert_allclose(spanned.predict(SPAN), plain.predict(X), rtol=1e-8)


DRAWN = np.random.default_rng(0)
MANY, FEW, NOISE = (DRAWN.standard_normal(size) for size in ((30, 60), (30, 2), 30))


def same(A, B):
    """A function of each row for itself."""
    return (np.abs(A[:, None] - B[None]).max(axis=-1) == 0).astype(float)


def constant(A, B):
    return np.ones((len(A), len(B)))


# What is fitted to what, how that ends, and what to do then.
ENDS = {
    "narrow": (RVR(gamma=1e6), FEW, NOISE, Status.INTERPOLATION, "widen it"),
    "narrow in a sum": (
        RVR(Gaussian(1e-3) + Gaussian(2e-3)),
        FEW,
        NOISE,
        Status.INTERPOLATION,
        "widen it",
    ),
    "wide": (RVR(gamma=1e-9), FEW, NOISE, Status.EMPTY, "the kernel width suits"),
    "learned": (RVR(), FEW, NOISE, Status.EMPTY, "no width of the kernel helps"),
    "linear, without noise": (
        RVR("linear"),
        FEW,
        FEW @ [1.0, 2.0],
        Status.PERFECT_FIT,
        "too many features for so many rows",
    ),
    "linear": (RVR("linear"), FEW, NOISE, Status.EMPTY, "such as 'rbf'"),
    "polynomial": (
        RVR("poly", degree=5),
        MANY,
        NOISE,
        Status.INTERPOLATION,
        "lower the degree",
    ),
    "features": (RVR(None), MANY, NOISE, Status.INTERPOLATION, "leave some out"),
    "no features": (RVR(None), FEW, NOISE, Status.EMPTY, "the columns of X have to do"),
    "precomputed": (
        RVR("precomputed"),
        np.eye(30),
        NOISE,
        Status.INTERPOLATION,
        "X has too many columns",
    ),
    "own": (RVR(same), FEW, NOISE, Status.INTERPOLATION, "choose a smoother one"),
    "own, constant": (RVR(constant), FEW, NOISE, Status.EMPTY, "try another kernel"),
    "classes": (
        RVC("linear", multi_class="ovr"),
        FEW,
        np.arange(30) % 3,
        Status.EMPTY,
        "such as 'rbf'",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_advice_is_for_the_kernel_at_hand(name):
    model, rows, targets, status, remedy = ENDS[name]
    with pytest.warns(FitWarning) as told:
        model.fit(rows, targets)

    assert model.status_ is status
    message = str(told[0].message)
    assert status.event in message
    assert remedy in message
    assert ("width" in message or "widen" in message) == (
        name in {"narrow", "narrow in a sum", "wide", "learned"}
    )
    assert message == model.model_.outcome


@pytest.mark.parametrize(
    ("columns", "status"),
    [(MANY, Status.INTERPOLATION), (np.ones((30, 1)), Status.EMPTY)],
)
def test_a_dictionary_has_no_kernel(columns, status):
    found = sparse_bayes(columns, NOISE - NOISE.mean())

    assert found.status is status
    assert "kernel" not in found.status.value

"""RVR(noise="poisson"): counts, and how uncertain they are."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import nbinom, poisson
from sklearn.base import clone
from sklearn.metrics import mean_poisson_deviance
from sklearn.metrics.pairwise import rbf_kernel

from relvec import RVR, FitWarning
from relvec.data import scan
from relvec.modelling.families import Counts, LeftOut

GAMMA = 0.5


def drawn(n_rows, seed, low=0.5, high=40.0):
    chance = np.random.default_rng(seed)
    X = chance.uniform(-4, 4, (n_rows, 1))
    share = 0.5 + 0.5 * np.sin(1.5 * X[:, 0])
    rate = low * (high / low) ** share
    return X, chance.poisson(rate).astype(float), rate


X, Y, _ = drawn(120, 0)
NEW, NEW_Y, RATE = drawn(3000, 1)


@pytest.fixture(scope="module")
def model():
    return RVR(noise="poisson").fit(X, Y)


def test_the_rate_is_found(model):
    """Within a fifth of the deviance that counts have about the true rate."""
    found = mean_poisson_deviance(NEW_Y, model.predict(NEW))

    assert found < 1.2 * mean_poisson_deviance(NEW_Y, RATE)
    assert len(model.relevance_) < 12


def test_intervals_hold_as_many_counts_as_they_say(model):
    lower, upper = model.predict_interval(NEW, coverage=0.9)

    assert np.array_equal(lower, np.round(lower))
    assert np.all(lower >= 0)
    covered = np.mean((lower <= NEW_Y) & (upper >= NEW_Y))
    exact = [poisson.ppf(q, RATE) for q in (0.05, 0.95)]
    of_truth = np.mean((exact[0] <= NEW_Y) & (exact[1] >= NEW_Y))
    assert abs(covered - of_truth) < 0.03


def test_the_weights_are_at_the_mode_of_their_posterior():
    """Found once more by a general method."""
    model = RVR(noise="poisson", gamma=GAMMA).fit(X, Y)
    columns = rbf_kernel(X, model.relevance_vectors_, gamma=GAMMA)
    alpha, offset = model.prior_precision_, np.log(Y.mean())
    if np.isfinite(model.intercept_precision_):
        columns = np.column_stack([np.ones(len(X)), columns])
        alpha = np.r_[model.intercept_precision_, alpha]

    def loss(weights):
        eta = offset + columns @ weights
        penalty = 0.5 * alpha @ weights**2
        return penalty - poisson.logpmf(Y, np.exp(eta)).sum()

    found = minimize(loss, np.zeros(len(alpha)), tol=1e-10)
    expected = np.exp(offset + columns @ found.x)
    assert_allclose(model.predict(X), expected, rtol=1e-4)


def test_predictions_are_the_same_with_error_bars_and_without(model):
    mean, std = model.predict(NEW, return_std=True)

    assert_allclose(model.predict(NEW), mean, rtol=1e-12)
    assert np.all(std >= np.sqrt(mean))


def test_the_distribution_is_a_negative_binomial_one(model):
    mean, std = model.predict(NEW[:20], return_std=True)
    shape = mean**2 / (std**2 - mean)
    expected = nbinom.ppf([[0.05], [0.95]], shape, shape / (shape + mean))

    assert_allclose(model.predict_interval(NEW[:20]), expected)
    density = model.model_.predictive(NEW[:20]).log_density(NEW_Y[:20])
    exact = nbinom.logpmf(NEW_Y[:20], shape, shape / (shape + mean))
    assert_allclose(density, exact, rtol=1e-8)


def test_far_from_the_data_counts_are_uncertain_about_a_mean_that_is_known():
    far = np.array([[100.0]])
    wide, narrow = (
        RVR(noise="poisson", uncertainty=each).fit(X, Y)
        for each in ("augmented", "plain")
    )

    assert_allclose(wide.predict(far), np.exp(wide.intercept_))
    assert_allclose(wide.predict(far), narrow.predict(far))
    stds = [each.predict(far, return_std=True)[1] for each in (wide, narrow)]
    assert stds[0] > 1.5 * stds[1]


@pytest.mark.parametrize("dispersion", [0.0, 0.05, 0.5])
def test_rows_left_out_tell_of_rates_that_vary_more_than_the_model_knows(dispersion):
    chance = np.random.default_rng(3)
    rate = chance.uniform(5, 50, 2000)
    varied = chance.gamma(1 / dispersion, dispersion, 2000) if dispersion else 1.0
    counts = chance.poisson(rate * varied)[:, None].astype(float)
    latent = np.log(rate / 20.0)[:, None], np.zeros((2000, 1))
    left_out = LeftOut(
        counts, *latent, latent, np.ones(2000), 5, 5.0, 2000.0, offset=np.log(20.0)
    )

    found = Counts().calibrated(left_out).dispersion
    assert_allclose(found, dispersion, rtol=0.15, atol=5e-3)


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    settings = {"noise": "poisson", "gamma": GAMMA}
    weighted = RVR(**settings).fit(X, Y, weight)
    repeated = RVR(**settings).fit(np.repeat(X, weight, 0), np.repeat(Y, weight))

    assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-5)
    assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-8)


@pytest.mark.parametrize(
    ("rows", "y", "expected"),
    [
        (X, 0 * Y, 0.5 / len(X)),
        (X[:1], Y[:1] + 3, Y[0] + 3),
        (X[:1], 0 * Y[:1], 0.5),
        (X[:5], np.full(5, 4.0), 4.0),
    ],
    ids=["all zero", "one row", "one row of none", "all the same"],
)
def test_little_to_learn_from(rows, y, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = RVR(noise="poisson").fit(rows, y)

    assert_allclose(model.predict(rows), expected, rtol=1e-6)
    assert np.isfinite(model.predict_interval(rows)).all()


# They tell rates to a thousandth, and functions of few vectors are not so exact.
@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
def test_huge_counts():
    X, y, rate = drawn(100, 5, 1e5, 1e7)
    model = RVR(noise="poisson").fit(X, y)

    assert_allclose(model.predict(X), rate, rtol=0.05)


def test_fractions_are_taken_as_by_scikit_learn_and_negative_targets_are_not():
    RVR(noise="poisson", gamma=GAMMA).fit(X, Y / 3)
    with pytest.raises(ValueError, match="y has -1, and noise='poisson' is for counts"):
        RVR(noise="poisson").fit(X, Y - 1 - Y.min())


def test_a_fit_goes_on_where_the_last_one_ended():
    model = RVR(noise="poisson", gamma=GAMMA, warm_start=True).fit(X, Y)
    steps, before = model.n_iter_, model.predict(NEW)
    again = model.fit(X, Y)

    assert again.n_iter_ <= steps
    assert_allclose(again.predict(NEW), before, rtol=1e-3)


def test_another_noise_begins_anew():
    """Weights of counts are of logarithms."""
    model = RVR(gamma=GAMMA, warm_start=True).fit(X, 100 * Y)
    model = model.set_params(noise="poisson").fit(X, 100 * Y)
    fresh = clone(model).fit(X, 100 * Y)

    assert_allclose(model.predict(X), fresh.predict(X))
    assert not hasattr(model, "noise_variance_")


def test_rows_in_parts():
    blocks = scan([(X[:50], Y[:50]), (X[50:], Y[50:])])
    settings = {"noise": "poisson", "gamma": GAMMA}
    whole = RVR(**settings).fit(X, Y)
    sample = RVR(**settings, partition="sample").fit(blocks)
    assert_allclose(sample.predict(NEW), whole.predict(NEW), rtol=0.1, atol=0.5)
    # Another maximum, as good as that of all rows at once.
    parts = RVR(**settings, partition="working-set", partition_size=40).fit(X, Y)
    assert abs(parts.log_evidence_ - whole.log_evidence_) < 0.5


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"noise": "cauchy"}, "noise"),
        ({"noise": "poisson", "noise_variance": 0.1}, "leave noise_variance at"),
    ],
)
def test_what_has_no_meaning_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        RVR(**params).fit(X, Y)


def test_sums_of_rows_do_not_tell_of_counts():
    with pytest.raises(AttributeError) as caught:
        RVR(noise="poisson").partial_fit(X, Y)
    assert "partial_fit keeps sums" in str(caught.value.__cause__)

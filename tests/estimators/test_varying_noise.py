"""RVR(noise="heteroscedastic"): noise with a model of its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from relvec import RVR, FitWarning, TopDown
from relvec.data import noisy_sinc, scan
from relvec.likelihoods import LogPrecision
from relvec.modelling.families import NoiseLevels


def drawn(n_rows, seed):
    """A sine, whose noise grows from 0.05 to 0.8."""
    chance = np.random.default_rng(seed)
    X = chance.uniform(0, 2 * np.pi, (n_rows, 1))
    std = 0.05 + 0.75 * X[:, 0] / (2 * np.pi)
    return X, np.sin(X[:, 0]) + std * chance.standard_normal(n_rows), std


X, Y, STD = drawn(200, 0)
NEW, NEW_Y, NEW_STD = drawn(2000, 1)


@pytest.fixture(scope="module")
def model():
    return RVR(noise="heteroscedastic").fit(X, Y)


def loss(model):
    """Minus the mean log density of new targets."""
    mean, std = model.predict(NEW, return_std=True)
    terms = np.log(2 * np.pi * std**2) + ((NEW_Y - mean) / std) ** 2
    return 0.5 * np.mean(terms)


def test_the_noise_is_found_where_it_is(model):
    _, std = model.predict(NEW, return_std=True)

    assert np.median(np.abs(np.log(std / NEW_STD))) < 0.2
    assert loss(model) < loss(RVR().fit(X, Y)) - 0.2


def test_intervals_hold_what_they_should_everywhere(model):
    lower, upper = model.predict_interval(NEW, coverage=0.9)
    covered = (lower < NEW_Y) & (upper > NEW_Y)
    for third in np.array_split(np.argsort(NEW[:, 0]), 3):
        assert 0.83 < covered[third].mean() < 0.96


def test_attributes_tell_of_the_noise(model):
    noise = model.model_.noise_model.values(X)[:, 0]
    _, std = model.predict(X, return_std=True)

    assert_allclose(model.noise_variance_, noise.mean())
    _, variance = model.model_.latent(X)
    assert_allclose(std**2, noise + variance[:, 0])
    assert np.isfinite(model.log_evidence_)
    assert model.log_evidence_ > RVR().fit(X, Y).log_evidence_ + 20


def test_constant_noise_stays_constant():
    X, y = noisy_sinc(100, seed=0)
    found = RVR(noise="heteroscedastic").fit(X, y)

    assert found.model_.noise_model is None
    assert_allclose(found.predict(X), RVR().fit(X, y).predict(X))


def test_the_fit_does_not_depend_on_the_unit_of_targets(model):
    other = RVR(noise="heteroscedastic").fit(X, 1e3 * Y + 5e4)

    mean, std = model.predict(NEW, return_std=True)
    scaled, wider = other.predict(NEW, return_std=True)
    assert_allclose(scaled, 1e3 * mean + 5e4, rtol=1e-4)
    assert_allclose(wider, 1e3 * std, rtol=1e-3)


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    settings = {"noise": "heteroscedastic", "gamma": 0.5}
    weighted = RVR(**settings).fit(X, Y, weight)
    repeated = RVR(**settings).fit(np.repeat(X, weight, 0), np.repeat(Y, weight))

    for one, other in zip(
        weighted.predict(NEW, return_std=True),
        repeated.predict(NEW, return_std=True),
        strict=True,
    ):
        assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_a_model_without_error_or_signal_is_as_ever():
    smooth = RVR(noise="heteroscedastic", gamma=0.5)
    with pytest.warns(FitWarning, match="does not vary"):
        smooth.fit(X, np.zeros(len(X)))

    assert smooth.model_.noise_model is None
    assert_allclose(smooth.predict(X), 0.0)


def test_a_fit_begins_with_the_last_one():
    """And ends at a model that says the same, at this maximum or the next."""
    model = RVR(noise="heteroscedastic", gamma=0.5, warm_start=True).fit(X, Y)
    before = model.predict(NEW, return_std=True)
    after = model.fit(X, Y).predict(NEW, return_std=True)

    moved, ratio = (after[0] - before[0]) / before[1], after[1] / before[1]
    assert np.sqrt(np.mean(moved**2)) < 0.25
    assert np.sqrt(np.mean(np.log(ratio) ** 2)) < 0.25


@pytest.mark.parametrize(
    ("params", "remedy"),
    [
        ({"noise_variance": 0.1}, "leave noise_variance at 'estimate'"),
        ({"solver": "variational"}, "use 'sequential'"),
        ({"solver": TopDown("mackay", noise_interval=3)}, "use 'sequential'"),
        ({"partition": "sample"}, "leave out partition"),
    ],
)
def test_what_it_cannot_do_is_refused(params, remedy):
    with pytest.raises(ValueError, match=remedy):
        RVR(noise="heteroscedastic", **params).fit(X, Y)


def test_rows_in_blocks_are_refused():
    blocks = scan([(X[:100], Y[:100]), (X[100:], Y[100:])])

    with pytest.raises(ValueError, match="is for rows in memory"):
        RVR(noise="heteroscedastic", design="streamed", candidates=50).fit(blocks)


def test_other_noise_leaves_nothing_behind(model):
    again = clone(model).set_params(noise="gaussian").fit(X, Y)

    assert again.model_.noise_model is None


def test_squares_are_expanded_with_the_information_they_have_on_average():
    """Fisher's: the mean of Newton's over squares of the same noise."""
    chance = np.random.default_rng(0)
    squares = chance.standard_normal(200_000) ** 2
    eta = np.zeros((len(squares), 1))
    seen = LogPrecision().pseudo_observations(squares[:, None], eta, np.ones(len(eta)))

    assert_allclose(seen.precision.mean(), 0.5, rtol=0.01)
    levels = NoiseLevels(2.0).response(np.array([[0.0], [1e9]]))
    assert_allclose(levels, [[2.0], [0.0]], atol=1e-99)

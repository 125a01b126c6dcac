"""Noise that is known for each target."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from oracles import log_marginal, moments
from sklearn.model_selection import GridSearchCV

from relvec import RVR, TopDown
from relvec.data import noisy_sinc, scan

N = 60
X = noisy_sinc(N)[0]
TRUTH = np.sinc(X[:, 0] / np.pi)
STD = np.random.default_rng(0).uniform(0.05, 0.5, N)
Y = TRUTH + STD * np.random.default_rng(1).standard_normal(N)
COUNTS = np.arange(N) % 3


def fitted(y=Y, std=STD, sample_weight=None, **params):
    params = {"gamma": 0.1, **params}
    return RVR(**params).fit(X, y, sample_weight=sample_weight, y_std=std)


def of_oracle(model):
    """The dictionary, targets and precisions that say the same as the model."""
    weights = model.model_
    alpha = weights.posterior.prior_precision
    given = weights.basis(X), Y - weights.offset, STD**-2
    return (*given, np.arange(len(alpha)), alpha)


def test_the_evidence_is_that_of_all_noises():
    model = fitted()
    expected = log_marginal(*of_oracle(model))

    assert_allclose(model.log_evidence_, expected, rtol=1e-10)
    assert_allclose(model.history_["log_evidence"][-1], expected, rtol=1e-6)


def test_the_posterior_is_that_of_all_noises():
    model = fitted(uncertainty="plain")
    Sigma, mean = moments(*of_oracle(model))
    posterior = model.model_.posterior

    assert_allclose(posterior.mean[0], mean, rtol=1e-8)
    assert_allclose(posterior.covariance[0], Sigma, rtol=1e-6, atol=1e-12)


def test_the_evidence_is_at_a_maximum():
    """No α may be better, by the oracle."""
    Phi, target, precision, active, alpha = of_oracle(fitted())
    best = log_marginal(Phi, target, precision, active, alpha)
    for place in range(len(alpha)):
        for factor in (0.9, 1.1):
            other = alpha.copy()
            other[place] *= factor
            assert log_marginal(Phi, target, precision, active, other) < best


def test_one_deviation_is_a_known_variance():
    same, known = fitted(std=np.full(N, 0.2)), RVR(gamma=0.1, noise_variance=0.04)
    known.fit(X, Y)

    assert_allclose(same.log_evidence_, known.log_evidence_, rtol=1e-12)
    assert_allclose(same.predict(X), known.predict(X), rtol=1e-9)
    assert_allclose(same.noise_variance_, 0.04)


def test_weights_are_repetitions_all_the_same():
    rows = np.repeat(np.arange(N), COUNTS)
    weighted = fitted(sample_weight=COUNTS)
    repeated = RVR(gamma=0.1).fit(X[rows], Y[rows], y_std=STD[rows])

    assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-10)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert_allclose(weighted.noise_variance_, repeated.noise_variance_)


def test_new_rows_have_the_mean_square_and_nothing_is_calibrated():
    model = fitted(uncertainty="plain")
    _, variance = model.model_.latent(X)
    _, std = model.predict(X, return_std=True)

    assert_allclose(model.noise_variance_, np.mean(STD**2))
    assert_allclose(std**2, variance[:, 0] + np.mean(STD**2))


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale):
    plain, scaled = fitted(), fitted(scale * Y, scale * STD)

    assert_allclose(scaled.predict(X), scale * plain.predict(X), rtol=1e-6)
    expected = plain.log_evidence_ - N * np.log(scale)
    assert_allclose(scaled.log_evidence_, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
def test_a_width_is_learned_with_the_noise_that_is_known():
    """Rows of much noise are told apart from rows of little: errors are halved."""
    std = np.where(np.arange(N) % 2, 0.02, 1.0)
    errors = {"known": [], "estimated": []}
    for seed in range(3):
        y = TRUTH + std * np.random.default_rng(seed).standard_normal(N)
        models = {
            "known": RVR().fit(X, y, y_std=std),
            "estimated": RVR().fit(X, y),
        }
        for name, model in models.items():
            errors[name].append(np.std(model.predict(X) - TRUTH))
        noise = models["known"].model_.fit.likelihood
        assert not noise.estimated
        assert_allclose(noise.noise_variance, 1 / np.mean(std**-2))

    assert np.median(errors["known"]) < 0.25 * np.median(errors["estimated"])


@pytest.mark.parametrize(
    ("std", "message"),
    [
        (STD[1:], "one number per row, 60 in all; got 59"),
        (np.where(np.arange(N) == 3, 0.0, STD), "y_std must be positive; got 0.0"),
        (np.where(np.arange(N) == 3, -1.0, STD), "y_std must be positive; got -1.0"),
        (np.where(np.arange(N) == 3, np.nan, STD), "y_std contains NaN"),
        (np.where(np.arange(N) == 3, 1e-9, STD), "raise the smallest to"),
        (STD[:, None], "y_std must have 1 dimension"),
        (["much"] * N, "y_std must be a dense array of real numbers"),
    ],
)
def test_bad_deviations_are_refused(std, message):
    with pytest.raises(ValueError, match=message):
        fitted(std=std)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"noise_variance": 0.1}, "noise_variance=0.1 and y_std both say"),
        ({"noise": "student-t"}, "set noise='gaussian', or leave out y_std"),
        ({"partition": "sample"}, "y_std is for rows in memory"),
        ({"solver": TopDown(initial_noise_variance=0.1)}, "leave out one of the two"),
    ],
)
def test_what_is_at_odds_with_it_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        fitted(**params)


def test_blocks_have_no_place_for_it():
    blocks = scan([(X, Y)])
    with pytest.raises(ValueError, match="give X and y as arrays"):
        RVR().fit(blocks, y_std=STD)


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
def test_metadata_is_routed():
    """By the signature of ``fit``: folds have their part of it."""
    with sklearn.config_context(enable_metadata_routing=True):
        model = RVR().set_fit_request(y_std=True)
        search = GridSearchCV(model, {"gamma": [0.1, 1.0]}, cv=3).fit(X, Y, y_std=STD)

    assert_allclose(search.best_estimator_.noise_variance_, np.mean(STD**2))

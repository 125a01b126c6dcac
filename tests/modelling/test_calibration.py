"""Predictions corrected by rows that are left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from relvec import RVC, RVR, Hyperprior, Status, TopDown
from relvec.data import noisy_sinc
from relvec.modelling.families import LeftOut
from relvec.modelling.families.base import corrected_noise
from relvec.modelling.families.classes import ClassPriorMixing, Losses

pytestmark = pytest.mark.filterwarnings("ignore::relvec.estimators.FitWarning")


def covered(model, X, y):
    lower, upper = model.predict_interval(X, coverage=0.9)
    return np.mean((lower < y) & (y < upper))


def estimated_noise(model):
    """What the evidence has found."""
    return model.model_.fit.likelihood.noise_variance[0]


class TestNoise:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_model_that_interpolates_has_honest_error_bars(self, seed):
        """Every row has a function to itself, and the truth is noise."""
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((400, 8)), rng.standard_normal(400)
        model = RVR(gamma=10.0).fit(X[:200], y[:200])

        assert model.status_ is Status.INTERPOLATION
        assert estimated_noise(model) < 0.1
        assert 0.8 < covered(model, X[200:], y[200:]) < 0.97

    @pytest.mark.parametrize("seed", range(3))
    def test_many_features_of_few_rows(self, seed):
        """With `gamma="scale"` intervals covered a twentieth."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((600, 20))
        y = X @ rng.standard_normal(20) + rng.standard_normal(600)
        model = RVR(gamma="scale").fit(X[:200], y[:200])

        assert covered(model, X[200:], y[200:]) > 0.8

    def test_there_is_nothing_to_correct_where_functions_are_few(self):
        X, y = noisy_sinc(1000, seed=0)
        model = RVR(gamma=1 / 9).fit(X, y)

        assert_allclose(model.noise_variance_, estimated_noise(model), rtol=1e-12)

    def test_known_noise_and_noise_with_a_prior_stay(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((80, 8)), rng.standard_normal(80)
        known = RVR(gamma=1.0, noise_variance=0.25).fit(X, y)
        prior = TopDown("mackay", hyperprior=Hyperprior(c=1e4, d=1e4))
        given = RVR(gamma=1.0, solver=prior).fit(X, y)

        assert known.noise_variance_ == 0.25
        assert known.degrees_of_freedom_ == np.inf
        assert_allclose(given.noise_variance_, estimated_noise(given))

    def test_a_row_that_is_there_twice_is_not_lost(self):
        """With both there is no narrow function that explains one row alone."""
        rng = np.random.default_rng(0)
        X, y = np.arange(40.0)[:, None], rng.standard_normal(40)
        once = RVR(gamma=10.0, noise_variance="estimate").fit(X, y)
        twice = RVR(gamma=10.0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))

        assert twice.noise_variance_ < 0.1 < once.noise_variance_

    def test_the_ratio_is_that_of_errors_to_what_was_promised(self):
        errors = np.array([3.0, -1.0, 1.0, 1.0] * 50)[:, None]
        left_out = LeftOut(
            targets=errors,
            mean=np.zeros((200, 1)),
            variance=np.full((200, 1), 0.5),
            fitted=(np.zeros((200, 1)), np.zeros((200, 1))),
            weight=np.ones(200),
            n_functions=60,
            n_parameters=60.0,
            n_observations=200.0,
        )
        found = corrected_noise(0.5, left_out, centred=False, degrees_of_freedom=np.inf)
        few = corrected_noise(0.5, left_out, centred=False, degrees_of_freedom=2.0)

        assert_allclose(found + 0.5, np.mean(errors**2))
        assert_allclose(few, np.sqrt(found * np.mean(errors**2)))


class TestFewRows:
    @pytest.mark.parametrize("n_rows", [5, 12, 30])
    def test_intervals_are_students(self, n_rows):
        X, y = noisy_sinc(n_rows, noise=0.3, seed=1)
        model = RVR().fit(X, y)
        mean, std = model.predict(X, return_std=True)
        _, upper = model.predict_interval(X, coverage=0.9)

        assert 3 <= model.degrees_of_freedom_ < n_rows
        assert np.all(np.isfinite(std))
        assert np.all(upper - mean > 0)

    def test_intervals_of_ten_rows_cover(self):
        """On average over draws; Gaussian ones of the evidence alone cover 60 %."""
        shares = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            X = rng.uniform(-2, 2, (210, 2))
            y = np.sin(2 * X[:, 0]) + X[:, 1] / 2 + 0.1 * rng.standard_normal(210)
            shares.append(covered(RVR().fit(X[:10], y[:10]), X[10:], y[10:]))

        assert 0.8 < np.mean(shares) < 0.98


class TestProbabilities:
    @pytest.mark.parametrize("share", [0.5, 0.2])
    def test_noise_has_the_frequencies(self, share):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((1000, 8)), rng.uniform(size=1000) < share
        model = RVC().fit(X[:300], y[:300])
        p = model.predict_proba(X[300:])[:, 1]

        assert_allclose(p, y[:300].mean(), atol=0.1)

    @pytest.mark.parametrize("multi_class", ["auto", "ovr", "ovo"])
    def test_few_rows_of_many_features(self, multi_class):
        """No worse than frequencies where classes can be separated by chance."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((600, 100))
        y = np.argmax(X[:, :3] + 2 * rng.standard_normal((600, 3)), axis=1)
        model = RVC(multi_class=multi_class).fit(X[:100], y[:100])
        p = model.predict_proba(X[100:])[np.arange(500), y[100:]]

        assert -np.mean(np.log(p)) < np.log(3) + 0.05

    def test_doubt_is_a_share_of_the_frequencies(self):
        odds = np.linspace(-30, 30, 7)
        doubt = ClassPriorMixing(0.2, np.array([0.75, 0.25]))
        p = expit(odds)

        assert_allclose(expit(doubt.applied(odds)), 0.8 * p + 0.05)
        log_p = np.log(np.column_stack([1 - p, p]).clip(1e-300))
        assert_allclose(np.exp(doubt.applied(log_p))[:, 1], 0.8 * p + 0.05)

    def test_doubt_has_the_least_loss(self):
        """Of a model that is too certain, beside every other share."""
        rng = np.random.default_rng(0)
        odds, classes = rng.normal(0, 4, 300), rng.integers(2, size=300)
        p = expit(np.column_stack([-odds, odds]))
        losses = Losses(np.log(p), np.log(p), classes, np.ones(300), spent=0.0)
        doubt = losses.doubt()
        frequencies = np.bincount(classes) / 300

        def loss(share):
            mixed = (1 - share) * p + share * frequencies
            return -np.mean(np.log(mixed[np.arange(300), classes]))

        assert doubt is not None
        grid = [loss(share) for share in np.linspace(0, 0.999, 200)]
        assert loss(doubt.share) < min(grid) + 1e-4

    def test_no_doubt_where_probabilities_are_right(self):
        rng = np.random.default_rng(0)
        odds = rng.normal(0, 2, 300)
        classes = (rng.uniform(size=300) < expit(odds)).astype(int)
        log_p = np.log(expit(np.column_stack([-odds, odds])))

        assert Losses(log_p, log_p, classes, np.ones(300), spent=0.01).doubt() is None

    @pytest.mark.parametrize("solver", ["sequential", "variational"])
    def test_every_solver_has_doubts(self, solver):
        """Classes have no noise whose prior a solver could have been told of."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((100, 40))
        y = X[:, 0] + rng.standard_normal(100) > 0
        model = RVC(gamma=0.05, solver=solver, tol=1e-2).fit(X, y)

        assert model.model_.family.doubt is not None

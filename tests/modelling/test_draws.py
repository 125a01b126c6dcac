"""Functions drawn from the posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from relvec import RVC, RVR, Mrvm1, OneAgainstOne, Softmax
from relvec.data import noisy_sinc, scan
from relvec.kernels import CompactMatern

X, Y = noisy_sinc(80, seed=0)
LINE = np.linspace(-18, 18, 41)[:, None]
COUNT = 4000
KINDS = ["plain", "augmented"]
SCHEMES = [
    "auto",
    "mrvm2",
    Mrvm1(posterior="full"),
    Softmax(priors="each"),
    "softmax",
]


def joint_covariance(model):
    """Of functions at the rows of the line, by definition."""
    functions = model.basis(LINE)
    covariance = functions @ model.posterior.covariance[0] @ functions.T
    found = model.surroundings
    if found is None:
        return covariance
    turned, prior = found.turned(LINE, functions)
    root = np.sqrt(prior)[:, None]
    left = found.pivots.kernel(LINE, LINE) - (root * turned) @ (root * turned).T
    scale = np.sqrt(np.diag(left))
    excess = np.sqrt(model.latent(LINE)[1][:, 0] - np.diag(covariance))
    return covariance + excess[:, None] * (left / scale[:, None] / scale) * excess


@pytest.mark.parametrize("kind", KINDS)
class TestRegression:
    @pytest.fixture
    def model(self, kind):
        return RVR(gamma=1 / 9, uncertainty=kind).fit(X, Y + 5)

    def test_their_moments_are_those_of_the_model(self, model):
        drawn = model.sample_posterior(LINE, COUNT, random_state=1)
        mean, variance = (part[:, 0] for part in model.model_.latent(LINE))
        error = np.sqrt(variance / COUNT)

        assert drawn.shape == (COUNT, 41)
        assert_allclose(mean, model.predict(LINE))
        assert np.max(np.abs(drawn.mean(axis=0) - mean) / error) < 4.5
        assert_allclose(drawn.var(axis=0), variance, rtol=0.12)

    def test_rows_are_drawn_together(self, model):
        drawn = model.sample_posterior(LINE, COUNT, random_state=2)
        expected = joint_covariance(model.model_)
        sizes = np.sqrt(np.diag(expected))

        assert_allclose(
            np.cov(drawn.T) / sizes[:, None] / sizes,
            expected / sizes[:, None] / sizes,
            atol=0.1,
        )

    def test_they_are_smooth(self, model):
        fine = np.linspace(-18, 18, 4001)[:, None]
        drawn = model.sample_posterior(fine, 5)
        steps = np.abs(np.diff(drawn, axis=1)).max()

        assert np.ptp(drawn, axis=1).min() > 0.9
        assert steps < 0.01

    def test_a_seed_tells_which(self, model):
        first = model.sample_posterior(LINE, 3, random_state=7)

        assert_array_equal(model.sample_posterior(LINE, 3, random_state=7), first)
        assert not np.allclose(model.sample_posterior(LINE, 3, random_state=8), first)
        assert_array_equal(model.sample_posterior(LINE), model.sample_posterior(LINE))
        assert model.sample_posterior(LINE).shape == (1, 41)


def test_plain_functions_are_combinations_of_those_of_the_model():
    model = RVR(gamma=1 / 9, uncertainty="plain").fit(X, Y)
    functions = model.model_.basis(LINE)
    drawn = model.sample_posterior(LINE, 20) - model.model_.offset
    weights = np.linalg.lstsq(functions, drawn.T)[0]

    assert_allclose(functions @ weights, drawn.T, atol=1e-9)
    assert np.linalg.matrix_rank(weights) == len(functions.T)


@pytest.mark.parametrize("features", [1, 6])
def test_more_rows_than_pivots(features, monkeypatch):
    """Where pivots do not suffice, the variance is right all the same."""
    monkeypatch.setattr("relvec.modelling.latent._MOST_PIVOTS", 5)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, (60, features))
    model = RVR(gamma=0.5 / features).fit(
        rows, np.sin(rows[:, 0]) + 0.1 * rng.standard_normal(60)
    )
    new = 3 * rng.standard_normal((50, features))
    _, variance = model.model_.latent(new)

    drawn = model.sample_posterior(new, COUNT)
    assert_allclose(drawn.var(axis=0), variance[:, 0], rtol=0.15)


def test_kernels_of_finite_support():
    model = RVR(CompactMatern(6.0)).fit(X, Y)
    _, variance = model.model_.latent(LINE)

    drawn = model.sample_posterior(LINE, COUNT)
    assert_allclose(drawn.var(axis=0), variance[:, 0], rtol=0.15)


class TestClasses:
    ROWS, LABELS = make_blobs(60, centers=3, cluster_std=2.5, random_state=3)
    NEW = np.random.default_rng(0).uniform(-15, 15, (12, 2))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_probabilities_are_their_mean(self, scheme, kind):
        settings = {"gamma": 0.05, "multi_class": scheme, "uncertainty": kind}
        model = RVC(**settings).fit(self.ROWS, self.LABELS)
        drawn = model.sample_posterior(self.NEW, 200)

        assert drawn.shape == (200, 12, 3)
        assert_allclose(drawn.sum(axis=2), 1.0)
        error = 5 * drawn.std(axis=0) / np.sqrt(200) + 0.01
        apart = np.abs(drawn.mean(axis=0) - model.predict_proba(self.NEW))
        assert np.all(apart < error)

    def test_two_classes(self):
        model = RVC(gamma=1 / 9).fit(X, Y > 0.1)
        drawn = model.sample_posterior(LINE, 1000, random_state=3)

        assert drawn.shape == (1000, 41, 2)
        assert_allclose(drawn.mean(axis=0), model.predict_proba(LINE), atol=0.04)

    @pytest.mark.parametrize("scheme", ["ovr", "ovo"])
    def test_several_models_are_drawn_each_by_itself(self, scheme):
        settings = {"gamma": 0.05, "multi_class": scheme, "uncertainty": "plain"}
        model = RVC(**settings).fit(self.ROWS, self.LABELS)
        drawn = model.sample_posterior(self.NEW, 300)

        assert_allclose(drawn.sum(axis=2), 1.0)
        assert_allclose(drawn.mean(axis=0), model.predict_proba(self.NEW), atol=0.1)
        assert_array_equal(model.sample_posterior(self.NEW, 300), drawn)

    def test_votes_are_no_probabilities(self):
        votes = RVC(gamma=0.05, multi_class=OneAgainstOne("votes"))
        with pytest.raises(AttributeError, match="no attribute 'sample_posterior'"):
            votes.fit(self.ROWS, self.LABELS).sample_posterior(self.NEW)


class TestRefusals:
    def test_rows_in_blocks(self):
        model = RVR(gamma=1 / 9).fit(X, Y)
        with pytest.raises(ValueError, match="at all rows together"):
            model.sample_posterior(scan([X]))

    @pytest.mark.parametrize("count", [0, -1, 1.5, "many"])
    def test_numbers_of_functions(self, count):
        model = RVR(gamma=1 / 9).fit(X, Y)
        with pytest.raises(ValueError, match="n must be a whole number"):
            model.sample_posterior(X, count)

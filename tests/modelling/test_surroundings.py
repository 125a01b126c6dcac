"""Error bars that know where the data are, beside a process of all rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from relvec import RVC, RVR, OneAgainstOne, Softmax
from relvec.data import noisy_sinc
from relvec.kernels import CompactMatern, Gaussian, Linear, Polynomial

SCHEMES = ["auto", "mrvm1", "mrvm2", "softmax", "ovr", "ovo", Softmax(priors="each")]


def plain(model):
    """The same fit without its surroundings."""
    return replace(model.model_, surroundings=None)


def few_rows(rng, count=24):
    """So few that every row is a pivot, if they are not too near to each other."""
    X = np.sort(rng.uniform(-5, 5, (count, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(count)


def unbalanced(rng, shares, count=240):
    """Classes about centres on a circle, of these shares."""
    y = np.repeat(
        np.arange(len(shares)), np.round(count * np.array(shares)).astype(int)
    )
    angle = 2 * np.pi * y / len(shares)
    X = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.7 * rng.standard_normal(X.shape), y


def process_variance(model, X, rows, amplitude):
    """Of a Gaussian process on all rows, by its definition."""
    kernel, noise = model.model_.surroundings.pivots.kernel, model.noise_variance_
    covariance = amplitude * kernel(X, X) + noise * np.eye(len(X))
    across = amplitude * kernel(X, rows)
    explained = across.T @ np.linalg.solve(covariance, across)
    return amplitude * kernel.diagonal(rows) - np.diag(explained)


class TestRegression:
    def test_they_are_those_of_a_process_on_all_rows(self):
        rng = np.random.default_rng(0)
        X, y = few_rows(rng)
        model = RVR(gamma=0.5).fit(X, y)
        found, rows = model.model_.surroundings, np.linspace(-9, 9, 50)[:, None]
        _, own = plain(model).latent(rows)
        _, variance = model.model_.latent(rows)
        a = found.amplitude[0]
        share = process_variance(model, X, rows, a) / a
        expected = a * share[:, None] ** found.power

        assert 1.0 <= found.power < 1.2
        assert_allclose(variance, np.maximum(own, expected), rtol=0.02)

    def test_the_amplitude_is_of_most_evidence(self):
        rng = np.random.default_rng(1)
        X, y = few_rows(rng)
        model = RVR(gamma=0.5).fit(X, y)
        a, kernel = model.model_.surroundings.amplitude[0], Gaussian(length_scale=1.0)

        def evidence(amplitude):
            noise = model.noise_variance_ * np.eye(len(X))
            covariance = amplitude * kernel(X, X) + noise
            return multivariate_normal(cov=covariance).logpdf(y - y.mean())

        assert evidence(a) > max(evidence(1.1 * a), evidence(a / 1.1))

    def test_they_grow_with_the_distance_to_the_data(self):
        X, y = noisy_sinc(100, seed=0)
        model = RVR().fit(X, y)
        rows = np.linspace(10, 40, 60)[:, None]
        _, std = model.predict(rows, return_std=True)
        amplitude = model.model_.surroundings.amplitude[0]

        assert np.all(np.diff(std) > -1e-12)
        assert_allclose(std[-1] ** 2, amplitude + model.noise_variance_, rtol=1e-6)
        assert std[-1] > 2 * np.sqrt(model.noise_variance_)

    def test_among_the_data_hardly_anything_changes(self):
        X, y = noisy_sinc(400, seed=0)
        model = RVR().fit(X, y)
        _, own = plain(model).latent(X)
        _, variance = model.model_.latent(X)

        assert np.all(variance >= own)
        assert np.mean(variance - own) < 0.1 * model.noise_variance_

    def test_few_pivots_leave_rows_of_the_data_as_certain(self):
        """Eight features, of which pivots describe a small part."""
        rng = np.random.default_rng(2)
        X = rng.standard_normal((600, 8))
        y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(600)
        model = RVR(gamma=0.1).fit(X[:400], y[:400])
        gained = model.model_.latent(X[400:])[1] - plain(model).latent(X[400:])[1]
        far = model.model_.latent(X[400:] + 100)[1]

        assert model.model_.surroundings.power > 1
        assert np.mean(gained) < 0.5 * model.noise_variance_
        assert_allclose(far, model.model_.surroundings.amplitude[0])

    @pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
    def test_units_of_the_targets_and_the_rows(self, scale):
        """Powers of two, by which no digit of the fit itself changes."""
        X, y = noisy_sinc(80, seed=3)
        rows = np.linspace(-30, 30, 40)[:, None]
        known = RVR().fit(X, y).predict(rows, return_std=True)[1]
        other = RVR().fit(X * scale, y * scale)

        assert_allclose(
            other.predict(rows * scale, return_std=True)[1], scale * known, rtol=1e-4
        )

    def test_the_mean_stays_as_it_is(self):
        X, y = noisy_sinc(80, seed=4)
        rows = np.linspace(-30, 30, 40)[:, None]
        augmented, other = (
            RVR(uncertainty=name).fit(X, y) for name in ("augmented", "plain")
        )

        assert other.model_.surroundings is None
        assert_array_equal(augmented.predict(rows), other.predict(rows))
        assert_array_equal(
            augmented.predict(rows, return_std=True)[0], augmented.predict(rows)
        )
        with pytest.raises(ValueError, match="uncertainty"):
            RVR(uncertainty="honest").fit(X, y)

    def test_the_order_of_rows_does_not_matter(self):
        rng = np.random.default_rng(5)
        X = rng.uniform(-3, 3, (150, 2))
        y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(150)
        rows, order = 6 * rng.standard_normal((30, 2)), rng.permutation(150)
        known = RVR().fit(X, y).predict(rows, return_std=True)[1]
        other = RVR().fit(X[order], y[order]).predict(rows, return_std=True)[1]

        assert_allclose(other, known, rtol=1e-7)

    @pytest.mark.filterwarnings("ignore::relvec.FitWarning")
    def test_pure_noise_and_a_constant(self):
        rng = np.random.default_rng(6)
        X, noise = rng.standard_normal((60, 3)), rng.standard_normal(60)
        for y in (noise, np.ones(60), np.zeros(60)):
            _, std = RVR().fit(X, y).predict(50 * X, return_std=True)
            assert np.isfinite(std).all()
            assert np.all(std <= 3)

    @pytest.mark.filterwarnings("ignore::relvec.FitWarning")
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_very_few_rows(self, count):
        X, y = np.arange(float(count))[:, None], np.arange(float(count))
        _, std = RVR().fit(X, y).predict(X + 100, return_std=True)

        assert np.isfinite(std).all()


class TestKernels:
    @pytest.mark.parametrize(
        "settings",
        [
            {"kernel": [Gaussian(length_scale=0.5), Gaussian(length_scale=3.0)]},
            {"kernel": CompactMatern(length_scale=3.0)},
            {"kernel": Gaussian(), "kernel_learning": "adaptive"},
            {"kernel": ["rbf", "laplacian"], "kernel_learning": "weights"},
            {"partition": "split-merge", "partition_size": 40},
            {"solver": "variational"},
        ],
        ids=["several", "compact", "adaptive", "mixed", "partition", "variational"],
    )
    def test_those_of_a_process(self, settings):
        X, y = noisy_sinc(120, seed=7)
        model = RVR(**{"gamma": 0.2, **settings}).fit(X, y)
        _, near = model.predict(X, return_std=True)
        _, far = model.predict(X + 1000, return_std=True)

        assert model.model_.surroundings is not None
        assert far.min() > 1.5 * np.median(near)

    @pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)])
    def test_those_that_grow_are_as_certain_as_their_features_allow(self, kernel):
        """All functions are known from a few rows, here as far away."""
        rng = np.random.default_rng(8)
        X = rng.standard_normal((200, 2))
        y = X @ [1.0, -2.0] + 0.1 * rng.standard_normal(200)
        model = RVR(kernel=kernel).fit(X, y)
        rows, a = 100 * X[:40], model.model_.surroundings.amplitude[0]
        _, own = plain(model).latent(rows)
        _, variance = model.model_.latent(rows)
        expected = process_variance(model, X, rows, a)

        assert model.model_.surroundings.power == 1.0
        assert_allclose(variance, np.maximum(own, expected[:, None]), rtol=0.01)

    @pytest.mark.parametrize("kernel", [None, "sigmoid", lambda X, Z: X @ Z.T])
    def test_those_without_a_process_stay_plain(self, kernel):
        rng = np.random.default_rng(9)
        X = rng.standard_normal((60, 2))
        model = RVR(kernel=kernel).fit(X, X[:, 0] + 0.1 * rng.standard_normal(60))

        assert model.model_.surroundings is None


class TestClasses:
    @pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.2)])
    def test_two_return_to_their_frequencies(self, shares):
        X, y = unbalanced(np.random.default_rng(10), shares)
        model = RVC().fit(X, y)
        p = model.predict_proba(X + 10 * 50)

        assert_allclose(p, np.tile(shares, (len(X), 1)), atol=0.01)
        assert_array_equal(model.predict(X + 500), model.classes_[p.argmax(axis=1)])
        assert model.score(X, y) > 0.9

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("scheme", SCHEMES, ids=str)
    def test_three_return_to_their_frequencies(self, scheme):
        shares = (0.6, 0.3, 0.1)
        X, y = unbalanced(np.random.default_rng(11), shares)
        model = RVC(gamma=0.5, multi_class=scheme, max_iter=200).fit(X, y)
        p = model.predict_proba(X + 500)

        assert_allclose(p, np.tile(shares, (len(X), 1)), atol=0.1)
        assert model.score(X, y) > 0.9

    def test_votes_are_of_pairs_that_do(self):
        X, y = unbalanced(np.random.default_rng(12), (0.6, 0.3, 0.1))
        model = RVC(gamma=0.5, multi_class=OneAgainstOne("votes")).fit(X, y)

        assert set(model.predict(X + 500)) == {0}

    def test_near_the_data_they_are_as_they_were(self):
        X, y = unbalanced(np.random.default_rng(13), (0.7, 0.3), 600)
        augmented, other = (
            RVC(uncertainty=name).fit(X[::2], y[::2]) for name in ("augmented", "plain")
        )
        p, known = (one.predict_proba(X[1::2]) for one in (augmented, other))

        assert np.mean(np.abs(p - known)) < 0.02
        assert_array_equal(p.argmax(axis=1), known.argmax(axis=1))

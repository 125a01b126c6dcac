"""Intervals by rows left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relvec
from relvec import LSSVR, RVR, Tuning
from relvec.data import noisy_sinc, scan
from relvec.modelling import Residuals, TargetDistribution

UNIFORM = [0.01, 0.05, 0.29, 0.5, 0.565, 0.9, 0.95, 0.995]


@pytest.mark.parametrize("freedom", [3.0, 5.0, 20.0])
def test_intervals_of_students_distribution(rng, freedom):
    """Of noise whose precision is uncertain, and weights that are known by its unit."""
    scale2, leverage = 0.04, 0.3
    precision = rng.gamma(freedom / 2, 2 / (freedom * scale2), 200_000)
    targets = rng.standard_normal(200_000) * np.sqrt((1 + leverage) / precision)
    noise = scale2 * freedom / (freedom - 2)
    found = TargetDistribution(
        np.zeros(1), np.array([leverage * scale2]), noise, freedom
    )

    for coverage in (0.5, 0.9, 0.99):
        _, upper = found.interval(coverage)
        assert_allclose(np.mean(np.abs(targets) < upper), coverage, atol=0.005)


class TestQuantiles:
    @pytest.mark.parametrize("count", [39, 199, 200, 1234])
    def test_of_rows_that_count_once(self, rng, count):
        sizes = rng.exponential(size=count)
        found = Residuals.of(sizes, np.ones(count), np.ones(count))
        ordered = np.sort(sizes)

        for coverage in [one for one in UNIFORM if one <= count / (count + 1)]:
            place = int(np.ceil((count + 1) * coverage - 1e-9))
            assert found.quantile(coverage) == ordered[place - 1]
        # Between the steps the next.
        assert found.quantile(0.9001) == found.quantile(0.905)

    def test_weights_are_repetitions(self, rng):
        errors, promised = rng.standard_normal(60), rng.uniform(1, 2, 60)
        counts = rng.integers(1, 5, 60)
        weighted = Residuals.of(errors, promised, counts.astype(float))
        one_by_one = Residuals.of(
            np.repeat(errors, counts), np.repeat(promised, counts), np.ones(sum(counts))
        )

        assert weighted.count == one_by_one.count
        assert_array_equal(weighted.quantiles, one_by_one.quantiles)

    def test_more_than_rows_can_tell(self):
        found = Residuals.of(np.ones(9), np.ones(9), np.ones(9))

        assert found.quantile(0.9) == 1.0
        with pytest.raises(
            ValueError, match=r"coverage=0.91 .* 9 rows left out .* 0.9"
        ):
            found.quantile(0.91)

    def test_they_multiply_the_deviation(self):
        found = Residuals.of(np.arange(1.0, 100), np.ones(99), np.ones(99))
        target = TargetDistribution(np.array([1.0, 2.0]), np.array([0.0, 3.0]), 1.0)

        assert_allclose(found.interval(target, 0.5), [[-49, -98], [51, 102]])


def drawn(seed, count):
    """Noise of bounded support: a Gaussian interval of 90 % covers 95 %."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (count, 1))
    return X, np.sinc(X[:, 0] / np.pi) + rng.uniform(-0.3, 0.3, count)


def covered(model, X, y, calibration):
    lower, upper = model.predict_interval(X, calibration=calibration)
    return np.mean((lower < y) & (y < upper))


MODELS = {
    "plain": RVR(gamma=1 / 9, uncertainty="plain"),
    "augmented": RVR(gamma=1 / 9),
    "lssvr": LSSVR(gamma=1 / 9, tune=Tuning("loo", C=[1.0], widths=[1.0])),
    "low rank": LSSVR(gamma=1 / 9, method="nystrom", rank=12, tune="loo"),
}


@pytest.mark.parametrize("name", MODELS)
def test_noise_that_is_not_gaussian(name):
    shares = []
    for seed in range(5):
        X, y = drawn(seed, 1300)
        model = MODELS[name].fit(X[:300], y[:300])
        shares.append([covered(model, X[300:], y[300:], one) for one in (None, "loo")])
    own, calibrated = np.mean(shares, axis=0)

    assert own > 0.935
    assert 0.88 < calibrated < 0.92


def test_far_from_the_data_they_are_as_wide_as_error_bars_say():
    model = RVR(gamma=1 / 9).fit(*drawn(0, 200))
    rows = np.array([[0.0], [40.0]])
    mean, std = model.predict(rows, return_std=True)
    lower, upper = model.predict_interval(rows, calibration="loo")

    assert std[1] > 2 * std[0]
    assert_allclose((upper - lower) / std, 2 * model.model_.residuals.quantile(0.9))
    assert_allclose((upper + lower) / 2, mean, atol=1e-12)


def test_rows_of_least_squares_are_left_out_one_by_one():
    X, y = noisy_sinc(40, seed=3)
    tune = Tuning("loo", C=[10.0], widths=[1.0])
    model = LSSVR(gamma=1 / 9, tune=tune).fit(X, y)
    sizes = []
    for row in range(40):
        others = np.arange(40) != row
        one = LSSVR(gamma=1 / 9, C=10.0).fit(X[others], y[others])
        mean, own = one.model_.latent(X[[row]])
        latent = own / one.model_.scale * model.model_.scale
        found = model.model_.family.predictive(mean, latent)
        sizes.append(abs(y[row] - found.mean[0]) / found.std[0])

    expected = Residuals.of(np.array(sizes), np.ones(40), np.ones(40))
    assert_allclose(model.model_.residuals.quantiles, expected.quantiles, rtol=1e-6)


def test_a_weight_counts_repetitions():
    X, y = noisy_sinc(80, seed=1)
    counts = np.random.default_rng(0).integers(1, 4, 80)
    weighted = RVR(gamma=1 / 9).fit(X, y, counts)
    repeated = RVR(gamma=1 / 9).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))

    assert_allclose(
        weighted.predict_interval(X, calibration="loo"),
        repeated.predict_interval(X, calibration="loo"),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"outputs": "independent"},
        {"outputs": "independent", "noise": "student-t"},
    ],
)
def test_every_output_has_its_own(settings):
    X, y = noisy_sinc(150, seed=4)
    Y = np.column_stack([y, 100 * y[::-1]])
    model = RVR(gamma=0.2, **settings).fit(X, Y)
    lower, upper = model.predict_interval(X, coverage=0.9, calibration="loo")
    alone = RVR(gamma=0.2, noise=settings.get("noise", "gaussian")).fit(X, Y[:, 1])
    other = alone.predict_interval(X, coverage=0.9, calibration="loo")

    assert lower.shape == upper.shape == Y.shape
    within = np.mean((lower < Y) & (upper > Y), axis=0)
    assert np.all((within > 0.86) & (within < 0.97))
    widths = (upper - lower)[:, 1], other[1] - other[0]
    assert_allclose(np.mean(widths[0]), np.mean(widths[1]), rtol=0.1)


def test_noise_that_varies_has_residuals_of_its_own(rng):
    x = rng.uniform(0, 6, (300, 1))
    y = np.sin(x[:, 0]) + (0.05 + 0.15 * x[:, 0]) * rng.standard_normal(300)
    model = RVR(noise="heteroscedastic").fit(x, y)
    lower, upper = model.predict_interval(x, coverage=0.9, calibration="loo")
    quiet = x[:, 0] < 3

    assert model.model_.noise_model is not None
    for rows in (quiet, ~quiet):
        assert 0.84 < np.mean((lower < y)[rows] & (y < upper)[rows]) < 0.97


def test_counts_have_none():
    X = np.linspace(0, 5, 40)[:, None]
    model = RVR(noise="poisson").fit(X, np.arange(40.0))
    with pytest.raises(ValueError, match="of counts"):
        model.predict_interval(X, calibration="loo")


def test_files_have_them(tmp_path):
    X, y = noisy_sinc(60, seed=0)
    model = RVR(gamma=1 / 9).fit(X, y)
    model.save(tmp_path / "model.json")
    again = relvec.load(tmp_path / "model.json")

    assert_array_equal(
        again.predict_interval(X, 0.5, "loo"), model.predict_interval(X, 0.5, "loo")
    )


class TestRefusals:
    def test_where_no_row_is_left_out(self):
        X, y = noisy_sinc(60, seed=0)
        model = RVR(gamma=1 / 9, candidates=X[::3])
        model.partial_fit(X, y)
        with pytest.raises(ValueError, match=r"'loo' needs rows .* partial_fit"):
            model.predict_interval(X, calibration="loo")
        blocks = scan([(X[:30], y[:30]), (X[30:], y[30:])])
        model.set_params(design="streamed").fit(blocks)
        with pytest.raises(ValueError, match=r"'loo' needs rows .* none was drawn"):
            model.predict_interval(X, calibration="loo")

    def test_least_squares_without_rows_left_out(self):
        X, y = noisy_sinc(60, seed=0)
        with pytest.raises(ValueError, match="fit with tune='loo'"):
            LSSVR(gamma=1 / 9).fit(X, y).predict_interval(X, calibration="loo")

    @pytest.mark.parametrize("calibration", ["cv", True, 0.9])
    def test_other_words(self, calibration):
        X, y = noisy_sinc(30, seed=0)
        with pytest.raises(ValueError, match="calibration must be one of 'loo'"):
            RVR(gamma=1 / 9).fit(X, y).predict_interval(X, 0.9, calibration)

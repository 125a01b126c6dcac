"""Targets with outliers, and noise of heavy tails."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec import RVR, Status, StudentT, TopDown, load, save
from relvec.data import noisy_sinc, scan
from relvec.likelihoods import StudentT as StudentTLikelihood

pytestmark = pytest.mark.filterwarnings("ignore::relvec.estimators.FitWarning")

N = 100
X = noisy_sinc(N)[0]
TRUTH = np.sinc(X[:, 0] / np.pi)


def spoilt(seed, fraction=0.1, n_rows=N, size=(2, 10)):
    """The targets of a sinc, some of them far off, and as they were before."""
    rng = np.random.default_rng(1000 + seed)
    _, clean = noisy_sinc(n_rows, seed=seed)
    y, some = clean.copy(), rng.choice(n_rows, int(fraction * n_rows), replace=False)
    y[some] += rng.choice([-1, 1], len(some)) * rng.uniform(*size, len(some))
    return y, clean


def robust(y, X=X, **params):
    return RVR(**{"noise": "student-t", **params}).fit(X, y)


def error(model):
    return np.sqrt(np.mean((model.predict(X) - TRUTH) ** 2))


class TestOutliers:
    @pytest.mark.parametrize("seed", range(4))
    def test_they_neither_bend_the_function_nor_have_functions(self, seed):
        y, clean = spoilt(seed)
        model, gaussian, before = robust(y), RVR().fit(X, y), RVR().fit(X, clean)

        assert error(model) < 0.5 * error(gaussian)
        assert error(model) < 0.1
        assert len(model.relevance_) <= 1.5 * len(before.relevance_)

    def test_without_any_it_is_as_good_as_gaussian_noise(self):
        pairs = [(robust(y), RVR().fit(X, y)) for y in (spoilt(s)[1] for s in range(3))]

        ratios = [error(one) / error(other) for one, other in pairs]
        assert np.median(ratios) < 1.1
        for model, gaussian in pairs:
            assert model.degrees_of_freedom_ > 5
            assert_allclose(model.noise_variance_, gaussian.noise_variance_, rtol=0.3)

    @pytest.mark.parametrize("size", [(2, 3), (1e3, 1e4), (1e9, 1e10)])
    def test_how_far_off_they_are_does_not_matter(self, size):
        y, _ = spoilt(7, size=size)
        model = robust(y)

        assert error(model) < 0.08
        assert model.noise_variance_ < 0.4**2

    def test_several_features(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, (150, 3))
        truth = np.sin(2 * X[:, 0]) + X[:, 1]
        y = truth + 0.1 * rng.standard_normal(150)
        y[::10] += 20
        model, gaussian = robust(y, X), RVR().fit(X, y)

        errors = [np.std(one.predict(X) - truth) for one in (model, gaussian)]
        assert errors[0] < 0.1 * errors[1]

    @pytest.mark.parametrize("solver", ["sequential", "mackay", "em"])
    def test_with_every_solver_that_estimates_noise(self, solver):
        model = robust(spoilt(3)[0], solver=solver, gamma=0.15, candidates=30)

        assert error(model) < 0.1


class TestModel:
    def test_units_do_not_matter(self):
        y, _ = spoilt(1)
        plain, large = robust(y), robust(1e6 * y)

        assert_allclose(large.predict(X), 1e6 * plain.predict(X), rtol=1e-5)
        expected = plain.log_evidence_ - N * np.log(1e6)
        assert_allclose(large.log_evidence_, expected, rtol=1e-6)

    def test_weights_are_repetitions(self):
        y, counts = spoilt(2)[0], np.arange(N) % 3
        rows = np.repeat(np.arange(N), counts)
        weighted = RVR(gamma=0.1, noise="student-t").fit(X, y, sample_weight=counts)
        repeated = robust(y[rows], X[rows], gamma=0.1)

        assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
        assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-8)

    def test_the_evidence_is_a_lower_bound(self):
        """Of the integral over the weights, here by draws from their posterior."""
        y, _ = spoilt(4)
        model = robust(y, gamma=0.1, uncertainty="plain").model_
        noise, posterior = model.fit.likelihood, model.posterior
        assert isinstance(noise, StudentTLikelihood)
        rng = np.random.default_rng(0)
        mean, alpha = posterior.mean[0], posterior.prior_precision
        unit = rng.standard_normal((4000, len(mean)))
        draws = mean + unit @ posterior.whitener[0]
        eta = model.basis(X) @ draws.T
        density = noise.log_densities((y[:, None] - model.offset - eta) ** 2).sum(0)
        prior = 0.5 * np.sum(np.log(alpha) - alpha * draws**2, axis=1)
        _, log_volume = np.linalg.slogdet(posterior.whitener[0])
        own = -0.5 * np.sum(unit**2, axis=1) - log_volume
        exact = np.logaddexp.reduce(density + prior - own) - np.log(len(draws))

        assert exact - 5 < model.log_evidence < exact + 0.1

    def test_error_bars_have_the_variance_of_the_tails(self):
        model = robust(spoilt(5)[0], uncertainty="plain")
        _, variance = model.model_.latent(X)
        family, freedom = model.model_.family, model.degrees_of_freedom_
        _, std = model.predict(X, return_std=True)

        noise = family.scale_variance * freedom / (freedom - 2)
        assert_allclose(model.noise_variance_, noise)
        assert_allclose(std**2, variance[:, 0] + noise)

    def test_intervals_cover_what_they_say(self):
        """New rows of the same noise, outliers among them."""
        inside = []
        for seed in range(3):
            y, new = spoilt(seed)[0], spoilt(50 + seed)[0]
            lower, upper = robust(y).predict_interval(X, coverage=0.8)
            inside.append(np.mean((lower < new) & (new < upper)))

        assert 0.75 < np.mean(inside) < 0.95

    def test_far_from_the_data_it_knows_less(self):
        y, _ = spoilt(5)
        augmented, plain = (
            robust(y, uncertainty=name).predict([[40.0]], return_std=True)[1]
            for name in ("augmented", "plain")
        )
        assert augmented > 1.2 * plain

    def test_degrees_of_freedom_may_be_given(self):
        model = robust(spoilt(0)[0], noise=StudentT(degrees_of_freedom=7))

        assert model.degrees_of_freedom_ == 7.0
        assert error(model) < 0.1

    @pytest.mark.parametrize(
        ("y", "status"),
        [
            (np.zeros(N), Status.CONSTANT_TARGET),
            (np.full(N, 3.0), Status.CONSTANT_TARGET),
            (np.where(np.arange(N) == 5, 9.0, 0.0), Status.EMPTY),
        ],
    )
    def test_targets_of_which_most_are_equal(self, y, status):
        model = robust(y)

        assert model.status_ is status
        assert_allclose(model.predict(X), y[0], atol=1e-6)

    @pytest.mark.parametrize("n_rows", [1, 2, 3, 10])
    def test_few_rows(self, n_rows):
        X, y = noisy_sinc(n_rows, seed=1)
        mean, std = robust(y, X).predict(X, return_std=True)

        assert np.isfinite(mean).all()
        assert np.all(std > 0)

    def test_a_fit_begins_where_the_last_has_ended(self):
        y, _ = spoilt(1)
        model = robust(y, warm_start=True, gamma=0.1)
        before = model.log_evidence_

        assert model.fit(X, y).log_evidence_ > before - 1
        assert error(model) < 0.1

    def test_time_that_is_over(self):
        model = RVR(noise="student-t", max_seconds=1e-9)
        with pytest.warns(UserWarning, match="max_seconds"):
            model.fit(X, spoilt(1)[0])

        assert model.status_ is Status.MAX_SECONDS

    def test_a_file_keeps_it(self, tmp_path):
        model = robust(spoilt(1)[0], noise=StudentT(5.0))
        save(model, tmp_path / "model.json")
        found = load(tmp_path / "model.json")

        assert_allclose(found.predict_interval(X), model.predict_interval(X))
        assert found.noise == model.noise
        assert found.degrees_of_freedom_ == 5.0


class TestRefused:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"noise": "cauchy"}, "noise must be one of 'gaussian', 'student-t'"),
            ({"noise": 3}, "noise must be one of"),
            ({"noise_variance": 0.1}, "leave noise_variance at 'estimate'"),
            ({"solver": "variational"}, "use 'sequential', 'mackay' or 'em'"),
            ({"solver": TopDown(initial_noise_variance=1.0)}, "as they are"),
            ({"partition": "sample"}, "leave out partition"),
        ],
    )
    def test_what_does_not_go_together(self, params, message):
        with pytest.raises(ValueError, match=message):
            robust(spoilt(0)[0], **params)

    @pytest.mark.parametrize("freedom", [2, -1.0, np.inf, "many"])
    def test_degrees_of_freedom_that_are_none(self, freedom):
        with pytest.raises(ValueError, match="degrees_of_freedom must be"):
            StudentT(degrees_of_freedom=freedom)

    def test_rows_that_come_in_parts(self):
        model = RVR(noise="student-t")

        with pytest.raises(AttributeError) as refused:
            model.partial_fit(X, TRUTH)
        assert "use noise='gaussian'" in str(refused.value.__cause__)

    def test_rows_that_are_read_again_and_again(self):
        blocks = scan([(X, TRUTH)])
        model = RVR(noise="student-t", design="streamed", candidates=10)
        with pytest.raises(ValueError, match="is for rows in memory"):
            model.fit(blocks)

    @pytest.mark.parametrize(
        ("noise", "given"), [("student-t", {}), ("gaussian", {"y_std": np.ones(N)})]
    )
    def test_rows_of_a_cluster(self, noise, given):
        da = pytest.importorskip("dask.array")
        there = da.from_array(X, chunks=(50, 1)), da.from_array(TRUTH, chunks=50)
        with pytest.raises(ValueError, match="give X and y as arrays"):
            RVR(noise=noise).fit(*there, **given)

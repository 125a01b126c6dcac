"""What a fit knows of its own error bars and probabilities."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import relvec
from relvec import LSSVC, LSSVR, RVC, RVR, FitWarning, sparse_bayes


def line(seed, n_rows=100, n_features=90, noise=0.5):
    """Five of many features matter; a thousand rows more to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows + 1000, n_features))
    y = X[:, :5].sum(axis=1) + noise * rng.standard_normal(len(X))
    return (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:])


def curve(seed=0, n_rows=100, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-5, 5, (n_rows, 1))
    return X, np.sin(X[:, 0]) + noise * rng.standard_normal(n_rows)


def covered(model, rows, targets, **settings):
    lower, upper = model.predict_interval(rows, coverage=0.9, **settings)
    return float(np.mean((lower <= targets) & (targets <= upper)))


class TestColumns:
    """Functions chosen among columns, of which closed forms know too little."""

    # Without folds they cover 48, 37 and 2 %.
    @pytest.mark.filterwarnings("ignore::relvec.FitWarning")
    @pytest.mark.parametrize("n_features", [90, 120, 300])
    def test_intervals_of_new_rows_hold(self, n_features):
        each = []
        for seed in range(3):
            known, (rows, targets) = line(seed, n_features=n_features)
            model = RVR(kernel=None).fit(*known)
            assert model.calibration_.method == "folds"
            each += [
                covered(model, rows, targets),
                covered(model, rows, targets, calibration="loo"),
            ]

        assert min(each) > 0.75
        assert 0.82 < np.mean(each) < 0.98

    def test_a_row_that_counts_twice_is_two_rows(self):
        (X, y), (rows, _) = line(1, n_rows=40, n_features=30)
        twice = np.arange(40) % 3 == 0
        weighted = RVR(kernel=None).fit(X, y, sample_weight=1.0 + twice)
        repeated = RVR(kernel=None).fit(
            np.concatenate([X, X[twice]]), np.concatenate([y, y[twice]])
        )

        assert weighted.calibration_.method == "folds"
        assert weighted.calibration_.n_rows == 40 + twice.sum()
        assert_allclose(
            weighted.calibration_.coverage, repeated.calibration_.coverage, rtol=1e-12
        )
        assert_allclose(
            weighted.predict(rows, return_std=True)[1],
            repeated.predict(rows, return_std=True)[1],
            rtol=1e-6,
        )

    def test_few_rows_that_differ_are_few_however_often_they_count(self):
        X, y = np.random.default_rng(0).random((9, 30)), np.arange(9) % 3
        weighted = RVC(kernel=None).fit(X, y, sample_weight=np.full(9, 2.0))
        repeated = RVC(kernel=None).fit(np.tile(X, (2, 1)), np.tile(y, 2))

        assert weighted.calibration_.method == repeated.calibration_.method
        assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), rtol=1e-6)

    def test_few_columns_of_many_rows_need_no_folds(self):
        known, _ = line(0, n_rows=400, n_features=6)

        assert RVR(kernel=None).fit(*known).calibration_.method == "leave-one-out"

    def test_many_rows_are_judged_by_some_folds(self):
        known, _ = line(0, n_rows=1500, n_features=200)
        n_rows = RVR(kernel=None).fit(*known).calibration_.n_rows

        assert 500 <= n_rows < 1500

    def test_own_centres_and_several_kernels(self):
        X, y = curve(n_rows=60)
        centres = np.random.default_rng(1).uniform(-5, 5, (100, 1))
        for model in (
            RVR(gamma=4.0, candidates=centres),
            RVR(["rbf", "linear"], gamma=4.0),
        ):
            assert model.fit(X, y).calibration_.method == "folds"

    def test_classes(self):
        rng = np.random.default_rng(3)
        X = rng.standard_normal((600, 60))
        y = (X[:, 0] + X[:, 1] + rng.standard_normal(600) > 0).astype(int)
        model = RVC(kernel=None).fit(X[:100], y[:100])
        p = model.predict_proba(X[100:])[np.arange(500), y[100:]]
        found = model.calibration_

        assert found.method == "folds"
        assert found.n_rows == 100
        assert found.baseline_log_loss == pytest.approx(np.log(2), abs=0.02)
        assert found.log_loss == pytest.approx(-np.mean(np.log(p)), abs=0.15)


class TestRows:
    def test_every_kind_of_noise_knows_its_coverage(self):
        X, y = curve(n_rows=150)
        counts = np.random.default_rng(2).poisson(np.exp(1 + y))
        std = np.full(150, 0.1)
        for model in (
            RVR().fit(X, y),
            RVR("linear").fit(X, y),
            RVR(noise="student-t", gamma=0.5).fit(X, y),
            RVR(noise="heteroscedastic", gamma=0.5).fit(X, y),
            RVR(noise="poisson", gamma=0.5).fit(X, counts),
            RVR(gamma=0.5).fit(X, y, y_std=std),
            RVR(gamma=0.5, solver="mackay", candidates=40).fit(X, y),
            LSSVR(gamma=0.5, tune="loo").fit(X, y),
        ):
            assert model.calibration_.method == "leave-one-out"
            assert 0.8 < model.calibration_.coverage <= 1
            assert model.calibration_.log_loss is None

    def test_every_output_has_its_own(self):
        X, y = curve()
        for outputs in ("shared", "independent"):
            model = RVR(gamma=0.5, outputs=outputs).fit(X, np.column_stack([y, y**2]))
            assert len(model.calibration_.coverage) == 2

    def test_every_kind_of_classes_knows_its_log_loss(self):
        rng = np.random.default_rng(4)
        X = rng.standard_normal((90, 2))
        y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(90), [-0.5, 0.5])
        for model in (
            RVC(gamma=0.5),
            RVC(gamma=0.5, multi_class="ovr"),
            RVC(gamma=0.5, multi_class="ovo"),
            RVC(gamma=0.5, multi_class="softmax"),
            LSSVC(gamma=0.5),
        ):
            found = model.fit(X, y).calibration_
            assert 0 < found.log_loss < found.baseline_log_loss
            assert found.coverage is None

    def test_the_coverage_is_that_of_rows_left_out(self):
        """Beside the slow way: a model of the same functions without each row."""
        X, y = curve(n_rows=30)
        model = RVR("linear").fit(X, y)
        residuals = model.model_.residuals.quantiles
        within = np.mean(residuals <= 1.7)

        assert model.calibration_.coverage == pytest.approx(within, abs=0.05)


class TestWarnings:
    def test_noise_that_is_given_too_small(self):
        X, y = curve(noise=0.3)
        with pytest.warns(FitWarning, match=r"90 % intervals cover \d+ % of the 100"):
            model = RVR(gamma=0.5, noise_variance=1e-4).fit(X, y)

        assert model.calibration_.too_narrow
        assert model.noise_variance_ == 1e-4

    def test_deviations_that_are_given_too_small(self):
        X, y = curve(noise=0.3)
        with pytest.warns(FitWarning, match="error bars are too narrow"):
            RVR(gamma=0.5).fit(X, y, y_std=np.linspace(0.02, 0.05, 100))

    def test_probabilities_that_are_worse_than_none(self):
        loss, baseline = 0.8, 0.7
        found = relvec.Calibration(
            "folds", 100.0, log_loss=loss, baseline_log_loss=baseline
        )

        assert "too certain" in found.warning
        assert (
            relvec.Calibration(
                "folds", 5.0, log_loss=loss, baseline_log_loss=baseline
            ).warning
            is None
        )

    @pytest.mark.parametrize(
        ("coverage", "n_rows", "narrow"),
        [(0.84, 1000, True), (0.86, 1000, False), (0.8, 20, False), (0.7, 20, True)],
    )
    def test_chance_is_no_reason_to_warn(self, coverage, n_rows, narrow):
        found = relvec.Calibration("folds", n_rows, coverage=coverage)

        assert found.too_narrow == narrow
        assert (found.warning is not None) == narrow

    def test_the_engine_is_as_published(self):
        (X, y), _ = line(0)
        fit = sparse_bayes(X, y)

        assert not hasattr(fit, "calibration")


class TestCopies:
    @pytest.mark.parametrize("kind", ["rvr", "rvr outputs", "rvc", "lssvr", "lssvc"])
    def test_files_and_pickles_keep_it(self, kind, tmp_path):
        X, y = curve(n_rows=50)
        classes = (y > 0).astype(int)
        model = {
            "rvr": lambda: RVR(gamma=0.5).fit(X, y),
            "rvr outputs": lambda: RVR(gamma=0.5).fit(X, np.column_stack([y, -y])),
            "rvc": lambda: RVC(gamma=0.5).fit(X, classes),
            "lssvr": lambda: LSSVR(gamma=0.5, tune="loo").fit(X, y),
            "lssvc": lambda: LSSVC(gamma=0.5).fit(X, classes),
        }[kind]()
        relvec.save(model, tmp_path / "model.json")

        for copy in (
            relvec.load(tmp_path / "model.json"),
            pickle.loads(pickle.dumps(model)),
        ):
            assert copy.calibration_ == model.calibration_

    def test_the_next_fit_forgets_it(self):
        X, y = curve(n_rows=50)
        model = RVR(gamma=0.5).fit(X, y)
        model.partial_fit(X, y)

        assert not hasattr(model, "calibration_")

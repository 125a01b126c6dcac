"""The classic solvers behind the estimators: settings, hyperpriors, intervals."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student_t
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from relvec import (
    RVC,
    RVR,
    BottomUp,
    FitWarning,
    Hyperprior,
    LengthScales,
    Mrvm2,
    Status,
    TopDown,
    sparse_bayes,
)
from relvec.basis import Basis
from relvec.data import noisy_sinc, two_mixtures
from relvec.kernels import Gaussian

TOP_DOWN = ["mackay", "em", "variational"]


def drawn_from_the_model(rng, n_rows, n_new, width=1.5):
    """A few weights of a dictionary of Gaussians, and noise."""
    X = rng.uniform(-10, 10, (n_rows + n_new, 1))
    centres = X[rng.choice(n_rows, rng.integers(3, 8), replace=False)]
    mean = Gaussian(width=width)(X, centres) @ (2 * rng.standard_normal(len(centres)))
    return X, mean + rng.uniform(0.05, 0.5) * rng.standard_normal(len(X))


class TestVariational:
    """Predictions with the noise integrated out."""

    @pytest.mark.slow
    def test_intervals_cover_what_they_should(self):
        covered = []
        for seed in range(20):
            X, y = drawn_from_the_model(np.random.default_rng(seed), 200, 300)
            model = RVR(gamma=1 / 1.5**2, solver="variational", tol=1e-2)
            model.fit(X[:200], y[:200])
            lower, upper = model.predict_interval(X[200:], coverage=0.9)
            covered.append(np.mean((lower < y[200:]) & (y[200:] < upper)))

        assert 0.88 < np.mean(covered) < 0.92

    @pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
    def test_the_predictive_distribution_is_students(self):
        X, y = noisy_sinc(12, seed=0)
        prior = Hyperprior(c=1.5, d=0.01)
        model = RVR(gamma=1 / 9, solver=TopDown("variational", hyperprior=prior)).fit(
            X, y
        )
        mean, std = model.predict(X, return_std=True)
        lower, upper = model.predict_interval(X, coverage=0.8)

        freedom = 2 * 1.5 + 12
        assert model.degrees_of_freedom_ == freedom
        assert_allclose((lower + upper) / 2, mean)
        variance = model.model_.latent(X)[1][:, 0]
        scale2 = variance + model.noise_variance_ * (freedom - 2) / freedom
        half = student_t(freedom).ppf(0.9) * np.sqrt(scale2)
        assert_allclose(upper - mean, half)
        assert_allclose(std**2, variance + model.noise_variance_)

    def test_other_solvers_are_gaussian(self):
        X, y = noisy_sinc(100, seed=0)
        model = RVR(gamma=1 / 9).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        _, upper = model.predict_interval(X, coverage=0.95)

        assert np.isinf(model.degrees_of_freedom_)
        assert_allclose(upper, mean + 1.959963984540054 * std)

    def test_known_noise_is_not_integrated(self):
        X, y = noisy_sinc(30, seed=0)
        model = RVR(gamma=1 / 9, solver="variational", noise_variance=0.01).fit(X, y)

        assert np.isinf(model.degrees_of_freedom_)
        assert_allclose(model.noise_variance_, 0.01)

    def test_classification_agrees_with_laplace(self):
        X, y = two_mixtures(200, seed=1)
        bound = RVC(gamma=4.0, solver="variational").fit(X, y)
        laplace = RVC(gamma=4.0).fit(X, y)
        apart = bound.predict_proba(X) - laplace.predict_proba(X)

        assert np.abs(apart).mean() < 0.03
        assert np.diff(bound.history_["log_evidence"]).min() > -1e-8

    @pytest.mark.parametrize("coverage", [0, 1, 1.5, "much"])
    def test_bad_coverages(self, coverage):
        X, y = noisy_sinc(20)
        with pytest.raises(
            ValueError, match="coverage must be a number between 0 and 1"
        ):
            RVR().fit(X, y).predict_interval(X, coverage)


class TestSettings:
    """What a name is not enough for."""

    def test_initial_values_are_those_of_the_first_step(self):
        """After one step of EM from α and σ² in the units of the data."""
        X, y = noisy_sinc(25, seed=3)
        y = 10 * y
        start = TopDown("em", initial_precision=0.2, initial_noise_variance=4.0)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = RVR(gamma=1 / 9, solver=start, max_iter=1, fit_intercept=False).fit(
                X, y
            )

        Phi = np.exp(-((X - X.T) ** 2) / 9)
        Sigma = np.linalg.inv(0.2 * np.eye(25) + Phi.T @ Phi / 4.0)
        mu = Sigma @ Phi.T @ y / 4.0
        expected = 1 / (mu**2 + np.diag(Sigma))
        assert_allclose(model.prior_precision_, expected[model.relevance_], rtol=1e-6)

    def test_the_noise_moves_every_so_many_steps(self):
        X, y = noisy_sinc(40, seed=3)
        solver = TopDown("mackay", noise_interval=4, polish=False)
        model = RVR(gamma=1 / 9, solver=solver).fit(X, y)
        moved = np.flatnonzero(np.diff(model.history_["noise_std"]))

        assert set((moved + 2) % 4) == {0}  # differences begin with the second step
        assert model.status_ is Status.CONVERGED

    @pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
    def test_a_low_threshold_leaves_the_constant_model(self):
        X, y = noisy_sinc(40, seed=3)
        with pytest.warns(UserWarning, match="no basis function explains"):
            model = RVR(solver=TopDown("mackay", prune=1e-9, polish=False)).fit(X, y)

        assert model.status_ is Status.EMPTY
        assert_allclose(model.predict(X), y.mean())

    def test_a_prior_of_the_noise_in_the_units_of_the_data(self):
        X, y = noisy_sinc(60, seed=0)
        prior = Hyperprior(c=1e5, d=1e5 * 200.0**2)
        model = RVR(gamma=1 / 9, solver=TopDown("mackay", hyperprior=prior)).fit(
            X, 1000 * y
        )

        assert_allclose(model.noise_variance_**0.5, 200.0, rtol=1e-2)

    def test_an_informative_prior_is_not_polished_away(self):
        X, y = noisy_sinc(60, seed=0)
        four = (0.0, 0.0, 10.0, 0.5)
        models = [
            RVR(gamma=1 / 9, solver=TopDown("em", hyperprior=four, polish=polish)).fit(
                X, y
            )
            for polish in (None, False)
        ]
        assert models[0].n_iter_ == models[1].n_iter_

    def test_a_dictionary_of_ones_own_has_them_too(self):
        rng = np.random.default_rng(0)
        Phi = rng.standard_normal((60, 20))
        y = 3 * Phi[:, 4] - 2 * Phi[:, 11] + 0.1 * rng.standard_normal(60)
        prior = Hyperprior(c=1, d=0.01)
        solver = TopDown("variational", initial_noise_variance=0.1, hyperprior=prior)
        found = sparse_bayes(Phi, y, solver=solver)

        assert set(found.relevant) >= {4, 11}
        assert_allclose(found.noise_variance, 0.01, rtol=0.5)


@pytest.mark.parametrize("solver", TOP_DOWN)
@pytest.mark.parametrize(("fewest", "number"), [(12, 12), (0.25, 20)])
def test_min_vectors_stops_on_the_way_down(solver, fewest, number):
    X, y = noisy_sinc(80, seed=0)
    model = RVR(gamma=1 / 9, solver=TopDown(solver, min_vectors=fewest))
    with pytest.warns(ConvergenceWarning, match="min_vectors"):
        model.fit(X, y)

    assert model.status_ is Status.MIN_VECTORS
    assert 0 < len(model.relevance_) <= number
    assert np.all(model.history_["n_vectors"][:-1] > number)
    assert np.isfinite(model.predict(X)).all()


class TestWarmStart:
    """A fit begins where the last one ended."""

    @pytest.mark.parametrize("make", [RVR, RVC])
    def test_the_same_data_need_no_further_step(self, make):
        X, y = noisy_sinc(100, seed=0) if make is RVR else two_mixtures(100, seed=0)
        gamma = 1 / 9 if make is RVR else 4.0
        model = make(gamma=gamma, warm_start=True).fit(X, y)
        first, steps = model.log_evidence_, model.n_iter_
        model.fit(X, y)

        assert model.n_iter_ < steps
        assert model.log_evidence_ >= first - 1e-6

    def test_a_stopped_search_goes_on(self):
        X, y = noisy_sinc(200, seed=0)
        model = RVR(gamma=1 / 9, warm_start=True, max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = [model.fit(X, y).log_evidence_ for _ in range(8)]

        assert np.all(np.diff(values) > -1e-9)
        assert values[-1] > values[0] + 1
        assert values[-1] > RVR(gamma=1 / 9).fit(X, y).log_evidence_ - 1

    @pytest.mark.parametrize("solver", TOP_DOWN)
    def test_from_the_top_down(self, solver):
        X, y = noisy_sinc(60, seed=0)
        model = RVR(gamma=1 / 9, warm_start=True).fit(X, y)
        active, noise = len(model.relevance_), model.history_["noise_std"][-1]
        model.set_params(solver=TopDown(solver, polish=False)).fit(X, y)

        assert_allclose(model.history_["noise_std"][-1], noise, rtol=0.1)
        assert len(model.relevance_) < 4 * active

    @pytest.mark.parametrize("make", [RVR, RVC])
    @pytest.mark.parametrize("update", TOP_DOWN)
    def test_what_was_pruned_stays_out(self, make, update):
        """The steps of both fits together are those of one that was not stopped."""
        X, y = noisy_sinc(80, seed=0) if make is RVR else two_mixtures(80, seed=0)
        gamma = 1 / 9 if make is RVR else 4.0
        solver = TopDown(update, polish=False)
        whole = make(gamma=gamma, solver=solver, tol=1e-3).fit(X, y)
        model = make(gamma=gamma, solver=solver, tol=1e-3)
        with pytest.warns(ConvergenceWarning, match="min_vectors"):
            model.set_params(solver__min_vectors=0.5).fit(X, y)
        steps, left = model.n_iter_, set(model.relevance_)
        model.set_params(solver__min_vectors=None, warm_start=True).fit(X, y)

        assert model.history_["n_vectors"][0] <= len(left) <= 41
        assert abs(steps + model.n_iter_ - whole.n_iter_) <= 5
        assert np.array_equal(model.relevance_, whole.relevance_)
        assert_allclose(model.log_evidence_, whole.log_evidence_, rtol=1e-5)
        assert_allclose(model.predict(X), whole.predict(X), atol=1e-3)

    # Within its warm-up, and beyond.
    @pytest.mark.parametrize(("convergence", "stop"), [("A", 3), ("N", 3), ("N", 15)])
    def test_mrvm2_goes_on_with_every_class(self, convergence, stop):
        X, y = make_blobs(60, centers=3, cluster_std=2.5, random_state=3)
        scheme = Mrvm2(convergence=convergence)
        whole = RVC(gamma=0.05, multi_class=scheme).fit(X, y)
        model = RVC(gamma=0.05, multi_class=scheme, max_iter=stop)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, y)
        model.set_params(warm_start=True, max_iter=10_000).fit(X, y)

        assert stop + model.n_iter_ == whole.n_iter_
        assert np.array_equal(model.relevance_, whole.relevance_)
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)

    def test_new_rows_and_kernels_begin_as_new(self):
        X, y = noisy_sinc(80, seed=0)
        solver = TopDown("mackay", polish=False)
        model = RVR(gamma=1 / 9, solver=solver, warm_start=True).fit(X[:60], y[:60])
        before = model.model_
        known = before.beginning(
            Basis.of(Gaussian.from_gamma(1 / 9), X, True)
        ).precision
        other = before.beginning(Basis.of(Gaussian.from_gamma(1.0), X, True)).precision
        inside, rows = 1 + model.relevance_, np.arange(80)

        assert_array_equal(known[inside], model.prior_precision_)
        assert_array_equal(np.isnan(known[1:]), rows >= 60)
        # Of another kernel nothing is known to be of no use.
        assert_array_equal(np.isnan(other[1:]), ~np.isin(rows, model.relevance_))
        model.fit(X, y)
        assert model.history_["n_vectors"][0] > 20
        assert len(model.relevance_) < 15

    def test_pruned_objects_stay_out(self):
        rng = np.random.default_rng(0)
        words = ["".join(rng.choice(list("abcd"), 4)) for _ in range(40)]
        counts = np.array([word.count("a") for word in words]) + rng.normal(0, 0.1, 40)

        def shared(one, two):
            return np.array([[len(set(a) & set(b)) for b in two] for a in one], float)

        solver = TopDown("mackay", polish=False)
        model = RVR(shared, solver=solver, warm_start=True, tol=1e-2)
        left = len(model.fit(words, counts).relevance_)

        assert model.fit(words, counts).history_["n_vectors"][0] <= left

    def test_a_model_of_nothing_is_nothing_to_go_on_with(self):
        X, y = noisy_sinc(40, seed=0)
        model = RVR(gamma=1 / 9, solver=TopDown(polish=False), warm_start=True)
        with pytest.warns(FitWarning, match="does not vary"):
            model.fit(X, np.ones(40))

        assert len(model.fit(X, y).relevance_) > 2

    def test_other_rows_and_another_kernel(self):
        """What is no candidate any more is left out."""
        X, y = noisy_sinc(100, seed=0)
        model = RVR(gamma=1 / 9, warm_start=True).fit(X, y)
        model.set_params(gamma=1 / 4).fit(X[:50], y[:50])
        expected = RVR(gamma=1 / 4).fit(X[:50], y[:50])

        assert set(model.relevance_) <= set(range(50))
        assert_allclose(model.log_evidence_, expected.log_evidence_, rtol=0.05)

    def test_features_and_objects(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 20))
        y = 3 * X[:, 4] - 2 * X[:, 11] + 0.1 * rng.standard_normal(60)
        linear = RVR(kernel=None, warm_start=True).fit(X, y)
        before = linear.log_evidence_
        assert linear.fit(X, y).log_evidence_ >= before - 1e-6

        words = ["".join(rng.choice(list("ab"), 4)) for _ in range(30)]
        counts = np.array([word.count("a") for word in words], dtype=float)

        def same(one, two):
            return np.array([[float(a[0] == b[0]) for b in two] for a in one])

        text = RVR(kernel=same, warm_start=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = text.fit(words, counts).log_evidence_
            assert text.fit(words, counts).log_evidence_ >= before - 1e-6

    def test_without_it_nothing_is_kept(self):
        X, y = noisy_sinc(100, seed=0)
        model = RVR(gamma=1 / 9).fit(X, y)
        steps = model.n_iter_

        assert model.fit(X, y).n_iter_ == steps


BAD = [
    ({"hyperprior": (-1, 0, 0, 0)}, "hyperprior's a must be a number of at least 0"),
    ({"hyperprior": (0, 0, 0, np.nan)}, "hyperprior's d must be a number of at least"),
    ({"hyperprior": (0, 0, "c", 0)}, "hyperprior's c must be a number of at least 0"),
    ({"hyperprior": 3}, "hyperprior must be None, a Hyperprior or its four numbers"),
    ({"hyperprior": (1,) * 5}, "hyperprior must be None, a Hyperprior or its four"),
    ({"min_vectors": 0}, "min_vectors must be a whole number of at least 1"),
    ({"min_vectors": 1.5}, "min_vectors must be a whole number of at least 1"),
    ({"min_vectors": True}, "min_vectors must be a whole number of at least 1"),
    ({"update": "newton"}, "update must be one of"),
    ({"initial_precision": 0}, "initial_precision must be a positive number"),
    ({"initial_noise_variance": -1}, "initial_noise_variance must be a positive"),
    ({"noise_interval": 0}, "noise_interval must be a whole number"),
    ({"prune": 0}, "prune must be a positive number"),
    ({"polish": "yes"}, "polish must be True or False"),
    ({"polish": True, "update": "variational"}, "polish=True .* update='variational'"),
    ({"polish": True, "hyperprior": (1, 1, 0, 0)}, r"polish=True .* hyperprior=\(1, 1"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_bad_top_down_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        TopDown(**settings)
    # What cannot be made cannot be set either, and nothing is changed.
    solver = TopDown()
    with pytest.raises(ValueError, match=message):
        solver.set_params(**settings)
    assert solver == TopDown()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"schedule": "pools"},
            "schedule must be one of 'batch', 'greedy'; got 'poo",
        ),
        ({"schedule": None}, "schedule must be one of 'batch', 'greedy'; got None"),
        ({"selection": "best"}, "selection must be one of 'gain', 'random', 'cyclic'"),
        ({"init": "random"}, "init must be one of 'projection', 'bias'; got 'random'"),
        ({"noise_interval": 0}, "noise_interval must be a whole number"),
    ],
)
def test_bad_bottom_up_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        BottomUp(**settings)


IGNORED = [
    (RVC, {"solver": TopDown(initial_noise_variance=1.0)}, "initial_noise_variance of"),
    (
        RVC,
        {"solver": TopDown(hyperprior=(0, 0, 1, 1))},
        "hyperprior of .* classes have",
    ),
    (RVC, {"solver": BottomUp(noise_interval=2)}, "noise_interval of .* classes have"),
    (RVC, {"multi_class": "mrvm2", "tol": 1e-2}, "tol=0.01 .* multi_class='mrvm2'"),
    (RVC, {"multi_class": Mrvm2(), "solver": BottomUp("greedy")}, "solver of its own"),
    (
        RVR,
        {"solver": TopDown(noise_interval=3), "noise_variance": 0.1},
        "noise_interval of .* noise_variance=0.1",
    ),
    (RVR, {"kernel": None, "candidates": 5}, "candidates=5 .* kernel=None"),
    (RVR, {"kernel": "precomputed", "candidates": [[1.0]]}, "kernel='precomputed'"),
]


@pytest.mark.parametrize(("make", "settings", "message"), IGNORED)
def test_what_would_be_ignored_is_refused(make, settings, message):
    X, y = noisy_sinc(20) if make is RVR else two_mixtures(20)
    with pytest.raises(ValueError, match=message):
        make(**settings).fit(X, y)


def test_settings_can_be_searched_over():
    X, y = noisy_sinc(60, seed=0)
    model = RVR(gamma=1 / 9, solver=TopDown("em"), kernel_learning=LengthScales())
    names = model.get_params()
    assert {"solver__prune", "solver__hyperprior", "kernel_learning__mode"} <= set(
        names
    )

    model.set_params(kernel_learning=None)
    search = GridSearchCV(model, {"solver__min_vectors": [None, 15]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) == 2
    assert model.solver.min_vectors is None  # clones have settings of their own


def test_nested_settings_are_checked_as_a_whole():
    """What is refused together is not set in part."""
    with pytest.warns(FutureWarning, match="polish=True is deprecated"):
        solver = TopDown(polish=True, hyperprior=Hyperprior())
    with pytest.raises(ValueError, match="polish=True"):
        solver.set_params(prune=10.0, hyperprior__c=1.0)

    assert solver.get_params()["prune"] is None
    assert not solver.prior.informative


def test_steps_are_not_counted_by_a_tolerance():
    with pytest.raises(ValueError, match=r"tol=0\.1 has no use with convergence='N'"):
        Mrvm2(tol=0.1)
    assert Mrvm2(convergence="A", tol=0.1).tol == 0.1


def test_a_name_has_no_settings():
    with pytest.raises(ValueError, match=r"'sequential' is a name, .*'schedule'"):
        RVR().set_params(solver__schedule="greedy")
    model = RVR().set_params(solver=BottomUp(), solver__schedule="greedy")

    assert model.solver == BottomUp("greedy")


def test_a_warm_start_has_no_place_among_several_scales():
    """The kernel it was fitted with is none of those of the dictionary."""
    X, y = noisy_sinc(60, seed=0)
    warm = RVR(gamma=1 / 9, warm_start=True).fit(X, y)
    warm.set_params(kernel_learning="adaptive").fit(X, y)
    cold = RVR(gamma=1 / 9, kernel_learning="adaptive").fit(X, y)

    assert np.array_equal(warm.relevance_, cold.relevance_)
    assert warm.log_evidence_ == cold.log_evidence_

"""LSSVR and LSSVC as their users know them."""

import pickle
import warnings

import numpy as np
import pytest
from problems import read_only, ripples
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict

from relvec import LSSVC, LSSVR, FitWarning, LeastSquaresModel, Status, Tuning
from relvec.data import noisy_sinc, scan, two_mixtures
from relvec.kernels import Gaussian, Linear, Matern, Taper

X, Y = read_only(*noisy_sinc(120, seed=3))
POINTS, LABELS = read_only(*two_mixtures(200, seed=3))
PLANE, HEIGHTS = ripples(1200, seed=5)
METHODS = ["exact", "nystrom", "cholesky", "cg"]


def as_kernel_ridge(model, X, y):
    """The same without a constant."""
    return KernelRidge(kernel="rbf", gamma=model.gamma, alpha=1 / model.C).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_without_a_constant_it_is_kernel_ridge_regression(method):
    model = LSSVR(C=3.0, gamma=0.1, fit_intercept=False, method=method).fit(X, Y)
    expected = as_kernel_ridge(model, X, Y).predict(X)

    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)
    assert model.intercept_ == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_added_to_targets_is_added_to_predictions(method):
    model = LSSVR(C=3.0, gamma=0.1, method=method)
    moved = clone(model).fit(X, Y + 1e6).predict(X) - 1e6

    np.testing.assert_allclose(moved, model.fit(X, Y).predict(X), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_on_everything(method):
    exact = LSSVR(C=20.0, gamma=0.2, method="exact").fit(X, Y)
    model = LSSVR(C=20.0, gamma=0.2, method=method, tol=1e-9).fit(X, Y)

    for found, expected in zip(
        (*model.predict(X, return_std=True), *model.predict_interval(X)),
        (*exact.predict(X, return_std=True), *exact.predict_interval(X)),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-3)
    assert model.method_ == method
    assert model.status_ is Status.CONVERGED


def test_coefficients_are_in_the_order_of_the_rows():
    model = LSSVR(C=5.0, gamma=0.1, method="exact").fit(X[::-1], Y[::-1])

    np.testing.assert_array_equal(model.support_, np.arange(len(X)))
    np.testing.assert_array_equal(model.support_vectors_, X[::-1])
    values = Gaussian.from_gamma(0.1)(X, model.support_vectors_)
    by_hand = values @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(by_hand, model.predict(X), atol=1e-12)
    # α = Ce, and the constraint of the constant.
    np.testing.assert_allclose(model.dual_coef_, 5 * (Y - by_hand)[::-1], atol=1e-10)
    assert abs(model.dual_coef_.sum()) < 1e-10


@pytest.mark.parametrize("tune", ["loo", "evidence"])
@pytest.mark.parametrize("method", METHODS)
def test_tuning_finds_the_width_of_sinc(method, tune):
    model = LSSVR(tune=tune, method=method).fit(X, Y)
    truth = np.sinc(X[:, 0] / np.pi)

    assert 1 < model.kernel_.length_scale < 6
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.05
    assert 0.08 < np.sqrt(model.noise_variance_) < 0.12
    assert hasattr(model, "leave_one_out_error_") == (tune == "loo")


def test_the_score_of_tuning_is_that_of_leaving_rows_out():
    tuning = Tuning("loo", C=[0.1, 1.0, 10.0], widths=[0.5, 1.0])
    model = LSSVR(tune=tuning).fit(X[:40], Y[:40])
    kernel = Gaussian(model.kernel_.length_scale)
    best = LSSVR(kernel=kernel, C=model.C_, method="exact")
    left_out = cross_val_predict(best, X[:40], Y[:40], cv=40)

    expected = np.mean((Y[:40] - left_out) ** 2)
    assert model.leave_one_out_error_ == pytest.approx(expected, rel=1e-8)
    assert min(model.tuning_history_["score"]) == pytest.approx(expected, rel=1e-6)
    assert set(model.tuning_history_["C"]) == {0.1, 1.0, 10.0}


def test_tuning_of_more_rows_is_confirmed_by_all_of_them():
    """A low rank tells where to look, and the best of three factors is taken."""
    tuning = Tuning("loo", C=10.0 ** np.arange(-2, 5), widths=[0.1, 0.3, 1.0])
    model = LSSVR(tune=tuning).fit(PLANE, HEIGHTS)
    exact = model.tuning_history_["exact"].astype(bool)
    scores = model.tuning_history_["score"][exact]

    assert 3 <= exact.sum() == model.n_iter_
    # By the 1000 rows that judge, and by all of them.
    assert model.leave_one_out_error_ == pytest.approx(scores.min(), rel=0.1)
    grid = GridSearchCV(
        KernelRidge(kernel="rbf"),
        {
            "alpha": 1 / tuning.C,
            "gamma": 0.5 / (model.kernel_.length_scale * np.array([0.3, 1, 3.0])) ** 2,
        },
        scoring="neg_mean_squared_error",
    ).fit(PLANE, HEIGHTS)
    assert model.leave_one_out_error_ < -1.02 * grid.best_score_


def test_tuned_models_are_those_of_their_parameters():
    tuned = LSSVR(Matern(nu=2.5, length_scale=2.0), tune="evidence").fit(X, Y)
    again = LSSVR(tuned.kernel_, C=tuned.C_).fit(X, Y)

    np.testing.assert_allclose(tuned.predict(X), again.predict(X), atol=1e-10)
    assert tuned.log_evidence_ == pytest.approx(again.log_evidence_)


@pytest.mark.parametrize("kernel", ["linear", "precomputed", "sigmoid", Linear()])
def test_kernels_without_a_length_scale_are_tuned_by_c_alone(kernel):
    rows = Gaussian(2.0)(X, X) if kernel == "precomputed" else X
    model = LSSVR(kernel, tune="loo").fit(rows, Y)

    assert set(model.tuning_history_["width"]) == {1.0}
    with pytest.raises(ValueError, match="multiples of a kernel's length scale"):
        LSSVR(kernel, tune=Tuning(widths=[1, 2])).fit(rows, Y)


def test_intervals_cover_what_they_promise():
    covered = []
    for seed in range(10):
        rows, targets = noisy_sinc(150, seed=seed)
        new, values = noisy_sinc(400, seed=100 + seed)
        for tune in ("loo", "evidence"):
            model = LSSVR(tune=tune).fit(rows, targets)
            lower, upper = model.predict_interval(new, coverage=0.9)
            covered.append(np.mean((lower < values) & (values < upper)))

    assert 0.86 < np.mean(covered) < 0.94


def test_error_bars_grow_where_there_are_no_data():
    _, std = LSSVR(tune="evidence").fit(X, Y).predict([[0.0], [60.0]], return_std=True)

    assert std[1] > 2 * std[0]


def test_several_classes_are_one_factor():
    """The columns of several right sides are classes against the rest."""
    rows, y = load_iris(return_X_y=True)
    model = LSSVC(C=10.0, gamma=0.5).fit(rows, y)
    assert model.dual_coef_.shape == (3, 150)
    for k in range(3):
        one = LSSVC(C=10.0, gamma=0.5).fit(rows, y == k)
        np.testing.assert_allclose(
            model.decision_function(rows)[:, k], one.decision_function(rows), atol=1e-10
        )
    # Codes sum to 2 − K in every row, and so do values.
    np.testing.assert_allclose(model.decision_function(rows).sum(axis=1), -1)


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_are_calibrated_and_agree_with_decisions(method):
    new, labels = two_mixtures(1000, seed=8)
    model = LSSVC(tune="loo", method=method).fit(POINTS, LABELS)
    p = model.predict_proba(new)

    assert log_loss(labels, p) < 0.28  # Bayes' is about 0.23
    np.testing.assert_array_equal(model.predict(new), p.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(new), model.decision_function(new) > 0)


@pytest.mark.filterwarnings("ignore:the log loss of the 200 training rows")
def test_pure_noise_has_the_frequencies_for_probabilities(rng):
    y = (rng.random(200) < 0.3).astype(int)
    model = LSSVC(C=100.0, gamma=50.0).fit(rng.normal(size=(200, 2)), y)

    p = model.predict_proba(rng.normal(size=(300, 2)))
    assert log_loss((rng.random(300) < 0.3).astype(int), p) < 0.72


def test_leaving_rows_out_of_classes():
    model = LSSVC(C=2.0, gamma=1.0).fit(POINTS[:60], LABELS[:60])
    binary = LSSVC(C=2.0, gamma=1.0)
    left_out = cross_val_predict(
        binary, POINTS[:60], LABELS[:60], cv=LeaveOneOut(), method="decision_function"
    )

    expected = np.mean((2.0 * LABELS[:60] - 1 - left_out) ** 2)
    assert model.leave_one_out_error_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("make", [LSSVR, LSSVC])
def test_pruning_keeps_as_many_as_asked_for(make):
    rows, y = (X, Y) if make is LSSVR else (POINTS, LABELS)
    full = make(C=10.0, gamma=0.3).fit(rows, y)
    fewer = make(C=10.0, gamma=0.3, n_support=20).fit(rows, y)

    assert len(fewer.support_) == 20
    assert full.score(rows, y) - fewer.score(rows, y) < 0.02
    np.testing.assert_array_equal(rows[fewer.support_], fewer.support_vectors_)


def test_pruned_weights_are_those_of_all_rows():
    """A least-squares problem of its own: not of the rows that keep their function."""
    model = LSSVR(C=4.0, gamma=0.3, n_support=9).fit(X, Y)
    kernel = Gaussian.from_gamma(0.3)
    across, inner = kernel(X, model.support_vectors_), kernel(model.support_vectors_)
    columns = np.column_stack([np.ones(len(X)), across])
    penalty = np.zeros((10, 10))
    penalty[1:, 1:] = inner / 4.0
    found = np.linalg.solve(columns.T @ columns + penalty, columns.T @ Y)

    assert len(model.support_) == 9
    np.testing.assert_allclose(model.predict(X), columns @ found, atol=1e-8)


def test_pruning_takes_the_least_weight_first():
    full = LSSVR(Matern(nu=0.5, length_scale=0.5), C=10.0).fit(X, Y)
    fewer = clone(full).set_params(n_support=len(X) - 1).fit(X, Y)
    (left,) = set(full.support_) - set(fewer.support_)

    assert left == np.argmin(np.abs(full.dual_coef_))


@pytest.mark.parametrize("make", [LSSVR, LSSVC])
def test_relevance_vectors_are_landmarks(make):
    rows, y = (X, Y) if make is LSSVR else (POINTS, LABELS)
    settings = {"gamma": 0.1, "C": 10.0}
    model = make(method="nystrom", landmarks="relevance", **settings).fit(rows, y)

    assert len(model.support_) < 20
    np.testing.assert_array_equal(rows[model.support_], model.support_vectors_)
    full = make(**settings).fit(rows, y)
    assert model.score(rows, y) > full.score(rows, y) - 0.05


def test_landmarks_may_be_given():
    model = LSSVR(method="nystrom", landmarks=X[::4], gamma=0.1).fit(X, Y)

    assert set(model.support_) == {-1}
    assert len(model.support_) <= len(X[::4])
    with pytest.raises(ValueError, match=r"landmarks has shape .* 1 features of X"):
        LSSVR(method="nystrom", landmarks=np.zeros((3, 2))).fit(X, Y)


STREAM = {"rank": 40, "gamma": 0.05, "memory_budget": "500kB"}


@pytest.mark.parametrize("tune", [None, "loo", "evidence"])
@pytest.mark.parametrize("method", ["nystrom", "cholesky"])
def test_rows_in_blocks_are_fitted_as_they_come(method, tune):
    parts = [(PLANE[:400], HEIGHTS[:400]), (PLANE[400:], HEIGHTS[400:])]
    landmarks = PLANE[::40]
    settings = {**STREAM, "method": method, "tune": tune}
    if method == "nystrom":
        settings["landmarks"] = landmarks
    model = LSSVR(**settings).fit(scan(parts))
    whole = LSSVR(**{**settings, "memory_budget": "2GB"}).fit(PLANE, HEIGHTS)

    # Pivots of blocks are chosen among rows drawn, of an array among all.
    same = 1e-8 if method == "nystrom" else 0.4 * np.std(HEIGHTS)
    assert np.std(model.predict(PLANE) - whole.predict(PLANE)) < same
    np.testing.assert_array_equal(model.predict(scan(parts)), model.predict(PLANE))
    rows = model.support_[model.support_ >= 0]
    np.testing.assert_array_equal(PLANE[rows], model.support_vectors_[: len(rows)])


def test_classes_in_blocks():
    parts = [(POINTS[:90], LABELS[:90]), (POINTS[90:], LABELS[90:])]
    model = LSSVC(method="nystrom", landmarks=POINTS[::9], tune="loo")
    found = clone(model).fit(scan(parts)).predict_proba(POINTS)

    np.testing.assert_allclose(found, model.fit(POINTS, LABELS).predict_proba(POINTS))


def test_large_problems_are_of_low_rank_unless_asked_otherwise():
    few = {"memory_budget": "2MB", "rank": 30}
    assert LSSVR(**few).fit(PLANE, HEIGHTS).method_ == "cholesky"
    assert LSSVR().fit(PLANE, HEIGHTS).method_ == "exact"
    assert LSSVR(memory_budget="2MB").fit(PLANE, HEIGHTS).method_ == "cholesky"
    assert LSSVR(landmarks=PLANE[:9]).fit(PLANE, HEIGHTS).method_ == "nystrom"
    with pytest.raises(ValueError, match=r"exact fit of 1,200 rows takes 14.4 MB"):
        LSSVR(method="exact", memory_budget="2MB").fit(PLANE, HEIGHTS)
    with pytest.raises(ValueError, match=r"rank=500 takes 12 MB.*lower it"):
        LSSVR(method="cholesky", rank=500, memory_budget="2MB").fit(PLANE, HEIGHTS)


def test_conjugate_gradients_need_no_matrix():
    """Whether K is held, sparse, or evaluated for every product."""
    for kernel, budget in (
        (Gaussian(2.0), "2GB"),
        (Gaussian(2.0), "3MB"),
        (Gaussian(2.0) * Taper(4.0), "2GB"),
    ):
        settings = {"kernel": kernel, "C": 10.0, "rank": 50}
        model = LSSVR(method="cg", memory_budget=budget, **settings)
        exact = LSSVR(method="exact", **settings).fit(PLANE, HEIGHTS)
        found = model.fit(PLANE, HEIGHTS)
        np.testing.assert_allclose(
            found.predict(PLANE), exact.predict(PLANE), atol=1e-4
        )
        assert found.n_iter_ > 1


def test_conjugate_gradients_say_when_they_are_not_done():
    model = LSSVR(method="cg", C=1e8, rank=3, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="predictions may be far off"):
        model.fit(PLANE, HEIGHTS)
    assert model.status_ is Status.UNSOLVED


def test_singular_systems_are_told_of():
    with pytest.warns(FitWarning, match=r"singular to working precision.*lower C"):
        model = LSSVR(C=1e300).fit(X, Y)
    assert np.mean((model.predict(X) - Y) ** 2) < np.var(Y)


@pytest.mark.parametrize("tune", [None, "loo", "evidence"])
@pytest.mark.parametrize("method", METHODS)
def test_constant_targets_are_constant_predictions(method, tune):
    model = LSSVR(method=method, tune=tune)
    with pytest.warns(FitWarning, match="target does not vary"):
        model.fit(X, np.full(len(X), 7.0))
    mean, std = model.predict([[0.0], [99.0]], return_std=True)

    np.testing.assert_allclose(mean, 7.0)
    assert np.all(std < 1e-6)
    assert np.isfinite(model.log_evidence_)


@pytest.mark.parametrize("method", METHODS)
def test_from_no_weight_of_errors_to_all(method):
    small = LSSVR(C=1e-300, method=method).fit(X, Y).predict(X)
    np.testing.assert_allclose(small, Y.mean(), rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        large = LSSVR(C=1e300, gamma=2.0, method=method).fit(X, Y).predict(X)
    assert np.std(large - Y) < 0.1


def test_kernels_of_any_unit_have_a_low_rank(rng):
    """A feature in small units beside one in large ones, of which none may be lost."""
    rows = rng.normal(size=(300, 2)) * [1e4, 1.0]
    y = rows[:, 1] + 0.05 * rng.normal(size=300)
    for method in METHODS:
        assert LSSVR("linear", method=method).fit(rows, y).score(rows, y) > 0.99


@pytest.mark.parametrize("tune", [None, "loo"])
@pytest.mark.parametrize("method", ["nystrom", "cholesky", "cg"])
def test_bars_of_a_rank_that_is_too_low(method, tune):
    """What landmarks miss is in the errors of rows left out, and not added again."""
    new, values = ripples(1000, seed=6)
    settings = {"kernel": Gaussian(1.2), "C": 100.0, "rank": 60, "method": method}
    widths = Tuning("loo", C=[100.0], widths=[1.0]) if tune else None
    model = LSSVR(tune=widths, **settings).fit(PLANE, HEIGHTS)
    mean, std = model.predict(new, return_std=True)
    rms = np.sqrt(np.mean((mean - values) ** 2))

    assert 0.7 * rms < np.sqrt(np.mean(std**2)) < 2.5 * rms


def test_few_rows_have_the_bars_of_student():
    model = LSSVR(C=10.0, gamma=0.1).fit(X[::15], Y[::15])
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, coverage=0.9)
    nu = len(X[::15]) - 1
    unit = (upper - lower) / 2 / student_t.ppf(0.95, nu)

    np.testing.assert_allclose(std, unit * np.sqrt(nu / (nu - 2)))
    np.testing.assert_allclose((lower + upper) / 2, mean)


def test_kernels_that_are_not_symmetric_are_refused(rng):
    K = rng.normal(size=(120, 120))
    with pytest.raises(ValueError, match=r"not symmetric.*\(K \+ K.T\) / 2"):
        LSSVR("precomputed").fit(K, Y)


def test_linear_kernels_have_weights_of_features(rng):
    rows = rng.normal(size=(50, 3))
    model = LSSVR("linear", C=5.0).fit(rows, rows @ [1.0, -2.0, 0.5])

    np.testing.assert_allclose(
        rows @ model.coef_ + model.intercept_, model.predict(rows)
    )
    with pytest.raises(AttributeError, match="coef_ exists only"):
        _ = LSSVR().fit(X, Y).coef_


def test_noise_of_singular_systems_is_that_of_what_was_solved():
    with pytest.warns(FitWarning, match="singular"):
        model = LSSVR(C=1e300, gamma=0.1).fit(X, Y)
    _, std = model.predict(X, return_std=True)

    assert 1e-3 < np.median(std) < 1.0


def test_a_pickled_model_is_small_and_predicts_the_same():
    model = LSSVR(tune="loo").fit(X, Y)
    pickled = pickle.dumps(model)

    assert len(pickled) < 30_000  # the factor has 120 × 120 numbers
    for found, expected in zip(
        pickle.loads(pickled).predict(X, return_std=True),
        model.predict(X, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_model_needs_no_estimator():
    model = LSSVR(gamma=0.1).fit(X, Y)

    assert isinstance(model.model_, LeastSquaresModel)
    np.testing.assert_array_equal(model.model_.predictive(X).mean, model.predict(X))
    for given in ([1.0, 2.0], 1.0):
        with pytest.raises(ValueError, match="X has shape"):
            model.model_.values(given)


def test_rows_that_are_no_numbers():
    def shared(left, right):
        return np.array([[len({*a} & {*b}) for b in right] for a in left], dtype=float)

    words = ["cat", "cart", "dog", "god", "dig", "act"]
    model = LSSVC(shared, C=10.0).fit(words, [0, 0, 1, 1, 1, 0])

    assert model.predict(["tac", "gid"]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be a positive number; got 0.0"),
        ({"C": np.inf}, "C must be a positive number; got inf"),
        ({"C": "1"}, "C must be a positive number; got '1'"),
        ({"method": "fast"}, "method must be one of 'auto', 'exact', 'nystrom'"),
        ({"landmarks": "best"}, "landmarks must be one of 'uniform', 'pivoted'"),
        ({"rank": 0}, "rank must be a whole number of at least 1; got 0"),
        ({"rank": "all"}, "rank must be a whole number"),
        ({"tune": "cv"}, "tune must be None, 'loo', 'evidence' or a Tuning; got 'cv'"),
        ({"n_support": 0}, "n_support must be a whole number of at least 1, a fract"),
        ({"n_support": 1.5}, "n_support must be a whole number"),
        (
            {"n_support": 9, "method": "cg"},
            "n_support prunes an exact fit.*method='exact'",
        ),
        ({"landmarks": "kmeans", "method": "exact"}, "landmarks are those of method="),
        ({"n_support": 9, "kernel": "sigmoid"}, "n_support needs rows and a kernel"),
        ({"gamma": "learn"}, "gamma='learn' is how RVR .* tune='loo'"),
        ({"kernel": ["rbf"]}, "kernel is a list.*add kernels instead"),
        ({"kernel": "rfb"}, "kernel must be one of 'rbf'"),
        ({"kernel": "sigmoid", "method": "nystrom"}, "positive definite.*'exact'"),
        ({"kernel": "precomputed", "method": "cg"}, "there is its matrix.*'exact'"),
        ({"tol": 0}, "tol must be a positive number; got 0"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"memory_budget": "much"}, "memory_budget must be"),
        ({"fit_intercept": "no"}, "fit_intercept must be True or False"),
        ({"verbose": -1}, "verbose must be"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [LSSVR, LSSVC])
def test_what_is_refused(make, parameters, message):
    rows, y = (X, Y) if make is LSSVR else (POINTS, LABELS)
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(rows, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "aic"}, "criterion must be one of 'loo', 'evidence'"),
        ({"C": [1.0, -1.0]}, "C must hold positive numbers"),
        ({"C": []}, "C must hold positive numbers"),
        ({"widths": 3.0}, "widths must have 1 dimension"),
    ],
)
def test_what_tuning_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        Tuning(**settings)


def test_one_class_only():
    with pytest.raises(ValueError, match=r"one class only.* LSSVC needs rows of at"):
        LSSVC().fit(POINTS, np.ones(len(POINTS)))


def test_there_are_no_bars_without_a_kernel():
    model = LSSVR("precomputed").fit(Gaussian(2.0)(X, X), Y)
    with pytest.raises(ValueError, match="there are no error bars"):
        model.predict(Gaussian(2.0)(X, X), return_std=True)


def test_settings_of_tuning_are_parameters():
    model = LSSVR(tune=Tuning("loo"))
    model.set_params(tune__criterion="evidence")

    assert clone(model).tune == Tuning("evidence")

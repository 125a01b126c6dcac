"""RVR: what it finds, what it reports, how it fits into scikit-learn."""

import logging
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from oracles import log_marginal
from problems import read_only
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVR, BottomUp, Status
from relvec.data import noisy_sinc
from relvec.kernels import Gaussian

X, Y = read_only(*noisy_sinc(60, seed=1))
GAMMA = 1 / 3.0**2


@pytest.fixture(scope="module")
def model():
    """With bars of the weights alone, which can be written down."""
    return RVR(gamma=GAMMA, uncertainty="plain").fit(X, Y)


def test_the_fitted_attributes_agree_with_each_other(model):
    n_vectors = len(model.relevance_)

    assert model.status_ is Status.CONVERGED
    assert np.all(np.diff(model.relevance_) > 0)
    assert np.array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.dual_coef_.shape == model.prior_precision_.shape == (n_vectors,)
    assert model.n_iter_ == len(model.history_["log_evidence"])
    assert model.history_["n_vectors"][-1] == n_vectors
    assert model.n_features_in_ == 1


def test_predictions_are_made_of_the_fitted_attributes(model):
    new = np.linspace(-12, 12, 7)[:, None]
    kernel = rbf_kernel(new, model.relevance_vectors_, gamma=GAMMA)

    expected = kernel @ model.dual_coef_ + model.intercept_
    assert_allclose(model.predict(new), expected, rtol=1e-10)


def estimated_noise(model):
    """What the evidence has, before rows that are left out correct it."""
    return model.history_["noise_std"][-1] ** 2


def test_the_evidence_is_the_marginal_density_in_the_units_of_y(model):
    """Of y less its mean, eq. (7), from the fitted attributes alone."""
    columns = [rbf_kernel(X, model.relevance_vectors_, gamma=GAMMA)]
    alpha = [model.prior_precision_]
    if np.isfinite(model.intercept_precision_):
        columns.append(np.ones((60, 1)))
        alpha.append([model.intercept_precision_])
    Phi, alpha = np.hstack(columns), np.concatenate(alpha)
    precision = np.full(60, estimated_noise(model) ** -1)

    dense = log_marginal(Phi, Y - Y.mean(), precision, np.arange(len(alpha)), alpha)
    assert_allclose(model.log_evidence_, dense, rtol=1e-9)


def test_the_error_bars_are_those_of_the_posterior(model):
    """Noise plus φᵀΣφ, Σ by inversion."""
    kept_bias = np.isfinite(model.intercept_precision_)
    Phi = rbf_kernel(X, model.relevance_vectors_, gamma=GAMMA)
    alpha = model.prior_precision_
    if kept_bias:
        Phi = np.column_stack([np.ones(60), Phi])
        alpha = np.r_[model.intercept_precision_, alpha]
    Sigma = np.linalg.inv(np.diag(alpha) + Phi.T @ Phi / estimated_noise(model))
    variance = np.sum(Phi @ Sigma * Phi, axis=1) + model.noise_variance_

    _, std = model.predict(X, return_std=True)
    assert_allclose(std, np.sqrt(variance), rtol=1e-8)


def test_the_intercept_carries_the_mean():
    model = RVR(gamma=GAMMA).fit(X, Y + 100)

    assert_allclose(model.predict(X), RVR(gamma=GAMMA).fit(X, Y).predict(X) + 100)
    assert abs(model.intercept_ - 100) < 1


def test_without_an_intercept_nothing_is_centred():
    model = RVR(gamma=GAMMA, fit_intercept=False).fit(X, Y)

    assert model.intercept_ == 0
    assert np.isinf(model.intercept_precision_)
    far = model.predict([[1e6]])
    assert_allclose(far, 0, atol=1e-12)


def test_known_noise_is_kept():
    model = RVR(gamma=GAMMA, noise_variance=0.04).fit(X, Y)

    assert_allclose(model.noise_variance_, 0.04, rtol=1e-12)
    assert_allclose(model.history_["noise_std"], 0.2, rtol=1e-12)


KERNELS = {
    "a callable": lambda A, B: rbf_kernel(A, B, gamma=GAMMA),
    "a relvec kernel": Gaussian.from_gamma(GAMMA),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_kernel_in_other_clothes(model, name):
    other = RVR(kernel=KERNELS[name]).fit(X, Y)

    assert np.array_equal(other.relevance_, model.relevance_)
    assert_allclose(other.predict(X), model.predict(X), rtol=1e-6)


def test_a_precomputed_kernel(model):
    other = RVR(kernel="precomputed").fit(rbf_kernel(X, gamma=GAMMA), Y)
    new = np.linspace(-11, 11, 5)[:, None]

    assert np.array_equal(other.relevance_, model.relevance_)
    mean, std = other.predict(rbf_kernel(new, X, gamma=GAMMA), return_std=True)
    expected_mean, expected_std = model.predict(new, return_std=True)
    assert_allclose(mean, expected_mean, rtol=1e-6)
    assert_allclose(std, expected_std, rtol=1e-6)


def test_a_precomputed_kernel_with_absent_rows():
    weights = np.arange(60) % 3
    K = rbf_kernel(X, gamma=GAMMA)
    given = RVR(kernel="precomputed").fit(K, Y, sample_weight=weights)
    made = RVR(gamma=GAMMA).fit(X, Y, sample_weight=weights)

    assert np.array_equal(given.relevance_, made.relevance_)
    assert np.all(weights[given.relevance_] > 0)
    assert_allclose(given.predict(K), made.predict(X), rtol=1e-6)


def test_features_as_the_dictionary():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((80, 30))
    targets = 4 * rows[:, 3] - 2 * rows[:, 17] + 5 + 0.1 * rng.standard_normal(80)
    model = RVR(kernel=None).fit(rows, targets)

    truth = np.zeros(30)
    truth[[3, 17]] = 4, -2
    assert model.coef_.shape == (30,)
    assert len(model.relevance_) < 20
    assert_allclose(model.coef_, truth, atol=0.05)
    assert_allclose(model.predict(rows), rows @ model.coef_ + model.intercept_)


def test_a_linear_kernel_has_coefficients():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50, 3))
    noise = 0.1 * rng.standard_normal(50)
    model = RVR(kernel="linear").fit(rows, rows @ [1.0, 2.0, 3.0] + noise)

    assert_allclose(model.predict(rows), rows @ model.coef_ + model.intercept_)
    assert not hasattr(RVR().fit(X, Y), "coef_")


def test_gamma_scale_counts_weights():
    weights = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weights)
    variance = X[rows].var()
    model = RVR(gamma="scale").fit(X, Y, sample_weight=weights)

    kernel = model.model_.basis.groups[0].kernel
    assert_allclose(kernel.length_scale, np.sqrt(variance / 2), rtol=1e-12)


def test_frames_give_names_and_the_same_numbers():
    rows = np.hstack([X, X**2])
    plain = RVR().fit(rows, Y)
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame({"x": rows[:, 0], "square": rows[:, 1]})
        model = RVR().fit(table, Y)
        assert model.feature_names_in_.tolist() == ["x", "square"]
        assert_allclose(model.predict(table), plain.predict(rows))


@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
def test_pipelines_searches_and_clones():
    pipeline = make_pipeline(StandardScaler(), RVR())
    grid = {"rvr__gamma": [0.01, 3.0]}
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, grid, cv=folds).fit(X, Y)

    assert search.best_params_["rvr__gamma"] == 3.0
    assert search.best_score_ > 0.7
    assert clone(RVR(gamma=0.3, tol=1e-2)).get_params()["tol"] == 1e-2
    assert cross_val_score(RVR(gamma=GAMMA), X, Y, cv=3).shape == (3,)


def test_pickling(model):
    again = pickle.loads(pickle.dumps(model))

    assert np.array_equal(again.predict(X), model.predict(X))


def test_predictions_do_not_depend_on_how_many_are_asked_at_once(model, monkeypatch):
    monkeypatch.setattr("relvec.basis.BLOCK_ENTRIES", 20)
    mean, std = model.predict(X, return_std=True)

    monkeypatch.undo()
    expected_mean, expected_std = model.predict(X, return_std=True)
    assert_allclose(mean, expected_mean, rtol=1e-12)
    assert_allclose(std, expected_std, rtol=1e-12)


def test_progress_goes_to_the_log_and_never_to_stdout(capsys, caplog):
    with caplog.at_level("INFO", logger="relvec"):
        RVR(gamma=GAMMA, verbose=10).fit(X, Y)

    assert "L = " in caplog.text
    assert "Gamma = " in caplog.text
    assert capsys.readouterr().out == ""


def test_progress_leaves_logging_as_it_was(capsys):
    logger = logging.getLogger("relvec")
    before = (logger.level, list(logger.handlers))
    root = logging.getLogger().handlers[:]
    logging.getLogger().handlers.clear()
    try:
        RVR(gamma=GAMMA, verbose=1).fit(X, Y)
        with pytest.raises(ValueError, match="verbose"):
            RVR(verbose="yes").fit(X, Y)
    finally:
        logging.getLogger().handlers[:] = root

    assert (logger.level, logger.handlers) == before
    heard = capsys.readouterr()
    assert heard.out == ""
    assert "    1> L = " in heard.err


def test_threads_fit_clones_as_one_after_the_other_does():
    models = [RVR(gamma=g).fit(X, Y) for g in (0.05, 0.1, 0.2, 0.4)]
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda model: clone(model).fit(X, Y), models))

    for one, other in zip(models, again, strict=True):
        assert np.array_equal(one.predict(X), other.predict(X))


def test_selection_by_chance_repeats_with_its_seed():
    def fit(seed):
        model = RVR(gamma=GAMMA, solver=BottomUp(selection="random"), random_state=seed)
        return model.fit(X, Y).history_["log_evidence"]

    assert np.array_equal(fit(3), fit(3))
    assert not np.array_equal(fit(3)[:8], fit(4)[:8])


@pytest.mark.slow
def test_noisy_sinc_over_fifty_seeds():
    """The papers' first example: sparsity, accuracy and noise."""
    grid = np.linspace(-10, 10, 1000)[:, None]
    truth = np.sinc(grid[:, 0] / np.pi)
    vectors, errors, noises = [], [], []
    for seed in range(50):
        model = RVR(gamma=GAMMA).fit(*noisy_sinc(100, seed=seed))
        vectors.append(len(model.relevance_))
        errors.append(np.sqrt(np.mean((model.predict(grid) - truth) ** 2)))
        noises.append(np.sqrt(model.noise_variance_))

    assert 4 <= np.mean(vectors) <= 7
    assert np.mean(errors) < 0.037
    assert_allclose(np.mean(noises), 0.1, rtol=0.06)


@pytest.mark.slow
def test_intervals_cover_what_they_promise():
    """On data drawn near the model: 90 % intervals, 40 seeds."""
    inside = []
    for seed in range(40):
        rows, targets = noisy_sinc(200, seed=seed)
        train = np.arange(200) % 2 == 0
        model = RVR(gamma=GAMMA).fit(rows[train], targets[train])
        mean, std = model.predict(rows[~train], return_std=True)
        inside.append(np.abs(targets[~train] - mean) < 1.6449 * std)

    assert_allclose(np.mean(inside), 0.9, atol=0.03)

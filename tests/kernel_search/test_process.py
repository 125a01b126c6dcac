"""Scales that a process proposes, and models that begin with what it says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec import RVC, RVR, LengthScales, Status
from relvec.kernel_search.process import ProcessFit
from relvec.kernel_search.trials import Trials


def wide_in_one(seed=0, n_rows=64):
    """A wave along one feature, and a line along the other."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n_rows, 2))
    mean = np.sinc(X[:, 0] / np.pi) + 0.1 * X[:, 1]
    return X, mean + 0.1 * rng.standard_normal(n_rows)


def products(n_rows=60):
    """Which wide kernels describe best, and no single function of them does.

    Rows are so few that one search is not enough.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]
    return X, y + 0.2 * rng.standard_normal(n_rows)


def learned(monkeypatch, model, X, y):
    """A fit, its process, and each trial with what it began from."""
    processes, trials = [], []
    of, tried = ProcessFit.of, Trials.of

    def noted(given):
        processes.append(of(given))
        return processes[-1]

    def noted_trial(self, scales, before=None):
        trials.append((tried(self, scales, before), before))
        return trials[-1][0]

    monkeypatch.setattr(ProcessFit, "of", staticmethod(noted))
    monkeypatch.setattr(Trials, "of", noted_trial)
    return model.fit(X, y), processes[0], trials


def test_of_models_of_very_few_rows_the_closest_to_the_process_is_taken(monkeypatch):
    X, y = products()
    model, process, trials = learned(monkeypatch, RVR(), X, y)
    distances = [process.distance(trial) for trial, _ in trials]
    best = trials[int(np.argmin(distances))][0]

    assert process.surpasses(trials[0][0])
    assert len(trials) == 3
    assert_allclose(model.predict(X), best.model.predictive(X).mean)
    assert model.score(X, y) > 0.8


def test_beginnings_say_what_the_process_says(monkeypatch):
    """The more exactly, the less noise they are told of; and then there is as much."""
    X, y = products()
    _, process, trials = learned(monkeypatch, RVR(), X, y)
    beginnings = [before for _, before in trials if before is not None]
    mean = process.mean
    off = [each.predictor(process.trials.data.table) - mean for each in beginnings]
    distances = [np.mean(each**2) / process.errors[0] for each in off]

    assert distances[1] < distances[0] < 0.2
    assert trials[0][1] is None
    for before in beginnings:
        assert_allclose(before.fit.likelihood.noise_variance, process.errors)


def test_classes_that_no_single_function_tells_apart(monkeypatch):
    """A plane across many features, which takes many wide functions together."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    y = X @ rng.standard_normal(20) > 0
    model, _, _ = learned(monkeypatch, RVC(), X[:200], y[:200])

    assert model.status_ is Status.CONVERGED
    assert model.score(X[200:], y[200:]) > 0.75


def test_distances_do_not_depend_on_units(monkeypatch):
    X, y = wide_in_one()
    _, one, trials = learned(monkeypatch, RVR(), X, y)
    monkeypatch.undo()
    _, other, scaled = learned(monkeypatch, RVR(), X, 1024 * y)

    for (trial, _), (same, _) in zip(trials, scaled, strict=True):
        assert_allclose(other.distance(same), one.distance(trial), rtol=1e-6)


def test_errors_count_what_differs_among_equal_rows(monkeypatch):
    """The process sees their mean alone."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(-3, 3, 30), 10)[:, None]
    y = np.sin(X[:, 0]) + 0.5 * rng.standard_normal(300)
    _, process, trials = learned(monkeypatch, RVR(), X, y)

    assert 0.2 < process.errors[0] < 0.33
    assert len(trials) == 3  # 30 rows that differ are very few
    assert not process.surpasses(trials[0][0]) or process.n_different <= 60


@pytest.mark.parametrize(("rows_per_scale", "by_feature"), [(30, True), (4, False)])
def test_scales_of_features_where_the_data_pay(rows_per_scale, by_feature):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5 * rows_per_scale, 5))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    model = RVR().fit(X, y)

    assert (np.ndim(model.kernel_.length_scale) == 1) == by_feature


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_is_not_explained(seed):
    """By rows that explain themselves; a criterion that does has NLPD in the 1e5."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((300, 8)), rng.standard_normal(300)
    with pytest.warns(match="no basis function explains"):
        model = RVR(kernel_learning=LengthScales("auto")).fit(X, y)

    assert len(model.relevance_) == 0
    assert_allclose(model.predict(X, return_std=True)[1], y.std(), rtol=0.02)


def test_features_in_units_of_their_own():
    """A width for all, in the standard deviations of each."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20)) * np.geomspace(1e-3, 1e3, 20)
    f = np.tanh(X @ (rng.standard_normal(20) / np.geomspace(1e-3, 1e3, 20)))
    model = RVR().fit(X, f + 0.1 * rng.standard_normal(100))

    assert model.score(X, f) > 0.8


def test_time_that_is_out_ends_the_search():
    X, y = wide_in_one(n_rows=200)
    with pytest.warns(match="max_seconds"):
        model = RVR(kernel_learning="ard", max_seconds=1e-6).fit(X, y)

    assert len(model.kernel_history_["criterion"]) == 1


@pytest.mark.parametrize("estimator", [RVR, RVC])
def test_a_feature_that_differs_by_rounding_is_constant(estimator):
    """Its deviation is no unit: rows would be told apart by their last digits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    X[:, 2] = -0.033389
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(500)
    model = estimator().fit(X, y if estimator is RVR else y > 0)

    scales = np.ravel(model.kernel_.length_scale)
    assert scales.min() > 0.1

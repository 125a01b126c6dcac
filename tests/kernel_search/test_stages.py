"""Kernels learned on few rows, then more, then all: stages no small data reach."""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from relvec import RVC, RVR, LengthScales, Status
from relvec.data import noisy_sinc
from relvec.evidence import Deadline


@pytest.fixture
def limits(monkeypatch):
    """Sets how many rows are few, and how many are most."""
    shared = import_module("relvec.kernel_search.shared")

    def of(few, most):
        settings = shared.SharedSettings(few=few, most=most)
        monkeypatch.setattr(shared, "SETTINGS", settings)

    return of


def one_that_matters(rng, n_rows):
    """A wave along the first of three features."""
    X = rng.uniform(-3, 3, (n_rows, 3))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n_rows)


@pytest.mark.parametrize("mode", ["width", "auto"])
def test_the_last_fit_is_of_all_rows(limits, mode):
    """With the kernel that most of them have taught."""
    limits(60, 120)
    X, y = noisy_sinc(300, seed=0)
    model = RVR(kernel_learning=mode).fit(X, y)
    again = RVR(kernel=model.kernel_).fit(X, y)

    assert set(model.kernel_history_["n_rows"]) == {120}
    assert_allclose(model.log_evidence_, again.log_evidence_, rtol=1e-9)
    assert np.array_equal(model.relevance_, again.relevance_)
    assert model.relevance_.max() >= 120
    assert np.sqrt(np.mean((model.predict(X) - np.sinc(X[:, 0] / np.pi)) ** 2)) < 0.04


def test_the_last_fit_of_classes_is_of_all_rows(limits):
    limits(60, 120)
    X, y = noisy_sinc(240, seed=0)
    model = RVC(kernel_learning="width").fit(X, y > 0.2)
    again = RVC(kernel=model.kernel_).fit(X, y > 0.2)

    assert_allclose(model.log_evidence_, again.log_evidence_, rtol=1e-9)
    assert np.array_equal(model.relevance_, again.relevance_)


@pytest.mark.parametrize(("n_rows", "stages"), [(80, {80}), (140, {140})])
def test_a_scale_for_each_feature_beyond_few_rows(limits, rng, n_rows, stages):
    limits(60, 1000)
    X, y = one_that_matters(rng, n_rows)
    model = RVR(kernel_learning=LengthScales("ard", n_restarts=2)).fit(X, y)
    new, _ = one_that_matters(rng, 200)

    assert set(model.kernel_history_["n_rows"]) == stages
    assert np.argmax(model.feature_relevance_) == 0
    scales = model.kernel_.length_scale
    assert np.all(scales[1:] > 4 * scales[0])
    assert np.sqrt(np.mean((model.predict(new) - np.sin(2 * new[:, 0])) ** 2)) < 0.15


def test_as_many_steps_as_are_allowed_and_no_more():
    """max_iter is the user's, for trials as well as for the last fit."""
    X, y = noisy_sinc(100, seed=0)
    with pytest.warns(UserWarning, match="max_iter"):
        model = RVR(kernel_learning="width", max_iter=2).fit(X, y)

    assert model.status_ is Status.MAX_ITER


@pytest.mark.parametrize("mode", ["width", "ard"])
def test_what_was_found_in_time_stays(limits, monkeypatch, rng, mode):
    """A search without time on more rows begins with the functions of fewer."""
    limits(80, 120)
    X, y = one_that_matters(rng, 300)
    trials = import_module("relvec.kernel_search.trials")
    fit = trials.maximised

    def in_time(spec, data, **start):
        late = Deadline.after(0 if len(data) > 80 else None)
        return fit(spec.until(late), data, **start)

    monkeypatch.setattr(trials, "maximised", in_time)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = RVR(gamma=1.0, kernel_learning=mode, max_seconds=1e6).fit(X, y)

    assert len(model.relevance_) > 3
    assert model.score(X, y) > 0.5

"""Ctrl-C and errors in the middle of a fit leave the estimator as it was."""

import pickle
import signal

import numpy as np
import pytest
from problems import read_only
from sklearn.exceptions import NotFittedError

from relvec import RVC, RVR, sparse_bayes
from relvec.data import noisy_sinc
from relvec.kernels import Gaussian

X, Y = read_only(*noisy_sinc(40, seed=0))


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """Also where the tests were started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupting:
    """A kernel during whose n-th evaluation the user presses Ctrl-C."""

    def __init__(self, call):
        self.calls_left = call

    def __call__(self, A, B):
        self.calls_left -= 1
        if self.calls_left == 0:
            signal.raise_signal(signal.SIGINT)
        return Gaussian(2.0)(A, B)


def test_an_unfitted_estimator_stays_unfitted():
    model = RVR(kernel=Interrupting(1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)

    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_fitted_estimator_keeps_its_fit():
    model = RVR(kernel=Interrupting(10**9)).fit(X, Y)
    before = model.predict(X)
    fitted = pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")})
    model.kernel.calls_left = 1
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.hstack([X, X]), -Y)

    kept = {k: v for k, v in vars(model).items() if k.endswith("_")}
    assert kept.keys() == pickle.loads(fitted).keys()
    assert model.n_features_in_ == 1
    assert np.array_equal(model.predict(X), before)


def test_a_refused_fit_keeps_the_old_one():
    model = RVR().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(np.full((5, 3), np.nan), np.ones(5))

    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_interrupt_between_steps_ends_the_search(step):
    def callback(news):
        if news.iteration == step:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sparse_bayes(Gaussian(2.0)(X, X), Y, callback=callback)


@pytest.mark.parametrize("make", [RVR, lambda: RVC(multi_class="ovr")])
def test_a_failure_after_the_search_changes_nothing(make, monkeypatch):
    labels = np.digitize(Y, [0.0, 0.3])
    model = make()
    model.fit(X, Y if isinstance(model, RVR) else labels)
    before = dict(vars(model))
    monkeypatch.setattr("relvec.estimators.base.fitted_attributes", lambda model: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(np.hstack([X, X]), labels)

    assert vars(model) == before


def test_a_failing_partial_fit_changes_nothing(monkeypatch):
    model = RVR(gamma=0.1).partial_fit(X, Y)
    before = dict(vars(model))
    monkeypatch.setattr("relvec.estimators.base.fitted_attributes", lambda model: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(X, Y)

    assert vars(model) == before

"""How fits of several binary models begin, go on and end."""

import logging
import signal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from relvec import RVC, FitWarning, Status
from relvec.estimators import validation
from relvec.evidence import Deadline
from relvec.kernels import Gaussian

X, Y = read_only(*make_blobs(90, centers=3, cluster_std=2.5, random_state=3))
NEW = read_only(np.random.default_rng(0).uniform(-15, 15, (200, 2)))
NAMES = np.array(["plum", "fig", "kiwi"])[Y]
MODES = ["ovr", "ovo"]
GAMMA = 0.05


@pytest.mark.parametrize("mode", MODES)
def test_what_is_drawn_depends_on_the_seed(mode):
    make = RVC(multi_class=mode, gamma=GAMMA, candidates=15)
    a, b, c = (
        clone(make).set_params(random_state=seed).fit(X, Y).predict_proba(NEW)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(a, b)
    assert not np.allclose(a, c)


@pytest.mark.parametrize("mode", MODES)
def test_a_warm_start_begins_with_the_last_fit(mode):
    model = RVC(multi_class=mode, gamma=GAMMA, warm_start=True).fit(X, Y)
    cold, binaries = model.n_iter_, model.estimators_
    model.fit(X, Y)

    assert model.n_iter_ < cold
    assert all(
        new is not old for new, old in zip(model.estimators_, binaries, strict=True)
    )


def test_a_refit_in_another_mode_leaves_nothing_behind():
    model = RVC(multi_class="ovr", gamma=GAMMA, warm_start=True).fit(X, Y)
    model.set_params(multi_class="mrvm1").fit(X, Y)
    assert not hasattr(model, "estimators_")
    assert "classifier" not in model.history_
    model.set_params(multi_class="ovo").fit(X, Y)
    assert len(model.estimators_) == 3

    fresh = RVC(multi_class="ovo", gamma=GAMMA).fit(X, Y)
    assert_allclose(model.predict_proba(NEW), fresh.predict_proba(NEW))


class Interrupting:
    """A kernel during whose n-th evaluation the user presses Ctrl-C."""

    def __init__(self, call):
        self.calls_left = call

    def __call__(self, A, B):
        self.calls_left -= 1
        if self.calls_left == 0:
            signal.raise_signal(signal.SIGINT)
        return Gaussian(3.0)(A, B)

    def __sklearn_clone__(self):
        return self


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_changes_nothing(mode):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        kernel = Interrupting(10**9)
        model = RVC(kernel, multi_class=mode).fit(X, Y)
        calls = 10**9 - kernel.calls_left
        fitted, probabilities = dict(vars(model)), model.predict_proba(NEW)
        kernel.calls_left = calls // 2  # in the second classifier or so
        with pytest.raises(KeyboardInterrupt):
            model.fit(X + 1, NAMES)
        kernel.calls_left = 10**9
    finally:
        signal.signal(signal.SIGINT, before)

    assert vars(model).keys() == fitted.keys()
    assert all(vars(model)[name] is value for name, value in fitted.items())
    assert np.array_equal(model.predict_proba(NEW), probabilities)


@pytest.mark.parametrize("mode", MODES)
def test_the_worst_outcome_is_told_once(mode):
    with pytest.warns(ConvergenceWarning, match=r"\d of 3 classifiers \(.*max_iter"):
        model = RVC(multi_class=mode, gamma=GAMMA, max_iter=1).fit(X, Y)

    assert model.status_ is Status.MAX_ITER
    assert model.n_iter_ == 3


def test_a_classifier_without_functions():
    """The middle of three classes is on neither side of any point."""
    rows = np.linspace(-1, 1, 151)[:, None]
    labels = np.digitize(rows[:, 0], [-0.5, 0.5])
    with pytest.warns(FitWarning, match=r"1 of 3 classifiers \(1\): no basis function"):
        model = RVC(None, multi_class="ovr").fit(rows, labels)

    assert model.status_ is Status.EMPTY
    assert {len(values) for values in model.history_.values()} == {model.n_iter_}
    assert not model.dual_coef_[1].any()
    assert np.isinf(model.prior_precision_[1]).all()


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_validated_once(monkeypatch, mode):
    calls = []
    validate = validation.validate_data
    monkeypatch.setattr(
        validation,
        "validate_data",
        lambda *data, **checks: calls.append(checks) or validate(*data, **checks),
    )
    RVC(multi_class=mode, gamma=GAMMA).fit(X.tolist(), Y)

    assert len(calls) == 1


def test_the_time_is_shared(monkeypatch):
    """Each has an equal part of what those before it have left."""
    shares, share = [], Deadline.share
    monkeypatch.setattr(
        Deadline,
        "share",
        lambda self, n: shares.append((self.at, n)) or share(self, n),
    )
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = RVC(multi_class="ovo", max_seconds=1e-6).fit(X, Y)
    # Each fit shares out its own part, too.
    assert [n for at, n in shares if at == shares[0][0]] == [3, 2, 1]
    assert all(one.status_ is Status.MAX_SECONDS for one in model.estimators_)


def test_progress_is_told(caplog):
    with caplog.at_level(logging.INFO, "relvec"):
        RVC(multi_class="ovo", verbose=1, gamma=GAMMA).fit(X, NAMES)

    assert "classifier 3 of 3: ('kiwi', 'plum')" in caplog.text


@pytest.mark.parametrize("mode", MODES)
def test_it_works_inside_scikit_learn(mode):
    rows, labels = load_iris(return_X_y=True)
    search = GridSearchCV(RVC(multi_class=mode), {"gamma": [0.2, 50.0]}, cv=3)
    search.fit(rows, labels)

    assert search.best_params_ == {"gamma": 0.2}
    assert search.best_score_ > 0.94


@pytest.mark.parametrize("mode", MODES)
def test_the_models_know_the_features_by_name(mode):
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = RVC(multi_class=mode, gamma=GAMMA).fit(frame, Y)

    for one in model.estimators_:
        assert list(one.feature_names_in_) == ["east", "north"]
        one.predict(frame)

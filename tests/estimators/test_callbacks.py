"""scikit-learn's callback protocol, where the installed version has it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from relvec import RVC, RVR, Status
from relvec.data import noisy_sinc, two_mixtures

pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has none")


class Recorder:
    """Notes every hook; stops after so many steps."""

    def __init__(self, stop_after=np.inf):
        self.stop_after = stop_after
        self.calls = []
        self.models = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.calls.append(f"end {context.task_name}")
        if X is not None:
            self.models.append(fitted_estimator)
        return len(self.models) >= self.stop_after


@pytest.mark.parametrize("make", [RVR, RVC])
def test_every_step_is_told_with_a_model_that_predicts(make):
    X, y = noisy_sinc(80, seed=0) if make is RVR else two_mixtures(80, seed=0)
    recorder = Recorder()
    model = make(gamma=1.0).set_callbacks(recorder).fit(X, y)

    assert recorder.calls[:3] == ["setup", "begin fit", "begin step"]
    assert recorder.calls[-2:] == ["end fit", "teardown"]
    begun, ended = (
        sum(call == f"{word} step" for call in recorder.calls)
        for word in ("begin", "end")
    )
    assert begun == ended == model.n_iter_ + 1
    *steps, last = recorder.models
    assert len(steps) == model.n_iter_
    scores = [step.score(X, y) for step in steps]
    assert np.isfinite(scores).all()
    assert scores[-1] >= scores[0]
    assert np.array_equal(last.predict(X), model.predict(X))


def test_a_callback_stops_the_fit():
    X, y = noisy_sinc(200, seed=0)
    model = RVR(gamma=1 / 9).set_callbacks(Recorder(stop_after=2)).fit(X, y)

    assert model.status_ is Status.STOPPED
    assert model.n_iter_ == 2


def test_a_stop_in_the_first_of_several_fits_is_told():
    """That of the kernel given, by which scales of their own are measured."""

    class Once(Recorder):
        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            told = {"X": X, "y": y, "fitted_estimator": fitted_estimator}
            super().on_fit_task_end(estimator, context, **told)
            return len(self.models) == 1

    X, y = noisy_sinc(60, seed=0)
    model = RVR(kernel_learning="adaptive").set_callbacks(Once()).fit(X, y)

    assert model.status_ is Status.STOPPED


def test_an_error_still_tears_down():
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        RVR().set_callbacks(recorder).fit([[np.nan]], [1.0])

    assert recorder.calls[-1] == "teardown"


def test_without_callbacks_nothing_is_left_behind():
    X, y = noisy_sinc(30, seed=0)
    model = RVR().fit(X, y)
    assert not [name for name in vars(model) if "callback" in name]

    told = clone(model).set_callbacks(Recorder()).fit(X, y)
    assert [name for name in vars(told) if "callback" in name] == ["_skl_callbacks"]


def test_a_progress_bar_over_a_search(capsys):
    """It is handed down to every fit."""
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = noisy_sinc(40, seed=0)
    search = GridSearchCV(RVR(), {"gamma": [0.1, 1.0]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, y)

    assert search.best_estimator_.predict(X).shape == (40,)
    assert "RVR" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["ovr", "ovo"])
def test_several_binary_models_are_one_task(mode):
    """Before all of them are fitted there is no model that a step could show."""
    X, y = two_mixtures(80, seed=0)
    recorder = Recorder()
    y = np.where(X[:, 0] > 0.2, 2, y)
    model = RVC(gamma=1.0, multi_class=mode).set_callbacks(recorder).fit(X, y)

    assert recorder.calls == ["setup", "begin fit", "end fit", "teardown"]
    assert np.array_equal(recorder.models[0].predict(X), model.predict(X))

"""Sparse models that begin with what a process says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec import RVR
from relvec.kernel_search.reference import ReferenceProjection
from relvec.kernel_search.trials import Trials


def wide_in_one(seed=0, n_rows=64):
    """A wave along one feature, and a line along the other."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n_rows, 2))
    mean = np.sinc(X[:, 0] / np.pi) + 0.1 * X[:, 1]
    return X, mean + 0.1 * rng.standard_normal(n_rows)


def learned(monkeypatch, X, y, **settings):
    """A fit, what it was taught, and from what each trial began."""
    found, begun = [], []
    closest, of = ReferenceProjection.closest, Trials.of

    def noted(self, *known):
        found.append(self)
        return closest(self, *known)

    def noted_trial(self, scales, before=None):
        trial = of(self, scales, before)
        begun.append((trial, before))
        return trial

    monkeypatch.setattr(ReferenceProjection, "closest", noted)
    monkeypatch.setattr(Trials, "of", noted_trial)
    return RVR(kernel_learning="ard", **settings).fit(X, y), found[0], begun


def test_the_trial_closest_to_the_process_is_taken(monkeypatch):
    """Whatever the criterion says."""
    chosen = []
    for seed in range(4):
        X, y = wide_in_one(seed)
        model, taught, begun = learned(monkeypatch, X, y)
        monkeypatch.undo()
        apart = [taught.distance(trial) for trial, _ in begun]
        best = begun[int(np.argmin(apart))][0]
        chosen.append(best.loss > min(trial.loss for trial, _ in begun))

        assert_allclose(model.predict(X), best.model.predictive(X).mean)
    assert any(chosen)


def test_beginnings_say_what_the_process_says(monkeypatch):
    """The more exactly, the less noise they are told of; and then there is as much."""
    X, y = wide_in_one()
    _, taught, begun = learned(monkeypatch, X, y)
    beginnings = [before for _, before in begun if before is not None]
    apart = [taught.distance(before) for before in beginnings]

    assert apart[1] < apart[0] < 0.1
    assert begun[0][1] is None
    for before in beginnings:
        assert_allclose(before.model.fit.likelihood.noise_variance, taught.noise)


def test_distances_do_not_depend_on_units(monkeypatch):
    X, y = wide_in_one()
    _, one, trials = learned(monkeypatch, X, y)
    monkeypatch.undo()
    _, other, scaled = learned(monkeypatch, X, 1024 * y)

    for (trial, _), (same, _) in zip(trials, scaled, strict=True):
        assert_allclose(other.distance(same), one.distance(trial), rtol=1e-6)


def test_time_that_is_out_ends_the_lessons():
    X, y = wide_in_one(n_rows=200)
    with pytest.warns(match="max_seconds"):
        model = RVR(kernel_learning="ard", max_seconds=1e-6).fit(X, y)

    assert len(model.kernel_history_["criterion"]) == 1

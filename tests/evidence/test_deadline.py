"""When a fit has to be over."""

import pickle

import numpy as np

from relvec.evidence import Deadline, deadline


def test_never():
    assert not Deadline().passed
    assert not Deadline.after(None).passed
    assert Deadline().share(7).at == np.inf


def test_no_time_at_all():
    assert Deadline.after(0).passed
    assert Deadline.after(0).share(3).passed


def test_an_equal_share():
    whole = Deadline.after(3000)
    parts = [whole.share(n).at for n in (1, 2, 3)]

    assert parts[0] == whole.at
    assert 1499 < whole.at - parts[1] < 1501
    assert 1999 < whole.at - parts[2] < 2001


def test_elsewhere_it_is_the_time_left(monkeypatch):
    """Another process has a clock of its own, which began at another moment."""
    monkeypatch.setattr(deadline, "perf_counter", lambda: 500.0)
    sent = pickle.dumps((Deadline(530.0), Deadline(499.0), Deadline()))
    monkeypatch.setattr(deadline, "perf_counter", lambda: 7.0)
    later, over, never = pickle.loads(sent)

    assert later.at == 37.0
    assert not later.passed
    assert over.at == 6.0
    assert over.passed
    assert never == Deadline()
    assert not never.limited

"""When a fit has to be over."""

import pickle

import numpy as np
import pytest

from relvec.evidence import Deadline, base


def test_never():
    assert not Deadline().passed
    assert not Deadline.after(None).passed
    assert Deadline().share(7).at == np.inf


class Clock:
    """A clock that goes on only when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(base, "perf_counter", lambda: self.now)

    def spend(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.mark.parametrize(("seconds", "grace"), [(1.0, 0.5), (5.0, 0.5), (60.0, 6.0)])
def test_some_time_for_the_end(clock, seconds, grace):
    asked = Deadline.after(seconds)

    assert asked.at == 100 + seconds
    assert asked.end.at == 100 + seconds + grace
    assert asked.share(2).end.at == 100 + seconds / 2 + grace / 2


class TestInTime:
    """Rows that take a second for every hundred of them."""

    def counts(self, clock, asked, **cost):
        seen = []

        def work(count):
            seen.append(count)
            clock.spend(count / 100)
            return count

        found = asked.in_time(work, 5000, 200, **cost)
        assert found == seen[-1]
        return seen

    def test_all_at_once_without_a_deadline(self, clock):
        assert self.counts(clock, Deadline()) == [5000]

    def test_all_if_there_is_time(self, clock):
        assert self.counts(clock, Deadline.after(1000)) == [200, 5000]

    def test_as_many_as_there_is_time_for(self, clock):
        """Two seconds are spent on the fewest, ten are left."""
        assert self.counts(clock, Deadline.after(12)) == [200, 1000]

    @pytest.mark.parametrize("seconds", [0.0, 1.0, 5.0])
    def test_the_fewest_if_there_is_no_time(self, clock, seconds):
        """As before the deadline so after it; twice as many would be late."""
        assert self.counts(clock, Deadline.after(seconds)) == [200]

    def test_what_more_of_them_cost(self, clock):
        """There is time for nine times the cost: three times as many."""
        asked = Deadline.after(2 + 2 * 9.001)

        assert self.counts(clock, asked, cost=np.square) == [200, 600]

    def test_few_of_them_are_all(self, clock):
        assert Deadline.after(0).in_time(lambda count: count, 400, 200) == 400


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
    monkeypatch.setattr(base, "perf_counter", lambda: 500.0)
    sent = pickle.dumps((Deadline(530.0, 3.0), Deadline(499.0), Deadline()))
    monkeypatch.setattr(base, "perf_counter", lambda: 7.0)
    later, over, never = pickle.loads(sent)

    assert later == Deadline(37.0, 3.0)
    assert not later.passed
    assert over.at == 6.0
    assert over.passed
    assert never == Deadline()
    assert not never.limited

"""When a fit has to be over."""

import numpy as np

from relvec.evidence import Deadline


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

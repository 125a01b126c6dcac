"""Loads of several threads, one after the other.

scikit-learn changes the filters of warnings while it looks at a table, and puts back
those that it has found: of two threads one may find, and put back, those of the other.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """No other thread is in such a part meanwhile."""
    with _TURN:
        yield


# A child must not wait for a thread that it does not have.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_TURN.acquire,
        after_in_parent=_TURN.release,
        after_in_child=_TURN.release,
    )

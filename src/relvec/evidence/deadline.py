"""When a fit has to be over, however many searches it is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from relvec.typing import Array

Result = TypeVar("Result")

# Seconds, and share of the time asked for, in which a model becomes a fit after the
# search has ended: the larger of the two.
_GRACE, _GRACE_SHARE = 0.5, 0.1


@dataclass(frozen=True)
class Deadline:
    """A moment on the process's own clock; never by default.

    The search ends there. What it has found is made a model in the ``grace`` after it.
    """

    at: float = np.inf
    grace: float = 0.0  # seconds

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """So many seconds from now; None is never."""
        if seconds is None:
            return cls()
        return _from_now(seconds, max(_GRACE, _GRACE_SHARE * seconds))

    def __reduce__(self) -> Any:
        # Another process or machine has a clock of its own.
        left = self.left if self.limited else np.inf
        return _from_now, (left, self.grace)

    @property
    def left(self) -> float:
        """Seconds until then; negative after it."""
        return self.at - perf_counter()

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return perf_counter() >= self.at

    @property
    def limited(self) -> bool:
        """Whether there is one at all."""
        return bool(np.isfinite(self.at))

    @property
    def end(self) -> "Deadline":
        """When all that follows the search has to be over, too."""
        return Deadline(self.at + self.grace)

    def share(self, parts: int) -> "Deadline":
        """The end of the first of so many equal parts of the time left."""
        now = perf_counter()
        left = max(self.at - now, 0.0)
        return Deadline(now + left / parts, self.grace / parts)

    def in_time(
        self,
        work: Callable[[int], Result],
        most: int,
        fewest: int,
        cost: Callable[[Array], Array] = np.asarray,
    ) -> Result:
        """What ``work`` makes of as many rows or functions as there is time for.

        The fewest come first, and the time that these take tells how many more there
        is time for, in proportion to what so many ``cost``. Without a deadline it is
        all of them at once.
        """
        if not self.limited or most <= 2 * fewest:
            return work(most)
        begun = perf_counter()
        found = work(fewest)
        ratio = self.left / max(perf_counter() - begun, np.finfo(float).tiny)
        sizes = np.arange(2 * fewest, most + 1)
        costs = cost(sizes.astype(np.float64))
        limit = ratio * cost(np.array([1.0 * fewest]))[0]
        count = np.searchsorted(costs, limit, side="right")
        return work(int(sizes[count - 1])) if count else found


def _from_now(seconds: float, grace: float) -> Deadline:
    return Deadline(perf_counter() + seconds, grace)


NEVER = Deadline()

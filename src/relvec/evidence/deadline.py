"""When a fit has to be over, however many searches it is made of."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Deadline:
    """A moment on the process's own clock; never by default."""

    at: float = np.inf

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """So many seconds from now; None is never."""
        return cls() if seconds is None else cls(perf_counter() + seconds)

    def __reduce__(self) -> Any:
        # Another process or machine has a clock of its own.
        left = self.at - perf_counter() if self.limited else None
        return type(self).after, (left,)

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

    def share(self, parts: int) -> "Deadline":
        """The end of the first of so many equal parts of the time left."""
        now = perf_counter()
        return Deadline(now + max(self.at - now, 0.0) / parts)


NEVER = Deadline()

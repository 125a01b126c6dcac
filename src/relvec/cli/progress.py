"""What somebody who waits gets to see: how far the work is, and what is left of it.

Time left is said where it follows from work that was done before. How many steps one
search will take is not known before its end, so of that there is the time so far.
"""

import re
import time
from collections.abc import Iterable

from rich.progress import ProgressColumn, Task
from rich.text import Text

_STEP = re.compile(r"(\d+)> L = (\S+) .*\(nz = (\d+)\)")
_ROWS = re.compile(r"design: \D*([\d,]+) rows")


class Left(ProgressColumn):
    """About how long it will take, once somebody has an idea; not when it is over."""

    max_refresh = 0.5  # seconds

    def render(self, task: Task) -> Text:
        """Minutes and seconds."""
        until = task.fields.get("until")
        left = 0.0 if until is None else until - time.monotonic()
        if left <= 0:
            return Text("")
        how = "about" if task.fields.get("known", True) else "at most"
        return Text(f"{how} {in_words(left)} left", style="progress.remaining")


def in_words(seconds: float) -> str:
    """As a clock has it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_left(taken: Iterable[list[float]], rounds: int) -> float | None:
    """Of kinds of work that are each done so many times, from the times so far.

    None while there is a kind of which nothing is known.
    """
    left = 0.0
    for seconds in taken:
        if not seconds:
            return None
        left += sum(seconds) / len(seconds) * (rounds - len(seconds))
    return left


class Told:
    """Makes lines for people of the lines of a fit's log."""

    def __init__(self) -> None:
        self._scales = 0
        self._rows = ""

    def line(self, logged: str) -> str:
        """What is going on; empty where a line says nothing of that."""
        step, rows = _STEP.search(logged), _ROWS.search(logged)
        if rows:
            self._rows = f"{rows[1]} rows"
            return self._joined("selecting vectors")
        if step:
            evidence = float(step[2])
            return self._joined(
                f"step {step[1]}", f"{step[3]} vectors", f"log evidence {evidence:,.0f}"
            )
        if logged.startswith("length scale"):
            self._scales += 1
            return self._joined("learning length scales")
        return logged

    def _joined(self, *words: str) -> str:
        plural = "s" * (self._scales > 1)
        tried = f"{self._scales} kernel{plural} tried" if self._scales else ""
        return ", ".join(word for word in (self._rows, *words, tried) if word)

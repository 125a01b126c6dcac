"""What a command prints: results, notes and progress."""

import json
import logging
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import rich_click as click
from rich import markup
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from relvec.cli.errors import one_line, printable

_STEP_LINE = re.compile(r"(\d+)> L = (\S+) .*\(nz = (\d+)\)")
_ROWS_LINE = re.compile(r"design: \D*([\d,]+) rows")
Document = Mapping[str, Any]
_WIDTH = 120  # where the width of the reader is not known


class TimeLeft(ProgressColumn):
    """About how long it will take, once somebody has an idea; not when it is over."""

    max_refresh = 0.5  # seconds

    def render(self, task: Task) -> Text:
        """Minutes and seconds."""
        until = task.fields.get("until")
        left = 0.0 if until is None else until - time.monotonic()
        if left <= 0:
            return Text("")
        how = "about" if task.fields.get("known", True) else "at most"
        return Text(f"{how} {clock_time(left)} left", style="progress.remaining")


def clock_time(seconds: float) -> str:
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


class SearchProgress:
    """Makes lines for people of the lines of a fit's log."""

    def __init__(self) -> None:
        self._scales = 0
        self._rows = ""

    def line(self, logged: str) -> str:
        """What is going on; empty where a line says nothing of that."""
        step, rows = _STEP_LINE.search(logged), _ROWS_LINE.search(logged)
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


def with_output(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has --json and --quiet, and is given an Output."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @click.option(
        "-q", "--quiet", is_flag=True, help="No progress, no notes and no summary."
    )
    @wraps(command)
    def inner(*args: Any, as_json: bool, quiet: bool, **given: Any) -> None:
        command(*args, output=Output(as_json, quiet), **given)

    return inner


@dataclass(frozen=True)
class Output:
    """Where a command speaks: results to stdout, all else to stderr."""

    as_json: bool = False
    quiet: bool = False

    def result(self, document: Document) -> None:
        """What was asked for."""
        if self.as_json:
            text = json.dumps(_plain(document), indent=2, allow_nan=False)
            click.echo(text)
            return
        for remark in document.get("remarks", ()):
            self.note(remark)
        console = _console(sys.stdout)
        for table in _tables(document):
            console.print(table)

    def summary(self, document: Document) -> None:
        """What was done, which the quiet need not hear."""
        if self.as_json or not self.quiet:
            self.result(document)

    def note(self, text: str) -> None:
        """A remark of one line."""
        if not self.quiet:
            click.echo(f"note: {one_line(text)}", err=True)

    @property
    def lively(self) -> bool:
        """Whether somebody watches."""
        return not self.quiet and sys.stderr.isatty()

    @contextmanager
    def working(
        self, what: str, at_most: float | None = None
    ) -> Iterator[Callable[..., None]]:
        """A sign of life, with the time so far and what a fit says of itself.

        Call it with what begins, and how many seconds that will take if it is known;
        ``at_most`` is what anything may take.
        """
        columns = TextColumn("{task.description}"), TimeElapsedColumn(), TimeLeft()
        with self._progress(SpinnerColumn(), *columns) as progress:
            task = progress.add_task("", total=None)
            now, told = what, SearchProgress()

            def begin(words: str, seconds: float | None = None) -> None:
                nonlocal now, told
                now, told = words, SearchProgress()
                limits = [each for each in (seconds, at_most) if each is not None]
                until = time.monotonic() + min(limits) if limits else None
                left: dict[str, Any] = {"until": until, "known": seconds is not None}
                progress.update(task, description=_escape(now), **left)

            begin(what)

            def show(line: str) -> None:
                text = f"{_escape(now)}  [dim]{_escape(told.line(line))}"
                progress.update(task, description=text)

            handler = _LogForwarder(show)
            logger = logging.getLogger("relvec")
            logger.addHandler(handler)
            try:
                yield begin
            finally:
                logger.removeHandler(handler)

    @contextmanager
    def steps(self, total: int) -> Iterator[Callable[..., None]]:
        """A bar; call it with what begins, what is done, and seconds left if known."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f}"),
            TimeElapsedColumn(),
            TimeLeft(),
        )
        with self._progress(*columns) as progress:
            task = progress.add_task("", total=total, until=None)

            def tell(what: str, done: int, left: float | None = None) -> None:
                until = None if left is None else time.monotonic() + left
                words = _escape(what)
                progress.update(task, description=words, completed=done, until=until)

            yield tell

    @contextmanager
    def share(self) -> Iterator[Callable[[str, float], None]]:
        """A bar with the time left; call it with what is done and which share it is."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        with self._progress(*columns) as progress:
            task = progress.add_task("", total=1.0)

            def tell(what: str, done: float) -> None:
                progress.update(task, description=_escape(what), completed=done)

            yield tell

    def _progress(self, *columns: Any) -> Progress:
        console = Console(file=sys.stderr, force_terminal=self.lively)
        return Progress(
            *columns, console=console, transient=True, disable=not self.lively
        )


class _LogForwarder(logging.Handler):
    """Passes the lines of a log on."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """The line, without the blanks about it."""
        self._tell(record.getMessage().strip())


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, width=width, highlight=False)


def _tables(document: Document) -> Iterator[Table]:
    """Single values first, then what has a table of its own."""
    single = {
        name: value
        for name, value in document.items()
        if not _is_large(value) and name != "remarks"
    }
    if single:
        yield _pair_table(None, single)
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield _pair_table(name, value)
        elif _is_large(value):
            yield _row_table(name, value)


def _is_large(value: Any) -> bool:
    rows = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    return rows or isinstance(value, Mapping)


def _pair_table(title: str | None, values: Document) -> Table:
    heading = None if title is None else _label(title)
    table = Table(show_header=False, title=heading, title_justify="left")
    for name, value in values.items():
        table.add_row(_label(name), _cell(value))
    return table


def _row_table(title: str, rows: list[Document]) -> Table:
    table = Table(title=_label(title), title_justify="left")
    for name, value in rows[0].items():
        side: Any = "right" if isinstance(value, int | float) else "left"
        table.add_column(_label(name), justify=side)
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _escape(text: str) -> str:
    """As it is: nothing of it is markup, and nothing a command to the terminal."""
    return markup.escape(printable(text))


def _label(name: str) -> str:
    return _escape(name.replace("_", " "))


def _cell(value: Any) -> str:
    """As people read it: numbers to four digits, nothing as a dash."""
    value = _plain(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        large = 1e4 <= abs(value) < 1e12
        return f"{value:,.0f}" if large else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_cell, value)) or "–"
    return _escape(str(value))


def _plain(value: Any) -> Any:
    """As JSON has it; numbers that are none are null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # numpy, which is not waited for
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)

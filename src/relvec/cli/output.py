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
from relvec.formatting import format_value

_STEP_LINE = re.compile(r"(\d+)> L = (\S+) .*\(nz = (\d+)\)")
_ROWS_LINE = re.compile(r"design: \D*([\d,]+) rows")
Document = Mapping[str, Any]
_WIDTH = 120  # where the width of the reader is not known


class TimeLeft(ProgressColumn):
    """Time left, once it can be estimated."""

    max_refresh = 0.5  # seconds

    def render(self, task: Task) -> Text:
        """Write minutes and seconds."""
        until = task.fields.get("until")
        left = 0.0 if until is None else until - time.monotonic()
        if left <= 0:
            return Text("")
        how = "about" if task.fields.get("known", True) else "at most"
        return Text(f"{how} {clock_time(left)} left", style="progress.remaining")


def clock_time(seconds: float) -> str:
    """Write seconds as a clock does."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_left(taken: Iterable[list[float]], rounds: int) -> float | None:
    """Estimate the time left if each kind of work is done ``rounds`` times.

    None until each kind was done once.
    """
    left = 0.0
    for seconds in taken:
        if not seconds:
            return None
        left += sum(seconds) / len(seconds) * (rounds - len(seconds))
    return left


class SearchProgress:
    """Turns log lines of a fit into short progress messages."""

    def __init__(self) -> None:
        self._scales = 0
        self._rows = ""

    def line(self, logged: str) -> str:
        """Make a message from a line of the log."""
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
    """Add ``--json`` and ``--quiet``; the command receives an Output."""

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
    """Prints results to stdout and everything else to stderr."""

    as_json: bool = False
    quiet: bool = False

    def result(self, document: Document) -> None:
        """Print a result."""
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
        """Print a summary, unless ``--quiet`` was given without ``--json``."""
        if self.as_json or not self.quiet:
            self.result(document)

    def note(self, text: str) -> None:
        """Print a remark of one line."""
        if not self.quiet:
            click.echo(f"note: {one_line(text)}", err=True)

    @property
    def lively(self) -> bool:
        """Whether progress is shown: stderr is a terminal and not quiet."""
        return not self.quiet and sys.stderr.isatty()

    @contextmanager
    def working(
        self, what: str, at_most: float | None = None
    ) -> Iterator[Callable[..., None]]:
        """Show a spinner, the time so far and messages of the fit's log.

        Call the result with the step that begins, and its expected seconds if known;
        ``at_most`` limits every step.
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
        """Show a bar; call it with the step, the count done and the seconds left."""
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

            def update(what: str, done: int, left: float | None = None) -> None:
                until = None if left is None else time.monotonic() + left
                words = _escape(what)
                progress.update(task, description=words, completed=done, until=until)

            yield update

    @contextmanager
    def share(self) -> Iterator[Callable[[str, float], None]]:
        """Show a bar with the time left; call it with the step and the share done."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        with self._progress(*columns) as progress:
            task = progress.add_task("", total=1.0)

            def update(what: str, done: float) -> None:
                progress.update(task, description=_escape(what), completed=done)

            yield update

    def _progress(self, *columns: Any) -> Progress:
        console = Console(file=sys.stderr, force_terminal=self.lively)
        return Progress(
            *columns, console=console, transient=True, disable=not self.lively
        )


class _LogForwarder(logging.Handler):
    """Passes log lines to a function."""

    def __init__(self, update: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = update

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a line on without surrounding blanks."""
        self._tell(record.getMessage().strip())


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, width=width, highlight=False)


def _tables(document: Document) -> Iterator[Table]:
    """Make a table of single values, then one of each nested value."""
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
    """Escape markup and control characters."""
    return markup.escape(printable(text))


def _label(name: str) -> str:
    return _escape(name.replace("_", " "))


def _cell(value: Any) -> str:
    """Format a value, or the values of a list, for a table."""
    value = _plain(value)
    if isinstance(value, list):
        return ", ".join(map(_cell, value)) or "–"
    return _escape(format_value(value))


def _plain(value: Any) -> Any:
    """Convert to JSON values; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # numpy, which is not waited for
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)

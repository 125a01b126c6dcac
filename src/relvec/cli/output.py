"""What a command says: one document, for people or for machines, and progress.

A document is a dictionary of plain values, of dictionaries and of lists of rows. As
text each is a table, and ``remarks`` are notes; with ``--json`` it is printed as it is.
"""

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
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
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from relvec.cli.exits import one_line, printable
from relvec.cli.progress import Left, Told

Document = Mapping[str, Any]
_WIDTH = 120  # where the width of the reader is not known


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
        columns = TextColumn("{task.description}"), TimeElapsedColumn(), Left()
        with self._progress(SpinnerColumn(), *columns) as progress:
            task = progress.add_task("", total=None)
            now, told = what, Told()

            def begin(words: str, seconds: float | None = None) -> None:
                nonlocal now, told
                now, told = words, Told()
                limits = [each for each in (seconds, at_most) if each is not None]
                until = time.monotonic() + min(limits) if limits else None
                left: dict[str, Any] = {"until": until, "known": seconds is not None}
                progress.update(task, description=_shown(now), **left)

            begin(what)

            def show(line: str) -> None:
                text = f"{_shown(now)}  [dim]{_shown(told.line(line))}"
                progress.update(task, description=text)

            handler = _Latest(show)
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
            Left(),
        )
        with self._progress(*columns) as progress:
            task = progress.add_task("", total=total, until=None)

            def tell(what: str, done: int, left: float | None = None) -> None:
                until = None if left is None else time.monotonic() + left
                words = _shown(what)
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
                progress.update(task, description=_shown(what), completed=done)

            yield tell

    def _progress(self, *columns: Any) -> Progress:
        console = Console(file=sys.stderr, force_terminal=self.lively)
        return Progress(
            *columns, console=console, transient=True, disable=not self.lively
        )


class _Latest(logging.Handler):
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
        yield _pairs(None, single)
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield _pairs(name, value)
        elif _is_large(value):
            yield _rows(name, value)


def _is_large(value: Any) -> bool:
    rows = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    return rows or isinstance(value, Mapping)


def _pairs(title: str | None, values: Document) -> Table:
    heading = None if title is None else _label(title)
    table = Table(show_header=False, title=heading, title_justify="left")
    for name, value in values.items():
        table.add_row(_label(name), _cell(value))
    return table


def _rows(title: str, rows: list[Document]) -> Table:
    table = Table(title=_label(title), title_justify="left")
    for name, value in rows[0].items():
        side: Any = "right" if isinstance(value, int | float) else "left"
        table.add_column(_label(name), justify=side)
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _shown(text: str) -> str:
    """As it is: nothing of it is markup, and nothing a command to the terminal."""
    return markup.escape(printable(text))


def _label(name: str) -> str:
    return _shown(name.replace("_", " "))


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
    return _shown(str(value))


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

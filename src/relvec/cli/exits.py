"""How a command ends: exit codes, and errors of one line."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import rich_click as click

FAILED, WRONG, FAULT, INTERRUPTED = 1, 2, 70, 130
# By name, so that whoever sees a fault can show it.
TRACEBACK = "RELVEC_TRACEBACK"
_NAMED = 5  # rows, names or values that a message lists
_BEGINNING, _END = 800, 200  # characters of a message that are kept if it has more


class Problem(click.ClickException):
    """Wrong use or wrong data; the text names it and the remedy."""

    exit_code = WRONG


def listed(values: Any) -> str:
    """The first of them, and how many more there are."""
    values = list(values)
    shown = ", ".join(str(value) for value in values[:_NAMED])
    more = len(values) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def one_line(text: str) -> str:
    """A message to print, short though it may quote a cell of any length."""
    words = " ".join(text.split())
    if len(words) > _BEGINNING + _END:
        words = f"{words[:_BEGINNING]} … {words[-_END:]}"
    return printable(words)


def printable(text: str) -> str:
    """The text without anything that a terminal would obey instead of showing it.

    Names and labels may come from files of others. A character that cannot be printed
    is written as Python writes it in a string.
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in text
    )


class Commands(click.RichGroup):
    """Commands whose errors are one line on stderr, and an exit code."""

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and exit."""
        extra["standalone_mode"] = False
        try:
            code = super().main(args, prog_name or "relvec", **extra)
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            text, code = _told(error)
            click.echo(f"relvec: {one_line(text)}", err=True)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click itself would answer an interrupt with an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None


def _told(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    for kinds, text, code in _KINDS:
        if isinstance(error, kinds):
            return text(error), code
    return _of_fault(error), FAULT


def _of_usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "relvec"
    text = error.format_message().rstrip(".")
    return f"{text}; {command} --help shows how it is used"


def _of_files(error: Any) -> str:
    if error.errno is None:
        return str(error)
    remedy = "choose a file that can be read, or a place that can be written to"
    name = "" if error.filename is None else f"{error.filename}: "
    return f"{name}{error.strerror}; {remedy}"


def _of_fault(error: Exception) -> str:
    return (
        f"{type(error).__name__}: {error}. This is a fault of relvec; please report it "
        f"with what {TRACEBACK}=1 shows"
    )


# What data, files, parameters and missing packages raise: the first that fits.
_KINDS: tuple[tuple[Any, Callable[[Any], str], int], ...] = (
    (click.Abort, lambda _: "interrupted; no file is half-written", INTERRUPTED),
    (click.UsageError, _of_usage, WRONG),
    (click.ClickException, lambda error: error.format_message(), WRONG),
    (MemoryError, lambda _: "memory is too small: --drop columns, or --stream", WRONG),
    (OSError, _of_files, WRONG),
    ((ValueError, ImportError), str, WRONG),
)

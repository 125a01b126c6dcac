"""Exit codes, and error messages of one line that name a remedy."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import rich_click as click

FAILED, WRONG, FAULT, INTERRUPTED = 1, 2, 70, 130
# Environment variable that shows the traceback of a fault.
TRACEBACK = "RELVEC_TRACEBACK"
_MOST_LISTED = 5  # rows, names or values in a message
_KEPT_START, _KEPT_END = 800, 200  # characters kept of a longer message


class CliError(click.ClickException):
    """Wrong use or wrong data; the message names the problem and the remedy."""

    exit_code = WRONG


def listed(values: Any) -> str:
    """Return the first few values as text, and how many more there are."""
    values = list(values)
    shown = ", ".join(str(value) for value in values[:_MOST_LISTED])
    more = len(values) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def one_line(text: str) -> str:
    """Join a message into one line, shortened in its middle if it is very long."""
    words = " ".join(text.split())
    if len(words) > _KEPT_START + _KEPT_END:
        words = f"{words[:_KEPT_START]} … {words[-_KEPT_END:]}"
    return printable(words)


def printable(text: str) -> str:
    """Escape characters that a terminal would obey instead of showing them.

    Names and labels may come from untrusted files. Unprintable characters are written
    as Python writes them in a string.
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in text
    )


class Commands(click.RichGroup):
    """Commands that end with an exit code, and with one line on stderr if they fail."""

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
            text, code = _message_and_code(error)
            click.echo(f"relvec: {one_line(text)}", err=True)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click itself would print an empty line on an interrupt."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None


def _message_and_code(error: Exception) -> tuple[str, int]:
    for kinds, message, code in _MESSAGES:
        if isinstance(error, kinds):
            return message(error), code
    return (
        f"{type(error).__name__}: {error}. This is a fault of relvec; please report it "
        f"with what {TRACEBACK}=1 shows"
    ), FAULT


def _usage_message(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "relvec"
    text = error.format_message().rstrip(".")
    return f"{text}; {command} --help shows how it is used"


def _file_message(error: Any) -> str:
    if error.errno is None:
        return str(error)
    remedy = "choose a file that can be read, or a place that can be written to"
    name = "" if error.filename is None else f"{error.filename}: "
    return f"{name}{error.strerror}; {remedy}"


# Errors of users, data, files and missing packages; the first match counts.
_MESSAGES: tuple[tuple[Any, Callable[[Any], str], int], ...] = (
    (click.Abort, lambda _: "interrupted; no file is half-written", INTERRUPTED),
    (click.UsageError, _usage_message, WRONG),
    (click.ClickException, lambda error: error.format_message(), WRONG),
    (MemoryError, lambda _: "memory is too small: --drop columns, or --stream", WRONG),
    (OSError, _file_message, WRONG),
    ((ValueError, ImportError), str, WRONG),
)

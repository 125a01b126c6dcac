"""A report as a page: one HTML file with its style and script, and nothing else."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import relvec
from relvec.model_file import Path, write_whole
from relvec.parameters import optional_module
from relvec.report.blocks import Section, heading, shown

# By this a page is known to be a report, which another may replace.
MARK = f'<meta name="generator" content="relvec {relvec.__version__} report">'
_MARKS = (b'<meta name="generator" content="relvec ', b' report">')
_HEAD = 2000  # bytes of a page within which the mark is


@dataclass(frozen=True)
class Report:
    """What :func:`make_report` has made.

    Parameters
    ----------
    title : str
        Of the page.
    sections : tuple of sections
        What it shows, in order.
    n_rows : int
        Rows that the model was tried on.
    scores : dict of str to float or None
        How well it predicts them, by name.
    """

    title: str
    sections: tuple[Section, ...]
    n_rows: int
    scores: dict[str, float | None]

    def html(self) -> str:
        """The whole page."""
        script = _read("page.js")
        return (
            _environment()
            .get_template("page.html")
            .render(
                report=self,
                mark=MARK,
                style=_read("page.css"),
                script=script,
                script_digest=_digest(script),
                version=relvec.__version__,
            )
        )

    def save(self, path: Path) -> None:
        """Write the page to a file, all of it or nothing.

        Parameters
        ----------
        path : str or path
            Where; a file that is there is replaced.
        """
        write_whole(path, self.html().encode())


def check_installed() -> None:
    """Refuse before the work begins."""
    for name in ("jinja2", "matplotlib"):
        optional_module(name, f"a report is made with {name}", "report")


def is_report(path: Path) -> bool:
    """Whether a file is one that was written here."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return all(mark in head for mark in _MARKS)


def _read(name: str) -> str:
    return files("relvec.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """By which the page allows its own script, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _environment() -> Any:
    jinja2 = optional_module("jinja2", "a report is made with jinja2", "report")
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"shown": shown, "heading": heading}
    return made

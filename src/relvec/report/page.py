"""A report as values (sections of tables, facts and figures) and as one HTML file."""

import base64
import hashlib
import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias
from xml.dom import minidom

import numpy as np

import relvec
from relvec.formatting import format_value
from relvec.model_file import Path, write_whole
from relvec.parameters import optional_module
from relvec.plots.drawing import COLOURS, matplotlib

_MOST_HEADING = 60  # characters of a heading; its tooltip shows all

Cell: TypeAlias = str | int | float | bool | None
# Placeholder colours of text and background, replaced by those of the page.
_TEXT, _BACKGROUND = "#010203", "#fdfefc"
_NAMES = ("blue", "vermillion", "green", "orange", "sky", "purple", "yellow")
_THEMED = {_TEXT: "currentColor", _BACKGROUND: "var(--paper)"} | {
    colour.lower(): f"var(--{name})"
    for colour, name in zip(COLOURS, _NAMES, strict=True)
}
_TEXT_ONLY = {_TEXT: "currentColor", _BACKGROUND: "var(--paper)"}
_PIXELS = 96 / 72  # of CSS to a point
_MOST_LABEL, _MOST_CAPTION = 22, 60  # characters of a name; tables show all
_FONT = re.compile(r"font: (?:(?:bold|italic) )?([\d.]+)px [^;]*")

_STYLE: dict[str, Any] = {
    # Show dollars in names as they are.
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "relvec",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.facecolor": _BACKGROUND,
    "legend.edgecolor": "0.6",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _TEXT
    ),
    "axes.edgecolor": _TEXT,
}
# This mark shows that a page is a report, which another may replace.
MARK = f'<meta name="generator" content="relvec {relvec.__version__} report">'
_MARKS = (b'<meta name="generator" content="relvec ', b' report">')
_HEAD = 2000  # bytes of a page that contain the mark


@dataclass(frozen=True)
class Facts:
    """Names and values, in reading order."""

    values: Mapping[str, Cell]
    kind: str = field(default="facts", init=False)


@dataclass(frozen=True)
class Table:
    """Rows that a reader can sort."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    kind: str = field(default="table", init=False)

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers and is set flush right."""
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and not any(isinstance(cell, str | bool) for cell in cells)


@dataclass(frozen=True)
class Matrix:
    """Confusion matrix, shaded by the share of a row."""

    caption: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    kind: str = field(default="matrix", init=False)

    def share(self, row: int, column: int) -> float:
        """Share of a count in its row."""
        return self.counts[row][column] / max(sum(self.counts[row]), 1)


@dataclass(frozen=True)
class Figure:
    """A drawing, as the text of an SVG element."""

    svg: str
    caption: str
    kind: str = field(default="figure", init=False)


@dataclass(frozen=True)
class Code:
    """Text to copy."""

    text: str
    caption: str
    kind: str = field(default="code", init=False)


Block: TypeAlias = Facts | Table | Matrix | Figure | Code


@dataclass(frozen=True)
class Section:
    """A title, a text and blocks."""

    name: str  # anchor in the page
    title: str
    text: str
    blocks: tuple[Block, ...]


def plain(value: Any) -> Cell:
    """Convert a numpy or table value to a cell; NaN and infinity become None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def shown(cell: Cell) -> str:
    """Format a cell; numbers get a typographic minus sign."""
    text = format_value(cell)
    return text if isinstance(cell, str) else text.replace("-", "−")


def heading(name: str) -> str:
    """Shorten a name to fit a column."""
    return name if len(name) <= _MOST_HEADING else f"{name[: _MOST_HEADING - 1]}…"


def figure(
    draw: Callable[..., None],
    name: str,
    caption: str,
    *,
    size: tuple[float, float] = (5.2, 3.7),
    panels: int = 1,
    themed: bool = True,
) -> Figure:
    """Make a figure by calling ``draw`` with axes, one above the other."""
    with _styled():
        made = matplotlib("figure").Figure(figsize=size, layout="constrained")
        axes = made.subplots(panels, sharex=True, squeeze=False)[:, 0]
        draw(*axes)
        text = io.StringIO()
        made.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return Figure(_as_page_element(text.getvalue(), name, caption, themed), caption)


def short(name: object, longest: int = _MOST_LABEL) -> str:
    """Shorten a name to fit a figure."""
    text = str(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def in_caption(name: object) -> str:
    """Shorten a name to fit a caption."""
    return short(name, _MOST_CAPTION)


@contextmanager
def _styled() -> Iterator[None]:
    """Use a fixed style and ignore warnings about missing glyphs."""
    with (
        matplotlib("style").context(["default", _STYLE]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _as_page_element(text: str, name: str, caption: str, themed: bool) -> str:
    """Make an SVG element with a size, a label, themed colours and unique ids."""
    root: Any = minidom.parseString(text.encode()).documentElement
    for tag in ("metadata", "style"):
        for node in list(root.getElementsByTagName(tag)):
            node.parentNode.removeChild(node)
    colours = _THEMED if themed else _TEXT_ONLY
    for node in [root, *root.getElementsByTagName("*")]:
        for key, value in list(node.attributes.items()):
            node.setAttribute(key, _themed_attribute(key, value, name, colours))
    for side in ("width", "height"):
        points = float(root.getAttribute(side).removesuffix("pt"))
        root.setAttribute(side, f"{points * _PIXELS:.0f}")
    root.setAttribute("role", "img")
    root.setAttribute("aria-label", caption)
    return root.toxml()


def _themed_attribute(key: str, value: str, name: str, colours: dict[str, str]) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "xlink:href" and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    value = value.replace("url(#", f"url(#{name}-")
    if key in {"style", "fill", "stroke"}:
        for colour, meant in colours.items():
            value = value.replace(colour, meant)
        value = _FONT.sub(r"font-size: \1px", value)
    return value


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
        """Render the whole page."""
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
    """Refuse missing packages before the work begins."""
    for name in ("jinja2", "matplotlib"):
        optional_module(name, f"a report is made with {name}", "report")


def is_report(path: Path) -> bool:
    """Whether a file is a report of relvec."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return all(mark in head for mark in _MARKS)


def _read(name: str) -> str:
    return files("relvec.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Digest of the script, the only one that the page allows."""
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

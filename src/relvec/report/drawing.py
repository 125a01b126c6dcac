"""Figures as SVG that is part of a page: its fonts, and its colours, light or dark."""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from xml.dom import minidom

from relvec.plots.drawing import COLOURS, matplotlib
from relvec.report.blocks import Figure

# Colours that nothing else has: those of text and of paper, which the page knows.
_INK, _PAPER = "#010203", "#fdfefc"
_NAMES = ("blue", "vermillion", "green", "orange", "sky", "purple", "yellow")
_THEMED = {_INK: "currentColor", _PAPER: "var(--paper)"} | {
    colour.lower(): f"var(--{name})"
    for colour, name in zip(COLOURS, _NAMES, strict=True)
}
_INK_ONLY = {_INK: "currentColor", _PAPER: "var(--paper)"}
_PIXELS = 96 / 72  # of CSS to a point
_LONGEST, _OF_CAPTION = 22, 60  # characters of a name; tables have all of it
_FONT = re.compile(r"font: (?:(?:bold|italic) )?([\d.]+)px [^;]*")

_STYLE: dict[str, Any] = {
    # A name is what it is: dollars in it are no formula.
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "relvec",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.facecolor": _PAPER,
    "legend.edgecolor": "0.6",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
    "axes.edgecolor": _INK,
}


def figure(
    draw: Callable[..., None],
    name: str,
    caption: str,
    *,
    size: tuple[float, float] = (5.2, 3.7),
    panels: int = 1,
    themed: bool = True,
) -> Figure:
    """What ``draw`` draws into so many axes, one above the other."""
    with _styled():
        made = matplotlib("figure").Figure(figsize=size, layout="constrained")
        axes = made.subplots(panels, sharex=True, squeeze=False)[:, 0]
        draw(*axes)
        text = io.StringIO()
        made.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return Figure(_part_of_page(text.getvalue(), name, caption, themed), caption)


def short(name: object, longest: int = _LONGEST) -> str:
    """So much of a name as a figure has room for."""
    text = str(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def in_caption(name: object) -> str:
    """So much of it as a caption has room for."""
    return short(name, _OF_CAPTION)


@contextmanager
def _styled() -> Iterator[None]:
    """The same whatever styles a user has, and whatever letters names have."""
    with (
        matplotlib("style").context(["default", _STYLE]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _part_of_page(text: str, name: str, caption: str, themed: bool) -> str:
    """An element with a size and a text, whose names are unlike those of others."""
    root: Any = minidom.parseString(text.encode()).documentElement
    for tag in ("metadata", "style"):
        for node in list(root.getElementsByTagName(tag)):
            node.parentNode.removeChild(node)
    colours = _THEMED if themed else _INK_ONLY
    for node in [root, *root.getElementsByTagName("*")]:
        for key, value in list(node.attributes.items()):
            node.setAttribute(key, _attribute(key, value, name, colours))
    for side in ("width", "height"):
        points = float(root.getAttribute(side).removesuffix("pt"))
        root.setAttribute(side, f"{points * _PIXELS:.0f}")
    root.setAttribute("role", "img")
    root.setAttribute("aria-label", caption)
    return root.toxml()


def _attribute(key: str, value: str, name: str, colours: dict[str, str]) -> str:
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

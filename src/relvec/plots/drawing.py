"""What all pictures share: matplotlib, its axes, colours and circles."""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from reprlib import Repr
from typing import Any, ClassVar

import numpy as np

from relvec.parameters import optional_module
from relvec.typing import AnyArray, Array

# Of M. Okabe and K. Ito, which the colour-blind can tell apart.
BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE, YELLOW = COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#56B4E9",
    "#CC79A7",
    "#F0E442",
)
MARKERS = "os^Dv<>Ph*"  # and the shapes of classes, for those who cannot
_WIDE = 4.0  # the largest by the smallest, for a few ticks to be between

Style = Mapping[str, Any] | None


def matplotlib(module: str) -> Any:
    """A module of matplotlib, which is imported with the first picture."""
    use = "pictures are drawn with matplotlib"
    return optional_module(f"matplotlib.{module}", use, "plots")


class _Brief(Repr):
    """Shows values in a few letters, arrays by their shapes."""

    def repr_ndarray(self, array: AnyArray, level: int) -> str:
        """Called for arrays by the name of their type."""
        del level
        return f"<array of shape {array.shape}>"


class Briefly:
    """A dataclass whose ``repr`` fits into a line or two, whatever it holds."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __repr__(self) -> str:
        brief = _Brief().repr
        shown = [
            f"{each.name}={brief(getattr(self, each.name))}"
            for each in fields(self)
            if each.repr
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(eq=False, repr=False, kw_only=True)
class Display(Briefly):
    """What is drawn into one pair of axes."""

    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    def _open(self, ax: Any) -> None:
        """Draw into the axes given, or those of a new figure."""
        pyplot = matplotlib("pyplot")
        self.ax_ = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure


def panels_for(ax: Any, number: int) -> AnyArray:
    """As many axes, one above the other: those given, or those of a new figure."""
    if ax is None:
        size = (6.4, 1.0 + 1.6 * number)
        made = matplotlib("pyplot").subplots(
            number, figsize=size, sharex=True, squeeze=False, layout="constrained"
        )
        return made[1][:, 0]
    axes = np.array(ax, dtype=object).reshape(-1)
    if len(axes) != number:
        raise ValueError(
            f"ax must hold {number} axes, one for each quantity; got {len(axes)}: give "
            f"plt.subplots({number})[1], fewer quantities, or leave ax out"
        )
    return axes


def styled(defaults: dict[str, Any], given: Style, artist: str) -> dict[str, Any]:
    """Keywords of an artist: those given, whatever they are called, before others."""
    module, name = artist.rsplit(".", 1)
    kind = getattr(matplotlib(module), name)
    named = matplotlib("cbook").normalize_kwargs(dict(given or {}), kind)
    if "c" in named:  # of scatter, where it is not an alias
        defaults = {key: value for key, value in defaults.items() if key != "color"}
    return {**defaults, **named}


def circled(ax: Any, places: Array, label: str, given: Style, **own: Any) -> Any:
    """Circles about vectors, (k, 2), as in the figures of the papers."""
    style = {
        "s": 90,
        "facecolor": "none",
        "edgecolor": text_colour(),
        "linewidth": 1.4,
        "zorder": 4,
        "label": label if len(places) else None,
        **own,
    }
    return ax.scatter(*places.T, **styled(style, given, "collections.PathCollection"))


def by_ratio(axis: Any, values: Array) -> None:
    """A logarithmic axis in plain numbers, if values differ enough for one."""
    if values.max() < _WIDE * values.min():
        return
    ticker = matplotlib("ticker")
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers only."""
    axis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))


def text_colour() -> str:
    """That of a style, dark or light."""
    return str(matplotlib("pyplot").rcParams["text.color"])


def class_colours(number: int) -> Sequence[Any]:
    """One for each class; of many they are no longer easy to tell apart."""
    if number <= len(COLOURS):
        return COLOURS[:number]
    return list(matplotlib("pyplot").get_cmap("turbo")(np.linspace(0.05, 0.95, number)))
